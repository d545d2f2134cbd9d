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
    *state = NULL;
    return 0;
}

static void close_nothing(struct rh_dsm *dsm, void *state) {}

static int start(const struct dsm_move *move, const struct dsm_piece *piece, bool is_push,
                 struct rh_done *done)
{
    struct rh_remote remote = rh_at(move->rank, DSM_SID_HEAP, piece->offset);
    char *local = move->dsm->heap + piece->offset;
    return is_push ? rh_push_start(move->dsm->job, remote, local, piece->length, done)
                   : rh_pull_start(move->dsm->job, remote, local, piece->length, done);
}

/* An operation that was started is over when this returns, or given up: nobody writes its flag or
 * our heap any more. */
static int finish(const struct dsm_move *move, struct rh_done *done)
{
    struct rh_job *job = move->dsm->job;
    int result = rh_wait_done(job, done, rma_left_ns(move->dsm->job, move->deadline_ns));
    if (result == RH_EAGAIN) /* there was no time left */
        result = error_set(RH_ETIMEOUT, move->rank, "no time left for data of rank %d", move->rank);
    if (result < 0 && rh_withdraw(job, done) == 0)
        return 0;
    return result;
}

/* One piece at a time, as often as need be and while there is time. */
static int move_once_more(const struct dsm_move *move, const struct dsm_piece *piece, bool is_push)
{
    int result = RH_ETIMEOUT;
    for (int i = 0; i < TRIES && result == RH_ETIMEOUT; i++) {
        struct rh_done done;
        if (i > 0 && rma_left_ns(move->dsm->job, move->deadline_ns) == 0)
            break;
        result = start(move, piece, is_push, &done);
        if (result == 0) {
            result = finish(move, &done);
        } else if (result == RH_EAGAIN) { /* too many are under way */
            result = rh_flush(move->dsm->job, move->rank);
            result = result == 0 ? RH_ETIMEOUT : result;
        }
    }
    return result;
}

/* Up to UNDER_WAY pieces; none of them is under way any more when this returns. */
static int move_some(const struct dsm_move *move, const struct dsm_piece *pieces, size_t count,
                     bool is_push)
{
    struct rh_done done[UNDER_WAY];
    bool is_started[UNDER_WAY];
    int first = 0;
    for (size_t i = 0; i < count; i++)
        is_started[i] = start(move, &pieces[i], is_push, &done[i]) == 0;
    for (size_t i = 0; i < count; i++) {
        if (first < 0 && is_started[i])
            rh_withdraw(move->dsm->job, &done[i]);
        if (first < 0)
            continue;
        int result = is_started[i] ? finish(move, &done[i]) : RH_EAGAIN;
        if (result == RH_EAGAIN || result == RH_ETIMEOUT)
            result = move_once_more(move, &pieces[i], is_push);
        first = result;
    }
    return first;
}

static int move_far(const struct dsm_move *move, bool is_push)
{
    int result = 0;
    for (size_t i = 0; i < move->count && result == 0; i += UNDER_WAY) {
        size_t some = move->count - i < UNDER_WAY ? move->count - i : UNDER_WAY;
        result = some == 1 ? move_once_more(move, &move->pieces[i], is_push)
                           : move_some(move, move->pieces + i, some, is_push);
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

static int pull(const struct dsm_move *move)
{
    const char *peer = move->dsm->peers[move->rank].heap;
    if (unlikely(!peer))
        return move_far(move, false);
    for (size_t i = 0; i < move->count; i++) {
        const struct dsm_piece *piece = &move->pieces[i];
        copy(move->dsm->heap + piece->offset, peer + piece->offset, piece->length);
    }
    return 0;
}

static int push(const struct dsm_move *move)
{
    char *peer = move->dsm->peers[move->rank].heap;
    if (unlikely(!peer))
        return move_far(move, true);
    for (size_t i = 0; i < move->count; i++) {
        const struct dsm_piece *piece = &move->pieces[i];
        copy(peer + piece->offset, move->dsm->heap + piece->offset, piece->length);
    }
    return 0;
}

const struct dsm_bulk_ops dsm_bulk_rdma = {
    .name = "rdma", .open = open_nothing, .close = close_nothing, .pull = pull, .push = push};
