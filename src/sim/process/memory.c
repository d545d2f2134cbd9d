/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that a process brings: lent for one transfer, or open to the job as a segment.
 */
#include "sim/process/inside.h"

#include <errno.h>

#define LOANS_AT 0x1000000000ULL /* virtual addresses of loans */

static int range_pin(struct process *process, uint64_t virtual, uint64_t physical, uint64_t length)
{
    struct driver_range range = {virtual, physical, length};
    return driver_pin(process->driver, process->file, &range);
}

static void range_unpin(struct process *process, uint64_t virtual, uint64_t length)
{
    struct driver_range range = {.virtual = virtual, .length = length};
    driver_unpin(process->driver, process->file, &range);
}

int process_lend(struct process *process, const struct host_loan *loan, uint64_t *virtual)
{
    uint64_t physical;
    uint32_t slot = 0;
    while (slot < PROCESS_LOANS && process->loans[slot].length > 0)
        slot++;
    if (slot == PROCESS_LOANS)
        return -EAGAIN;
    int result = host_memory_lend(process->host, loan, &physical);
    if (result < 0)
        return result;
    uint64_t number = (uint64_t)process->loans[slot].generation * PROCESS_LOANS + slot;
    uint64_t place = LOANS_AT + number * PROCESS_LOAN_MAX;
    result = range_pin(process, place, physical, loan->length);
    if (result < 0) {
        host_memory_detach(process->host, physical);
        return result;
    }
    for (uint64_t at = 0; at < loan->length; at += PAGE) {
        struct chip_page page = {process->spec.pgid, process->spec.pid, (place + at) / PAGE,
                                 (physical + at) / PAGE};
        chip_page_warm(process->chip, &page);
    }
    process->loans[slot].physical = physical;
    process->loans[slot].length = loan->length;
    *virtual = place;
    return 0;
}

/* First the chip is told, then what is under way ends, which takes a moment at most. */
static void range_end(struct process *process, uint64_t virtual, uint64_t physical, uint64_t length)
{
    range_unpin(process, virtual, length);
    while (chip_touches(process->chip, physical, length))
        fiber_sleep(host_sim(process->host), PROCESS_PAUSE);
    host_memory_detach(process->host, physical);
}

void process_lend_end(struct process *process, uint64_t virtual, bool is_lost)
{
    uint64_t slot = (virtual - LOANS_AT) / PROCESS_LOAN_MAX % PROCESS_LOANS;
    range_end(process, virtual, process->loans[slot].physical, process->loans[slot].length);
    process->loans[slot].length = 0;
    process->loans[slot].generation += is_lost;
}

int process_segment_open(struct process *process, struct process_segment *segment)
{
    const struct process_spec *spec = &process->spec;
    uint64_t length = segment->loan.length;
    int result = host_memory_lend(process->host, &segment->loan, &segment->physical);
    if (result < 0)
        return result;
    segment->virtual = process->segment_next;
    process->segment_next += (length + PAGE - 1) / PAGE * PAGE + PAGE;
    result = range_pin(process, segment->virtual, segment->physical, length);
    struct chip_segment entry = {spec->pgid, spec->pid, segment->sid, segment->virtual};
    if (result == 0 && !segment->is_private)
        result = chip_segment_add(process->chip, &entry);
    if (result < 0) {
        range_unpin(process, segment->virtual, length);
        host_memory_detach(process->host, segment->physical);
    }
    return result;
}

void process_segment_close(struct process *process, struct process_segment *segment)
{
    struct chip_segment entry = {process->spec.pgid, process->spec.pid, segment->sid, 0};
    if (!segment->is_private)
        chip_segment_remove(process->chip, &entry);
    range_end(process, segment->virtual, segment->physical, segment->loan.length);
}
