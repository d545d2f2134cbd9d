/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Atomic operations, which the thesis's chip has not: a packet names a segment and an offset, and
 * carries operation, operand and expected value. The CPU reads the word by DMA and writes it back if
 * the host still has what was read, else it begins again; then it answers with the value before.
 * RFend is stopped meanwhile, so what comes behind waits.
 */
#include "firmware.h"

struct operands {
    u32 operation;
    u64 operand, expected;
};

static u64 operate(const struct operands *operands, u64 value)
{
    switch (operands->operation) {
    case ATOMIC_FETCH_ADD:
        return value + operands->operand;
    case ATOMIC_FETCH_OR:
        return value | operands->operand;
    case ATOMIC_FETCH_AND:
        return value & operands->operand;
    case ATOMIC_SWAP:
        return operands->operand;
    default:
        return value == operands->expected ? operands->operand : value;
    }
}

/* The word at this address becomes another one. 0: the page is not pinned. */
static int change(u32 job, u64 address, const struct operands *operands, u64 *old)
{
    u64 value;
    do {
        if (!host_read(job, address, old))
            return 0;
        value = operate(operands, *old);
        if (operands->operation == ATOMIC_COMPARE_SWAP && *old != operands->expected)
            return 1;
    } while (!host_write_if(*old, value));
    return 1;
}

/* A slot of a queue: the words are tail and head, a table of `operand` words, a power of two, is
 * behind them. Only this CPU moves the tail. */
static int claim(u32 job, u64 address, const struct operands *operands, u64 *old)
{
    u64 tail, head;
    u32 count = (u32)operands->operand;
    if (count == 0 || operands->operand != count || (count & (count - 1)) != 0 ||
        !host_read(job, address, &tail) || !host_read(job, address + 8, &head))
        return 0;
    *old = ~0ull;
    if (tail - head >= count)
        return 1;
    *old = tail;
    u64 entry = address + ATOMIC_CLAIM_TABLE + ((u32)tail & (count - 1)) * 8ull;
    return host_write(job, entry, operands->expected) && host_write(job, address, tail + 1);
}

static u64 payload_long(u32 number)
{
    return get_long(CHIP_MODULE_BLOCK(MODULE_RFEND) + MODULE_PAYLOAD + 8 * number);
}

void atomic_packet(void)
{
    u32 job = module_get(MODULE_RFEND, MODULE_JOB), answer = ANSWER_REFUSED;
    u64 offset = rfend_long(HEADER_OFFSET), start, old = 0;
    if (rfend_word(HEADER_LENGTH) >= 24 && offset % 8 == 0) {
        struct operands operands = {(u32)payload_long(0), payload_long(1), payload_long(2)};
        int is_known = operands.operation <= ATOMIC_CLAIM &&
                       segment_find(job, rfend_word(HEADER_SID), &start);
        if (is_known && (operands.operation == ATOMIC_CLAIM ? claim : change)(
                            job, start + offset, &operands, &old))
            answer = ANSWER_DONE;
    }
    rfend_answer(answer, old, 16);
    module_put(MODULE_RFEND, MODULE_COMMAND, COMMAND_COMPLETE);
}
