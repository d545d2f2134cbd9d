/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Neighbours meet: each describes its sides in its segment, reads the cards of the sides that meet
 * its own, and tells those neighbours that it has, or that it refuses what they say.
 */
#include "rma/exchange.h"

#include <stdlib.h>
#include <string.h>

/* Pushed like everything that others read; who sees the count sees the cards. */
static int describe_sides(struct rh_exchange *exchange)
{
    struct rh_remote own = rh_at(exchange->job->nic_job.rank, exchange->sid, 0);
    uint64_t count = exchange->side_count;
    struct exchange_card *cards = calloc(count, sizeof(*cards));
    if (!cards)
        return error_no_memory("the sides of exchange %u", exchange->sid);
    for (unsigned i = 0; i < count; i++) {
        const struct exchange_side *side = &exchange->sides[i];
        cards[i] = (struct exchange_card){.rank = exchange_has(side) ? side->given.rank : -1,
                                          .meets = side->given.meets,
                                          .length = side->length,
                                          .landing = side->landing};
    }
    own.offset = exchange_card_at(0);
    int result = rh_push(exchange->job, own, cards, count * sizeof(*cards));
    own.offset = 0;
    free(cards);
    return result < 0 ? result : rh_push(exchange->job, own, &count, sizeof(count));
}

/* Asking a neighbour for its front, again and again, until it has made its exchange and described
 * it; or has told us, after it has read ours, that it will not. */
struct question {
    struct rh_exchange *exchange;
    unsigned side;
    int rank;
    uint64_t side_count; /* the answer */
    int result;
};

static int check_refusal(const struct rh_exchange *exchange, unsigned side)
{
    int rank = exchange->sides[side].given.rank;
    /* acquire: as every wait for a word */
    if (__atomic_load_n(&exchange->places[side].met, __ATOMIC_ACQUIRE) != EXCHANGE_REFUSED)
        return 0;
    return error_set(RH_EINVALID, rank, "rank %d has not made exchange %u; its own error says why",
                     rank, exchange->sid);
}

static bool is_answered(void *context)
{
    struct question *question = context;
    struct rh_exchange *exchange = question->exchange;
    int result = check_refusal(exchange, question->side);
    if (result == 0)
        result = rh_segment_wait(exchange->job, question->rank, exchange->sid, RH_TIMEOUT_NONE);
    if (result == 0)
        result = rh_pull(exchange->job, rh_at(question->rank, exchange->sid, 0),
                         &question->side_count, sizeof(question->side_count));
    question->result = result;
    if (result == RH_EAGAIN || result == RH_ENOSEG || result == RH_ESTALE)
        return false; /* not there yet, or an earlier exchange's */
    return result < 0 || question->side_count != 0;
}

static void describe_question(void *context, struct wait_note *note)
{
    const struct question *question = context;
    *note = (struct wait_note){
        .call = WAIT_SEGMENT, .peer = question->rank, .number = question->exchange->sid};
}

static int ask_neighbour(struct rh_exchange *exchange, unsigned side, int64_t deadline_ns)
{
    int rank = exchange->sides[side].given.rank;
    struct question question = {.exchange = exchange, .side = side, .rank = rank};
    struct rh_until until = {.is_met = is_answered, .context = &question, .from = rank};
    until.timeout_ns = rma_left_ns(exchange->job, deadline_ns);
    int result = rma_wait_until(exchange->job, &until, describe_question);
    if (result == RH_ETIMEOUT || result == RH_EAGAIN)
        return error_set(RH_ETIMEOUT, rank, "rank %d has not made exchange %u in time", rank,
                         exchange->sid);
    exchange->sides[side].peer_sides = question.side_count;
    return result < 0 ? result : question.result;
}

/* Whether both ends say the same of a side. */
static int compare(const struct rh_exchange *exchange, unsigned index,
                   const struct exchange_card *card)
{
    const struct exchange_side *side = &exchange->sides[index];
    int rank = side->given.rank;
    if (card->rank != exchange->job->nic_job.rank || card->meets != index)
        return error_set(RH_EINVALID, rank,
                         "exchange %u: our side %u meets side %u of rank %d, which meets side %llu "
                         "of rank %lld",
                         exchange->sid, index, side->given.meets, rank,
                         (unsigned long long)card->meets, (long long)card->rank);
    if (card->length != side->length)
        return error_set(RH_EINVALID, rank,
                         "exchange %u: our side %u has %zu bytes, and side %u of rank %d, which "
                         "meets it, has %llu",
                         exchange->sid, index, side->length, side->given.meets, rank,
                         (unsigned long long)card->length);
    return 0;
}

static int meet_one(struct rh_exchange *exchange, unsigned index, int64_t deadline_ns)
{
    struct exchange_side *side = &exchange->sides[index];
    struct exchange_card card;
    int rank = side->given.rank;
    int result = ask_neighbour(exchange, index, deadline_ns);
    if (result < 0)
        return result;
    if (side->given.meets >= side->peer_sides)
        return error_set(
            RH_EINVALID, rank, "exchange %u: our side %u meets side %u of rank %d, which has %llu",
            exchange->sid, index, side->given.meets, rank, (unsigned long long)side->peer_sides);
    struct rh_remote at = rh_at(rank, exchange->sid, exchange_card_at(side->given.meets));
    result = rh_pull(exchange->job, at, &card, sizeof(card));
    if (result < 0) {
        int refused = result == RH_EDEAD ? 0 : check_refusal(exchange, index);
        return refused < 0 ? refused : result; /* it goes when it has said why */
    }
    result = compare(exchange, index, &card);
    side->peer_place = exchange_place_at(side->peer_sides, side->given.meets);
    side->peer_landing = card.landing;
    side->is_known = true;
    return result;
}

int exchange_tell_all(struct rh_exchange *exchange, uint64_t offset, uint64_t value)
{
    int first = 0;
    for (unsigned i = 0; i < exchange->side_count; i++) {
        const struct exchange_side *side = &exchange->sides[i];
        if (!exchange_has(side) || !side->is_known)
            continue;
        struct rh_remote word = rh_at(side->given.rank, exchange->sid, side->peer_place + offset);
        int result = rh_push(exchange->job, word, &value, sizeof(value));
        first = first < 0 ? first : result;
    }
    return first;
}

/* Tell a neighbour that there will be no exchange, at every side on which it expects one with us:
 * that is what we differ about. Errors are nobody's business. */
static void refuse_neighbour(struct rh_exchange *exchange, const struct exchange_side *side)
{
    int rank = side->given.rank;
    uint64_t refused = EXCHANGE_REFUSED, sides = side->peer_sides;
    for (uint64_t i = 0; i < sides && i < EXCHANGE_SIDES_MAX; i++) {
        struct exchange_card card;
        struct rh_remote at = rh_at(rank, exchange->sid, exchange_card_at(i));
        if (rh_pull(exchange->job, at, &card, sizeof(card)) < 0)
            return;
        if (card.rank != exchange->job->nic_job.rank)
            continue;
        at.offset = exchange_place_at(sides, i) + offsetof(struct exchange_place, met);
        rh_push(exchange->job, at, &refused, sizeof(refused));
    }
}

static int hear_all(struct rh_exchange *exchange, int64_t deadline_ns)
{
    int result = 0;
    for (unsigned i = 0; i < exchange->side_count && result == 0; i++) {
        if (!exchange_has(&exchange->sides[i]))
            continue;
        result = exchange_await(exchange, i, &exchange->places[i].met, EXCHANGE_MET, deadline_ns);
        if (result == 0)
            result = check_refusal(exchange, i);
    }
    return result;
}

/* Meets all, also if the first says something else: those whom a refusal does not concern wait for
 * us, and must be told. */
static int meet_all(struct rh_exchange *exchange, int64_t deadline_ns)
{
    struct error_state said = {0};
    int first = 0;
    for (unsigned i = 0; i < exchange->side_count; i++) {
        int result = 0;
        if (exchange_has(&exchange->sides[i]))
            result = meet_one(exchange, i, deadline_ns);
        if (result < 0 && first == 0)
            error_save(&said);
        first = first < 0 ? first : result;
    }
    if (first < 0)
        error_restore(&said);
    return first;
}

int exchange_meet(struct rh_exchange *exchange)
{
    int64_t deadline_ns = rma_deadline_ns(exchange->job, RH_TIMEOUT_DEFAULT);
    int result = describe_sides(exchange);
    if (result == 0)
        result = meet_all(exchange, deadline_ns);
    if (result == 0)
        result = exchange_tell_all(exchange, offsetof(struct exchange_place, met), EXCHANGE_MET);
    if (result == 0 || result == RH_ESTALE || result == RH_ENOSEG) /* who is gone has said why */
        result = hear_all(exchange, deadline_ns);
    if (result < 0) {
        struct error_state said;
        error_save(&said);
        for (unsigned i = 0; i < exchange->side_count; i++)
            refuse_neighbour(exchange, &exchange->sides[i]);
        error_restore(&said);
    }
    return result;
}

/* Who has heard that all have parted knows that all have taken their description back. A neighbour
 * that is gone, or has parted after a failure and closed its segment, needs no waiting for. */
int exchange_part(struct rh_exchange *exchange)
{
    int64_t deadline_ns = rma_deadline_ns(exchange->job, RH_TIMEOUT_DEFAULT);
    struct rh_remote own = rh_at(exchange->job->nic_job.rank, exchange->sid,
                                 offsetof(struct exchange_front, side_count));
    uint64_t no_more = 0;
    int result = rh_push(exchange->job, own, &no_more, sizeof(no_more));
    exchange_tell_all(exchange, offsetof(struct exchange_place, parted), 1);
    if (exchange->failure < 0)
        return 0;
    for (unsigned i = 0; i < exchange->side_count && result == 0; i++) {
        if (exchange_has(&exchange->sides[i]))
            result = exchange_await(exchange, i, &exchange->places[i].parted, 1, deadline_ns);
    }
    return result == RH_EDEAD ? 0 : result;
}
