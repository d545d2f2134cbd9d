/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What arrive.c and receive.c share: messages that came before their receives.
 */
#pragma once

#include "provider/op.h"

/* What is known of a message before its data. */
struct head {
    uint64_t place; /* its sender */
    uint32_t label;
    uint32_t number; /* if it asks for an answer */
    uint64_t tag;
    uint64_t data;
};

/* A message that came before its receive. */
struct message {
    struct matching_entry entry; /* first */
    struct head head;
    bool is_long;
    struct rts rts;
    struct op *own; /* of this process, with the data in its buffer; or NULL */
    size_t length;
    size_t cost; /* bytes of memory that it takes here */
    char bytes[];
};

static inline struct op *op_of(struct matching_entry *entry)
{
    return container_of(entry, struct op, entry);
}

/* A message is kept until it has a receive; it is no more, and to be freed. */
void hold_kept(struct engine *engine, const struct message *message);
void hold_freed(struct engine *engine, const struct message *message);

/* What a completion says of the message. */
void receive_describe(struct op *receive, const struct head *head, size_t length);
/* The part of a buffer for several messages that one of this length gets; the buffer stays posted
 * until little of it is left. NULL: no memory. */
struct op *receive_part_take(struct op *multiple, size_t length);
/* A message that was kept goes to this receive. */
void message_hand_over(struct op *receive, struct message *message);
/* Nobody wants it; its sender hears this error, or 0. False: no memory. */
bool message_discard(struct engine *engine, struct message *message, int error);
