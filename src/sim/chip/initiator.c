/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The Initiator: turns requests from windows into packets. A PUSH is cut at pages and at the MTU;
 * while one part's DMA runs the next part is prepared. contflag tells the process that its window
 * is free: when the last byte has been read.
 */
#include "sim/chip/parts.h"

#include "base/assert.h"

#include <string.h>

static void request_begin(struct chip *chip)
{
    const struct module_path path[] = {{I_IDLE, chip->constants->idle_cycles},
                                       {I_PGID, chip->constants->pgid_cycles}};
    if (chip->initiator.first->kick == CHIP_SOFTWARE)
        module_go(chip, CHIP_INITIATOR, I_IDLE, chip->constants->idle_cycles);
    else
        module_pass(chip, CHIP_INITIATOR, path, 2);
}

/* Physical address of the next part. */
static void part_begin(struct chip *chip)
{
    const struct module_path path[] = {{I_IPA, chip->constants->ipa_cycles},
                                       {I_IPA2, chip->constants->ipa2_cycles}};
    module_pass(chip, CHIP_INITIATOR, path, 2);
}

void initiator_take(struct chip *chip, struct request *request)
{
    struct initiator *initiator = &chip->initiator;
    request->next = NULL;
    *(initiator->last ? &initiator->last->next : &initiator->first) = request;
    initiator->last = request;
    if (initiator->first == request)
        request_begin(chip);
}

/* The packet's fields that the process does not choose. */
static void header_complete(struct chip *chip, const struct window *window,
                            struct chip_header *header)
{
    header->pgid = window->pgid;
    header->source_pid = window->pid;
    header->source_node = (uint16_t)chip->number;
}

static void cont_go(struct chip *chip, uint64_t value)
{
    chip->initiator.cont_value = value;
    module_go(chip, CHIP_INITIATOR, I_CONT, chip->constants->cont_cycles);
}

void initiator_cancel(struct chip *chip)
{
    chip->count.refused++;
    chip->initiator.waits_for_room = chip->initiator.is_soft = false;
    module_release(chip, CHIP_INITIATOR);
    cont_go(chip, CHIP_CONT_REFUSED);
}

void initiator_complete(struct chip *chip)
{
    chip->initiator.waits_for_room = chip->initiator.is_soft = false;
    module_release(chip, CHIP_INITIATOR);
    cont_go(chip, CHIP_CONT_DONE);
}

static void contflag_write(struct chip *chip)
{
    struct initiator *initiator = &chip->initiator;
    struct request *request = initiator->first;
    const struct window *window = &chip->windows[request->window];
    if (window->contflag) {
        struct dma *dma = dma_make(chip, PCI_WRITE);
        if (!dma)
            return;
        dma->physical = window->contflag;
        dma->length = sizeof(dma->flag);
        dma->flag = initiator->cont_value;
        dma_begin(chip, dma);
    }
    initiator->first = request->next;
    if (!initiator->first)
        initiator->last = NULL;
    request->next = chip->free_requests;
    chip->free_requests = request;
    initiator->sent = 0;
    if (initiator->first)
        request_begin(chip);
    else
        module_rest(chip, CHIP_INITIATOR, I_IDLE);
}

static void state_pgid(struct chip *chip)
{
    struct initiator *initiator = &chip->initiator;
    const struct request *request = initiator->first;
    const struct window *window = &chip->windows[request->window];
    if (!window->is_valid) {
        module_suspend(chip, CHIP_INITIATOR, CHIP_PROTECTION);
        return;
    }
    chip_header_unpack(&initiator->header, request->words);
    header_complete(chip, window, &initiator->header);
    initiator->sent = 0;
    if (request->kick == CHIP_PUSH)
        part_begin(chip);
    else
        module_go(chip, CHIP_INITIATOR, I_CHK2,
                  request->kick == CHIP_PULL ? chip->constants->header_cycles
                                             : chip->constants->image_cycles);
}

/* A place in the Send FIFO; without one the state is stepped again when there is. */
static bool fifo_enter(struct chip *chip)
{
    struct initiator *initiator = &chip->initiator;
    initiator->waits_for_room = initiator->fifo >= chip->constants->send_fifo_packets;
    initiator->fifo += !initiator->waits_for_room;
    if (initiator->waits_for_room)
        module_wait(chip, CHIP_INITIATOR);
    return !initiator->waits_for_room;
}

/* PULL and BOTF have no payload to wait for. */
static void whole_send(struct chip *chip)
{
    struct initiator *initiator = &chip->initiator;
    const struct request *request = initiator->first;
    struct chip_packet *packet = fifo_enter(chip) ? chip_packet_make(chip) : NULL;
    if (!packet)
        return;
    packet->header = initiator->header;
    if (request->kick == CHIP_PULL) {
        packet->header.type = CHIP_PACKET_PULL_REQUEST;
        chip->count.pulls++;
    } else {
        uint32_t room = (CHIP_WINDOW_WORDS - CHIP_HEADER_WORDS) * 8;
        bool has_payload = packet->header.type != CHIP_PACKET_PULL_REQUEST;
        uint32_t length = packet->header.length < room ? packet->header.length : room;
        if (has_payload)
            memcpy(packet->payload, request->words + CHIP_HEADER_WORDS, length);
        if (has_payload)
            packet->header.length = length;
        chip->count.botfs++;
    }
    packet->origin = CHIP_INITIATOR;
    send_join(chip, packet, chip->constants->swi_tx_cycles);
    cont_go(chip, CHIP_CONT_DONE);
}

static uint64_t part_virtual(const struct initiator *initiator)
{
    return initiator->header.local + initiator->sent;
}

static void state_ipa2(struct chip *chip)
{
    struct initiator *initiator = &chip->initiator;
    uint32_t job = job_key(initiator->header.pgid, initiator->header.source_pid);
    if (!patlb_find(chip, job, part_virtual(initiator), &initiator->physical)) {
        module_suspend(chip, CHIP_INITIATOR, CHIP_PATLB_MISS);
        return;
    }
    module_go(chip, CHIP_INITIATOR, I_CHK1, chip->constants->chk1_cycles);
}

static void state_chk1(struct chip *chip)
{
    struct initiator *initiator = &chip->initiator;
    if (!fifo_enter(chip))
        return;
    initiator->part = initiator->is_soft ? initiator->soft_header.length
                                         : part_length(chip, part_virtual(initiator),
                                                       initiator->header.length - initiator->sent);
    module_go(chip, CHIP_INITIATOR, I_CHK2, chip->constants->chk2_cycles);
}

/* Without the states: the CPU has made the header and found the address. */
void initiator_soft(struct chip *chip, const struct chip_header *header, uint64_t physical)
{
    struct initiator *initiator = &chip->initiator;
    module_release(chip, CHIP_INITIATOR);
    initiator->is_soft = true;
    initiator->soft_header = *header;
    initiator->physical = physical;
    module_rest(chip, CHIP_INITIATOR, I_CHK1); /* where it waits if the Send FIFO is full */
    state_chk1(chip);
}

void initiator_room(struct chip *chip)
{
    struct initiator *initiator = &chip->initiator;
    ASSERT(initiator->fifo > 0);
    initiator->fifo--;
    if (!initiator->waits_for_room)
        return;
    initiator->waits_for_room = false;
    module_step(chip, CHIP_INITIATOR);
}

static void payload_read(struct chip *chip, struct dma *dma)
{
    struct initiator *initiator = &chip->initiator;
    send_join(chip, dma->packet, chip->constants->join_cycles + chip->constants->swi_tx_cycles);
    chip->count.pushes++;
    if (--initiator->reading > 0 || !initiator->waits_for_data)
        return;
    initiator->waits_for_data = false;
    cont_go(chip, CHIP_CONT_DONE);
}

/* Asks for the DMA of one packet's payload, and goes on with the next. */
static void state_chk2(struct chip *chip)
{
    struct initiator *initiator = &chip->initiator;
    struct chip_packet *packet = chip_packet_make(chip);
    struct dma *dma = packet ? dma_make(chip, PCI_READ) : NULL;
    if (!dma)
        return;
    packet->header = initiator->header;
    packet->origin = CHIP_INITIATOR;
    packet->header.type = CHIP_PACKET_PUSH;
    packet->header.offset += initiator->sent;
    packet->header.length = initiator->part;
    bool is_last = initiator->sent + initiator->part == initiator->header.length;
    packet->header.wants_ack = initiator->header.wants_ack && is_last;
    if (initiator->is_soft)
        packet->header = initiator->soft_header;
    initiator->is_soft = false;
    dma->packet = packet;
    dma->physical = initiator->physical;
    dma->length = initiator->part;
    dma->ended = payload_read;
    initiator->sent += initiator->part;
    initiator->reading++;
    dma_begin(chip, dma);
    if (!is_last) {
        part_begin(chip);
        return;
    }
    initiator->waits_for_data = true;
    module_rest(chip, CHIP_INITIATOR, I_CONT);
}

/* What firmware sees of it. A window that is nobody's asks in nobody's name. */
static void special_begin(struct chip *chip)
{
    struct initiator *initiator = &chip->initiator;
    chip_header_unpack(&initiator->header, initiator->first->words);
    header_complete(chip, &chip->windows[initiator->first->window], &initiator->header);
    initiator->sent = 0;
    module_suspend(chip, CHIP_INITIATOR, CHIP_SPECIAL_REQUEST);
}

void initiator_step(struct chip *chip, uint32_t state)
{
    const struct request *request = chip->initiator.first;
    switch ((enum initiator_state)state) {
    case I_IDLE:
        if (request->kick == CHIP_SOFTWARE)
            special_begin(chip);
        else
            module_go(chip, CHIP_INITIATOR, I_PGID, chip->constants->pgid_cycles);
        break;
    case I_PGID:
        state_pgid(chip);
        break;
    case I_IPA:
        module_go(chip, CHIP_INITIATOR, I_IPA2, chip->constants->ipa2_cycles);
        break;
    case I_IPA2:
        state_ipa2(chip);
        break;
    case I_CHK1:
        state_chk1(chip);
        break;
    case I_CHK2:
        if (request->kick == CHIP_PUSH)
            state_chk2(chip);
        else
            whole_send(chip);
        break;
    case I_CONT:
        contflag_write(chip);
        break;
    case I_MISS:
        break;
    }
}
