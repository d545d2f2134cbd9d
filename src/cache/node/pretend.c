/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A pretended file system, for measurements: reading from it takes the time that one server at a
 * fixed speed would take for all nodes. A word in the directory of node 0 says until when it is
 * busy. See node.h.
 */
#include "base/clock.h"
#include "cache/node/node.h"

#include <errno.h>

void node_pretend(struct node *node, uint64_t length)
{
    struct rh_remote word = rh_at(0, CACHE_SID_DIRECTORY,
                                  offsetof(struct directory_head, busy_until_ns));
    uint64_t cost = length * NS_PER_S / node->pretended;
    uint64_t old = 0, seen, until;
    do {
        uint64_t now = (uint64_t)clock_now_ns();
        seen = old;
        until = (seen > now ? seen : now) + cost;
        if (rh_compare_swap(node->job, word, seen, until, &old) < 0)
            return;
    } while (old != seen);
    struct timespec moment = {.tv_sec = (time_t)(until / NS_PER_S),
                              .tv_nsec = (long)(until % NS_PER_S)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, NULL) == EINTR)
        ;
}
