/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Data by remote memory: plain copies where a peer's heap is mapped here, else pulls and pushes, of
 * which several are under way at a time.
 */
#include "dsm/bulk.h"

#include <string.h>

#define UNDER_WAY 16
#define TRIES     16 /* of a transfer that the network has lost */

static int open_nothing(struct rh_dsm *dsm, void **state)
{
    (void)dsm;
    *state = NULL;
    return 0;
}

static void close_nothing(struct rh_dsm *dsm, void *state)
{
    (void)dsm;
    (void)state;
}

static int start(struct rh_dsm *dsm, int rank, const struct dsm_piece *piece, bool is_push,
                 struct rh_done *done)
{
    struct rh_remote remote = rh_at(rank, DSM_SID_HEAP, piece->offset);
    char *local = dsm->heap + piece->offset;
    return is_push ? rh_push_start(dsm->job, remote, local, piece->length, done)
                   : rh_pull_start(dsm->job, remote, local, piece->length, done);
}

/* One piece at a time, as often as need be. */
static int move_once_more(struct rh_dsm *dsm, int rank, const struct dsm_piece *piece, bool is_push)
{
    int result = RH_ETIMEOUT;
    for (int i = 0; i < TRIES && result == RH_ETIMEOUT; i++) {
        struct rh_remote remote = rh_at(rank, DSM_SID_HEAP, piece->offset);
        char *local = dsm->heap + piece->offset;
        result = is_push ? rh_push(dsm->job, remote, local, piece->length)
                         : rh_pull(dsm->job, remote, local, piece->length);
    }
    return result;
}

/* Up to UNDER_WAY pieces; waits for all that were started, whatever happens. */
static int move_some(struct rh_dsm *dsm, int rank, const struct dsm_piece *pieces, size_t count,
                     bool is_push)
{
    struct rh_done done[UNDER_WAY];
    bool is_started[UNDER_WAY];
    int first = 0;
    for (size_t i = 0; i < count; i++)
        is_started[i] = start(dsm, rank, &pieces[i], is_push, &done[i]) == 0;
    for (size_t i = 0; i < count; i++) {
        int result = is_started[i] ? rh_wait_done(dsm->job, &done[i], RH_TIMEOUT_DEFAULT)
                                   : RH_EAGAIN;
        if ((result == RH_EAGAIN || result == RH_ETIMEOUT) && first == 0)
            result = move_once_more(dsm, rank, &pieces[i], is_push);
        if (result < 0 && first == 0)
            first = result;
    }
    return first;
}

static int move_far(struct rh_dsm *dsm, int rank, const struct dsm_piece *pieces, size_t count,
                    bool is_push)
{
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i += UNDER_WAY) {
        size_t some = count - i < UNDER_WAY ? count - i : UNDER_WAY;
        result = some == 1 ? move_once_more(dsm, rank, &pieces[i], is_push)
                           : move_some(dsm, rank, pieces + i, some, is_push);
    }
    return result;
}

static inline void copy(char *target, const char *source, size_t length)
{
    if (likely(length == 8)) /* a counter, a pointer */
        memcpy(target, source, 8);
    else
        memcpy(target, source, length);
}

static int pull(struct rh_dsm *dsm, int rank, const struct dsm_piece *pieces, size_t count)
{
    const char *peer = dsm->peers[rank].heap;
    if (unlikely(!peer))
        return move_far(dsm, rank, pieces, count, false);
    for (size_t i = 0; i < count; i++)
        copy(dsm->heap + pieces[i].offset, peer + pieces[i].offset, pieces[i].length);
    return 0;
}

static int push(struct rh_dsm *dsm, int rank, const struct dsm_piece *pieces, size_t count)
{
    char *peer = dsm->peers[rank].heap;
    if (unlikely(!peer))
        return move_far(dsm, rank, pieces, count, true);
    for (size_t i = 0; i < count; i++)
        copy(peer + pieces[i].offset, dsm->heap + pieces[i].offset, pieces[i].length);
    return 0;
}

const struct dsm_bulk_ops dsm_bulk_rdma = {
    .name = "rdma", .open = open_nothing, .close = close_nothing, .pull = pull, .push = push};
