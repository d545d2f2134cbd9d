/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What brings something back from ranks that are not near: pull, atomics, and flush, which brings
 * back that all has arrived.
 */
#include "base/error.h"
#include "nic/handover.h"
#include "nic/ofi/ofi_nic.h"

#include <string.h>

static int pull_start(struct ofi_nic *ofi, struct ofi_errand *errand, struct ofi_move *move,
                      struct rh_remote source, struct rh_done *done, struct ofi_task **waited)
{
    move->view = ofi_view_check(ofi, errand, source, move->length, RH_READ);
    if (!move->view)
        return errand->result;
    if (move->view->info.kind == NIC_SEGMENT_QUEUE)
        return ofi_refuse_queue(ofi, move->view);
    struct ofi_task *task = ofi_transfer_start(ofi, source.rank, done);
    int result = RH_EAGAIN;
    if (task) {
        ofi_move_start(ofi, task, move);
        result = ofi_transfer_started(ofi, task, 0, waited);
    }
    ofi_unlock(ofi);
    return result;
}

int ofi_pull(struct nic *nic, struct rh_remote source, void *target, size_t length,
             const struct nic_extra *extra)
{
    nic_assert_pull(nic, source, extra);
    struct ofi_nic *ofi = ofi_nic_of(nic);
    if (ofi_is_near(ofi, source.rank))
        return ofi->inner->ops->pull(ofi->inner, source, target, length, extra);
    struct rh_done *done = extra ? extra->done : NULL;
    struct ofi_task *task = NULL;
    struct ofi_errand errand = ofi_errand(ofi, source.rank, "pull");
    struct ofi_move move = {.offset = source.offset, .local = target, .length = length};
    int result = pull_start(ofi, &errand, &move, source, done, &task);
    if (result == RH_EAGAIN)
        return error_set(RH_EAGAIN, source.rank, "too many transfers are under way");
    return result == 0 && task ? ofi_task_wait(ofi, task, &errand, NULL) : result;
}

/* ---- Atomics -------------------------------------------------------------------------------- */

static int atomic_result(struct ofi_nic *ofi, struct rh_remote target, int result,
                         const struct ofi_answer *answer, uint64_t *old)
{
    if (result == 0)
        *old = answer->old;
    return ofi_refused(ofi, target.rank, target.sid, result, "atomic operation");
}

int ofi_atomic(struct nic *nic, struct rh_remote target, const struct nic_atomic_operands *operands,
               uint64_t *old)
{
    nic_assert_atomic(nic, target, operands, old);
    struct ofi_nic *ofi = ofi_nic_of(nic);
    if (ofi_is_near(ofi, target.rank))
        return ofi->inner->ops->atomic(ofi->inner, target, operands, old);
    struct ofi_errand errand = ofi_errand(ofi, target.rank, "atomic operation");
    struct ofi_answer answer;
    errand.ticket = operands->ticket;
    if (errand.ticket && errand.ticket->deadline_ns != 0)
        errand.deadline_ns = errand.ticket->deadline_ns;
    if (errand.ticket && errand.ticket->is_open)
        return atomic_result(ofi, target, ofi_resume(ofi, &errand, &answer), &answer, old);
    struct ofi_view *view = ofi_view_check(ofi, &errand, target, 8, RH_ATOMIC);
    if (!view)
        return errand.result;
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
    int result = ofi_ask(ofi, &errand, &message, sizeof(message.head) + sizeof(body), &answer);
    return atomic_result(ofi, target, result, &answer, old);
}

/* ---- Flush ---------------------------------------------------------------------------------- */

static bool nothing_underway(void *context)
{
    struct ofi_peer *peer = context;
    return atomic_load_explicit(&peer->underway, memory_order_acquire) == 0 &&
           atomic_load_explicit(&peer->late, memory_order_acquire) == 0;
}

static int flush_one(struct ofi_nic *ofi, int rank)
{
    struct ofi_peer *peer = &ofi->peers[rank];
    struct ofi_message message;
    message.head = ofi_head(OFI_FLUSH, 0, 0);
    struct ofi_errand errand = ofi_errand(ofi, rank, "flush");
    int result = ofi_wait_until(ofi, rank, nothing_underway, peer, ofi->timeout_ns);
    if (result < 0)
        return result;
    ofi_lock(ofi);
    bool has_unflushed = peer->has_unflushed; /* until a later message has been answered */
    ofi_unlock(ofi);
    return has_unflushed ? ofi_ask(ofi, &errand, &message, sizeof(message.head), NULL) : 0;
}

int ofi_flush(struct nic *nic, int rank)
{
    nic_assert_any_rank(nic, rank);
    struct ofi_nic *ofi = ofi_nic_of(nic);
    int first = rank == RH_ANY_RANK ? 0 : rank;
    int last = rank == RH_ANY_RANK ? nic->job->size - 1 : rank;
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
