/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Getting things to peers that may be stopped, without waiting for them: post.c, and control.c for
 * control slots.
 */
#pragma once

#include "msg/layout.h"

struct mail;

/* Which word of struct returns a receiver gives back. */
enum return_field { RETURN_LANE, RETURN_INBOX, RETURN_BLOCKS, RETURN_FIELDS };

/* A word on its way to a peer: a count that only grows, in a word that is ours for good, or what is
 * told of one message, in a word that is another message's once its sender has heard. */
struct posted_word {
    uint64_t value; /* what travels */
    uint64_t known; /* what the peer has */
    struct rh_done done;
    bool is_underway;
    bool is_of_message;
    bool is_in_doubt;         /* of a message: its push timed out, so it is not pushed again */
    struct nic_ticket ticket; /* of the swap that follows, see post.c */
};

/* ---- Appends -------------------------------------------------------------------------------- */

/* Append a slot to a peer's inbox. 0: it is there, or will be; RH_EAGAIN: not now. */
int post_append(struct mail *mail, int rank, const struct slot_head *head, const void *data);
/* Whether an append is the next of its sender, and not one that was made twice; takes the number
 * out of its head. */
bool post_is_next(struct mail *mail, int source, struct slot_head *head);
/* It has been dealt with. */
void post_taken(struct mail *mail, int source, uint16_t number);
/* Go on with what could not be decided before; whether the inbox takes something else. */
bool post_settle(struct mail *mail, int rank);

/* ---- control.c: slots that are no messages -------------------------------------------------- */

/* Get a control slot to a peer, now or later. False: neither, there is no memory to remember it. */
bool control_post(struct mail *mail, int rank, const struct slot_head *head, const void *data);
/* Go on with those that could not be sent yet; whether all are with the peer now. */
bool control_settle(struct mail *mail, int rank);
void control_drop(struct mail *mail, int rank);

/* ---- Blocks and words ----------------------------------------------------------------------- */

/* Push a block. RH_EAGAIN: not now, and the same must be pushed there again. */
int post_block(struct mail *mail, struct rh_remote block, const void *data, size_t length);
/* Write a peer's word, from memory that stays. False if it must be asked for again. */
bool post_word(struct mail *mail, struct posted_word *word, struct rh_remote target,
               uint64_t value);
/* The word's memory goes away. */
void post_withdraw(struct mail *mail, struct posted_word *word);

/* Make a message's word, which is `before` now, `value`, whenever that is; it needs no room there,
 * nor this process to look after it unless the network loses it. False: not now, and nothing was
 * begun. */
bool post_once(struct mail *mail, struct rh_remote target, uint64_t before, uint64_t value);

/* Whether all of these have come, or the peer is gone. */
bool post_tellings(struct mail *mail, int rank);
/* Tell a sender how far we are if it is behind by so many, one count at a time. Returns how far it
 * is known to know. */
uint64_t post_count(struct mail *mail, int rank, enum return_field field, uint64_t count,
                    uint64_t behind);
/* What was taken for sent gets its chance; the rest is withdrawn. */
void post_close(struct mail *mail);
