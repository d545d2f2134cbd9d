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

#include <assert.h>

void chip_ring_open(struct chip *chip, const struct chip_ring *ring)
{
    assert(ring->size % CHIP_RING_SLOT == 0);
    chip->firmware.ring = *ring;
    chip->firmware.received = chip->firmware.released = 0;
}

bool vpush_is_for_ring(const struct chip *chip, const struct chip_header *header)
{
    const struct chip_ring *ring = &chip->firmware.ring;
    return ring->size > 0 && header->type == CHIP_PACKET_PUSH && header->sid == ring->sid &&
           header->pgid == ring->pgid && header->target_pid == ring->pid;
}

bool vpush_is_job(const struct chip *chip, const struct chip_header *job)
{
    return chip->firmware.is_delivering && vpush_is_for_ring(chip, job);
}

static bool ring_has_room(const struct chip *chip)
{
    const struct firmware *firmware = &chip->firmware;
    return firmware->received - firmware->released + CHIP_RING_SLOT <= firmware->ring.size;
}

void vpush_rfend(struct chip *chip)
{
    struct firmware *firmware = &chip->firmware;
    struct chip_header *header = &chip->rfend.current->packet->header;
    if (!ring_has_room(chip)) {
        firmware->waits_for_room = true; /* chip_ring_release() calls again */
        return;
    }
    header->offset = firmware->ring.start + firmware->received % firmware->ring.size;
    header->wants_ack = true; /* makes RBend call the Replier */
    header->flag = firmware->ring.pointer;
    chip->rfend.skips_rvatlb = true;
    firmware->is_delivering = true;
    firmware->is_in_tail = true;
    chip->count.cpu += chip_cycles(chip, chip->constants.cpu_vpush_tail_cycles);
    chip_breakpoint_set(chip, CHIP_REPLIER, R_IDLE, true);
    module_resume(chip, CHIP_RFEND, F_RVA);
}

void chip_ring_release(struct chip *chip, uint64_t released)
{
    struct firmware *firmware = &chip->firmware;
    firmware->released = released;
    if (!firmware->waits_for_room)
        return;
    firmware->waits_for_room = false;
    chip->interrupts |= 1u << CHIP_RFEND;
    firmware_interrupt(chip);
}

void vpush_replier(struct chip *chip)
{
    struct firmware *firmware = &chip->firmware;
    const struct chip_ring *ring = &firmware->ring;
    firmware->is_delivering = false;
    firmware->received += CHIP_RING_SLOT;
    chip->count.vpushes++;
    chip_breakpoint_set(chip, CHIP_REPLIER, R_IDLE, false);
    flag_write(chip, job_key(ring->pgid, ring->pid), ring->pointer, firmware->received);
    replier_drop(chip);
}
