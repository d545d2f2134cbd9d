/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One thread of a node gets a block; others that want the same wait for it. See node.h.
 */
#include "base/clock.h"
#include "cache/node/node.h"

/* The entry with this ID, or -1; 0 as ID finds a free one. */
static int find(const struct node *node, uint64_t low, uint64_t high)
{
    for (int i = 0; i < NODE_PENDING_MAX; i++) {
        if (node->pending[i][0] == low && node->pending[i][1] == high)
            return i;
    }
    return -1;
}

bool node_pending_enter(struct node *node, const uint64_t id[2], int64_t deadline_ns)
{
    struct timespec deadline = {.tv_sec = deadline_ns / NS_PER_S,
                                .tv_nsec = deadline_ns % NS_PER_S};
    bool has_waited = false;
    pthread_mutex_lock(&node->pending_lock);
    int place = -1;
    for (;;) {
        bool is_pending = find(node, id[0], id[1]) >= 0;
        if (!is_pending && has_waited)
            break; /* the other is done: look what came of it */
        place = is_pending ? -1 : find(node, 0, 0);
        if (place >= 0)
            break;
        has_waited = is_pending;
        if (pthread_cond_timedwait(&node->pending_end, &node->pending_lock, &deadline) != 0)
            break;
    }
    if (place >= 0) {
        node->pending[place][0] = id[0];
        node->pending[place][1] = id[1];
    }
    pthread_mutex_unlock(&node->pending_lock);
    return place >= 0;
}

void node_pending_leave(struct node *node, const uint64_t id[2])
{
    pthread_mutex_lock(&node->pending_lock);
    int place = find(node, id[0], id[1]);
    node->pending[place][0] = node->pending[place][1] = 0;
    pthread_cond_broadcast(&node->pending_end);
    pthread_mutex_unlock(&node->pending_lock);
}
