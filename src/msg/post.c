/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Getting things to a peer that may be stopped, without waiting for it: the mailbox is everybody's,
 * and no rank's messages may wait for another rank.
 *
 * An append that is not answered soon is in doubt. It is kept here, with its ticket, and gone on
 * with until it is decided; meanwhile nothing else is appended to that inbox, so it arrives in
 * order, and its sender may take it for sent. A NIC that cannot go on with an append makes it again
 * (martini, where packets are lost): appends are numbered, and the receiver drops what is not the
 * next. Counts that are given back travel from memory of the mailbox, one at a time, and so do
 * words of messages. The push of a block is withdrawn and tried again later, with more patience
 * each time.
 *
 * A push that timed out may have landed, or will, but before anything that we write there later
 * (nic.h). So a count is pushed again as it is: its word is written by us alone, and only grows.
 * The same goes for a block until its slot is sent. A message's word is another message's as soon
 * as the sender has heard, perhaps one to another receiver, so it is not pushed again: that could
 * make a message received that is not, or undo what another receiver has told. It is swapped, if it
 * is still this message's. Models: tests/model/repeat.pml, pulled.pml.
 */
#include "base/clock.h"
#include "msg/mail.h"
#include "rma/inside.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SOON_NS (5 * NS_PER_MS)

struct doubt {
    bool is_kept; /* there is one */
    struct nic_ticket ticket;
    size_t length;
    char message[sizeof(struct slot_head) + INBOX_LENGTH];
};

static bool is_gone_code(int result)
{
    return result == RH_EDEAD || result == RH_ESTALE || result == RH_ENOSEG;
}

/* ---- Appends -------------------------------------------------------------------------------- */

static int try_append(struct mail *mail, int rank, struct doubt *doubt, int64_t patience_ns)
{
    doubt->ticket.deadline_ns = rma_deadline_ns(mail->job, patience_ns);
    return rma_append_try(mail->job, rh_at(rank, MSG_SID_INBOX, 0), doubt->message, doubt->length,
                          &doubt->ticket);
}

bool post_settle(struct mail *mail, int rank)
{
    struct doubt *doubt = mail->peer[rank].doubt;
    if (likely(!doubt || !doubt->is_kept))
        return true;
    /* RH_EAGAIN: it did not get in, and is appended anew. */
    int result = try_append(mail, rank, doubt, 0);
    if (result == RH_ETIMEOUT || result == RH_EAGAIN)
        return false;
    ASSERT(mail->pending_count > 0);
    doubt->is_kept = false;
    mail->pending_count--;
    return true;
}

int post_append(struct mail *mail, int rank, const struct slot_head *head, const void *data)
{
    ASSERT(head->length <= INBOX_LENGTH);
    ASSERT(head->kind < 1 << KIND_BITS); /* the number comes here */
    struct peer *peer = &mail->peer[rank];
    if (unlikely(!peer->doubt)) /* before there is something to be kept in it */
        peer->doubt = calloc(1, sizeof(*peer->doubt));
    if (!peer->doubt || !post_settle(mail, rank))
        return RH_EAGAIN;
    struct doubt *doubt = peer->doubt;
    struct slot_head numbered = *head;
    uint16_t number = (peer->post_number + 1) & NUMBER_MASK;
    numbered.kind = (uint16_t)(head->kind | number << KIND_BITS);
    doubt->length = sizeof(*head) + head->length;
    memcpy(doubt->message, &numbered, sizeof(numbered));
    if (head->length > 0)
        memcpy(doubt->message + sizeof(*head), data, head->length);
    int result = try_append(mail, rank, doubt, SOON_NS);
    if (result == RH_ETIMEOUT && !doubt->ticket.is_open) /* nothing was appended */
        return RH_EAGAIN;
    if (result == 0 || result == RH_ETIMEOUT)
        peer->post_number = number;
    if (likely(result != RH_ETIMEOUT))
        return result;
    doubt->is_kept = true;
    mail->pending_count++;
    return 0;
}

bool post_is_next(struct mail *mail, int source, struct slot_head *head)
{
    struct peer *peer = &mail->peer[source];
    uint16_t number = head->kind >> KIND_BITS;
    head->kind &= (1 << KIND_BITS) - 1;
    return !peer->has_taken || number == ((peer->taken_number + 1) & NUMBER_MASK);
}

void post_taken(struct mail *mail, int source, uint16_t number)
{
    mail->peer[source].has_taken = true;
    mail->peer[source].taken_number = number;
}

/* ---- Blocks --------------------------------------------------------------------------------- */

int post_block(struct mail *mail, struct rh_remote block, const void *data, size_t length)
{
    struct peer *peer = &mail->peer[block.rank];
    struct rh_done done;
    int result = likely(peer->is_direct) ? rh_push(mail->job, block, data, length)
                                         : rh_push_start(mail->job, block, data, length, &done);
    if (peer->is_direct || result < 0)
        return result == RH_ETIMEOUT ? RH_EAGAIN : result;
    int64_t patience_ns = peer->patience_ns > SOON_NS ? peer->patience_ns : SOON_NS;
    result = rh_wait_done(mail->job, &done, patience_ns);
    if (result == RH_ETIMEOUT || result == RH_EDEAD)
        result = rh_withdraw(mail->job, &done);
    peer->patience_ns = result == RH_ECANCELED &&
                                patience_ns < rma_timeout_ns(mail->job, RH_TIMEOUT_DEFAULT) / 4
                            ? patience_ns * 4
                            : 0;
    return result == RH_ECANCELED || result == RH_ETIMEOUT ? RH_EAGAIN : result;
}

/* ---- Words ---------------------------------------------------------------------------------- */

static bool post_start(struct mail *mail, struct posted_word *word, struct rh_remote target)
{
    int result = rh_push_start(mail->job, target, &word->value, sizeof(word->value), &word->done);
    word->is_underway = result == 0;
    if (is_gone_code(result))
        word->known = word->value;
    return is_gone_code(result);
}

/* Whether it is over; a sender that is gone, or has closed its mailbox, needs no count. */
static bool post_look(struct mail *mail, struct posted_word *word)
{
    int result = rh_test_done(mail->job, &word->done);
    if (result == RH_EAGAIN)
        return false;
    if (result == RH_EDEAD)
        rh_withdraw(mail->job, &word->done);
    word->is_underway = false;
    if (result == 0 || is_gone_code(result))
        word->known = word->value;
    else
        word->is_in_doubt = word->is_of_message;
    return true;
}

/* Whether a message's word has this value, or needs it no more. One that was told before may have
 * come after all; then the next swap starts from there. However often one happens, it does no
 * harm. */
static bool post_swap(struct mail *mail, struct posted_word *word, struct rh_remote target,
                      uint64_t value)
{
    while (word->known != value) {
        if (!word->ticket.is_open)
            word->value = value;
        uint64_t old = 0;
        struct nic_atomic_operands swap = {.operation = NIC_COMPARE_SWAP,
                                           .operand = word->value,
                                           .expected = word->known,
                                           .ticket = &word->ticket};
        word->ticket.deadline_ns = rma_deadline_ns(mail->job, SOON_NS);
        int result = rma_atomic(mail->job, target, &swap, &old);
        if (is_gone_code(result) || (result == 0 && !is_same_message(old, value)))
            return true;
        if (result < 0)
            return false;
        word->known = old == word->known ? word->value : old;
    }
    return true;
}

bool post_word(struct mail *mail, struct posted_word *word, struct rh_remote target, uint64_t value)
{
    if (word->is_underway && !post_look(mail, word))
        return false; /* one at a time: an older count must not come last */
    if (word->known == value)
        return true;
    if (likely(!word->is_in_doubt)) {
        word->value = value;
        if (post_start(mail, word, target))
            return true;
        if (!word->is_underway || !post_look(mail, word))
            return false;
    }
    if (word->known == value)
        return true;
    return word->is_in_doubt && post_swap(mail, word, target, value);
}

/* A count that is still under way is not followed by the next one: while messages come one by one
 * each of them would be, and every message cost a push. */
uint64_t post_count(struct mail *mail, int rank, enum return_field field, uint64_t count,
                    uint64_t behind)
{
    struct posted_word *word = &mail->peer[rank].posted[field];
    uint64_t at = offsetof(struct returns, peer) +
                  (uint64_t)mail->rank * sizeof(mail->returns->peer[0]) + field * sizeof(uint64_t);
    bool is_free = !word->is_underway || post_look(mail, word);
    if (is_free && count - word->known >= behind)
        post_word(mail, word, rh_at(rank, MSG_SID_RETURNS, at), count);
    return word->known;
}

void post_withdraw(struct mail *mail, struct posted_word *word)
{
    if (word->is_underway)
        rh_withdraw(mail->job, &word->done);
    word->is_underway = false;
}

/* ---- Words that nobody waits for ------------------------------------------------------------ */

struct telling {
    struct telling *next;
    struct rh_remote target;
    uint64_t value;
    struct posted_word word;
};

bool post_once(struct mail *mail, struct rh_remote target, uint64_t before, uint64_t value)
{
    struct peer *peer = &mail->peer[target.rank];
    struct telling *telling = calloc(1, sizeof(*telling));
    if (!telling)
        return false;
    telling->word.is_of_message = true;
    telling->word.known = before;
    bool is_over = post_word(mail, &telling->word, target, value);
    if (is_over || (!telling->word.is_underway && !telling->word.is_in_doubt)) {
        free(telling);
        return is_over;
    }
    telling->target = target;
    telling->value = value;
    telling->next = peer->tellings;
    peer->tellings = telling;
    mail->pending_count++;
    return true;
}

static void drop_telling(struct mail *mail, struct telling **at)
{
    struct telling *telling = *at;
    *at = telling->next;
    ASSERT(mail->pending_count > 0);
    post_withdraw(mail, &telling->word);
    mail->pending_count--;
    free(telling);
}

bool post_tellings(struct mail *mail, int rank)
{
    struct telling **at = &mail->peer[rank].tellings;
    while (*at) {
        struct telling *telling = *at;
        if (post_word(mail, &telling->word, telling->target, telling->value))
            drop_telling(mail, at);
        else
            at = &telling->next;
    }
    return !mail->peer[rank].tellings;
}

/* ---- The end -------------------------------------------------------------------------------- */

struct settling {
    struct mail *mail;
    int rank;
};

static bool is_settled(void *context)
{
    struct settling *settling = context;
    bool is_told = post_tellings(settling->mail, settling->rank);
    return control_settle(settling->mail, settling->rank) && is_told;
}

void post_close(struct mail *mail)
{
    int64_t deadline_ns = rma_deadline_ns(mail->job, RH_TIMEOUT_DEFAULT);
    for (int rank = 0; rank < rma_used(mail->job); rank++) {
        struct peer *peer = &mail->peer[rank];
        struct settling settling = {.mail = mail, .rank = rank};
        struct rh_until until = {.is_met = is_settled,
                                 .context = &settling,
                                 .from = rank,
                                 .timeout_ns = rma_left_ns(mail->job, deadline_ns)};
        if (!is_settled(&settling))
            rh_wait_until(mail->job, &until);
        for (int i = 0; i < RETURN_FIELDS; i++)
            post_withdraw(mail, &peer->posted[i]);
        while (peer->tellings)
            drop_telling(mail, &peer->tellings);
        control_drop(mail, rank);
        free(peer->doubt);
    }
}
