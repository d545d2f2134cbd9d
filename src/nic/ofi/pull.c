/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What brings something back from ranks that are not near: pull, atomics, and flush, which brings
 * back that all has arrived.
 */
#include "base/error.h"
#include "nic/ofi/ofi_nic.h"

#include <string.h>

static int pull_once(struct ofi_nic *ofi, struct rh_remote source, void *target, size_t length,
                     struct rh_done *done, struct ofi_task **waited)
{
    int result = 0;
    struct ofi_view *view = ofi_view_check(ofi, source, length, RH_READ, &result);
    if (!view)
        return result;
    if (view->info.kind == NIC_SEGMENT_QUEUE)
        return ofi_refuse_queue(ofi, view);
    struct ofi_move move = {
        .view = view, .offset = source.offset, .local = target, .length = length};
    struct ofi_task *task = ofi_transfer_start(ofi, source.rank, done);
    result = RH_EAGAIN;
    if (task) {
        view->underway++;
        result = ofi_move_start_all(ofi, task, &move);
        ofi_view_let_go(ofi, view);
        result = ofi_transfer_started(ofi, task, result, waited);
    }
    ofi_unlock(ofi);
    return result;
}

int ofi_pull(struct nic *nic, struct rh_remote source, void *target, size_t length,
             const struct nic_extra *extra)
{
    struct ofi_nic *ofi = ofi_nic_of(nic);
    if (ofi_is_near(ofi, source.rank))
        return ofi->inner->ops->pull(ofi->inner, source, target, length, extra);
    struct rh_done *done = extra ? extra->done : NULL;
    struct ofi_task *task = NULL;
    int64_t deadline_ns = 0;
    int result;
    while ((result = pull_once(ofi, source, target, length, done, &task)) == RH_EAGAIN) {
        if (done)
            return error_set(RH_EAGAIN, source.rank, "too many transfers are under way");
        result = ofi_pause_again(ofi, source.rank, &deadline_ns);
        if (result < 0)
            return result;
    }
    if (result == -ENOTCONN)
        return ofi_peer_lost(ofi, source.rank, "pull");
    return result == 0 && task ? ofi_task_wait(ofi, task, NULL, "pull") : result;
}

/* ---- Atomics -------------------------------------------------------------------------------- */

int ofi_atomic(struct nic *nic, struct rh_remote target, const struct nic_atomic_operands *operands,
               uint64_t *old)
{
    struct ofi_nic *ofi = ofi_nic_of(nic);
    if (ofi_is_near(ofi, target.rank))
        return ofi->inner->ops->atomic(ofi->inner, target, operands, old);
    int result = 0;
    struct ofi_view *view = ofi_view_check(ofi, target, 8, RH_ATOMIC, &result);
    if (!view)
        return result;
    if (view->info.kind == NIC_SEGMENT_QUEUE)
        return ofi_refuse_queue(ofi, view);
    struct ofi_message message;
    struct ofi_atomic_body body = {.operation = operands->operation,
                                   .operand = operands->operand,
                                   .expected = operands->expected};
    message.head = ofi_head(OFI_ATOMIC, target.sid, target.offset);
    message.head.generation = view->info.generation;
    ofi_unlock(ofi);
    if (target.offset % 8 != 0)
        return ofi_refuse_alignment(target);
    memcpy(message.body, &body, sizeof(body));
    struct ofi_answer answer;
    result = ofi_ask(ofi, target.rank, &message, sizeof(message.head) + sizeof(body), &answer,
                     "atomic operation");
    if (result == 0)
        *old = answer.old;
    return ofi_refused(ofi, target.rank, target.sid, result, "atomic operation");
}

/* ---- Flush ---------------------------------------------------------------------------------- */

static bool nothing_underway(void *context)
{
    struct ofi_peer *peer = context;
    return atomic_load_explicit(&peer->underway, memory_order_acquire) == 0;
}

static int flush_one(struct ofi_nic *ofi, int rank)
{
    struct ofi_peer *peer = &ofi->peers[rank];
    struct ofi_message message;
    message.head = ofi_head(OFI_FLUSH, 0, 0);
    int result = ofi_wait_until(ofi, rank, nothing_underway, peer, ofi->timeout_ns);
    if (result < 0)
        return result;
    ofi_lock(ofi);
    bool has_unflushed = peer->has_unflushed;
    peer->has_unflushed = false;
    ofi_unlock(ofi);
    if (!has_unflushed)
        return 0;
    return ofi_ask(ofi, rank, &message, sizeof(message.head), NULL, "flush");
}

int ofi_flush(struct nic *nic, int rank)
{
    struct ofi_nic *ofi = ofi_nic_of(nic);
    int first = rank == RH_ANY_RANK ? 0 : rank;
    int last = rank == RH_ANY_RANK ? nic->world->size - 1 : rank;
    int result = 0;
    if (rank != RH_ANY_RANK && ofi_is_gone(ofi, rank))
        return nic_peer_gone(nic, rank, "flush");
    for (int at = first; at <= last && result == 0; at++) {
        if (!ofi_is_near(ofi, at) && !ofi_is_gone(ofi, at))
            result = flush_one(ofi, at);
        if (result == RH_EDEAD && rank == RH_ANY_RANK)
            result = 0; /* the dead have nothing to flush */
    }
    if (result < 0)
        return result;
    return ofi->inner->ops->flush(ofi->inner, ofi_is_near(ofi, first) ? rank : RH_ANY_RANK);
}
