/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Between the firmware, which is code for the on-chip CPU (firmware/), and the chip: what it sees,
 * and the handlers that it leaves to the model (INTC_DEFER), whose work is done here and whose time
 * is a constant: atomic operations, which the thesis's chip has not, LOCK and UNLOCK, and VPUSH all
 * in software.
 */
#include "sim/chip/cpu.h"

#include <string.h>

static const enum chip_module order[] = {CHIP_RFEND, CHIP_REPLIER, CHIP_RBEND, CHIP_INITIATOR};

void chip_cpu_slow(struct chip *chip, uint32_t factor)
{
    chip->cpu_factor = factor > 0 ? factor : 1;
}

uint32_t firmware_pending(const struct chip *chip)
{
    /* a second message must not take the slot of one that is still being delivered */
    return chip->firmware.is_delivering ? chip->interrupts & ~(1u << CHIP_RFEND) : chip->interrupts;
}

void firmware_interrupt(struct chip *chip)
{
    if (!chip->firmware.is_deferred)
        cpu_wake(chip);
}

void firmware_busy(struct chip *chip)
{
    uint32_t pending = firmware_pending(chip);
    for (size_t i = sizeof(order) / sizeof(order[0]); i-- > 0;) {
        if (pending >> order[i] & 1)
            chip->firmware.serving = order[i];
    }
    chip->firmware.begin = sim_now(chip->sim);
    module_rest(chip, CHIP_CPU, C_HANDLER + chip->firmware.serving);
}

void firmware_idle(struct chip *chip)
{
    if (chip->modules[CHIP_CPU].state == C_POLL)
        return;
    chip->count.cpu += sim_now(chip->sim) - chip->firmware.begin;
    module_rest(chip, CHIP_CPU, C_POLL);
}

/* ---- What is left to the model --------------------------------------------------------------- */

static int64_t deferred_cycles(const struct chip *chip, enum chip_module module)
{
    const struct sim_constants *c = chip->constants;
    if (module == CHIP_INITIATOR)
        return c->cpu_lock_cycles;
    const struct chip_header *header = &chip->rfend.current->packet->header;
    if (chip->modules[CHIP_RFEND].cause == CHIP_RVATLB_MISS)
        return c->cpu_vpush_soft_cycles;
    if (header->type == CHIP_PACKET_LOCK_REQUEST || header->type == CHIP_PACKET_LOCK_RESERVE)
        return c->cpu_lock_cycles;
    return header->type == CHIP_PACKET_ATOMIC ? c->cpu_atomic_cycles : c->cpu_discard_cycles;
}

/* The constant counts from when the CPU could begin: part of it has passed. */
int firmware_defer(struct chip *chip, enum chip_module module)
{
    const struct sim_constants *c = chip->constants;
    /* stopped, and not the packet that the model is delivering already */
    if (!chip->modules[module].is_suspended ||
        (module == CHIP_RFEND && chip->firmware.is_delivering))
        return PROCESSOR_BUS_ERROR;
    bool is_special =
        (module == CHIP_INITIATOR && chip->modules[module].cause == CHIP_SPECIAL_REQUEST) ||
        (module == CHIP_RFEND && chip->modules[module].cause == CHIP_SPECIAL_PACKET) ||
        (module == CHIP_RFEND && chip->modules[module].cause == CHIP_RVATLB_MISS &&
         vpush_is_for_ring(chip, &chip->rfend.current->packet->header));
    if (!is_special)
        return PROCESSOR_BUS_ERROR;
    int64_t registers = 2 * c->cpu_read_cycles + c->cpu_write_cycles; /* cause, key; state */
    int64_t cycles = deferred_cycles(chip, module) * chip->cpu_factor * 100 / c->cpu_percent;
    sim_time end = chip->firmware.cpu.noticed + chip_cycles(chip, registers + cycles);
    sim_time now = sim_now(chip->sim);
    chip->firmware.is_deferred = true;
    chip->firmware.serving = module;
    sim_post(chip->sim, end > now ? end : now,
             (struct sim_event){chip->actor, EVENT_STEP, CHIP_CPU});
    return 0;
}

static void rfend_serve(struct chip *chip)
{
    const struct chip_header *header = &chip->rfend.current->packet->header;
    if (chip->modules[CHIP_RFEND].cause == CHIP_RVATLB_MISS)
        vpush_soft(chip);
    else if (header->type == CHIP_PACKET_ATOMIC)
        atomic_serve(chip);
    else if (lock_packet(chip))
        rfend_consume(chip);
    else
        rfend_discard(chip);
}

static void deferred_serve(struct chip *chip)
{
    enum chip_module module = chip->firmware.serving;
    chip->interrupts &= ~(1u << module);
    if (module == CHIP_RFEND)
        rfend_serve(chip);
    else if (lock_request(chip))
        initiator_complete(chip);
    else
        initiator_cancel(chip);
    chip->firmware.is_deferred = false;
    cpu_resume(chip);
}

void firmware_answer(struct chip *chip, const struct chip_header *asked, const uint64_t *words,
                     uint32_t count)
{
    struct chip_packet *packet = asked->flag ? chip_packet_make(chip) : NULL;
    if (!packet)
        return;
    header_answer(asked, &packet->header);
    packet->header.type = CHIP_PACKET_ACK;
    packet->header.local = asked->flag;
    packet->header.length = count * (uint32_t)sizeof(words[0]);
    memcpy(packet->payload, words, packet->header.length);
    packet->origin = CHIP_CPU;
    send_join(chip, packet, chip->constants->swi_tx_cycles);
}

void firmware_step(struct chip *chip, uint32_t state)
{
    (void)state;
    if (chip->firmware.is_deferred)
        deferred_serve(chip);
    else
        cpu_step(chip);
}
