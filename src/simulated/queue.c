/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Append. A queue whose messages fit a packet is a ring of VPUSH: one PUSH, which the owner's
 * controller puts where its ring ends; it answers when the message is there, or that the ring is
 * full. Longer ones go in three steps: claim a slot (in firmware), push the message, publish it.
 */
#include "base/error.h"
#include "simulated/station.h"

#define PAUSE_FIRST (1 * SIM_US)
#define PAUSE_LAST  (64 * SIM_US)

_Static_assert(MARTINI_SHORT_MAX == CHIP_RING_SLOT, "a slot of a ring holds a short message");
_Static_assert(MARTINI_TABLE_AT == CHIP_CLAIM_TABLE, "the NIC looks where the firmware claims");

int queue_open(struct station *station, struct station_segment *segment)
{
    const struct martini_queue_cut *cut = &segment->cut;
    struct chip_ring ring = {.pgid = STATION_PGID,
                             .pid = (uint16_t)station->rank,
                             .sid = segment->sid,
                             .start = segment->memory.virtual + cut->slots,
                             .size = cut->count * cut->stride,
                             .pointer = segment->memory.virtual + cut->table,
                             .has_table = true,
                             .refuses = true};
    segment->ring = chip_ring_open(process_chip(station->process), &ring);
    return segment->ring < 0 ? segment->ring : 0;
}

void queue_close(struct station *station, struct station_segment *segment)
{
    chip_ring_close(process_chip(station->process), segment->ring);
}

int queue_release(struct station *station, const struct martini_call *call)
{
    for (struct station_segment *at = station->segments; at; at = at->next) {
        if (at->sid == call->sid && at->is_open && at->kind == NIC_SEGMENT_QUEUE) {
            host_pio(process_host(station->process), 1, false);
            chip_ring_release(process_chip(station->process), at->ring,
                              call->value * CHIP_RING_SLOT);
            return 0;
        }
    }
    return error_set(RH_ENOSEG, station->rank, "there is no queue %u", call->sid);
}

/* One PUSH, and its answer. RH_EAGAIN: full. */
/* With silent_vpush nothing comes back: the message is gone when the controller has read it, and a
 * full ring stops the network. */
static int append_short(struct station *station, const struct martini_call *call,
                        const struct station_segment *segment)
{
    uint32_t flag;
    uint64_t local = 0;
    bool is_silent = station_constants(station)->silent_vpush;
    struct awaited awaited = awaited_make(station, call->rank, segment, call->timeout_ns);
    struct host_loan loan = {
        .address = call->address, .length = call->length, .reach = station->reach};
    int result = flag_take(station, &flag);
    if (result < 0)
        return result;
    if (call->length > 0 && process_lend(station->process, &loan, &local) < 0)
        result = error_fail(RH_ENOSPACE, "too much memory is lent to the controller");
    struct process_request request = {.peer = station_of(station->world, call->rank)->process,
                                      .kick = call->length > 0 ? CHIP_PUSH : CHIP_BOTF,
                                      .type = CHIP_PACKET_PUSH,
                                      .sid = call->sid,
                                      .local = local,
                                      .length = (uint32_t)call->length,
                                      .flag = is_silent ? 0 : flag_address(flag)};
    if (result == 0)
        result = station_submit(station, &request);
    if (result == 0)
        result = is_silent ? station_finish(station) : flag_wait(station, flag, &awaited);
    flag_give(station, flag, result < 0);
    if (local)
        loan_end(station, local, result < 0);
    return result == CHIP_ANSWER_FULL ? RH_EAGAIN : result < 0 ? result : 0;
}

static int publish(struct station *station, const struct martini_call *call,
                   const struct station_segment *segment, uint64_t slot)
{
    uint64_t word = MARTINI_WORD(station->rank, call->length);
    struct awaited awaited = awaited_make(station, call->rank, segment, call->timeout_ns);
    struct image image = {.rank = call->rank,
                          .sid = call->sid,
                          .offset = segment->cut.table + slot * 8,
                          .data = &word,
                          .length = sizeof(word)};
    int result = image_ask(station, &image, &awaited, NULL);
    return result < 0 ? result : 0;
}

static int append_long(struct station *station, const struct martini_call *call,
                       const struct station_segment *segment)
{
    struct access access = {call->rank, call->sid, 0, 8, RH_WRITE, true};
    struct chip_operands claim = {.operation = CHIP_CLAIM,
                                  .operand = segment->cut.count,
                                  .expected = MARTINI_MARK(station->rank)};
    uint64_t number;
    int result = firmware_ask(station, &access, &claim, &number);
    if (result < 0)
        return result;
    if (number == CHIP_CLAIM_NONE)
        return RH_EAGAIN;
    uint64_t slot = number % segment->cut.count;
    struct transfer body = {.awaited = awaited_make(station, call->rank, segment, call->timeout_ns),
                            .offset = segment->cut.slots + slot * segment->cut.stride,
                            .address = call->address,
                            .length = call->length};
    result = call->length > 0 ? transfer_run(station, &body) : 0;
    return result < 0 ? result : publish(station, call, segment, slot);
}

static int append_once(struct station *station, const struct martini_call *call)
{
    struct station_segment *segment;
    struct access access = {call->rank, call->sid, 0, 0, RH_WRITE, true};
    int result = segment_check(station, &access, &segment);
    if (result < 0)
        return result;
    if (call->length > segment->shape.slot_length)
        return error_set(
            RH_ETOOBIG, call->rank, "message of %llu bytes; queue %u of rank %d takes up to %u",
            (unsigned long long)call->length, call->sid, call->rank, segment->shape.slot_length);
    return segment->cut.is_long ? append_long(station, call, segment)
                                : append_short(station, call, segment);
}

/* Nobody tells a sender that there is room: it asks again, ever more rarely. */
int queue_append(struct station *station, struct martini_call *call)
{
    sim_time deadline = station_deadline(station, call->timeout_ns);
    for (sim_time pause = PAUSE_FIRST;;) {
        int result = append_once(station, call);
        call->value |= result == RH_EAGAIN;
        if (result != RH_EAGAIN || call->timeout_ns == 0)
            return result;
        sim_time left = deadline - station_now(station);
        if (left <= 0)
            return error_set(RH_ETIMEOUT, call->rank, "queue %u of rank %d stays full", call->sid,
                             call->rank);
        station_sleep(station, pause < left ? pause : left);
        pause = pause < PAUSE_LAST ? 2 * pause : pause;
    }
}
