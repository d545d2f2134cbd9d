/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is done about each module's exceptions.
 */
#include "firmware.h"

#define PAGE_BYTES 4096

/* A breakpoint that is nobody's: on from where it stopped. */
static void go_on(u32 module)
{
    module_put(module, MODULE_STATE, module_get(module, MODULE_LAST));
}

/* What IPA2 to CHK2 would do (7.5.2, SOFT): a packet's header, and the DMA of its payload. */
static void push_soft(void)
{
    u32 header[CHIP_HEADER_REGISTERS];
    for (u32 i = 0; i < CHIP_HEADER_REGISTERS; i++)
        header[i] = module_get(MODULE_INITIATOR, MODULE_HEADER + 4 * i);
    u32 sent = module_get(MODULE_INITIATOR, MODULE_PART), left = header[HEADER_LENGTH] - sent;
    u32 inside = module_get(MODULE_INITIATOR, MODULE_ADDRESS) % PAGE_BYTES;
    u32 part = PAGE_BYTES - inside, most = get(CHIP_MTU);
    if (part > most)
        part = most;
    if (part > left)
        part = left;
    u64 offset = ((u64)header[HEADER_OFFSET + 1] << 32 | header[HEADER_OFFSET]) + sent;
    header[HEADER_TYPE] = (header[HEADER_TYPE] & ~0xffu) | TYPE_PUSH;
    if (part < left)
        header[HEADER_TYPE] &= ~HEADER_WANTS_ACK;
    header[HEADER_LENGTH] = part;
    header[HEADER_OFFSET] = (u32)offset;
    header[HEADER_OFFSET + 1] = (u32)(offset >> 32);
    for (u32 i = 0; i < CHIP_HEADER_REGISTERS; i++)
        put(SEND_HEADER + 4 * i, header[i]);
    put_long(DMAC_HOST, get_long(PATLB_FRAME) * PAGE_BYTES + inside);
    put(DMAC_LENGTH, part);
    module_put(MODULE_INITIATOR, MODULE_COMMAND, COMMAND_SOFT);
}

static void initiator_miss(void)
{
    u32 mode = get(CHIP_MODE);
    int is_pinned = page_refill(MODULE_INITIATOR);
    if (!is_pinned && mode & MODE_MISS_LOOPS)
        module_put(MODULE_INITIATOR, MODULE_STATE, INITIATOR_IDLE);
    else if (!is_pinned)
        module_put(MODULE_INITIATOR, MODULE_COMMAND, COMMAND_CANCEL);
    else if (mode & MODE_SOFT_PUSH)
        push_soft();
    else
        module_put(MODULE_INITIATOR, MODULE_STATE, INITIATOR_IPA);
}

/* A window that has an owner may ask for LOCK and UNLOCK. */
static void special_request(void)
{
    int is_done = module_get(MODULE_INITIATOR, MODULE_WINDOW) && lock_request();
    module_put(MODULE_INITIATOR, MODULE_COMMAND, is_done ? COMMAND_COMPLETE : COMMAND_CANCEL);
}

void initiator_serve(void)
{
    switch (module_get(MODULE_INITIATOR, MODULE_CAUSE)) {
    case CAUSE_PATLB_MISS:
        initiator_miss();
        break;
    case CAUSE_BREAKPOINT:
        go_on(MODULE_INITIATOR);
        break;
    case CAUSE_SPECIAL_REQUEST:
        special_request();
        break;
    default: /* protection violation: the window is nobody's; time-out: the network takes nothing */
        module_put(MODULE_INITIATOR, MODULE_COMMAND, COMMAND_CANCEL);
    }
}

void replier_serve(void)
{
    u32 cause = module_get(MODULE_REPLIER, MODULE_CAUSE);
    if (cause == CAUSE_BREAKPOINT) {
        if (!vpush_replier())
            go_on(MODULE_REPLIER);
    } else if (cause == CAUSE_PATLB_MISS && page_refill(MODULE_REPLIER)) {
        module_put(MODULE_REPLIER, MODULE_STATE, REPLIER_RPA);
    } else {
        module_put(MODULE_REPLIER, MODULE_COMMAND, COMMAND_CANCEL);
    }
}

void rbend_serve(void)
{
    u32 cause = module_get(MODULE_RBEND, MODULE_CAUSE);
    if (cause == CAUSE_BREAKPOINT) {
        go_on(MODULE_RBEND);
    } else if (cause == CAUSE_PATLB_MISS && page_refill(MODULE_RBEND)) {
        module_put(MODULE_RBEND, MODULE_STATE, RBEND_PATLB);
    } else {
        /* time-out: the data is in memory, but the ack finds no room; else it has no place */
        vpush_lost();
        module_put(MODULE_RBEND, MODULE_COMMAND,
                   cause == CAUSE_TIMEOUT ? COMMAND_COMPLETE : COMMAND_CANCEL);
    }
}

void rfend_answer(u64 first, u64 second, u32 bytes)
{
    u64 flag = rfend_long(HEADER_FLAG);
    if (!flag)
        return;
    put(SEND_HEADER + 4 * HEADER_TYPE, (rfend_word(HEADER_TYPE) & 0xffff0000u) | TYPE_ACK);
    put(SEND_HEADER + 4 * HEADER_LENGTH, bytes);
    put(SEND_HEADER + 4 * HEADER_SOURCE, rfend_word(HEADER_TARGET));
    put(SEND_HEADER + 4 * HEADER_TARGET, rfend_word(HEADER_SOURCE));
    put_long(SEND_HEADER + 4 * HEADER_SID, 0);
    put_long(SEND_HEADER + 4 * HEADER_OFFSET, 0);
    put_long(SEND_HEADER + 4 * HEADER_LOCAL, flag);
    put_long(SEND_HEADER + 4 * HEADER_FLAG, flag);
    put_long(SEND_DATA, first);
    put_long(SEND_DATA + 8, second);
    put(SEND_GO, 1);
}

/* Packets that hardware does not know. Those that control the network tell this chip nothing. */
static void special_serve(void)
{
    u32 type = rfend_word(HEADER_TYPE) & 0xff;
    if (special_packet && special_packet())
        return;
    if (type == TYPE_ATOMIC)
        atomic_packet();
    else if ((type == TYPE_LOCK_REQUEST || type == TYPE_LOCK_RESERVE) && lock_packet())
        module_put(MODULE_RFEND, MODULE_COMMAND, COMMAND_COMPLETE);
    else
        module_put(MODULE_RFEND, MODULE_COMMAND, COMMAND_CANCEL);
}

void host_serve(void)
{
    locks_forget(get(HOST_ENDED));
    put(HOST_ENDED, 1);
}

void rfend_serve(void)
{
    u32 cause = module_get(MODULE_RFEND, MODULE_CAUSE);
    u32 sid = module_get(MODULE_RFEND, MODULE_HEADER + 4 * HEADER_SID);
    if (cause == CAUSE_BREAKPOINT)
        go_on(MODULE_RFEND);
    else if (cause == CAUSE_RVATLB_MISS && vpush_rfend())
        return;
    else if (cause == CAUSE_RVATLB_MISS && segment_refill(module_get(MODULE_RFEND, MODULE_JOB), sid))
        module_put(MODULE_RFEND, MODULE_STATE, RFEND_RVACHK2);
    else if (cause == CAUSE_SPECIAL_PACKET)
        special_serve();
    else
        module_put(MODULE_RFEND, MODULE_COMMAND, COMMAND_CANCEL);
}
