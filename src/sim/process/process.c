/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See process.h.
 */
#include "sim/process/inside.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FLAG_OFFSET 2048

/* Words of the library's page. */
static uint64_t contflag_offset(uint32_t window)
{
    return 64 * (window + 1ULL);
}

static uint64_t *own_word(const struct process *process, uint64_t offset)
{
    return process_memory(process, offset, sizeof(uint64_t));
}

/* A task manager enters the process under this number, and it opens the device. The file, or an
 * error. */
static int device_open(struct process *process, uint16_t pid, uint32_t window_count)
{
    const struct process_spec *spec = &process->spec;
    struct driver_entry entry = {.task = (uint32_t)spec->pgid << 16 | pid,
                                 .pgid = spec->pgid,
                                 .pid = pid,
                                 .window_first = spec->window_first,
                                 .window_count = window_count};
    struct driver_caller manager = {.is_manager = true}, task = {.task = entry.task};
    int file = driver_open(process->driver, DRIVER_DEVICE_MANAGER, &manager);
    if (file < 0)
        return file;
    int result = driver_enter(process->driver, file, &entry);
    driver_close(process->driver, file);
    return result < 0 ? result : driver_open(process->driver, DRIVER_DEVICE_USER, &task);
}

static int devices_open(struct process *process)
{
    const struct process_spec *spec = &process->spec;
    process->file = device_open(process, spec->pid, spec->window_count);
    process->library = process->file;
    if (process->file >= 0 && spec->library_pid != spec->pid)
        process->library = device_open(process, spec->library_pid, 0);
    return process->library < 0 ? process->library : 0;
}

static int pages_pin(struct process *process)
{
    const struct process_spec *spec = &process->spec;
    struct driver_range range = {VIRTUAL, spec->base, spec->size};
    int result = driver_pin(process->driver, process->file, &range);
    if (result == 0 && process->library != process->file)
        result = driver_pin(process->driver, process->library, &range);
    if (result == 0)
        result = driver_map(process->driver, process->file, spec->base + contflag_offset(0),
                            contflag_offset(1) - contflag_offset(0));
    struct chip_segment segment = {spec->pgid, spec->library_pid, PROCESS_SID, VIRTUAL};
    return result < 0 ? result : chip_segment_add(process->chip, &segment);
}

static int spec_check(struct process *process)
{
    struct process_spec *spec = &process->spec;
    uint64_t memory = host_memory_size(process->host);
    if (spec->window_count == 0)
        spec->window_count = 1;
    if (spec->library_pid == 0)
        spec->library_pid = spec->pid;
    if (spec->size == 0)
        spec->size = memory - spec->base;
    if (spec->window_count > PROCESS_WINDOWS ||
        spec->window_first + spec->window_count > CHIP_WINDOWS)
        return error_fail(-EINVAL, "windows %u to %u are more than a process may have",
                          spec->window_first, spec->window_first + spec->window_count - 1);
    if (spec->base % PAGE || spec->size % PAGE || spec->size < 2 * PAGE || spec->base > memory ||
        spec->size > memory - spec->base)
        return error_fail(-EINVAL, "%llu bytes at %llu are no whole pages of the node's %llu",
                          (unsigned long long)spec->size, (unsigned long long)spec->base,
                          (unsigned long long)memory);
    return 0;
}

int process_create(struct process **process, const struct process_spec *spec)
{
    struct process *made = calloc(1, sizeof(*made));
    if (!made)
        return error_fail(-ENOMEM, "no memory for a simulated process");
    made->cluster = spec->cluster;
    made->host = cluster_host(spec->cluster, spec->node);
    made->chip = cluster_chip(spec->cluster, spec->node);
    made->driver = cluster_driver(spec->cluster, spec->node);
    made->file = made->library = -1;
    made->spec = *spec;
    made->segment_next = PROCESS_SEGMENTS_AT;
    int result = spec_check(made);
    if (result == 0)
        result = devices_open(made);
    if (result == 0)
        result = pages_pin(made);
    if (result < 0) {
        process_destroy(made);
        return result;
    }
    if (!spec->is_cold)
        chip_tlb_warm(made->chip);
    *process = made;
    return 0;
}

/* The device is closed: windows and pages are gone for the chip. */
void process_destroy(struct process *process)
{
    if (!process)
        return;
    const struct process_spec *spec = &process->spec;
    struct chip_segment segment = {spec->pgid, spec->library_pid, PROCESS_SID, 0};
    chip_segment_remove(process->chip, &segment);
    if (process->library >= 0 && process->library != process->file)
        driver_close(process->driver, process->library);
    if (process->file >= 0)
        driver_close(process->driver, process->file);
    free(process);
}

void *process_memory(const struct process *process, uint64_t offset, uint64_t length)
{
    return host_memory(process->host, process->spec.base + offset, length);
}

struct host *process_host(const struct process *process)
{
    return process->host;
}

struct chip *process_chip(const struct process *process)
{
    return process->chip;
}

static int window_wait(struct process *process, uint32_t window)
{
    uint64_t offset = contflag_offset(window);
    if (!process->is_kicked[window])
        return 0;
    process->is_kicked[window] = false;
    host_poll(process->host, process->spec.base + offset, 0, true, SIM_NEVER);
    return *own_word(process, offset) == CHIP_CONT_DONE ? 0 : -EACCES;
}

static void header_make(const struct process *process, const struct process_transfer *transfer,
                        uint8_t type, struct chip_header *header)
{
    const struct process_spec *peer = &transfer->peer->spec;
    *header = (struct chip_header){.type = type,
                                   .wants_ack = transfer->wants_flag,
                                   .target_node = (uint16_t)peer->node,
                                   .target_pid = peer->pid,
                                   .length = transfer->length,
                                   .sid = transfer->sid ? transfer->sid : PROCESS_SID,
                                   .offset = transfer->remote,
                                   .local = VIRTUAL + transfer->local,
                                   .flag = transfer->wants_flag ? VIRTUAL + FLAG_OFFSET : 0};
}

/* Writes a request, and the image's payload, into the next window and kicks it. */
static int window_use(struct process *process, const struct chip_header *header,
                      const void *payload, uint32_t payload_length, enum chip_kick kick)
{
    uint32_t window = process->window_next, words = (payload_length + 7) / 8;
    uint32_t number = process->spec.window_first + window;
    uint64_t packed[CHIP_WINDOW_WORDS];
    process->window_next = (window + 1) % process->spec.window_count;
    int result = window_wait(process, window);
    if (result < 0)
        return result;
    packed[CHIP_HEADER_WORDS + words - 1] = 0; /* the last word may not be full */
    chip_header_pack(header, packed);
    if (payload_length > 0)
        memcpy(packed + CHIP_HEADER_WORDS, payload, payload_length);
    *own_word(process, contflag_offset(window)) = 0;
    process->is_kicked[window] = true;
    host_pio(process->host, CHIP_HEADER_WORDS + words, process->spec.is_combining);
    for (uint32_t i = 0; i < CHIP_HEADER_WORDS + words; i++)
        chip_window_write(process->chip, number, i, packed[i]);
    chip_window_kick(process->chip, number, kick);
    return 0;
}

int process_submit(struct process *process, const struct process_request *request)
{
    const struct process_spec *peer = &request->peer->spec;
    bool is_image = request->kick == CHIP_BOTF;
    struct chip_header header = {.type = is_image ? request->type : CHIP_PACKET_PUSH,
                                 .wants_ack = request->flag != 0,
                                 .target_node = (uint16_t)peer->node,
                                 .target_pid = request->to_library ? peer->library_pid : peer->pid,
                                 .length = request->length,
                                 .sid = request->to_library ? PROCESS_SID : request->sid,
                                 .offset = request->remote,
                                 .local = request->local,
                                 .flag = request->flag};
    bool has_payload = is_image && request->type != CHIP_PACKET_PULL_REQUEST;
    return window_use(process, &header, request->payload, has_payload ? request->length : 0,
                      request->kick);
}

int process_ask(struct process *process, const struct process_transfer *transfer,
                enum chip_kick kick)
{
    struct chip_header header;
    header_make(process, transfer, CHIP_PACKET_PUSH, &header);
    return window_use(process, &header, NULL, 0, kick);
}

int process_push(struct process *process, const struct process_transfer *transfer)
{
    return process_ask(process, transfer, CHIP_PUSH);
}

int process_pull(struct process *process, const struct process_transfer *transfer)
{
    return process_ask(process, transfer, CHIP_PULL);
}

int process_botf_push(struct process *process, const struct process_transfer *transfer)
{
    struct chip_header header;
    if (transfer->length > PROCESS_IMAGE_MAX)
        return error_fail(-EINVAL, "%u bytes do not fit a packet image of %d", transfer->length,
                          PROCESS_IMAGE_MAX);
    header_make(process, transfer, CHIP_PACKET_PUSH, &header);
    return window_use(process, &header, process_memory(process, transfer->local, transfer->length),
                      transfer->length, CHIP_BOTF);
}

int process_botf_pull(struct process *process, const struct process_transfer *transfer)
{
    struct chip_header header;
    header_make(process, transfer, CHIP_PACKET_PULL_REQUEST, &header);
    return window_use(process, &header, NULL, 0, CHIP_BOTF);
}

void process_page_open(struct process *process, uint32_t page, const struct process *peer,
                       uint64_t remote)
{
    struct chip_header header;
    struct process_transfer transfer = {.peer = peer, .remote = remote, .length = 8};
    header_make(process, &transfer, CHIP_PACKET_PUSH, &header);
    header.pgid = process->spec.pgid; /* the driver, which registers it, puts this in */
    header.source_pid = process->spec.pid;
    driver_header(process->driver, process->file, page, &header);
}

void process_page_register(struct process *process, uint32_t page,
                           const struct process_request *request)
{
    const struct process_spec *peer = &request->peer->spec;
    struct chip_header header = {.type = CHIP_PACKET_PUSH,
                                 .pgid = process->spec.pgid,
                                 .source_pid = process->spec.pid,
                                 .target_node = (uint16_t)peer->node,
                                 .target_pid = peer->pid,
                                 .length = 8,
                                 .sid = request->sid,
                                 .offset = request->remote};
    driver_header(process->driver, process->file, page, &header);
}

void process_store(struct process *process, const struct chip_store *store)
{
    host_pio(process->host, 1, false);
    while (chip_aotf_pending(process->chip) == CHIP_AOTF_STORES) /* the bus holds the CPU up */
        fiber_sleep(host_sim(process->host), PROCESS_PAUSE);
    chip_aotf_store(process->chip, store);
}

int process_finish(struct process *process)
{
    int result = 0;
    for (uint32_t i = 0; i < process->spec.window_count; i++) {
        int refused = window_wait(process, i);
        result = refused < 0 ? refused : result;
    }
    return result;
}

void process_flag_clear(struct process *process)
{
    *own_word(process, FLAG_OFFSET) = 0;
}

int process_flag_wait(struct process *process, sim_time deadline)
{
    return process_poll(process, FLAG_OFFSET, 1, deadline);
}

int process_poll(struct process *process, uint64_t offset, uint64_t value, sim_time deadline)
{
    return host_poll(process->host, process->spec.base + offset, value, false, deadline);
}

void process_ring_open(struct process *process, uint64_t offset, uint32_t slots)
{
    const struct process_spec *spec = &process->spec;
    struct chip_ring ring = {.pgid = spec->pgid,
                             .pid = spec->pid,
                             .sid = PROCESS_RING_SID,
                             .start = VIRTUAL + offset,
                             .size = (uint64_t)slots * CHIP_RING_SLOT,
                             .pointer = VIRTUAL + offset - 8};
    *own_word(process, offset - 8) = 0;
    process->ring = chip_ring_open(process->chip, &ring);
}

int process_ring_wait(struct process *process, uint64_t offset, uint64_t taken, sim_time deadline)
{
    return host_poll(process->host, process->spec.base + offset - 8, taken, true, deadline);
}

void process_ring_release(struct process *process, uint64_t taken)
{
    host_pio(process->host, 1, false);
    chip_ring_release(process->chip, process->ring, taken);
}

void process_written(const struct process *process, uint64_t offset, uint64_t length)
{
    host_dirty(process->host, process->spec.base + offset, length);
}

void process_page_forget(struct process *process, uint64_t offset)
{
    const struct process_spec *spec = &process->spec;
    struct chip_page page = {spec->pgid, spec->pid, (VIRTUAL + offset) / PAGE,
                             (spec->base + offset) / PAGE};
    chip_page_unpin(process->chip, &page);
    chip_page_pin(process->chip, &page);
}
