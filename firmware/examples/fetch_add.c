/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A new primitive in firmware: fetch and add. A packet of type TYPE_OTHER, which hardware does not
 * know, names a segment and an offset; its payload is a number of 64 bits. The number is added to
 * the word there, and the word's value before is sent to where the packet wants its ack, behind
 * ANSWER_DONE. The CPU serves one packet at a time, so no two of them mix.
 *
 *   firmware/make fetch_add.elf firmware/start.S firmware/main.c firmware/modules.c \
 *       firmware/refill.c firmware/vpush.c firmware/lock.c firmware/atomic.c \
 *       firmware/examples/fetch_add.c
 */
#include "../firmware.h"

/* What modules.c calls for packets that hardware does not know. 0: nor do we. */
int special_packet(void)
{
    u32 job = module_get(MODULE_RFEND, MODULE_JOB);
    u64 start, before;
    if ((rfend_word(HEADER_TYPE) & 0xff) != TYPE_OTHER || rfend_word(HEADER_LENGTH) < 8 ||
        rfend_word(HEADER_OFFSET) % 8 != 0)
        return 0;
    u64 operand = get_long(CHIP_MODULE_BLOCK(MODULE_RFEND) + MODULE_PAYLOAD);
    if (!segment_find(job, rfend_word(HEADER_SID), &start))
        return 0;
    do { /* the host may have changed the word meanwhile */
        if (!host_read(job, start + rfend_long(HEADER_OFFSET), &before))
            return 0;
    } while (!host_write_if(before, before + operand));
    rfend_answer(ANSWER_DONE, before, 16);
    module_put(MODULE_RFEND, MODULE_COMMAND, COMMAND_COMPLETE);
    return 1;
}
