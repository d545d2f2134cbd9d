/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The on-chip CPU: one thing at a time. Its main loop polls the interrupt controller's bits, in the
 * order RFend, Replier, RBend, Initiator, and serves one exception after the other.
 */
#include "sim/chip/parts.h"

#include <string.h>

static const enum chip_module order[] = {CHIP_RFEND, CHIP_REPLIER, CHIP_RBEND, CHIP_INITIATOR};

void chip_cpu_slow(struct chip *chip, uint32_t factor)
{
    chip->cpu_factor = factor > 0 ? factor : 1;
}

/* In cycles of the core, by how fast the CPU is. */
static int64_t cpu_cycles(const struct chip *chip, int64_t cycles)
{
    return cycles * chip->cpu_factor * 100 / chip->constants->cpu_percent;
}

static int64_t special_packet_cycles(const struct chip *chip)
{
    const struct chip_header *header = &chip->rfend.current->packet->header;
    if (header->type == CHIP_PACKET_LOCK_REQUEST || header->type == CHIP_PACKET_LOCK_RESERVE)
        return chip->constants->cpu_lock_cycles;
    return header->type == CHIP_PACKET_ATOMIC ? chip->constants->cpu_atomic_cycles
                                              : chip->constants->cpu_discard_cycles;
}

/* What the handler does besides looking at the module's registers. */
static int64_t action_cycles(const struct chip *chip, enum chip_module module)
{
    const struct sim_constants *c = chip->constants;
    switch (chip->modules[module].cause) {
    case CHIP_PATLB_MISS:
        return c->cpu_patlb_cycles +
               (module == CHIP_INITIATOR && c->soft_push ? c->cpu_soft_push_cycles : 0);
    case CHIP_RVATLB_MISS:
        if (vpush_is_for_ring(chip, &chip->rfend.current->packet->header))
            return vpush_rfend_cycles(chip);
        return c->cpu_rvatlb_cycles;
    case CHIP_BREAKPOINT:
        if (module == CHIP_REPLIER && vpush_is_job(chip, &replier_job(chip)->header))
            return c->cpu_vpush_replier_cycles;
        return c->cpu_discard_cycles;
    case CHIP_SPECIAL_PACKET:
        return special_packet_cycles(chip);
    case CHIP_SPECIAL_REQUEST:
        return c->cpu_lock_cycles;
    default:
        return c->cpu_discard_cycles;
    }
}

static int64_t handler_cycles(const struct chip *chip, enum chip_module module)
{
    const struct sim_constants *c = chip->constants;
    int64_t registers = 2 * c->cpu_read_cycles + c->cpu_write_cycles; /* cause, key; state */
    return registers + cpu_cycles(chip, action_cycles(chip, module));
}

/* The module to serve next, CHIP_MODULES if there is none. */
static enum chip_module pending(const struct chip *chip)
{
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        /* a second message must not take the slot of one that is still being delivered */
        bool must_wait = order[i] == CHIP_RFEND && chip->firmware.is_delivering;
        if (chip->interrupts >> order[i] & 1 && !must_wait)
            return order[i];
    }
    return CHIP_MODULES;
}

void firmware_interrupt(struct chip *chip)
{
    enum chip_module module = pending(chip);
    if (chip->modules[CHIP_CPU].state != C_POLL || module == CHIP_MODULES)
        return;
    chip->count.cpu += chip_cycles(chip, handler_cycles(chip, module));
    chip->firmware.serving = module;
    module_go(chip, CHIP_CPU, C_HANDLER + module,
              cpu_cycles(chip, chip->constants->cpu_poll_cycles) + handler_cycles(chip, module));
}

bool firmware_page_refill(struct chip *chip, uint32_t job, uint64_t virtual)
{
    uint64_t page = virtual / (uint64_t)chip->constants->page_bytes, physical;
    if (!table_find(&chip->pages, job, page, &physical))
        return false;
    tlb_put(&chip->patlb, job, page, physical);
    return true;
}

static void initiator_serve(struct chip *chip, enum chip_exception cause)
{
    const struct initiator *initiator = &chip->initiator;
    uint32_t job = job_key(initiator->header.pgid, initiator->header.source_pid);
    bool is_miss = cause == CHIP_PATLB_MISS;
    bool is_pinned = is_miss &&
                     firmware_page_refill(chip, job, initiator->header.local + initiator->sent);
    if (cause == CHIP_BREAKPOINT)
        module_resume(chip, CHIP_INITIATOR, chip->modules[CHIP_INITIATOR].last_state);
    else if (cause == CHIP_SPECIAL_REQUEST && lock_request(chip))
        initiator_complete(chip);
    else if (is_miss && !is_pinned && chip->constants->miss_loops)
        module_resume(chip, CHIP_INITIATOR, I_IDLE);
    else if (!is_pinned)
        initiator_cancel(chip);
    else if (chip->constants->soft_push)
        initiator_soft(chip);
    else
        module_resume(chip, CHIP_INITIATOR, I_IPA);
}

static void replier_serve(struct chip *chip, enum chip_exception cause)
{
    const struct replier *replier = &chip->replier;
    const struct chip_header *job = &replier_job(chip)->header;
    uint64_t virtual = replier_job(chip)->start + replier->sent;
    if (cause == CHIP_BREAKPOINT && vpush_is_job(chip, job))
        vpush_replier(chip);
    else if (cause == CHIP_BREAKPOINT)
        module_resume(chip, CHIP_REPLIER, chip->modules[CHIP_REPLIER].last_state);
    else if (cause == CHIP_PATLB_MISS &&
             firmware_page_refill(chip, job_key(job->pgid, job->target_pid), virtual))
        module_resume(chip, CHIP_REPLIER, R_RPA);
    else
        replier_cancel(chip);
}

static void rfend_serve(struct chip *chip, enum chip_exception cause)
{
    const struct chip_header *header = &chip->rfend.current->packet->header;
    uint32_t job = job_key(header->pgid, header->target_pid);
    uint64_t start;
    if (cause == CHIP_BREAKPOINT) {
        module_resume(chip, CHIP_RFEND, chip->modules[CHIP_RFEND].last_state);
    } else if (cause == CHIP_RVATLB_MISS && vpush_is_for_ring(chip, header)) {
        vpush_rfend(chip);
    } else if (cause == CHIP_RVATLB_MISS && table_find(&chip->segments, job, header->sid, &start)) {
        tlb_put(&chip->rvatlb, job, header->sid, start);
        module_resume(chip, CHIP_RFEND, F_RVACHK2);
    } else if (cause == CHIP_SPECIAL_PACKET && header->type == CHIP_PACKET_ATOMIC) {
        atomic_serve(chip);
    } else if (cause == CHIP_SPECIAL_PACKET && lock_packet(chip)) {
        rfend_consume(chip);
    } else {
        rfend_discard(chip);
    }
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

static void rbend_serve(struct chip *chip, enum chip_exception cause)
{
    const struct rbend *rbend = &chip->rbend;
    const struct chip_header *header = &rbend->arrival->packet->header;
    uint32_t job = job_key(header->pgid, header->target_pid);
    if (cause == CHIP_BREAKPOINT)
        module_resume(chip, CHIP_RBEND, chip->modules[CHIP_RBEND].last_state);
    else if (cause == CHIP_TIMEOUT)
        rbend_give_up(chip);
    else if (firmware_page_refill(chip, job, rbend->virtual + rbend->done))
        module_resume(chip, CHIP_RBEND, B_PATLB);
    else
        rbend_discard(chip);
}

void firmware_step(struct chip *chip, uint32_t state)
{
    enum chip_module module = chip->firmware.serving;
    if (chip->firmware.is_in_tail) {
        chip->firmware.is_in_tail = false;
        module_rest(chip, CHIP_CPU, C_POLL);
        firmware_interrupt(chip);
        return;
    }
    if (state == C_POLL)
        return;
    enum chip_exception cause = chip->modules[module].cause;
    chip->interrupts &= ~(1u << module);
    module_rest(chip, CHIP_CPU, C_POLL);
    if (module == CHIP_INITIATOR)
        initiator_serve(chip, cause);
    else if (module == CHIP_REPLIER)
        replier_serve(chip, cause);
    else if (module == CHIP_RFEND)
        rfend_serve(chip, cause);
    else
        rbend_serve(chip, cause);
    if (chip->firmware.is_in_tail)
        module_go(chip, CHIP_CPU, C_HANDLER + module,
                  cpu_cycles(chip, chip->constants->cpu_vpush_tail_cycles));
    else
        firmware_interrupt(chip);
}
