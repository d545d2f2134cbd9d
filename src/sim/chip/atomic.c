/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Atomic operations in firmware. RFend has stopped at FLIT3 with a packet that hardware does not
 * know; the on-chip CPU finds the word by the tables in SDRAM, reads it by DMA, changes it, writes
 * it back and answers. One CPU serves one packet at a time, so no two operations mix, and what the
 * hardware writes meanwhile waits behind RFend. The DMAs' time is part of cpu_atomic_cycles.
 */
#include "sim/chip/parts.h"

#include <string.h>

/* Words of a segment, by virtual address. */
struct place {
    struct chip *chip;
    uint32_t job;
    uint64_t start;
};

static bool place_find(const struct place *place, uint64_t offset, uint64_t *physical)
{
    uint64_t page_bytes = (uint64_t)place->chip->constants->page_bytes, page;
    uint64_t virtual = place->start + offset;
    if (!table_find(&place->chip->pages, place->job, virtual / page_bytes, &page))
        return false;
    *physical = page * page_bytes + virtual % page_bytes;
    return true;
}

static bool word_read(const struct place *place, uint64_t offset, uint64_t *value)
{
    uint64_t physical;
    if (!place_find(place, offset, &physical))
        return false;
    host_memory_read(place->chip->host, physical, value, sizeof(*value));
    return true;
}

static bool word_write(const struct place *place, uint64_t offset, uint64_t value)
{
    uint64_t physical;
    if (!place_find(place, offset, &physical))
        return false;
    host_memory_write(place->chip->host, physical, &value, sizeof(value));
    return true;
}

static bool claim(const struct place *place, uint64_t offset, const struct chip_operands *operands,
                  uint64_t *old)
{
    uint64_t tail, head;
    if (operands->operand == 0 || !word_read(place, offset, &tail) ||
        !word_read(place, offset + 8, &head))
        return false;
    *old = CHIP_CLAIM_NONE;
    if (tail - head >= operands->operand)
        return true;
    *old = tail;
    return word_write(place, offset + CHIP_CLAIM_TABLE + tail % operands->operand * 8,
                      operands->expected) &&
           word_write(place, offset, tail + 1);
}

static bool operate(const struct place *place, uint64_t offset,
                    const struct chip_operands *operands, uint64_t *old)
{
    uint64_t value;
    if (operands->operation == CHIP_CLAIM)
        return claim(place, offset, operands, old);
    if (!word_read(place, offset, &value))
        return false;
    *old = value;
    switch ((enum chip_atomic)operands->operation) {
    case CHIP_FETCH_ADD:
        return word_write(place, offset, value + operands->operand);
    case CHIP_FETCH_OR:
        return word_write(place, offset, value | operands->operand);
    case CHIP_FETCH_AND:
        return word_write(place, offset, value & operands->operand);
    case CHIP_SWAP:
        return word_write(place, offset, operands->operand);
    case CHIP_COMPARE_SWAP:
        return value != operands->expected || word_write(place, offset, operands->operand);
    case CHIP_CLAIM:
        break;
    }
    return false;
}

void atomic_serve(struct chip *chip)
{
    const struct chip_packet *packet = chip->rfend.current->packet;
    const struct chip_header *header = &packet->header;
    struct place place = {.chip = chip, .job = job_key(header->pgid, header->target_pid)};
    struct chip_operands operands;
    uint64_t answer[2] = {CHIP_ANSWER_REFUSED, 0};
    bool is_whole = header->length >= sizeof(operands) && header->offset % 8 == 0;
    if (is_whole && table_find(&chip->segments, place.job, header->sid, &place.start)) {
        memcpy(&operands, packet->payload, sizeof(operands));
        if (operate(&place, header->offset, &operands, &answer[1]))
            answer[0] = CHIP_ANSWER_DONE;
        host_memory_changed(chip->host);
    }
    firmware_answer(chip, header, answer, 2);
    rfend_consume(chip);
}
