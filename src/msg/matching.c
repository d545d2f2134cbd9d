/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages with tags of 64 bits and their receives: see matching.h.
 */
#include "msg/matching.h"

#include "base/assert.h"
#include "base/likely.h"

#include <stddef.h>

void matching_append(struct matching_list *list, struct matching_entry *entry)
{
    ASSERT((list->first == NULL) == (list->last == NULL));
    entry->next = NULL;
    entry->previous = list->last;
    if (list->last)
        list->last->next = entry;
    else
        list->first = entry;
    list->last = entry;
}

void matching_remove(struct matching_list *list, struct matching_entry *entry)
{
    ASSERT((entry->previous ? entry->previous->next : list->first) == entry);
    ASSERT((entry->next ? entry->next->previous : list->last) == entry);
    if (entry->previous)
        entry->previous->next = entry->next;
    else
        list->first = entry->next;
    if (entry->next)
        entry->next->previous = entry->previous;
    else
        list->last = entry->previous;
}

struct matching_entry *matching_posted_find(const struct matching *matching,
                                            const struct matching_entry *message)
{
    struct matching_entry *receive = matching->posted.first;
    while (receive && !matching_fits(receive, message))
        receive = receive->next;
    return receive;
}

struct matching_entry *matching_unexpected_find(const struct matching *matching,
                                                const struct matching_entry *receive)
{
    struct matching_entry *message = matching->unexpected.first;
    while (message && !matching_fits(receive, message))
        message = message->next;
    return message;
}

struct matching_entry *matching_arrive(struct matching *matching, struct matching_entry *message)
{
    struct matching_entry *receive = matching_posted_find(matching, message);
    if (likely(receive))
        matching_remove(&matching->posted, receive);
    else
        matching_append(&matching->unexpected, message);
    return receive;
}

struct matching_entry *matching_post(struct matching *matching, struct matching_entry *receive)
{
    struct matching_entry *message = matching_unexpected_find(matching, receive);
    if (message)
        matching_remove(&matching->unexpected, message);
    else
        matching_append(&matching->posted, receive);
    return message;
}
