/* SPDX-License-Identifier: BSD-3-Clause
 *
 * VPUSH by take-over (7.5.3): RFend has stopped at RVA because the SID misses. It gets the ring's
 * tail as its offset and goes on without a look-up; the Replier, which begins when the payload is in
 * memory, is stopped by a breakpoint; then the host is told, by the receive pointer.
 */
#include "firmware.h"

/* What is between RFend and Replier. */
static struct {
    u32 ring, sid;
    u64 ack; /* where its sender wants the ack; 0: nowhere */
    u32 source, length;
} message;

u32 is_delivering;

/* The ring's block; 0: the packet is for none. */
static u32 ring_find(u32 job, u32 sid)
{
    u32 count = get(RINGS);
    for (u32 i = 0, ring = CHIP_RING_BLOCK(0); i < count; i++, ring += 0x40) {
        if (get(ring + RING_SID) == sid && get(ring + RING_JOB) == job &&
            get(ring + RING_SLOTS) > 0)
            return ring;
    }
    return 0;
}

static void rfend_word_put(u32 which, u32 value)
{
    module_put(MODULE_RFEND, MODULE_HEADER + 4 * which, value);
}

static void take_over(u32 ring, u32 slots)
{
    u32 first = rfend_word(HEADER_TYPE), received = get(ring + RING_RECEIVED);
    u64 tail = get_long(ring + RING_START) + received % slots * RING_SLOT_BYTES;
    message.ring = ring;
    message.sid = rfend_word(HEADER_SID);
    message.ack = first & HEADER_WANTS_ACK
                      ? rfend_word(HEADER_FLAG) | (u64)rfend_word(HEADER_FLAG + 1) << 32
                      : 0;
    rfend_word_put(HEADER_OFFSET, (u32)tail);
    rfend_word_put(HEADER_OFFSET + 1, (u32)(tail >> 32));
    rfend_word_put(HEADER_TYPE, first | HEADER_WANTS_ACK); /* makes RBend call the Replier */
    rfend_word_put(HEADER_FLAG, get(ring + RING_POINTER));
    rfend_word_put(HEADER_FLAG + 1, get(ring + RING_POINTER + 4));
    message.source = rfend_word(HEADER_SOURCE) >> 16;
    message.length = rfend_word(HEADER_LENGTH);
    put(ring + RING_RECEIVED, received + 1);
    module_put(MODULE_RFEND, MODULE_SKIP, 1);
    module_put(MODULE_REPLIER, MODULE_BREAK, 1 << REPLIER_IDLE);
    module_put(MODULE_RFEND, MODULE_STATE, RFEND_RVA);
    is_delivering = 1; /* until then RFend is not served */
}

static int has_room(u32 ring, u32 slots)
{
    return get(ring + RING_RECEIVED) - get(ring + RING_RELEASED) < slots;
}

/* A sender that can hear it is told that the ring is full. */
static void refuse(void)
{
    rfend_answer(ANSWER_FULL, 0, 8);
    module_put(MODULE_RFEND, MODULE_COMMAND, COMMAND_CANCEL);
}

static void tell_host(u32 ring);

/* All in software (7.5.3, VPUSH/Software): what RVA, RBend and Replier do. 0: a page of the ring is
 * not pinned. */
static int payload_move(u32 job, u64 tail, u32 length)
{
    u64 frame;
    for (u32 done = 0; done < length;) {
        u64 address = tail + done;
        u32 inside = (u32)address & 4095, part = 4096 - inside;
        put(PATLB_JOB, job);
        put_long(PATLB_PAGE, address >> 12);
        if (!table_find(SDRAM_PAGES, PAGES_SLOTS, job, address >> 12, &frame))
            return 0;
        if (part > length - done)
            part = length - done;
        put_long(DMAC_HOST, frame << 12 | inside);
        put(DMAC_LENGTH, part);
        put(DMAC_FIFO, done);
        while (get(DMAC_FIFO))
            ;
        done += part;
    }
    return 1;
}

static void take_all(u32 ring, u32 slots)
{
    u32 received = get(ring + RING_RECEIVED), job = module_get(MODULE_RFEND, MODULE_JOB);
    u64 tail = get_long(ring + RING_START) + received % slots * RING_SLOT_BYTES;
    message.source = rfend_word(HEADER_SOURCE) >> 16;
    message.length = rfend_word(HEADER_LENGTH);
    if (!payload_move(job, tail, message.length)) {
        module_put(MODULE_RFEND, MODULE_COMMAND, COMMAND_CANCEL);
        return;
    }
    put(ring + RING_RECEIVED, received + 1);
    tell_host(ring);
    if (rfend_word(HEADER_TYPE) & HEADER_WANTS_ACK)
        rfend_answer(ANSWER_DONE, 0, 8);
    module_put(MODULE_RFEND, MODULE_COMMAND, COMMAND_COMPLETE);
}

/* 0: the packet is for no ring. */
int vpush_rfend(void)
{
    u32 job = module_get(MODULE_RFEND, MODULE_JOB), mode = get(CHIP_MODE);
    u32 first = rfend_word(HEADER_TYPE);
    if ((first & 0xff) != TYPE_PUSH || rfend_word(HEADER_LENGTH) > RING_SLOT_BYTES)
        return 0;
    u32 ring = ring_find(job, rfend_word(HEADER_SID));
    u32 slots = ring ? get(ring + RING_SLOTS) : 0; /* once: it may be closed at any time */
    if (slots == 0)
        return 0;
    if (!has_room(ring, slots)) {
        if (get(ring + RING_FLAGS) & RING_REFUSES && first & HEADER_WANTS_ACK) {
            refuse();
            return 1;
        }
        put(ring + RING_WAIT, 1);
        slots = get(ring + RING_SLOTS);
        if (slots && !has_room(ring, slots)) /* taking out and closing call again from now on */
            return 1;
        put(ring + RING_WAIT, 0);
        if (slots == 0)
            return 0;
    }
    if (mode & MODE_HARDWARE_VPUSH)
        module_put(MODULE_RFEND, MODULE_STATE, RFEND_RVA);
    else if (mode & MODE_SOFT_VPUSH)
        take_all(ring, slots);
    else
        take_over(ring, slots);
    return 1;
}

/* The host learns of it: a word for the message, or how far the ring is filled. */
static void tell_host(u32 ring)
{
    u32 slots = get(ring + RING_SLOTS), number = get(ring + RING_DELIVERED);
    u64 pointer = get_long(ring + RING_POINTER), word;
    if (slots == 0) /* closed meanwhile */
        return;
    put(ring + RING_DELIVERED, number + 1);
    if (get(ring + RING_FLAGS) & RING_HAS_TABLE) {
        pointer += number % slots * 8;
        word = (u64)(number + 1) << 32 | message.source << 16 | message.length;
    } else {
        word = ((u64)number + 1) * RING_SLOT_BYTES;
    }
    host_write(get(ring + RING_JOB), pointer, word);
}

/* 0: the Replier was stopped with something else. */
int vpush_replier(void)
{
    u32 first = module_get(MODULE_REPLIER, MODULE_HEADER);
    if (!is_delivering || (first & 0xff) != TYPE_PUSH ||
        module_get(MODULE_REPLIER, MODULE_HEADER + 4 * HEADER_SID) != message.sid)
        return 0;
    is_delivering = 0;
    module_put(MODULE_REPLIER, MODULE_BREAK, 0);
    tell_host(message.ring);
    module_put(MODULE_REPLIER, MODULE_HEADER + 4 * HEADER_FLAG, (u32)message.ack);
    module_put(MODULE_REPLIER, MODULE_HEADER + 4 * HEADER_FLAG + 4, (u32)(message.ack >> 32));
    if (message.ack)
        module_put(MODULE_REPLIER, MODULE_STATE, REPLIER_IDLE);
    else /* cannot be gone on from: dropped */
        module_put(MODULE_REPLIER, MODULE_COMMAND, COMMAND_COMPLETE);
    return 1;
}

/* RBend could not write a packet: if it was this one, its slot is free again. */
void vpush_lost(void)
{
    if (!is_delivering || module_get(MODULE_RBEND, MODULE_HEADER + 4 * HEADER_SID) != message.sid)
        return;
    put(message.ring + RING_RECEIVED, get(message.ring + RING_DELIVERED));
    module_put(MODULE_REPLIER, MODULE_BREAK, 0);
    is_delivering = 0;
}
