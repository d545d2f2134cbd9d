/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How messages with tags of 64 bits find their receives, as MPI and libfabric have it.
 *
 * A receive says which tag it wants, which bits of that do not matter, and from whom, or from
 * anybody. A message goes to the oldest receive that fits; a receive takes the oldest message that
 * fits. So each is one list in order of arrival, and both hold what others embed. Nothing is
 * allocated here and nobody is asked for a lock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define MATCHING_ANY_SOURCE UINT64_MAX

/* A receive that waits, or a message that nobody has wanted yet. */
struct matching_entry {
    struct matching_entry *next, *previous;
    uint64_t source; /* of a receive: or MATCHING_ANY_SOURCE */
    uint64_t tag;
    uint64_t ignore; /* of a receive: bits of the tag that do not matter */
};

struct matching_list {
    struct matching_entry *first, *last;
};

struct matching {
    struct matching_list posted;     /* receives */
    struct matching_list unexpected; /* messages */
};

/* Whether a receive takes a message. */
static inline bool matching_fits(const struct matching_entry *receive,
                                 const struct matching_entry *message)
{
    return ((receive->tag ^ message->tag) & ~receive->ignore) == 0 &&
           (receive->source == message->source || receive->source == MATCHING_ANY_SOURCE);
}

void matching_append(struct matching_list *list, struct matching_entry *entry);
void matching_remove(struct matching_list *list, struct matching_entry *entry);

/* The receive that a message goes to, which stays in its list; or NULL. */
struct matching_entry *matching_posted_find(const struct matching *matching,
                                            const struct matching_entry *message);
/* The message that a receive takes, which stays in its list; or NULL. */
struct matching_entry *matching_unexpected_find(const struct matching *matching,
                                                const struct matching_entry *receive);

/* The receive that a message goes to, taken off; else the message waits, and NULL. */
struct matching_entry *matching_arrive(struct matching *matching, struct matching_entry *message);
/* The message that a receive takes, taken off; else the receive waits, and NULL. */
struct matching_entry *matching_post(struct matching *matching, struct matching_entry *receive);
