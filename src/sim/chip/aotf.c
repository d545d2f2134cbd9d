/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The AOTF send controller: a store becomes a packet. It stands beside the others: no windows, no
 * PGIDTBL (the driver has checked the header), no take-over.
 */
#include "sim/chip/parts.h"

#include "base/assert.h"

#include <string.h>

void chip_aotf_store(struct chip *chip, const struct chip_store *store)
{
    struct aotf *aotf = &chip->aotf;
    ASSERT(store->length > 0 && store->length <= sizeof(store->value));
    chip_moment_note(chip, CHIP_ACCEPTED);
    if (aotf->count ==
        CHIP_AOTF_STORES) { /* the bus would hold the CPU up; stores are not lost there */
        chip->count.refused++;
        return;
    }
    uint32_t at = (aotf->first + aotf->count) % CHIP_AOTF_STORES;
    aotf->stores[at] = *store;
    if (aotf->count++ == 0)
        module_go(chip, CHIP_AOTF, A_QUEUE, chip->constants->aotf_queue_cycles);
}

uint32_t chip_aotf_pending(const struct chip *chip)
{
    return chip->aotf.count;
}

static void store_send(struct chip *chip)
{
    struct aotf *aotf = &chip->aotf;
    const struct chip_store *store = &aotf->stores[aotf->first];
    const struct chip_header *header = &aotf->headers[store->page];
    struct chip_packet *packet = header->type ? chip_packet_make(chip) : NULL;
    if (packet) {
        packet->header = *header;
        packet->header.is_aotf = true;
        packet->origin = CHIP_AOTF;
        packet->header.length = store->length;
        packet->header.offset = (header->offset >> CHIP_AOTF_OFFSET_BITS << CHIP_AOTF_OFFSET_BITS) |
                                store->offset;
        memcpy(packet->payload, &store->value, store->length);
        chip->count.aotfs++;
        send_join(chip, packet, chip->constants->swi_tx_cycles);
    } else {
        chip->count.refused++;
    }
    aotf->first = (aotf->first + 1) % CHIP_AOTF_STORES;
    aotf->count--;
    if (aotf->count > 0)
        module_go(chip, CHIP_AOTF, A_QUEUE, chip->constants->aotf_queue_cycles);
    else
        module_rest(chip, CHIP_AOTF, A_IDLE);
}

void aotf_step(struct chip *chip, uint32_t state)
{
    if (state == A_QUEUE)
        module_go(chip, CHIP_AOTF, A_TLB, chip->constants->aotf_tlb_cycles);
    else if (state == A_TLB)
        module_go(chip, CHIP_AOTF, A_HEADER, chip->constants->aotf_header_cycles);
    else if (state == A_HEADER)
        store_send(chip);
}
