/* SPDX-License-Identifier: BSD-3-Clause
 *
 * RBend: translates where a packet's payload goes and writes it by DMA; then the ack or the pull's
 * done flag. State names are ours, the thesis does not give them.
 */
#include "sim/chip/parts.h"

bool rbend_take(struct chip *chip, struct arrival *arrival, uint64_t virtual)
{
    struct rbend *rbend = &chip->rbend;
    if (rbend->arrival)
        return false;
    *rbend = (struct rbend){.arrival = arrival, .virtual = virtual};
    chip->rfend.payload_waits = true;
    module_go(chip, CHIP_RBEND, B_PATLB, chip->constants->rbend_cycles);
    return true;
}

/* The packet is the DMA's until it is seen; RBend may take the next. */
static void rbend_end(struct chip *chip)
{
    struct rbend *rbend = &chip->rbend;
    struct arrival *arrival = rbend->arrival;
    chip_packet_free(chip, arrival->packet);
    arrival->next = chip->free_arrivals;
    chip->free_arrivals = arrival;
    rbend->arrival = NULL;
    chip->rfend.payload_waits = false;
    module_rest(chip, CHIP_RBEND, B_IDLE);
    rfend_retry(chip);
    rfend_next(chip);
}

void rbend_discard(struct chip *chip)
{
    struct rbend *rbend = &chip->rbend;
    struct arrival *arrival = rbend->arrival;
    sim_time now = sim_now(chip->sim);
    module_release(chip, CHIP_RBEND);
    chip->count.discarded++;
    vpush_lost(chip, &arrival->packet->header);
    chip->wire.drain(chip->wire.context, chip, arrival->stay,
                     arrival->tail > now ? arrival->tail : now);
    rbend_end(chip);
}

void rbend_give_up(struct chip *chip)
{
    module_release(chip, CHIP_RBEND);
    rbend_end(chip);
}

void flag_write(struct chip *chip, uint32_t job, uint64_t virtual, uint64_t value)
{
    uint64_t physical;
    struct dma *dma;
    /* A flag whose page is not at hand is looked up by the firmware's table: no second exception
     * in the middle of a packet. An unknown one is dropped, as its writer asked for nothing. */
    if (!patlb_find(chip, job, virtual, &physical)) {
        uint64_t page, page_bytes = (uint64_t)chip->constants->page_bytes;
        if (!table_find(&chip->pages, job, virtual / page_bytes, &page))
            return;
        tlb_put(&chip->patlb, job, virtual / page_bytes, page);
        physical = page * page_bytes + virtual % page_bytes;
    }
    dma = dma_make(chip, PCI_WRITE);
    if (!dma)
        return;
    dma->physical = physical;
    dma->length = 8;
    dma->flag = value;
    dma_begin(chip, dma);
}

/* All data is in memory: now the ack, or the flag of a pull. */
static void packet_conclude(struct chip *chip)
{
    const struct chip_header *header = &chip->rbend.arrival->packet->header;
    if (header->type == CHIP_PACKET_PUSH && header->wants_ack && header->flag) {
        if (!replier_take(chip, header, 0)) {
            module_rest(chip, CHIP_RBEND, B_FLAG); /* Replier calls when it has room */
            module_wait(chip, CHIP_RBEND);
            return;
        }
    } else if (header->type == CHIP_PACKET_PULL_REPLY && header->is_last && header->flag) {
        flag_write(chip, job_key(header->pgid, header->target_pid), header->flag, 1);
    }
    rbend_end(chip);
}

void rbend_retry(struct chip *chip)
{
    if (chip->modules[CHIP_RBEND].state == B_FLAG)
        packet_conclude(chip);
}

static void payload_written(struct chip *chip, struct dma *dma)
{
    if (!dma->is_last)
        return;
    if (chip->constants->hardware_vpush)
        vpush_deliver(chip, &dma->packet->header);
    packet_conclude(chip);
}

static void write_started(struct chip *chip, struct dma *dma)
{
    struct arrival *arrival = chip->rbend.arrival;
    chip_moment_note(chip, CHIP_PCI_START);
    if (!dma->is_last)
        return;
    chip->wire.drain(chip->wire.context, chip, arrival->stay, dma->request.end);
}

static void state_patlb(struct chip *chip)
{
    struct rbend *rbend = &chip->rbend;
    struct chip_packet *packet = rbend->arrival->packet;
    const struct chip_header *header = &packet->header;
    uint64_t virtual = rbend->virtual + rbend->done, physical;
    if (!patlb_find(chip, job_key(header->pgid, header->target_pid), virtual, &physical)) {
        module_suspend(chip, CHIP_RBEND, CHIP_PATLB_MISS);
        return;
    }
    struct dma *dma = dma_make(chip, PCI_WRITE);
    if (!dma)
        return;
    dma->packet = packet;
    dma->physical = physical;
    dma->at = rbend->done;
    dma->length = part_length(chip, virtual, header->length - rbend->done);
    rbend->done += dma->length;
    dma->is_last = rbend->done == header->length;
    dma->request.data_ready = rbend->arrival->tail;
    dma->started = write_started;
    dma->ended = payload_written;
    dma_begin(chip, dma);
    if (dma->is_last)
        module_rest(chip, CHIP_RBEND, B_DMA);
    else
        module_go(chip, CHIP_RBEND, B_PATLB, chip->constants->rbend_cycles);
}

void rbend_step(struct chip *chip, uint32_t state)
{
    if (state == B_PATLB)
        state_patlb(chip);
}
