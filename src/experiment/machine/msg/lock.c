/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Locks: one that nobody else wants, whose representative is the peer; and one that both want.
 */
#include "experiment/machine/msg/msg.h"

#define LOCK_OF_PEER 1u /* number mod size is the representative's rank, and rank 0 is timed */

static int lock_chunk(struct bench_run *run, unsigned count)
{
    struct rh_msg *msg = run->msg;
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++) {
        result |= rh_lock(msg, LOCK_OF_PEER, RH_TIMEOUT_DEFAULT);
        result |= rh_unlock(msg, LOCK_OF_PEER);
    }
    return result;
}

BENCH_MEASURE(msg_lock, bench_time, lock_chunk, 1000)

/* First come, first served: they take turns, so an iteration is two hand-overs. */
int msg_lock_contended(struct bench_run *run, double *figure)
{
    double ns = 2;
    int result = bench_time_together(run, lock_chunk, 500, &ns);
    *figure = ns / 2;
    return result;
}
