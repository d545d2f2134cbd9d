/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the processor's loads and stores do to the chip; those to the modules with take-over are in
 * take_over.c. Everything is checked: whatever firmware writes, the model stays whole, and what
 * makes no sense is a bus error.
 */
#include "sim/chip/registers.h"
#include "sim/chip/cpu.h"

#include <stdlib.h>
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
    chip->count.made++;
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
    case CHIP_NODE:
        *value = chip->number;
        return 0;
    case HOST_ENDED:
        if (firmware->ended_count == 0)
            return PROCESSOR_BUS_ERROR;
        *value = firmware->ended[0];
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
    return cpu_dma_read(chip, address, value);
}

/* INTC_HOST goes when the last of them does. */
static int ended_next(struct chip *chip)
{
    struct firmware *firmware = &chip->firmware;
    if (firmware->ended_count == 0)
        return PROCESSOR_BUS_ERROR;
    firmware->ended_count--;
    memmove(firmware->ended, firmware->ended + 1,
            firmware->ended_count * sizeof(firmware->ended[0]));
    if (firmware->ended_count == 0)
        chip->interrupts &= ~(uint32_t)INTC_HOST;
    return 0;
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
        chip->interrupts &= ~value | INTC_HOST;
        return 0;
    case HOST_LISTEN:
        firmware->listens = value & 1;
        return 0;
    case HOST_ENDED:
        return ended_next(chip);
    case SEND_GO:
        return packet_send(chip);
    default:
        break;
    }
    if (address >= RVATLB_JOB && address < PAGES_SLOTS)
        return tlb_write(&firmware->rvatlb, &chip->rvatlb, address - RVATLB_JOB, value);
    if (address >= PATLB_JOB && address < RVATLB_JOB)
        return tlb_write(&firmware->patlb, &chip->patlb, address - PATLB_JOB, value);
    return cpu_dma_write(chip, address, value);
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

/* The firmware's own part of SDRAM. NULL: memory is out, and the world stops. */
static uint32_t *work_word(struct chip *chip, uint32_t address)
{
    struct firmware *firmware = &chip->firmware;
    if (!firmware->work)
        firmware->work = calloc(1, SDRAM_WORK_BYTES);
    if (!firmware->work) {
        sim_starve(chip->sim);
        return NULL;
    }
    return &firmware->work[(address - SDRAM_WORK) / sizeof(firmware->work[0])];
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

static bool is_work(uint32_t address)
{
    return address - SDRAM_WORK < SDRAM_WORK_BYTES;
}

int register_read(struct chip *chip, uint32_t address, uint32_t *value)
{
    enum chip_module module = block_of(address);
    if (is_sdram(address))
        return sdram_read(chip, address, value);
    const uint32_t *work = is_work(address) ? work_word(chip, address) : NULL;
    if (is_work(address)) {
        *value = work ? *work : 0;
        return (int)chip->constants->cpu_sdram_cycles;
    }
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
    uint32_t *work = is_work(address) ? work_word(chip, address) : NULL;
    if (work)
        *work = value;
    if (is_work(address))
        return (int)chip->constants->cpu_sdram_cycles;
    int result = module < CHIP_MODULES
                     ? module_register_write(chip, module, address % CHIP_BLOCK_BYTES, value)
                 : ring ? ring_write(chip, ring, address % 0x40, value)
                        : single_write(chip, address, value);
    return result < 0 ? result : (int)chip->constants->cpu_write_cycles;
}

bool register_is_own(uint32_t address)
{
    return address - SEND_HEADER < 4 * CHIP_HEADER_REGISTERS ||
           address - SEND_DATA < 4 * CHIP_SEND_REGISTERS || is_work(address);
}

bool register_is_still(const struct chip *chip, uint32_t address)
{
    enum chip_module module = block_of(address);
    return module < CHIP_MODULES ? chip->modules[module].is_suspended : register_is_own(address);
}
