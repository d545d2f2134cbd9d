/* SPDX-License-Identifier: BSD-3-Clause
 *
 * VPUSH: packets to one SID go into a ring, in order of arrival. Three ways, to compare:
 *
 * By take-over: RFend has stopped at RVA because the SID misses. The firmware writes the tail of
 * the ring into RFend's offset register, tells it not to look the SID up, sets a breakpoint in the
 * Replier and lets RFend go on at RVA; hardware then moves the payload. When that is in memory the
 * Replier begins and stops; the firmware writes the receive pointer to the host and drops the ack,
 * which cannot be resumed. Other answers that come to the Replier meanwhile are let go on, at the
 * price of an exception.
 *
 * All in software (soft_vpush): RFend stays stopped; the firmware finds addresses, asks the DMAC
 * and waits for it, then writes the pointer.
 *
 * In hardware (hardware_vpush), which nobody built: RFend has the ring's registers, looks whether
 * there is room, and RBend writes the pointer when the data is there.
 */
#include "sim/chip/parts.h"

#include <assert.h>

void chip_ring_open(struct chip *chip, const struct chip_ring *ring)
{
    assert(ring->size % CHIP_RING_SLOT == 0);
    chip->firmware.ring = *ring;
    chip->firmware.received = chip->firmware.released = chip->firmware.delivered = 0;
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

static uint64_t ring_tail(const struct chip *chip)
{
    const struct firmware *firmware = &chip->firmware;
    return firmware->ring.start + firmware->received % firmware->ring.size;
}

static void pointer_write(struct chip *chip, uint64_t value)
{
    const struct chip_ring *ring = &chip->firmware.ring;
    chip->count.vpushes++;
    flag_write(chip, job_key(ring->pgid, ring->pid), ring->pointer, value);
}

int64_t vpush_rfend_cycles(const struct chip *chip)
{
    return chip->constants.soft_vpush ? chip->constants.cpu_vpush_soft_cycles
                                      : chip->constants.cpu_vpush_rfend_cycles;
}

static void soft_started(struct chip *chip, struct dma *dma)
{
    if (dma->is_last)
        chip->wire.drain(chip->wire.context, chip, chip->rfend.current->stay, dma->request.end);
}

static void soft_ended(struct chip *chip, struct dma *dma)
{
    struct firmware *firmware = &chip->firmware;
    if (!dma->is_last)
        return;
    firmware->is_delivering = false;
    firmware->received += CHIP_RING_SLOT;
    pointer_write(chip, firmware->received);
    rfend_done(chip);
    firmware_interrupt(chip);
}

/* The CPU does what RVA, RBend and Replier do: addresses, and a DMA for each page. */
static void soft_deliver(struct chip *chip)
{
    const struct arrival *arrival = chip->rfend.current;
    const struct chip_ring *ring = &chip->firmware.ring;
    uint32_t job = job_key(ring->pgid, ring->pid), length = arrival->packet->header.length;
    uint64_t start = ring_tail(chip);
    for (uint32_t done = 0; done < length;) {
        uint64_t physical;
        bool is_pinned = patlb_find(chip, job, start + done, &physical) ||
                         (firmware_page_refill(chip, job, start + done) &&
                          patlb_find(chip, job, start + done, &physical));
        struct dma *dma = is_pinned ? dma_make(chip, PCI_WRITE) : NULL;
        if (!dma) {
            rfend_discard(chip);
            return;
        }
        dma->packet = arrival->packet;
        dma->physical = physical;
        dma->at = done;
        dma->length = part_length(chip, start + done, length - done);
        done += dma->length;
        dma->is_last = done == length;
        dma->request.data_ready = arrival->tail;
        dma->started = soft_started;
        dma->ended = soft_ended;
        dma_begin(chip, dma);
    }
    chip->firmware.is_delivering = true;
}

void vpush_rfend(struct chip *chip)
{
    struct firmware *firmware = &chip->firmware;
    struct chip_header *header = &chip->rfend.current->packet->header;
    if (!ring_has_room(chip)) {
        firmware->waits_for_room = true; /* chip_ring_release() calls again */
        return;
    }
    if (chip->constants.soft_vpush) {
        soft_deliver(chip);
        return;
    }
    header->offset = ring_tail(chip);
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
    if (chip->constants.hardware_vpush) {
        module_step(chip, CHIP_RFEND);
        return;
    }
    chip->interrupts |= 1u << CHIP_RFEND;
    firmware_interrupt(chip);
}

void vpush_replier(struct chip *chip)
{
    struct firmware *firmware = &chip->firmware;
    firmware->is_delivering = false;
    firmware->received += CHIP_RING_SLOT;
    chip_breakpoint_set(chip, CHIP_REPLIER, R_IDLE, false);
    pointer_write(chip, firmware->received);
    replier_drop(chip);
}

bool vpush_slot(struct chip *chip, uint64_t *virtual)
{
    struct firmware *firmware = &chip->firmware;
    firmware->waits_for_room = !ring_has_room(chip);
    if (firmware->waits_for_room)
        return false;
    *virtual = ring_tail(chip);
    firmware->received += CHIP_RING_SLOT;
    return true;
}

void vpush_deliver(struct chip *chip)
{
    chip->firmware.delivered += CHIP_RING_SLOT;
    pointer_write(chip, chip->firmware.delivered);
}
