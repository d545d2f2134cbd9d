/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What firmware has the DMAC do: words between the host and a register, a packet's payload to the
 * host. All of it needs the page of PATLB_PAGE: once that is unpinned, nothing happens.
 */
#include "sim/chip/cpu.h"
#include "sim/chip/registers.h"

#include <string.h>

#define WORD_BYTES 8

/* A transfer of this kind at DMAC_HOST. NULL: the page is unpinned (0 in *result), or the host has
 * no such memory. */
static struct dma *transfer_make(struct chip *chip, enum pci_kind kind, uint32_t length,
                                 int *result)
{
    const struct firmware *firmware = &chip->firmware;
    *result = 0;
    if (!firmware->patlb.is_open)
        return NULL;
    *result = PROCESSOR_BUS_ERROR;
    if (!host_memory_has(chip->host, firmware->dma_host, length))
        return NULL;
    *result = 0;
    struct dma *dma = dma_make(chip, kind);
    if (!dma)
        return NULL;
    dma->physical = firmware->dma_host;
    dma->length = length;
    return dma;
}

static void word_has_come(struct chip *chip, struct dma *dma)
{
    memcpy(&chip->firmware.dma_data, dma->packet->payload, WORD_BYTES);
    chip->firmware.is_reading = false;
    chip_packet_free(chip, dma->packet);
}

static int word_fetch(struct chip *chip)
{
    int result;
    if (chip->firmware.is_reading)
        return PROCESSOR_BUS_ERROR;
    struct dma *dma = transfer_make(chip, PCI_READ, WORD_BYTES, &result);
    if (!dma)
        return result;
    dma->packet = chip_packet_make(chip);
    if (!dma->packet)
        return 0;
    chip->firmware.is_reading = true;
    dma->ended = word_has_come;
    dma_begin(chip, dma);
    return 0;
}

static int word_send(struct chip *chip)
{
    int result;
    struct dma *dma = transfer_make(chip, PCI_WRITE, WORD_BYTES, &result);
    if (!dma)
        return result;
    dma->flag = chip->firmware.dma_data;
    dma_begin(chip, dma);
    return 0;
}

/* Only one at a time: its outcome has one register. */
static int word_send_if(struct chip *chip)
{
    struct firmware *firmware = &chip->firmware;
    int result;
    if (firmware->if_state == IF_RUNS)
        return PROCESSOR_BUS_ERROR;
    firmware->if_state = IF_DIFFERS; /* nothing of it may be there any more */
    struct dma *dma = transfer_make(chip, PCI_WRITE, WORD_BYTES, &result);
    if (!dma)
        return result;
    firmware->if_state = IF_RUNS;
    dma->flag = firmware->dma_data;
    dma->is_conditional = true;
    dma->expected = firmware->dma_old;
    dma_begin(chip, dma);
    return 0;
}

static void payload_has_gone(struct chip *chip, struct dma *dma)
{
    (void)dma;
    chip->firmware.is_moving = false;
}

/* RFend keeps the packet: it leaves the FIFO when firmware lets RFend go on. */
static int payload_send(struct chip *chip, uint32_t at)
{
    struct firmware *firmware = &chip->firmware;
    const struct arrival *arrival = chip->rfend.current;
    int result;
    if (firmware->is_moving || !chip->modules[CHIP_RFEND].is_suspended || !arrival)
        return PROCESSOR_BUS_ERROR;
    const struct chip_header *header = &arrival->packet->header;
    if (header->type == CHIP_PACKET_PULL_REQUEST || firmware->dma_length == 0 ||
        at > header->length || firmware->dma_length > header->length - at)
        return PROCESSOR_BUS_ERROR;
    struct dma *dma = transfer_make(chip, PCI_WRITE, firmware->dma_length, &result);
    if (!dma)
        return result;
    dma->packet = arrival->packet;
    dma->at = at;
    dma->request.data_ready = arrival->tail;
    dma->ended = payload_has_gone;
    firmware->is_moving = true;
    dma_begin(chip, dma);
    return 0;
}

int cpu_dma_read(const struct chip *chip, uint32_t address, uint32_t *value)
{
    const struct firmware *firmware = &chip->firmware;
    switch (address) {
    case DMAC_HOST:
    case DMAC_HOST_HIGH:
        *value = half_of(firmware->dma_host, address == DMAC_HOST_HIGH);
        return 0;
    case DMAC_LENGTH:
        *value = firmware->dma_length;
        return 0;
    case DMAC_DATA:
    case DMAC_DATA_HIGH:
        *value = half_of(firmware->dma_data, address == DMAC_DATA_HIGH);
        return 0;
    case DMAC_OLD:
    case DMAC_OLD + 4:
        *value = half_of(firmware->dma_old, address != DMAC_OLD);
        return 0;
    case DMAC_READ:
        *value = firmware->is_reading;
        return 0;
    case DMAC_IF:
        *value = firmware->if_state;
        return 0;
    case DMAC_FIFO:
        *value = firmware->is_moving;
        return 0;
    default:
        return PROCESSOR_BUS_ERROR;
    }
}

int cpu_dma_write(struct chip *chip, uint32_t address, uint32_t value)
{
    struct firmware *firmware = &chip->firmware;
    switch (address) {
    case DMAC_HOST:
    case DMAC_HOST_HIGH:
        half_set(&firmware->dma_host, address == DMAC_HOST_HIGH, value);
        return 0;
    case DMAC_LENGTH:
        firmware->dma_length = value;
        return 0;
    case DMAC_DATA:
    case DMAC_DATA_HIGH:
        half_set(&firmware->dma_data, address == DMAC_DATA_HIGH, value);
        return 0;
    case DMAC_OLD:
    case DMAC_OLD + 4:
        half_set(&firmware->dma_old, address != DMAC_OLD, value);
        return 0;
    case DMAC_GO:
        return word_send(chip);
    case DMAC_READ:
        return word_fetch(chip);
    case DMAC_IF:
        return word_send_if(chip);
    case DMAC_FIFO:
        return payload_send(chip, value);
    default:
        return PROCESSOR_BUS_ERROR;
    }
}
