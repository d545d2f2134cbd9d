/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The Replier: acks, and replies to pulls. The Initiator's twin, so that answers never wait behind
 * requests: that could deadlock two nodes.
 */
#include "sim/chip/parts.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

static void job_begin(struct chip *chip)
{
    chip->replier.sent = 0;
    module_go(chip, CHIP_REPLIER, R_IDLE, chip->constants->idle_cycles);
}

/* From a few on: most controllers never need many. */
static bool jobs_grow(struct chip *chip)
{
    struct replier *replier = &chip->replier;
    uint32_t capacity = replier->capacity ? 2 * replier->capacity : 4;
    struct replier_job *jobs = malloc(capacity * sizeof(*jobs));
    if (!jobs) {
        sim_stop(chip->sim);
        return false;
    }
    for (uint32_t i = 0; i < replier->count; i++)
        jobs[i] = replier->jobs[(replier->first + i) % replier->capacity];
    free(replier->jobs);
    replier->jobs = jobs;
    replier->first = 0;
    replier->capacity = capacity;
    return true;
}

bool replier_take(struct chip *chip, const struct chip_header *job, uint64_t start)
{
    struct replier *replier = &chip->replier;
    if (replier->count == REPLIER_JOBS || (replier->count == replier->capacity && !jobs_grow(chip)))
        return false;
    uint32_t at = (replier->first + replier->count) % replier->capacity;
    replier->jobs[at] = (struct replier_job){*job, start};
    if (replier->count++ == 0)
        job_begin(chip);
    return true;
}

static void job_end(struct chip *chip)
{
    struct replier *replier = &chip->replier;
    replier->first = (replier->first + 1) % replier->capacity;
    replier->count--;
    if (replier->count > 0)
        job_begin(chip);
    else
        module_rest(chip, CHIP_REPLIER, R_IDLE);
    rbend_retry(chip);
    rfend_retry(chip);
}

void replier_drop(struct chip *chip)
{
    chip->replier.waits_for_room = false;
    module_release(chip, CHIP_REPLIER);
    job_end(chip);
}

void replier_cancel(struct chip *chip)
{
    chip->count.discarded++;
    replier_drop(chip);
}

void header_answer(const struct chip_header *asked, struct chip_header *answer)
{
    *answer = *asked;
    answer->source_node = asked->target_node;
    answer->source_pid = asked->target_pid;
    answer->target_node = asked->source_node;
    answer->target_pid = asked->source_pid;
    answer->wants_ack = answer->is_aotf = false;
}

/* A place in the Send FIFO; without one the state is stepped again when there is. */
static bool fifo_enter(struct chip *chip)
{
    struct replier *replier = &chip->replier;
    replier->waits_for_room = replier->fifo >= chip->constants->send_fifo_packets;
    replier->fifo += !replier->waits_for_room;
    if (replier->waits_for_room)
        module_wait(chip, CHIP_REPLIER);
    return !replier->waits_for_room;
}

static void ack_send(struct chip *chip)
{
    struct chip_packet *packet = fifo_enter(chip) ? chip_packet_make(chip) : NULL;
    if (!packet)
        return;
    header_answer(&replier_job(chip)->header, &packet->header);
    packet->header.type = CHIP_PACKET_ACK;
    packet->header.local = packet->header.flag;
    packet->header.length = 8;
    memcpy(packet->payload, &(uint64_t){1}, sizeof(uint64_t));
    chip->count.acks++;
    packet->origin = CHIP_REPLIER;
    send_join(chip, packet, chip->constants->swi_tx_cycles);
    job_end(chip);
}

static void state_rpa2(struct chip *chip)
{
    struct replier *replier = &chip->replier;
    const struct chip_header *job = &replier_job(chip)->header;
    uint64_t virtual = replier_job(chip)->start + replier->sent;
    if (!patlb_find(chip, job_key(job->pgid, job->target_pid), virtual, &replier->physical)) {
        module_suspend(chip, CHIP_REPLIER, CHIP_PATLB_MISS);
        return;
    }
    module_go(chip, CHIP_REPLIER, R_CHK1, chip->constants->chk1_cycles);
}

static void state_chk1(struct chip *chip)
{
    struct replier *replier = &chip->replier;
    const struct chip_header *job = &replier_job(chip)->header;
    if (!fifo_enter(chip))
        return;
    replier->part = part_length(chip, replier_job(chip)->start + replier->sent,
                                job->length - replier->sent);
    module_go(chip, CHIP_REPLIER, R_CHK2, chip->constants->chk2_cycles);
}

void replier_room(struct chip *chip)
{
    struct replier *replier = &chip->replier;
    ASSERT(replier->fifo > 0);
    replier->fifo--;
    if (!replier->waits_for_room)
        return;
    replier->waits_for_room = false;
    module_step(chip, CHIP_REPLIER);
}

static void read_started(struct chip *chip, struct dma *dma)
{
    chip_moment_note(chip, CHIP_PCI_READ);
}

static void payload_read(struct chip *chip, struct dma *dma)
{
    chip->count.replies++;
    send_join(chip, dma->packet, chip->constants->join_cycles + chip->constants->swi_tx_cycles);
}

static void state_chk2(struct chip *chip)
{
    struct replier *replier = &chip->replier;
    const struct chip_header *job = &replier_job(chip)->header;
    struct chip_packet *packet = chip_packet_make(chip);
    struct dma *dma = packet ? dma_make(chip, PCI_READ) : NULL;
    if (!dma)
        return;
    header_answer(job, &packet->header);
    packet->origin = CHIP_REPLIER;
    packet->header.type = CHIP_PACKET_PULL_REPLY;
    packet->header.local = job->local + replier->sent;
    packet->header.length = replier->part;
    replier->sent += replier->part;
    packet->header.is_last = replier->sent == job->length;
    dma->packet = packet;
    dma->physical = replier->physical;
    dma->length = replier->part;
    dma->started = read_started;
    dma->ended = payload_read;
    dma_begin(chip, dma);
    if (packet->header.is_last)
        job_end(chip);
    else
        module_go(chip, CHIP_REPLIER, R_RPA, chip->constants->ipa_cycles);
}

void replier_step(struct chip *chip, uint32_t state)
{
    const struct chip_header *job = &replier_job(chip)->header;
    switch ((enum replier_state)state) {
    case R_IDLE:
        if (job->type == CHIP_PACKET_PUSH)
            module_go(chip, CHIP_REPLIER, R_ACK, chip->constants->header_cycles);
        else
            module_go(chip, CHIP_REPLIER, R_RPA, chip->constants->ipa_cycles);
        break;
    case R_RPA:
        module_go(chip, CHIP_REPLIER, R_RPA2, chip->constants->ipa2_cycles);
        break;
    case R_RPA2:
        state_rpa2(chip);
        break;
    case R_CHK1:
        state_chk1(chip);
        break;
    case R_CHK2:
        state_chk2(chip);
        break;
    case R_ACK:
        ack_send(chip);
        break;
    case R_MISS:
        break;
    }
}
