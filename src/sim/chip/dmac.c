/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The DMA controller, and the way from Send FIFO to the link. Setting up one transfer overlaps the
 * one before: the request FIFO and the data paths are separate stages. PCI is the master of every
 * transfer here: the packet FIFOs are asked only when it really starts.
 */
#include "sim/chip/cpu.h"
#include "sim/chip/registers.h"

#include "base/array.h"

#include <stdlib.h>

/* NULL when memory is out: the world then stops. */
struct dma *dma_make(struct chip *chip, enum pci_kind kind)
{
    struct dma *dma = chip->free_dmas;
    if (dma) {
        chip->free_dmas = dma->next;
    } else {
        dma = calloc(1, sizeof(*dma));
        if (!dma || !array_grow(&chip->dmas, &chip->dma_room, (size_t)chip->dma_count + 1)) {
            free(dma);
            sim_stop(chip->sim);
            return NULL;
        }
        dma->number = chip->dma_count;
        chip->dmas[chip->dma_count++] = dma;
    }
    uint32_t number = dma->number;
    *dma = (struct dma){.chip = chip, .number = number, .request = {.kind = kind}};
    return dma;
}

static void dma_give(struct chip *chip, struct dma *dma)
{
    dma->length = 0; /* see chip_touches() */
    dma->packet = NULL;
    dma->next = chip->free_dmas;
    chip->free_dmas = dma;
}

static void pci_started(void *context, struct pci_request *request)
{
    struct dma *dma = context;
    if (dma->started)
        dma->started(dma->chip, dma);
}

/* What it writes, to memory. A conditional one changes nothing if something else is there. */
static void dma_write(struct chip *chip, struct dma *dma)
{
    const void *source = dma->packet ? (const void *)(dma->packet->payload + dma->at) : &dma->flag;
    uint64_t there = dma->expected;
    dma->is_posted = false;
    if (dma->is_conditional)
        host_memory_read(chip->host, dma->physical, &there, sizeof(there));
    if (there == dma->expected)
        host_memory_write(chip->host, dma->physical, source, dma->length);
    if (dma->is_conditional)
        chip->firmware.if_state = there == dma->expected ? 0 : IF_DIFFERS;
}

/* A read finds what was written before it: it drives the bridge's posted writes into memory. */
static void posted_flush(struct chip *chip, const struct dma *read)
{
    for (uint32_t i = 0; i < chip->dma_count; i++) {
        struct dma *dma = chip->dmas[i];
        if (dma->is_posted && dma->physical < read->physical + read->length &&
            read->physical < dma->physical + dma->length)
            dma_write(chip, dma);
    }
}

/* The last word has passed. What was written is seen by a poll a little later. */
static void pci_ended(void *context, struct pci_request *request)
{
    struct dma *dma = context;
    struct chip *chip = dma->chip;
    if (request->kind == PCI_READ) {
        posted_flush(chip, dma);
        host_memory_read(chip->host, dma->physical, dma->packet->payload + dma->at, dma->length);
    } else {
        dma->is_posted = true;
        chip_post(chip, chip->constants->post_cycles + chip->constants->see_cycles, EVENT_SEEN,
                  dma->number);
    }
    if (dma->ended)
        dma->ended(chip, dma);
    if (request->kind == PCI_READ)
        dma_give(chip, dma);
}

static void dma_seen(struct chip *chip, struct dma *dma)
{
    if (dma->is_posted)
        dma_write(chip, dma);
    host_memory_written(chip->host, dma->physical, dma->length);
    if (dma->packet)
        chip_packet_free(chip, dma->packet);
    dma_give(chip, dma);
}

static bool is_inside(uint64_t at, uint64_t physical, uint64_t length)
{
    return at >= physical && at - physical < length;
}

bool chip_touches(const struct chip *chip, uint64_t physical, uint64_t length)
{
    uint32_t sending = chip->modules[CHIP_INITIATOR].state;
    uint32_t answering = chip->modules[CHIP_REPLIER].state;
    /* the address is found, the DMA not yet asked for */
    if ((sending == I_CHK1 || sending == I_CHK2) &&
        is_inside(chip->initiator.physical, physical, length))
        return true;
    if ((answering == R_CHK1 || answering == R_CHK2) &&
        is_inside(chip->replier.physical, physical, length))
        return true;
    for (uint32_t i = 0; i < chip->dma_count; i++) {
        const struct dma *dma = chip->dmas[i];
        if (dma->length > 0 && dma->physical < physical + length &&
            physical < dma->physical + dma->length)
            return true;
    }
    return false;
}

void dma_begin(struct chip *chip, struct dma *dma)
{
    /* an address that firmware has entered into PATLB */
    if (!host_memory_has(chip->host, dma->physical, dma->length)) {
        cpu_fail(chip, "a DMA to where the host has no memory, by what PATLB_PUT entered");
        dma->physical = dma->length = 0;
    }
    /* The aligner moves whole words: those that the range touches. */
    uint64_t first = dma->physical / 8, last = (dma->physical + dma->length + 7) / 8;
    dma->request.bytes = (uint32_t)(last - first) * 8;
    dma->request.physical = first * 8;
    dma->request.started = pci_started;
    dma->request.ended = pci_ended;
    dma->request.context = dma;
    if (dma->packet && dma->request.kind == PCI_WRITE)
        dma->packet->holds++; /* until it is seen */
    chip_post(chip, chip->constants->dma_cycles, EVENT_DMA, dma->number);
}

void dma_event(struct chip *chip, enum chip_event event, uint32_t number)
{
    struct dma *dma = chip->dmas[number];
    if (event == EVENT_DMA)
        pci_ask(chip->host, &dma->request);
    else
        dma_seen(chip, dma);
}

void send_join(struct chip *chip, struct chip_packet *packet, int64_t cycles)
{
    packet->next = NULL;
    *(chip->joining.last ? &chip->joining.last->next : &chip->joining.first) = packet;
    chip->joining.last = packet;
    chip_post(chip, cycles, EVENT_SEND, 0);
}

void send_start(struct chip *chip)
{
    struct chip_packet *packet = chip->joining.first;
    chip->joining.first = packet->next;
    if (!packet->next)
        chip->joining.last = NULL;
    chip_moment_note(chip, CHIP_TX_START);
    if (trace_has_packets(chip->trace))
        packet_note(chip, packet, true);
    chip->wire.send(chip->wire.context, chip, packet);
}
