/* SPDX-License-Identifier: BSD-3-Clause
 *
 * VPUSH by take-over: RFend has stopped at RVA because the SID misses. The firmware writes the tail
 * of the ring into RFend's offset register, tells it not to look the SID up, sets a breakpoint in
 * the Replier and lets RFend go on at RVA; hardware then moves the payload. When that is in memory
 * the Replier begins and stops; the firmware writes the receive pointer to the host and drops the
 * ack, which cannot be resumed. Other answers that come to the Replier meanwhile are let go on, at
 * the price of an exception.
 */
#include "sim/chip/parts.h"

#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

int chip_ring_open(struct chip *chip, const struct chip_ring *ring)
{
    struct firmware *firmware = &chip->firmware;
    uint32_t number = 0;
    assert(ring->size % CHIP_RING_SLOT == 0);
    while (number < firmware->ring_count && firmware->rings[number].shape.size > 0)
        number++;
    if (number == firmware->ring_count) {
        struct ring *rings = realloc(firmware->rings, (number + 1) * sizeof(*rings));
        if (!rings)
            return error_set(-ENOMEM, ERROR_NO_RANK, "no memory for ring %u of a NIC", number);
        firmware->rings = rings;
        firmware->ring_count++;
    }
    firmware->rings[number] = (struct ring){.shape = *ring};
    return (int)number;
}

void chip_ring_close(struct chip *chip, int ring)
{
    chip->firmware.rings[ring].shape.size = 0;
}

/* The ring of a packet; NULL: none. */
static struct ring *ring_find(const struct chip *chip, const struct chip_header *header)
{
    const struct firmware *firmware = &chip->firmware;
    for (uint32_t i = 0; i < firmware->ring_count; i++) {
        const struct chip_ring *ring = &firmware->rings[i].shape;
        if (ring->size > 0 && header->sid == ring->sid && header->pgid == ring->pgid &&
            header->target_pid == ring->pid)
            return &firmware->rings[i];
    }
    return NULL;
}

bool vpush_is_for_ring(const struct chip *chip, const struct chip_header *header)
{
    return header->type == CHIP_PACKET_PUSH && ring_find(chip, header);
}

bool vpush_is_job(const struct chip *chip, const struct chip_header *job)
{
    return chip->firmware.is_delivering && job->type == CHIP_PACKET_PUSH &&
           job->sid == chip->firmware.delivering_sid;
}

static bool ring_has_room(const struct ring *ring)
{
    return ring->received - ring->released + CHIP_RING_SLOT <= ring->shape.size;
}

/* A full ring says so to a sender that can hear it, else it stops RFend: chip_ring_release() calls
 * again. */
static void ring_is_full(struct chip *chip, const struct ring *ring)
{
    const struct chip_header *header = &chip->rfend.current->packet->header;
    if (!ring->shape.refuses || !header->wants_ack) {
        chip->firmware.waits_for_room = true;
        return;
    }
    firmware_answer(chip, header, &(uint64_t){CHIP_ANSWER_FULL}, 1);
    rfend_discard(chip);
}

void vpush_rfend(struct chip *chip)
{
    struct firmware *firmware = &chip->firmware;
    struct chip_header *header = &chip->rfend.current->packet->header;
    const struct ring *ring = ring_find(chip, header);
    if (!ring) { /* closed since */
        rfend_discard(chip);
        return;
    }
    if (!ring_has_room(ring)) {
        ring_is_full(chip, ring);
        return;
    }
    firmware->ack = header->wants_ack ? header->flag : 0;
    firmware->length = header->length;
    firmware->delivering = (uint32_t)(ring - firmware->rings);
    firmware->delivering_sid = header->sid;
    header->offset = ring->shape.start + ring->received % ring->shape.size;
    header->wants_ack = true; /* makes RBend call the Replier */
    header->flag = ring->shape.pointer;
    chip->rfend.skips_rvatlb = true;
    firmware->is_delivering = true;
    firmware->is_in_tail = true;
    chip->count.cpu += chip_cycles(chip, chip->constants.cpu_vpush_tail_cycles);
    chip_breakpoint_set(chip, CHIP_REPLIER, R_IDLE, true);
    module_resume(chip, CHIP_RFEND, F_RVA);
}

void chip_ring_release(struct chip *chip, int ring, uint64_t released)
{
    struct firmware *firmware = &chip->firmware;
    firmware->rings[ring].released = released;
    if (!firmware->waits_for_room)
        return;
    firmware->waits_for_room = false;
    chip->interrupts |= 1u << CHIP_RFEND;
    firmware_interrupt(chip);
}

/* The host learns of the message. */
static void ring_advance(struct chip *chip, struct ring *ring, uint16_t source)
{
    const struct chip_ring *shape = &ring->shape;
    uint64_t number = ring->received / CHIP_RING_SLOT, slots = shape->size / CHIP_RING_SLOT;
    ring->received += CHIP_RING_SLOT;
    if (shape->has_table)
        flag_write(chip, job_key(shape->pgid, shape->pid), shape->pointer + number % slots * 8,
                   CHIP_RING_WORD(number, source, chip->firmware.length));
    else
        flag_write(chip, job_key(shape->pgid, shape->pid), shape->pointer, ring->received);
}

void vpush_replier(struct chip *chip)
{
    struct firmware *firmware = &chip->firmware;
    struct ring *ring = &firmware->rings[firmware->delivering];
    struct chip_header *job = &chip->replier.jobs[chip->replier.first];
    firmware->is_delivering = false;
    chip->count.vpushes++;
    chip_breakpoint_set(chip, CHIP_REPLIER, R_IDLE, false);
    if (ring->shape.size > 0)
        ring_advance(chip, ring, job->source_pid);
    job->flag = firmware->ack;
    if (firmware->ack)
        module_resume(chip, CHIP_REPLIER, R_IDLE);
    else
        replier_drop(chip);
}
