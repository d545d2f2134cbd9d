/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The names that a sender gives its long messages, and when a place among them is free again: when
 * the message is over, or, if it was given up, when its receiver has been heard. By the word if it
 * had pulled it just then, by a slot otherwise.
 */
#include "msg/rendezvous/parts.h"

static void give_place(struct mail *mail, uint32_t place)
{
    struct rendezvous *rendezvous = mail->rendezvous;
    bool was_untold = rendezvous->withdrawn[place].is_untold;
    rendezvous->withdrawn[place].rank = 0;
    rendezvous->withdrawn[place].is_untold = false;
    rendezvous->untold_count -= was_untold;
    mail->long_count -= was_untold;
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
    for (uint32_t place = 0; place < SENDS_MOST; place++) {
        if (rendezvous->withdrawn[place].rank != 0 &&
            name_done(mail, rendezvous->withdrawn[place].send_id) == DONE_ALL)
            give_place(mail, place);
    }
}

int name_take(struct mail *mail, uint64_t *send_id)
{
    struct rendezvous *rendezvous = mail->rendezvous;
    for (uint32_t word = 0; word < SENDS_MOST / 64; word++) {
        if (~rendezvous->names[word] == 0)
            continue;
        uint32_t bit = (uint32_t)__builtin_ctzll(~rendezvous->names[word]);
        rendezvous->names[word] |= 1ULL << bit;
        *send_id = rendezvous->name_count++ * SENDS_MOST + word * 64ULL + bit;
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

void name_withdraw(struct mail *mail, int rank, uint64_t send_id)
{
    uint32_t place = name_place(send_id);
    mail->rendezvous->withdrawn[place].rank = rank + 1;
    mail->rendezvous->withdrawn[place].send_id = send_id;
}

bool name_is_withdrawn(const struct mail *mail, int rank, uint64_t send_id)
{
    uint32_t place = name_place(send_id);
    return mail->rendezvous->withdrawn[place].rank == rank + 1 &&
           mail->rendezvous->withdrawn[place].send_id == send_id;
}

void name_tell_withdrawn(struct mail *mail, uint64_t send_id)
{
    uint32_t place = name_place(send_id);
    int rank = mail->rendezvous->withdrawn[place].rank - 1;
    if (name_post(mail, rank, SLOT_WITHDRAW, send_id))
        return;
    mail->rendezvous->withdrawn[place].is_untold = true;
    mail->rendezvous->untold_count++;
    mail->long_count++;
}

void name_tell_untold(struct mail *mail)
{
    struct rendezvous *rendezvous = mail->rendezvous;
    for (uint32_t place = 0; place < SENDS_MOST && rendezvous->untold_count > 0; place++) {
        if (!rendezvous->withdrawn[place].is_untold ||
            !name_post(mail, rendezvous->withdrawn[place].rank - 1, SLOT_WITHDRAW,
                       rendezvous->withdrawn[place].send_id))
            continue;
        rendezvous->withdrawn[place].is_untold = false;
        rendezvous->untold_count--;
        mail->long_count--;
    }
}

void name_end_gone(struct mail *mail)
{
    for (uint32_t place = 0; place < SENDS_MOST; place++) {
        int rank = mail->rendezvous->withdrawn[place].rank - 1;
        if (rank >= 0 && mail->peer[rank].is_gone)
            give_place(mail, place);
    }
}
