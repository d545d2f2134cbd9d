/* SPDX-License-Identifier: BSD-3-Clause
 *
 * VPUSH: packets to one SID go into a ring, in order of arrival. Three ways, to compare:
 *
 * By take-over, and all in software (soft_vpush: RFend stays stopped; addresses, DMA and the
 * pointer are the firmware's): firmware/vpush.c.
 *
 * In hardware (hardware_vpush), which nobody built: RFend has the ring's registers, looks whether
 * there is room, and RBend writes the pointer when the data is there.
 */
#include "sim/chip/parts.h"

#include "base/array.h"
#include "base/assert.h"
#include "base/error.h"

#include <errno.h>

int chip_ring_open(struct chip *chip, const struct chip_ring *ring)
{
    struct firmware *firmware = &chip->firmware;
    uint32_t number = 0;
    ASSERT(ring->size % CHIP_RING_SLOT == 0);
    while (number < firmware->ring_count && firmware->rings[number].shape.size > 0)
        number++;
    if (number == firmware->ring_count) {
        if (!array_grow(&firmware->rings, &firmware->ring_room, (size_t)number + 1))
            return error_fail(-ENOMEM, "no memory for ring %u of a NIC", number);
        firmware->ring_count++;
    }
    firmware->rings[number] = (struct ring){.shape = *ring};
    return (int)number;
}

/* RFend may wait for room: it looks again. */
static void ring_call(struct chip *chip)
{
    struct firmware *firmware = &chip->firmware;
    if (!firmware->waits_for_room)
        return;
    firmware->waits_for_room = false;
    if (!chip->modules[CHIP_RFEND].is_suspended) { /* hardware waits in RVA */
        module_step(chip, CHIP_RFEND);
        return;
    }
    chip->interrupts |= 1u << CHIP_RFEND;
    firmware_interrupt(chip);
}

void chip_ring_close(struct chip *chip, int ring)
{
    chip->firmware.rings[ring].shape.size = 0;
    ring_call(chip);
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
    return header->type == CHIP_PACKET_PUSH && header->length <= CHIP_RING_SLOT &&
           ring_find(chip, header);
}

static bool ring_has_room(const struct ring *ring)
{
    return ring->received - ring->released + CHIP_RING_SLOT <= ring->shape.size;
}

static uint64_t ring_tail(const struct ring *ring)
{
    return ring->shape.start + ring->received % ring->shape.size;
}

/* The host learns of the message. */
static void ring_advance(struct chip *chip, struct ring *ring, uint16_t source, uint32_t length)
{
    const struct chip_ring *shape = &ring->shape;
    uint64_t number = ring->delivered / CHIP_RING_SLOT, slots = shape->size / CHIP_RING_SLOT;
    chip->count.vpushes++;
    if (shape->size == 0) /* closed meanwhile */
        return;
    ring->delivered += CHIP_RING_SLOT;
    if (shape->has_table)
        flag_write(chip, job_key(shape->pgid, shape->pid), shape->pointer + number % slots * 8,
                   CHIP_RING_WORD(number, source, length));
    else
        flag_write(chip, job_key(shape->pgid, shape->pid), shape->pointer, ring->delivered);
}

void chip_ring_release(struct chip *chip, int ring, uint64_t released)
{
    chip->firmware.rings[ring].released = released;
    ring_call(chip);
}

void vpush_lost(struct chip *chip, const struct chip_header *header)
{
    bool is_own = chip->constants->hardware_vpush && header->type == CHIP_PACKET_PUSH;
    struct ring *ring = is_own ? ring_find(chip, header) : NULL;
    if (ring)
        ring->received = ring->delivered; /* the slot is free again */
}

enum vpush_slot vpush_slot(struct chip *chip, uint64_t *virtual)
{
    const struct chip_header *header = &chip->rfend.current->packet->header;
    struct ring *ring = ring_find(chip, header);
    if (!ring_has_room(ring)) {
        if (ring->shape.refuses && header->wants_ack)
            return VPUSH_REFUSES;
        chip->firmware.waits_for_room = true;
        return VPUSH_WAITS;
    }
    *virtual = ring_tail(ring);
    ring->received += CHIP_RING_SLOT;
    return VPUSH_GIVEN;
}

void vpush_deliver(struct chip *chip, const struct chip_header *header)
{
    struct ring *ring = header->type == CHIP_PACKET_PUSH ? ring_find(chip, header) : NULL;
    if (ring)
        ring_advance(chip, ring, header->source_pid, header->length);
}
