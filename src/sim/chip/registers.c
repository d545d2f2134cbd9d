/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the processor's loads and stores do to the chip; those to the modules with take-over are in
 * take_over.c. Everything is checked: whatever firmware writes, the model stays whole, and what
 * makes no sense is a bus error.
 */
#include "sim/chip/registers.h"
#include "sim/chip/cpu.h"

#include <string.h>

_Static_assert(sizeof(struct tlb_entry) == SDRAM_SLOT_BYTES, "the tables as firmware reads them");

/* Registers of PATLB and RVATLB, from their first on. */
static int tlb_read(struct tlb_port *port, struct tlb *tlb, uint32_t at, uint32_t *value)
{
    switch (at) {
    case 0x00:
        *value = port->job;
        return 0;
    case 0x04:
    case 0x08:
        *value = half_of(port->tag, at == 0x08);
        return 0;
    case 0x0c:
    case 0x10:
        *value = half_of(port->value, at == 0x10);
        return 0;
    case 0x14:
        *value = port->was_put;
        return 0;
    case 0x1c:
        *value = port->is_open;
        return 0;
    case 0x18:
        *value = tlb_find(tlb, port->job, port->tag, &port->value);
        return 0;
    default:
        return PROCESSOR_BUS_ERROR;
    }
}

static int tlb_write(struct tlb_port *port, struct tlb *tlb, uint32_t at, uint32_t value)
{
    switch (at) {
    case 0x00:
        port->job = value;
        return 0;
    case 0x04:
    case 0x08:
        half_set(&port->tag, at == 0x08, value);
        port->is_open = true;
        return 0;
    case 0x0c:
    case 0x10:
        half_set(&port->value, at == 0x10, value);
        return 0;
    case 0x14:
        port->was_put = port->is_open;
        if (port->is_open)
            tlb_put(tlb, port->job, port->tag, port->value);
        return 0;
    default:
        return PROCESSOR_BUS_ERROR;
    }
}

void tlb_port_drop(struct tlb_port *port, uint32_t job, uint64_t tag)
{
    if (port->job == job && port->tag == tag)
        port->is_open = false;
}

static uint32_t mode(const struct chip *chip)
{
    return (chip->constants->soft_push ? MODE_SOFT_PUSH : 0) |
           (chip->constants->miss_loops ? MODE_MISS_LOOPS : 0) |
           (chip->constants->soft_vpush ? MODE_SOFT_VPUSH : 0) |
           (chip->constants->hardware_vpush ? MODE_HARDWARE_VPUSH : 0);
}

static void word_has_come(struct chip *chip, struct dma *dma)
{
    memcpy(&chip->firmware.dma_data, dma->packet->payload, sizeof(chip->firmware.dma_data));
    chip->firmware.is_reading = false;
    chip_packet_free(chip, dma->packet);
}

/* Eight bytes from the host. */
static int word_fetch(struct chip *chip)
{
    struct firmware *firmware = &chip->firmware;
    if (!firmware->patlb.is_open)
        return 0;
    if (firmware->is_reading ||
        !host_memory_has(chip->host, firmware->dma_host, sizeof(firmware->dma_data)))
        return PROCESSOR_BUS_ERROR;
    struct chip_packet *packet = chip_packet_make(chip);
    struct dma *dma = packet ? dma_make(chip, PCI_READ) : NULL;
    if (!dma)
        return 0;
    firmware->is_reading = true;
    dma->packet = packet;
    dma->physical = firmware->dma_host;
    dma->length = sizeof(firmware->dma_data);
    dma->ended = word_has_come;
    dma_begin(chip, dma);
    return 0;
}

/* Eight bytes to the host. */
static int word_send(struct chip *chip)
{
    const struct firmware *firmware = &chip->firmware;
    if (!firmware->patlb.is_open)
        return 0;
    if (!host_memory_has(chip->host, firmware->dma_host, sizeof(firmware->dma_data)))
        return PROCESSOR_BUS_ERROR;
    struct dma *dma = dma_make(chip, PCI_WRITE);
    if (!dma)
        return 0;
    dma->physical = firmware->dma_host;
    dma->length = sizeof(dma->flag);
    dma->flag = firmware->dma_data;
    dma_begin(chip, dma);
    return 0;
}

static int packet_send(struct chip *chip)
{
    const struct firmware *firmware = &chip->firmware;
    struct chip_header header;
    chip_header_unpack(&header, firmware->send_header);
    header.source_node = (uint16_t)chip->number;
    if (header.length > sizeof(firmware->send_data) || header.type == CHIP_PACKET_PULL_REPLY ||
        !chip->wire.has(chip->wire.context, header.target_node))
        return PROCESSOR_BUS_ERROR;
    struct chip_packet *packet = chip_packet_make(chip);
    if (!packet)
        return 0;
    packet->header = header;
    memcpy(packet->payload, firmware->send_data, header.length);
    packet->origin = CHIP_CPU;
    send_join(chip, packet, chip->constants->swi_tx_cycles);
    return 0;
}

static int single_read(struct chip *chip, uint32_t address, uint32_t *value)
{
    struct firmware *firmware = &chip->firmware;
    uint32_t header = (address - SEND_HEADER) / 4, data = (address - SEND_DATA) / 4;
    if (header < CHIP_HEADER_REGISTERS || data < CHIP_SEND_REGISTERS) {
        *value = header < CHIP_HEADER_REGISTERS
                     ? half_of(firmware->send_header[header / 2], header % 2)
                     : half_of(firmware->send_data[data / 2], data % 2);
        return 0;
    }
    switch (address) {
    case CHIP_MODE:
        *value = mode(chip);
        return 0;
    case CHIP_MTU:
        *value = (uint32_t)chip->constants->mtu_bytes;
        return 0;
    case PAGES_SLOTS:
        *value = chip->pages.capacity;
        return 0;
    case SEGMENTS_SLOTS:
        *value = chip->segments.capacity;
        return 0;
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
    case DMAC_READ:
        *value = firmware->is_reading;
        return 0;
    case RINGS:
        *value = firmware->ring_count < CHIP_RINGS_MOST ? firmware->ring_count : CHIP_RINGS_MOST;
        return 0;
    default:
        break;
    }
    if (address >= RVATLB_JOB && address < PAGES_SLOTS)
        return tlb_read(&firmware->rvatlb, &chip->rvatlb, address - RVATLB_JOB, value);
    if (address >= PATLB_JOB && address < RVATLB_JOB)
        return tlb_read(&firmware->patlb, &chip->patlb, address - PATLB_JOB, value);
    return PROCESSOR_BUS_ERROR;
}

static int single_write(struct chip *chip, uint32_t address, uint32_t value)
{
    struct firmware *firmware = &chip->firmware;
    uint32_t header = (address - SEND_HEADER) / 4, data = (address - SEND_DATA) / 4;
    if (header < CHIP_HEADER_REGISTERS || data < CHIP_SEND_REGISTERS) {
        half_set(header < CHIP_HEADER_REGISTERS ? &firmware->send_header[header / 2]
                                                : &firmware->send_data[data / 2],
                 address / 4 % 2, value);
        return 0;
    }
    switch (address) {
    case INTC_CLEAR:
        chip->interrupts &= ~value;
        return 0;
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
    case DMAC_GO:
        return word_send(chip);
    case DMAC_READ:
        return word_fetch(chip);
    case SEND_GO:
        return packet_send(chip);
    default:
        break;
    }
    if (address >= RVATLB_JOB && address < PAGES_SLOTS)
        return tlb_write(&firmware->rvatlb, &chip->rvatlb, address - RVATLB_JOB, value);
    if (address >= PATLB_JOB && address < RVATLB_JOB)
        return tlb_write(&firmware->patlb, &chip->patlb, address - PATLB_JOB, value);
    return PROCESSOR_BUS_ERROR;
}

/* The module in whose block an address is; CHIP_MODULES: in none's. */
static enum chip_module block_of(uint32_t address)
{
    uint32_t block = (address - CHIP_REGISTERS_FIRST) / CHIP_BLOCK_BYTES;
    return block >= 1 && block <= MODULE_COUNT ? (enum chip_module)(block - 1) : CHIP_MODULES;
}

/* The ring in whose block an address is; NULL: in none's. */
static struct ring *ring_of(const struct chip *chip, uint32_t address)
{
    uint32_t number = (address - CHIP_RING_BLOCK(0u)) / 0x40;
    return number < chip->firmware.ring_count && number < CHIP_RINGS_MOST
               ? &chip->firmware.rings[number]
               : NULL;
}

static int ring_read(const struct ring *ring, uint32_t at, uint32_t *value)
{
    const struct chip_ring *shape = &ring->shape;
    const uint32_t values[] = {job_key(shape->pgid, shape->pid),
                               shape->sid,
                               (uint32_t)(shape->size / CHIP_RING_SLOT),
                               (shape->refuses ? RING_REFUSES : 0u) |
                                   (shape->has_table ? RING_HAS_TABLE : 0u),
                               half_of(shape->start, false),
                               half_of(shape->start, true),
                               half_of(shape->pointer, false),
                               half_of(shape->pointer, true),
                               (uint32_t)(ring->received / CHIP_RING_SLOT),
                               (uint32_t)(ring->delivered / CHIP_RING_SLOT),
                               (uint32_t)(ring->released / CHIP_RING_SLOT)};
    if (at / 4 >= sizeof(values) / sizeof(values[0]))
        return PROCESSOR_BUS_ERROR;
    *value = values[at / 4];
    return 0;
}

/* A count of messages whose upper bits the register has not. */
static void messages_set(uint64_t *bytes, uint32_t value)
{
    int32_t more = (int32_t)(value - (uint32_t)(*bytes / CHIP_RING_SLOT));
    *bytes += (uint64_t)((int64_t)more * CHIP_RING_SLOT);
}

static int ring_write(struct chip *chip, struct ring *ring, uint32_t at, uint32_t value)
{
    switch (at) {
    case RING_RECEIVED:
        messages_set(&ring->received, value);
        return 0;
    case RING_DELIVERED:
        messages_set(&ring->delivered, value);
        chip->count.vpushes++;
        return 0;
    case RING_WAIT:
        if (!chip->modules[CHIP_RFEND].is_suspended)
            return PROCESSOR_BUS_ERROR;
        chip->firmware.waits_for_room = value & 1;
        if (value & 1)
            chip->interrupts &= ~(1u << CHIP_RFEND);
        return 0;
    default:
        return PROCESSOR_BUS_ERROR;
    }
}

static int sdram_read(const struct chip *chip, uint32_t address, uint32_t *value)
{
    const struct table *table = address < SDRAM_SEGMENTS ? &chip->pages : &chip->segments;
    uint32_t at = (address - SDRAM_PAGES) % SDRAM_TABLE_BYTES;
    if (at / SDRAM_SLOT_BYTES >= table->capacity)
        return PROCESSOR_BUS_ERROR;
    memcpy(value, (const char *)table->slots + at, sizeof(*value));
    return (int)chip->constants->cpu_sdram_cycles;
}

static bool is_sdram(uint32_t address)
{
    return address - SDRAM_PAGES < 2 * SDRAM_TABLE_BYTES;
}

int register_read(struct chip *chip, uint32_t address, uint32_t *value)
{
    enum chip_module module = block_of(address);
    if (is_sdram(address))
        return sdram_read(chip, address, value);
    const struct ring *ring = ring_of(chip, address);
    int result = module < CHIP_MODULES
                     ? module_register_read(chip, module, address % CHIP_BLOCK_BYTES, value)
                 : ring ? ring_read(ring, address % 0x40, value)
                        : single_read(chip, address, value);
    return result < 0 ? result : (int)chip->constants->cpu_read_cycles;
}

int register_write(struct chip *chip, uint32_t address, uint32_t value)
{
    enum chip_module module = block_of(address);
    struct ring *ring = ring_of(chip, address);
    int result = module < CHIP_MODULES
                     ? module_register_write(chip, module, address % CHIP_BLOCK_BYTES, value)
                 : ring ? ring_write(chip, ring, address % 0x40, value)
                        : single_write(chip, address, value);
    return result < 0 ? result : (int)chip->constants->cpu_write_cycles;
}

bool register_is_still(const struct chip *chip, uint32_t address)
{
    enum chip_module module = block_of(address);
    return module < CHIP_MODULES ? chip->modules[module].is_suspended
                                 : address - SEND_HEADER < 4 * CHIP_HEADER_REGISTERS;
}
