/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The names that a sender gives its long messages, and when a place among them is free again: when
 * the message is over, or, if it was given up, when its receiver has been heard. By the word if it
 * had pulled it just then, by a slot otherwise.
 *
 * With a push in doubt the receiver is asked to keep the stream, and told to look at it no more.
 * When it has answered, nothing is pushed over the chunk, in the place of the program's buffer,
 * until that has landed: nothing of the message comes later. Model: tests/model/hold.pml.
 */
#include "msg/rendezvous/parts.h"
#include "rma/inside.h"

static void give_place(struct mail *mail, uint32_t place)
{
    struct rendezvous *rendezvous = mail->rendezvous;
    struct withdrawal *withdrawal = &rendezvous->withdrawn[place];
    ASSERT(rendezvous->names[place / 64] & 1ULL << place % 64);
    if (withdrawal->is_pushing)
        rh_withdraw(mail->job, &withdrawal->push);
    if (withdrawal->step != WITHDRAW_WAIT) {
        rendezvous->withdraw_count--;
        mail->long_count--;
    }
    *withdrawal = (struct withdrawal){0};
    rendezvous->names[place / 64] &= ~(1ULL << place % 64);
}

void name_give(struct mail *mail, uint64_t send_id)
{
    give_place(mail, name_place(send_id));
}

uint32_t name_done(const struct mail *mail, uint64_t send_id)
{
    /* acquire: the receiver is done with that memory; pairs with its push of the word */
    uint64_t word = __atomic_load_n(&mail->returns->done[name_place(send_id)], __ATOMIC_ACQUIRE);
    return is_same_message(word, done_word(send_id, 0)) ? (uint32_t)word : 0;
}

/* Names of messages that were pulled just when their sender gave up. */
static void reclaim(struct mail *mail)
{
    struct rendezvous *rendezvous = mail->rendezvous;
    for (uint32_t place = 0; place < SENDS_MAX; place++) {
        const struct withdrawal *withdrawal = &rendezvous->withdrawn[place];
        if (withdrawal->rank != 0 && withdrawal->hold == HOLD_NONE &&
            name_done(mail, withdrawal->send_id) == DONE_ALL)
            give_place(mail, place);
    }
}

int name_take(struct mail *mail, uint64_t *send_id)
{
    struct rendezvous *rendezvous = mail->rendezvous;
    for (uint32_t word = 0; word < SENDS_MAX / 64; word++) {
        if (~rendezvous->names[word] == 0)
            continue;
        uint32_t bit = (uint32_t)__builtin_ctzll(~rendezvous->names[word]);
        rendezvous->names[word] |= 1ULL << bit;
        *send_id = rendezvous->name_count++ * SENDS_MAX + word * 64ULL + bit;
        __atomic_store_n(&mail->returns->done[name_place(*send_id)], done_word(*send_id, 0),
                         __ATOMIC_RELAXED);
        return 0;
    }
    reclaim(mail);
    return RH_EAGAIN;
}

/* ---- Withdrawals ---------------------------------------------------------------------------- */

bool name_post(struct mail *mail, int rank, enum slot_kind kind, uint64_t send_id)
{
    struct slot_head head = {.kind = (uint16_t)kind, .length = sizeof(send_id)};
    return control_post(mail, rank, &head, &send_id);
}

/* Whether nothing of the message is still to come: what we push now is behind it. */
static bool overwrite(struct mail *mail, struct withdrawal *withdrawal)
{
    static char nothing[STREAM_BLOCK]; /* not const: takes no room in the file */
    const struct doubtful *doubtful = &withdrawal->doubtful;
    int rank = withdrawal->rank - 1;
    struct rh_notice notice = {.word = rh_at(rank, MSG_SID_BLOCKS, doubtful->notice_at)};
    int result = 0;
    if (!withdrawal->is_pushing)
        result = rma_push_notify_start(mail->job, rh_at(rank, MSG_SID_BLOCKS, doubtful->at),
                                       nothing, doubtful->length, &notice, &withdrawal->push);
    withdrawal->is_pushing = result == 0;
    if (result == 0)
        result = rh_test_done(mail->job, &withdrawal->push);
    if (result == RH_EDEAD && withdrawal->is_pushing)
        rh_withdraw(mail->job, &withdrawal->push);
    withdrawal->is_pushing &= result == RH_EAGAIN;
    return !is_for_later(result);
}

/* The next step of a withdrawal, if it can be made now; there is one. */
static void step(struct mail *mail, struct withdrawal *withdrawal)
{
    int rank = withdrawal->rank - 1;
    uint64_t send_id = withdrawal->send_id;
    if (withdrawal->step == WITHDRAW_HOLD && name_post(mail, rank, SLOT_HOLD, send_id)) {
        withdrawal->hold = HOLD_ASKED;
        withdrawal->step = WITHDRAW_TELL;
    }
    if (withdrawal->step == WITHDRAW_TELL && name_post(mail, rank, SLOT_WITHDRAW, send_id)) {
        withdrawal->step = WITHDRAW_WAIT;
        mail->rendezvous->withdraw_count--;
        mail->long_count--;
    }
    if (withdrawal->step == WITHDRAW_OVERWRITE && overwrite(mail, withdrawal))
        withdrawal->step = WITHDRAW_LET_GO;
    if (withdrawal->step == WITHDRAW_LET_GO && name_post(mail, rank, SLOT_LET_GO, send_id))
        name_give(mail, send_id);
}

static void begin_step(struct mail *mail, struct withdrawal *withdrawal, enum withdrawal_step first)
{
    ASSERT(withdrawal->step == WITHDRAW_WAIT);
    withdrawal->step = first;
    mail->rendezvous->withdraw_count++;
    mail->long_count++;
    step(mail, withdrawal);
}

void name_withdraw(struct mail *mail, const struct rh_request *send)
{
    const struct send_part *out = &send->out;
    struct withdrawal *withdrawal = &mail->rendezvous->withdrawn[name_place(out->rts.send_id)];
    ASSERT(withdrawal->rank == 0);
    *withdrawal = (struct withdrawal){
        .rank = send->rank + 1, .send_id = out->rts.send_id, .hold = out->hold};
    if (!out->has_cts)
        return; /* it is told when it sends one */
    if (out->is_in_doubt)
        withdrawal->doubtful = out->way == WAY_RING ? ring_place(send) : both_ends_place(send);
    bool must_ask = out->is_in_doubt && out->hold == HOLD_NONE;
    begin_step(mail, withdrawal, must_ask ? WITHDRAW_HOLD : WITHDRAW_TELL);
}

struct withdrawal *name_withdrawn(struct mail *mail, int rank, uint64_t send_id)
{
    struct withdrawal *withdrawal = &mail->rendezvous->withdrawn[name_place(send_id)];
    return withdrawal->rank == rank + 1 && withdrawal->send_id == send_id ? withdrawal : NULL;
}

/* Who was asked to keep the stream and has not, had closed it: all had come. */
void name_take_ack(struct mail *mail, int rank, uint64_t send_id)
{
    struct withdrawal *withdrawal = name_withdrawn(mail, rank, send_id);
    if (!withdrawal || withdrawal->step != WITHDRAW_WAIT)
        return; /* we have heard by the word, or it is a broken peer's */
    if (withdrawal->hold == HOLD_GIVEN)
        begin_step(mail, withdrawal,
                   withdrawal->doubtful.length > 0 ? WITHDRAW_OVERWRITE : WITHDRAW_LET_GO);
    else
        name_give(mail, send_id);
}

void name_progress(struct mail *mail)
{
    struct rendezvous *rendezvous = mail->rendezvous;
    for (uint32_t place = 0; place < SENDS_MAX && rendezvous->withdraw_count > 0; place++) {
        if (rendezvous->withdrawn[place].step != WITHDRAW_WAIT)
            step(mail, &rendezvous->withdrawn[place]);
    }
}

void name_gone_end(struct mail *mail)
{
    for (uint32_t place = 0; place < SENDS_MAX; place++) {
        int rank = mail->rendezvous->withdrawn[place].rank - 1;
        if (rank >= 0 && mail->peer[rank].is_gone)
            give_place(mail, place);
    }
}

void name_close(struct mail *mail)
{
    for (uint32_t place = 0; place < SENDS_MAX; place++) {
        if (mail->rendezvous->withdrawn[place].is_pushing)
            give_place(mail, place);
    }
}
