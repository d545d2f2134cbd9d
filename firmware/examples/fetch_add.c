/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A new primitive in firmware: fetch and add. A packet of type TYPE_OTHER, which hardware does not
 * know, names a segment and an offset; its payload is a number of 64 bits. The number is added to
 * the word there, and the word's value before is sent to where the packet wants its ack, behind
 * ANSWER_DONE. The CPU serves one packet at a time, so no two of them mix.
 *
 *   firmware/make fetch_add.elf firmware/start.S firmware/main.c firmware/modules.c \
 *       firmware/refill.c firmware/vpush.c firmware/examples/fetch_add.c
 */
#include "../firmware.h"

static u32 word(u32 which)
{
    return module_get(MODULE_RFEND, MODULE_HEADER + 4 * which);
}

static u64 long_word(u32 which)
{
    return word(which) | (u64)word(which + 1) << 32;
}

/* An ack with two words of 64 bits. */
static void answer(u64 first, u64 second)
{
    put(SEND_HEADER + 4 * HEADER_TYPE, (word(HEADER_TYPE) & 0xffff0000u) | TYPE_ACK);
    put(SEND_HEADER + 4 * HEADER_LENGTH, 16);
    put(SEND_HEADER + 4 * HEADER_SOURCE, word(HEADER_TARGET));
    put(SEND_HEADER + 4 * HEADER_TARGET, word(HEADER_SOURCE));
    put_long(SEND_HEADER + 4 * HEADER_SID, 0);
    put_long(SEND_HEADER + 4 * HEADER_OFFSET, 0);
    put_long(SEND_HEADER + 4 * HEADER_LOCAL, long_word(HEADER_FLAG));
    put_long(SEND_HEADER + 4 * HEADER_FLAG, 0);
    put_long(SEND_DATA, first);
    put_long(SEND_DATA + 8, second);
    put(SEND_GO, 1);
}

/* What modules.c calls for packets that it does not know. 0: nor do we. */
int special_packet(void)
{
    u32 job = module_get(MODULE_RFEND, MODULE_JOB);
    u64 start, frame, address;
    if ((word(HEADER_TYPE) & 0xff) != TYPE_OTHER || word(HEADER_LENGTH) < 8 ||
        word(HEADER_OFFSET) % 8 != 0)
        return 0;
    u64 operand = get_long(CHIP_MODULE_BLOCK(MODULE_RFEND) + MODULE_PAYLOAD);
    if (!table_find(SDRAM_SEGMENTS, SEGMENTS_SLOTS, job, word(HEADER_SID), &start))
        return 0;
    address = start + long_word(HEADER_OFFSET);
    put(PATLB_JOB, job); /* from here on, unpinning makes DMAC_READ and DMAC_GO do nothing */
    put_long(PATLB_PAGE, address >> 12);
    if (!table_find(SDRAM_PAGES, PAGES_SLOTS, job, address >> 12, &frame))
        return 0;
    put_long(DMAC_HOST, frame << 12 | ((u32)address & 4095));
    put(DMAC_READ, 1);
    while (get(DMAC_READ))
        ;
    u64 before = get_long(DMAC_DATA);
    put_long(DMAC_DATA, before + operand);
    put(DMAC_GO, 1);
    answer(ANSWER_DONE, before);
    module_put(MODULE_RFEND, MODULE_COMMAND, COMMAND_COMPLETE);
    return 1;
}
