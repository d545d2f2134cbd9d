/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SWI's receive FIFO and RFend: reads the header, finds the segment's virtual address, hands over
 * to RBend (data to write) or Replier (data to read). The FIFO is strict: RFend cannot begin a
 * packet before the payload of the one before has been drained, unless double_buffer asks what if.
 */
#include "sim/chip/parts.h"

#include <stdlib.h>

/* Nobody wants the payload: it leaves the FIFO as it comes. */
static void arrival_drop(struct chip *chip, struct arrival *arrival)
{
    sim_time now = sim_now(chip->sim);
    chip->wire.drain(chip->wire.context, chip, arrival->stay,
                     arrival->tail > now ? arrival->tail : now);
    chip_packet_free(chip, arrival->packet);
    arrival->next = chip->free_arrivals;
    chip->free_arrivals = arrival;
}

void chip_receive(struct chip *chip, struct chip_packet *packet, uint32_t stay, sim_time tail)
{
    struct rfend *rfend = &chip->rfend;
    struct arrival *arrival = chip->free_arrivals;
    if (arrival)
        chip->free_arrivals = arrival->next;
    else
        arrival = malloc(sizeof(*arrival));
    if (!arrival) {
        sim_stop(chip->sim);
        return;
    }
    *arrival = (struct arrival){.packet = packet, .stay = stay, .tail = tail};
    *(rfend->last ? &rfend->last->next : &rfend->first) = arrival;
    rfend->last = arrival;
    chip->count.received++;
    chip_moment_note(chip, CHIP_ARRIVED);
    if (trace_has_packets(chip->trace))
        packet_note(chip, packet, false);
    rfend_next(chip);
}

/* The measurement of 6.1.3 in which the receiver takes no part. */
static void swi_discard(struct chip *chip)
{
    struct arrival *arrival = chip->rfend.first;
    chip->rfend.first = NULL;
    chip->rfend.last = NULL;
    chip->count.discarded++;
    arrival_drop(chip, arrival);
}

void rfend_next(struct chip *chip)
{
    struct rfend *rfend = &chip->rfend;
    if (!rfend->first || rfend->current || rfend->is_handing)
        return;
    if (chip->constants->swi_discard) {
        swi_discard(chip);
        return;
    }
    if (rfend->payload_waits && !chip->constants->double_buffer)
        return;
    rfend->is_handing = true;
    chip_post(chip, chip->constants->swi_rx_cycles, EVENT_HAND, 0);
}

/* The header's flits, and for what hardware knows also what follows up to the next decision. */
static void header_pass(struct chip *chip)
{
    const struct chip_header *header = &chip->rfend.current->packet->header;
    const struct sim_constants *c = chip->constants;
    const struct module_path path[] = {{F_FLIT0, c->flit_cycles},
                                       {F_FLIT1, c->flit_cycles},
                                       {F_FLIT2, c->flit_cycles},
                                       {F_FLIT3, c->flit_cycles},
                                       {F_RVACHK, c->rvachk_cycles}};
    bool is_plain = header->type >= CHIP_PACKET_PUSH && header->type < CHIP_PACKET_CONTROL;
    if (!is_plain)
        module_go(chip, CHIP_RFEND, F_FLIT0, c->flit_cycles);
    else
        module_pass(chip, CHIP_RFEND, path, header->is_aotf ? 4 : 5);
}

void rfend_hand(struct chip *chip)
{
    struct rfend *rfend = &chip->rfend;
    rfend->is_handing = false;
    rfend->current = rfend->first;
    rfend->first = rfend->first->next;
    if (!rfend->first)
        rfend->last = NULL;
    chip_moment_note(chip, CHIP_RFEND_BEGIN);
    header_pass(chip);
}

static void rfend_end(struct chip *chip)
{
    chip->rfend.current = NULL;
    chip->rfend.skips_rvatlb = chip->rfend.waits = false;
    module_rest(chip, CHIP_RFEND, F_IDLE);
    rfend_next(chip);
}

void rfend_consume(struct chip *chip)
{
    module_release(chip, CHIP_RFEND);
    arrival_drop(chip, chip->rfend.current);
    rfend_end(chip);
}

void rfend_discard(struct chip *chip)
{
    chip->count.discarded++;
    rfend_consume(chip);
}

/* Hands over, or waits in SET4 until RBend or Replier has room. */
static void hand_over(struct chip *chip)
{
    struct rfend *rfend = &chip->rfend;
    struct arrival *arrival = rfend->current;
    const struct chip_header *header = &arrival->packet->header;
    bool is_request = header->type == CHIP_PACKET_PULL_REQUEST;
    bool is_taken = is_request ? replier_take(chip, header, rfend->virtual)
                               : rbend_take(chip, arrival, rfend->virtual);
    if (!is_taken) {
        rfend->waits = true;
        module_rest(chip, CHIP_RFEND, F_SET4);
        module_wait(chip, CHIP_RFEND);
        return;
    }
    rfend->waits = false;
    if (is_request)
        arrival_drop(chip, arrival);
    rfend_end(chip);
}

void rfend_retry(struct chip *chip)
{
    if (chip->rfend.waits && !chip->modules[CHIP_RFEND].is_suspended)
        hand_over(chip);
}

static void flit_next(struct chip *chip, uint32_t state)
{
    const struct chip_header *header = &chip->rfend.current->packet->header;
    bool is_control = state == F_FLIT1 && header->type == CHIP_PACKET_CONTROL;
    bool is_unknown = state == F_FLIT3 && (header->type == 0 || header->type >= CHIP_PACKET_OTHER);
    if (is_control || is_unknown)
        module_suspend(chip, CHIP_RFEND, CHIP_SPECIAL_PACKET);
    else if (state < F_FLIT3)
        module_go(chip, CHIP_RFEND, state + 1, chip->constants->flit_cycles);
    else if (header->is_aotf)
        module_go(chip, CHIP_RFEND, F_AOTF, 2 * chip->constants->set_cycles);
    else
        module_go(chip, CHIP_RFEND, F_RVACHK, chip->constants->rvachk_cycles);
}

/* Segment to virtual address. False: a miss. */
static bool rva_find(struct chip *chip)
{
    struct rfend *rfend = &chip->rfend;
    const struct chip_header *header = &rfend->current->packet->header;
    uint64_t start = 0;
    uint32_t job = job_key(header->pgid, header->target_pid);
    if (!rfend->skips_rvatlb && !tlb_find(&chip->rvatlb, job, header->sid, &start))
        return false;
    rfend->virtual = start + header->offset;
    return true;
}

/* What if hardware knew the ring: it looks whether there is room, and else waits for it. */
static void ring_enter(struct chip *chip)
{
    enum vpush_slot slot = vpush_slot(chip, &chip->rfend.virtual);
    if (slot == VPUSH_GIVEN)
        module_go(chip, CHIP_RFEND, F_SET2,
                  chip->constants->set_cycles + chip->constants->ring_check_cycles);
    else if (slot == VPUSH_WAITS)
        module_rest(chip, CHIP_RFEND, F_RVA);
    else
        module_suspend(chip, CHIP_RFEND, CHIP_RVATLB_MISS);
}

static void state_rva(struct chip *chip)
{
    /* one state fewer to set than without a look-up */
    const struct module_path path[] = {{F_SET2, chip->constants->set_cycles},
                                       {F_SET3, chip->constants->set_cycles}};
    if (chip->constants->hardware_vpush &&
        vpush_is_for_ring(chip, &chip->rfend.current->packet->header))
        ring_enter(chip);
    else if (rva_find(chip))
        module_pass(chip, CHIP_RFEND, path, 2);
    else
        module_suspend(chip, CHIP_RFEND, CHIP_RVATLB_MISS);
}

/* Acks and pull replies bring a virtual address with them. */
static void state_rvachk(struct chip *chip)
{
    struct rfend *rfend = &chip->rfend;
    const struct chip_header *header = &rfend->current->packet->header;
    bool has_segment = header->type == CHIP_PACKET_PUSH || header->type == CHIP_PACKET_PULL_REQUEST;
    const struct module_path path[] = {{F_SET1, chip->constants->set_cycles},
                                       {F_SET2, chip->constants->set_cycles},
                                       {F_SET3, chip->constants->set_cycles}};
    rfend->virtual = header->local;
    if (has_segment)
        module_go(chip, CHIP_RFEND, F_RVA, chip->constants->rva_cycles);
    else
        module_pass(chip, CHIP_RFEND, path, 3);
}

void rfend_step(struct chip *chip, uint32_t state)
{
    switch ((enum rfend_state)state) {
    case F_FLIT0:
    case F_FLIT1:
    case F_FLIT2:
    case F_FLIT3:
        flit_next(chip, state);
        break;
    case F_RVACHK:
    case F_RVACHK2:
        state_rvachk(chip);
        break;
    case F_RVA:
        state_rva(chip);
        break;
    case F_SET1:
    case F_SET2:
        module_go(chip, CHIP_RFEND, state + 1, chip->constants->set_cycles);
        break;
    case F_AOTF:
        if (rva_find(chip))
            module_go(chip, CHIP_RFEND, F_AOTFR, 2 * chip->constants->set_cycles);
        else
            module_suspend(chip, CHIP_RFEND, CHIP_RVATLB_MISS);
        break;
    case F_SET3:
    case F_SET4:
    case F_AOTFR:
        hand_over(chip);
        break;
    case F_IDLE:
    case F_MISS:
        break;
    }
}
