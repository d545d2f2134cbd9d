/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Neighbour exchange for programs: sides are checked and laid out, and each call sends, awaits and
 * takes. See exchange.h.
 */
#include "rma/exchange.h"

#include <stdlib.h>
#include <string.h>

/* ---- Making one ------------------------------------------------------------------------------ */

static int refuse_side(rh_sid sid, size_t index, const char *why, unsigned long long value)
{
    return error_fail(RH_EINVALID, "exchange %u, side %zu: %s (%llu)", sid, index, why, value);
}

/* Fills in what was left at 0. */
static int take_side(struct rh_exchange *exchange, unsigned index, const struct rh_side *given)
{
    struct exchange_side *side = &exchange->sides[index];
    rh_sid sid = exchange->sid;
    if (given->rank < 0) {
        side->given.rank = -1;
        return 0;
    }
    if (!rma_rank_is_valid(exchange->job, given->rank))
        return rma_refuse_rank(exchange->job, given->rank);
    if (given->meets >= EXCHANGE_SIDES_MAX)
        return refuse_side(sid, index, "no rank has so many sides", given->meets);
    if (given->length == 0)
        return refuse_side(sid, index, "a block needs a length", given->length);
    side->given = *given;
    side->given.count = given->count ? given->count : 1;
    side->given.stride = given->stride ? given->stride : given->length;
    if (side->given.stride < given->length)
        return refuse_side(sid, index, "blocks must not overlap: stride", given->stride);
    if (given->length > INT32_MAX || side->given.count > INT64_MAX / side->given.stride / 8)
        return refuse_side(sid, index, "more bytes than there can be: count", given->count);
    side->length = side->given.length * side->given.count;
    return 0;
}

/* Where landings and stages are. Returns the segment's length. */
static uint64_t lay_out(struct rh_exchange *exchange, uint64_t *stage_length)
{
    uint64_t end = exchange_place_at(exchange->side_count, exchange->side_count);
    *stage_length = 1;
    for (unsigned i = 0; i < exchange->side_count; i++) {
        struct exchange_side *side = &exchange->sides[i];
        if (!exchange_has(side))
            continue;
        side->landing = end;
        end += 2 * exchange_room(side->length);
        side->stage = *stage_length;
        *stage_length += side->given.count > 1 ? side->length : 0;
    }
    return end;
}

static int prepare(struct rh_exchange *exchange, const struct rh_side *sides)
{
    void *memory;
    uint64_t stage_length;
    int result = 0;
    for (unsigned i = 0; i < exchange->side_count && result == 0; i++)
        result = take_side(exchange, i, &sides[i]);
    if (result < 0)
        return result;
    uint64_t length = lay_out(exchange, &stage_length);
    exchange->stage = malloc(stage_length);
    if (!exchange->stage)
        return error_no_memory("the borders of exchange %u", exchange->sid);
    result = rh_segment_alloc(exchange->job, exchange->sid, length, &memory);
    if (result < 0)
        return result;
    exchange->memory = memory;
    exchange->places = (void *)(exchange->memory + exchange_place_at(exchange->side_count, 0));
    return exchange_meet(exchange);
}

int rh_exchange_create(struct rh_job *job, rh_sid sid, const struct rh_side *sides,
                       size_t side_count, struct rh_exchange **exchange)
{
    if (!sides || side_count == 0 || side_count > EXCHANGE_SIDES_MAX)
        return error_fail(RH_EINVALID, "exchange %u: it has 1 to %u sides, not %zu", sid,
                          EXCHANGE_SIDES_MAX, sides ? side_count : 0);
    struct rh_exchange *made = calloc(1, sizeof(*made) + side_count * sizeof(made->sides[0]));
    if (!made)
        return error_no_memory("exchange %u", sid);
    made->job = job;
    made->sid = sid;
    made->side_count = (unsigned)side_count;
    int result = prepare(made, sides);
    if (result < 0) {
        struct error_state said;
        error_save(&said);
        made->failure = result;
        rh_exchange_destroy(made);
        error_restore(&said);
        return result;
    }
    *exchange = made;
    return 0;
}

int rh_exchange_destroy(struct rh_exchange *exchange)
{
    int parted = exchange->memory ? exchange_part(exchange) : 0;
    int result = exchange->memory ? rh_segment_detach(exchange->job, exchange->sid) : 0;
    free(exchange->stage);
    free(exchange);
    return parted < 0 ? parted : result;
}

/* ---- A call ---------------------------------------------------------------------------------- */

/* Put blocks together, or what has come as one back into blocks. */
static void copy_blocks(char *to, size_t to_stride, const char *from, size_t from_stride,
                        const struct rh_side *side)
{
    for (size_t i = 0; i < side->count; i++)
        memcpy(to + i * to_stride, from + i * from_stride, side->length);
}

static uint64_t landing_of_call(uint64_t first, size_t length, uint64_t number)
{
    return first + number % 2 * exchange_room(length);
}

/* A push that the network may have no room for just now, as it may while a neighbour goes. */
struct sending {
    struct rh_exchange *exchange;
    struct exchange_side *side;
    const char *source;
    int result;
};

static bool is_started(void *context)
{
    struct sending *sending = context;
    const struct rh_exchange *exchange = sending->exchange;
    struct exchange_side *side = sending->side;
    int rank = side->given.rank;
    uint64_t landing = landing_of_call(side->peer_landing, side->length, exchange->number);
    uint64_t word = side->peer_place + offsetof(struct exchange_place, arrived);
    struct rh_notice notice = {rh_at(rank, exchange->sid, word), exchange->number};
    sending->result = rma_push_notify_start(exchange->job, rh_at(rank, exchange->sid, landing),
                                            sending->source, side->length, &notice, &side->done);
    side->is_under_way = sending->result == 0;
    return sending->result != RH_EAGAIN;
}

static int start_later(struct sending *sending, int64_t deadline_ns)
{
    struct rh_exchange *exchange = sending->exchange;
    int rank = sending->side->given.rank;
    struct rh_until until = {.is_met = is_started, .context = sending, .from = rank};
    until.timeout_ns = rma_left_ns(exchange->job, deadline_ns);
    int result = rma_wait_until(exchange->job, &until, NULL);
    if (result == RH_ETIMEOUT || result == RH_EAGAIN)
        return error_set(RH_ETIMEOUT, rank, "exchange %u, call %llu: rank %d takes nothing in time",
                         exchange->sid, (unsigned long long)exchange->number, rank);
    return result < 0 ? result : sending->result;
}

static int send_side(struct rh_exchange *exchange, struct exchange_side *side, const char *memory,
                     int64_t deadline_ns)
{
    const struct rh_side *given = &side->given;
    struct sending sending = {exchange, side, memory + given->out, 0};
    if (given->count > 1) {
        copy_blocks(exchange->stage + side->stage, given->length, sending.source, given->stride,
                    given);
        sending.source = exchange->stage + side->stage;
    }
    return likely(is_started(&sending)) ? sending.result : start_later(&sending, deadline_ns);
}

struct awaited {
    const struct rh_exchange *exchange;
    unsigned side;
    const uint64_t *word;
    uint64_t value;
};

static void describe_awaited(void *context, struct wait_note *note)
{
    const struct awaited *awaited = context;
    *note = (struct wait_note){.call = WAIT_EXCHANGE,
                               .peer = awaited->exchange->sides[awaited->side].given.rank,
                               .number = awaited->exchange->sid,
                               .length = awaited->exchange->number};
}

/* acquire: what the neighbour wrote before is visible */
static bool is_there(const struct awaited *awaited)
{
    return __atomic_load_n(awaited->word, __ATOMIC_ACQUIRE) >= awaited->value;
}

static bool is_decided(void *context)
{
    const struct awaited *awaited = context;
    const struct exchange_place *place = &awaited->exchange->places[awaited->side];
    return is_there(awaited) || __atomic_load_n(&place->broken, __ATOMIC_ACQUIRE) != 0;
}

/* What a neighbour has told: the error is the one that it has had. */
static int told_broken(const struct rh_exchange *exchange, unsigned side)
{
    uint64_t told = __atomic_load_n(&exchange->places[side].broken, __ATOMIC_ACQUIRE);
    int culprit = (int)(told >> 1) - 1;
    if (!rma_rank_is_valid(exchange->job, culprit))
        culprit = exchange->sides[side].given.rank;
    return error_set(told & 1 ? RH_EDEAD : RH_ETIMEOUT, culprit,
                     "exchange %u, call %llu: rank %d has given up, as rank %d is %s",
                     exchange->sid, (unsigned long long)exchange->number,
                     exchange->sides[side].given.rank, culprit, told & 1 ? "gone" : "late");
}

/* A neighbour that has closed its segment has told why before, unless it is leaving. */
static int told_closed(const struct rh_exchange *exchange, unsigned side)
{
    int rank = exchange->sides[side].given.rank;
    if (__atomic_load_n(&exchange->places[side].broken, __ATOMIC_ACQUIRE) != 0)
        return told_broken(exchange, side);
    return error_set(RH_EDEAD, rank, "exchange %u, call %llu: rank %d has ended its side of it",
                     exchange->sid, (unsigned long long)exchange->number, rank);
}

int exchange_await(struct rh_exchange *exchange, unsigned side, const uint64_t *word,
                   uint64_t value, int64_t deadline_ns)
{
    struct awaited awaited = {exchange, side, word, value};
    int rank = exchange->sides[side].given.rank;
    struct rh_until until = {.is_met = is_decided,
                             .context = &awaited,
                             .from = rank,
                             .timeout_ns = rma_left_ns(exchange->job, deadline_ns),
                             .watched = &exchange->places[side],
                             .watched_stride = sizeof(struct exchange_place),
                             .watched_count = 1};
    int result = rma_wait_until(exchange->job, &until, describe_awaited);
    if (result == RH_ETIMEOUT || result == RH_EAGAIN)
        return error_set(RH_ETIMEOUT, rank,
                         "exchange %u, call %llu: nothing has come from rank %d, side %u, in time",
                         exchange->sid, (unsigned long long)exchange->number, rank, side);
    if (result < 0 || is_there(&awaited))
        return result;
    return told_broken(exchange, side);
}

/* Everything is on its way, then there, before anything is put into the program's memory. Where one
 * neighbour cannot be sent to, the others still get theirs. */
static int exchange_all(struct rh_exchange *exchange, const char *memory)
{
    int64_t deadline_ns = rma_deadline_ns(exchange->job, RH_TIMEOUT_DEFAULT);
    int result = 0;
    for (unsigned i = 0; i < exchange->side_count; i++) {
        int sent = 0;
        if (exchange_has(&exchange->sides[i]))
            sent = send_side(exchange, &exchange->sides[i], memory, deadline_ns);
        if (sent == RH_ESTALE)
            sent = told_closed(exchange, i);
        result = result < 0 ? result : sent;
    }
    for (unsigned i = 0; i < exchange->side_count && result == 0; i++) {
        if (exchange_has(&exchange->sides[i]))
            result = exchange_await(exchange, i, &exchange->places[i].arrived, exchange->number,
                                    deadline_ns);
    }
    for (unsigned i = 0; i < exchange->side_count && result == 0; i++) {
        struct exchange_side *side = &exchange->sides[i];
        if (!side->is_under_way)
            continue;
        result = rh_wait_done(exchange->job, &side->done, rma_left_ns(exchange->job, deadline_ns));
        if (result == RH_EDEAD) {
            /* It has sent its bytes of this call, and needs ours no more: the next call says so. */
            rh_withdraw(exchange->job, &side->done);
            result = 0;
        }
        side->is_under_way = result < 0;
    }
    return result == RH_EAGAIN ? RH_ETIMEOUT : result;
}

/* The neighbours cannot go on without us: they hear why, and do not wait for it. */
static void give_up(struct rh_exchange *exchange, int result)
{
    struct error_state said;
    error_save(&said);
    for (unsigned i = 0; i < exchange->side_count; i++) {
        if (exchange->sides[i].is_under_way)
            rh_withdraw(exchange->job, &exchange->sides[i].done);
        exchange->sides[i].is_under_way = false;
    }
    exchange->failure = result;
    exchange_tell_all(exchange, offsetof(struct exchange_place, broken),
                      exchange_broken(result, said.rank));
    error_restore(&said);
}

int rh_exchange(struct rh_exchange *exchange, void *memory)
{
    if (exchange->failure < 0)
        return error_fail(RH_EINVALID,
                          "exchange %u has failed before (%s); destroy it and make another",
                          exchange->sid, rh_error_name(exchange->failure));
    exchange->number++;
    int result = exchange_all(exchange, memory);
    if (result < 0) {
        give_up(exchange, result);
        return result;
    }
    for (unsigned i = 0; i < exchange->side_count; i++) {
        const struct exchange_side *side = &exchange->sides[i];
        const struct rh_side *given = &side->given;
        if (exchange_has(side))
            copy_blocks((char *)memory + given->in, given->stride,
                        exchange->memory +
                            landing_of_call(side->landing, side->length, exchange->number),
                        given->length, given);
    }
    return 0;
}
