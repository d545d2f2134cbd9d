/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Data by RMA: a move is cut into pieces that the provider takes, each a part of its task.
 */
#include "base/clock.h"
#include "nic/ofi/ofi_nic.h"

#include <stdlib.h>

static struct ofi_piece *piece_take(struct ofi_nic *ofi)
{
    struct ofi_piece *piece = ofi->free_pieces;
    if (piece)
        ofi->free_pieces = piece->next;
    else
        piece = calloc(1, sizeof(*piece));
    if (piece) {
        piece->context.use = OFI_USE_PIECE;
        piece->mr = NULL;
    }
    return piece;
}

static void piece_give_back(struct ofi_nic *ofi, struct ofi_piece *piece)
{
    if (piece->mr)
        fi_close(&piece->mr->fid);
    piece->next = ofi->free_pieces;
    ofi->free_pieces = piece;
}

void ofi_piece_over(struct ofi_nic *ofi, struct ofi_piece *piece, int result)
{
    atomic_fetch_sub_explicit(&ofi->piece_count, 1, memory_order_relaxed);
    ofi_view_let_go(ofi, piece->view);
    ofi_task_part_over(ofi, piece->task, result);
    piece_give_back(ofi, piece);
}

static ssize_t post_piece(struct ofi_nic *ofi, struct ofi_piece *piece, const struct ofi_move *move,
                          size_t length)
{
    const struct ofi_segment_info *info = &move->view->info;
    void *description = piece->mr ? fi_mr_desc(piece->mr) : NULL;
    struct iovec local = {.iov_base = move->local, .iov_len = length};
    struct fi_rma_iov remote = {
        .addr = info->address + move->offset, .len = length, .key = info->key};
    struct fi_msg_rma request = {.msg_iov = &local,
                                 .desc = &description,
                                 .iov_count = 1,
                                 .addr = ofi->peers[move->view->rank].address,
                                 .rma_iov = &remote,
                                 .rma_iov_count = 1,
                                 .context = piece};
    uint64_t flags = FI_COMPLETION;
    if (!move->is_push)
        return fi_readmsg(ofi->ep, &request, flags);
    if (move->needs_delivery)
        flags |= FI_DELIVERY_COMPLETE;
    if (length <= ofi->inject_most)
        flags |= FI_INJECT;
    return fi_writemsg(ofi->ep, &request, flags);
}

static int start_piece(struct ofi_nic *ofi, struct ofi_task *task, const struct ofi_move *move,
                       size_t length)
{
    struct ofi_piece *piece = piece_take(ofi);
    if (!piece)
        return RH_EAGAIN;
    if (ofi->has_local_mr) {
        int result = ofi_register(ofi, move->local, length, move->is_push ? FI_WRITE : FI_READ,
                                  &piece->mr);
        if (result < 0) {
            piece_give_back(ofi, piece);
            return result;
        }
    }
    piece->task = task;
    piece->view = move->view;
    ssize_t result = post_piece(ofi, piece, move, length);
    if (result < 0) {
        piece_give_back(ofi, piece);
        return result == -FI_EAGAIN ? RH_EAGAIN : -ENOTCONN;
    }
    atomic_fetch_add_explicit(&task->pending, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&ofi->piece_count, 1, memory_order_relaxed);
    move->view->underway++;
    task->sid = move->view->sid;
    task->length += length;
    return 0;
}

int ofi_move_start(struct ofi_nic *ofi, struct ofi_task *task, struct ofi_move *move)
{
    uint64_t most = ofi->info->ep_attr->max_msg_size;
    if (most > OFI_PIECE_LENGTH)
        most = OFI_PIECE_LENGTH;
    while (move->length > 0) {
        size_t length = move->length < most ? move->length : (size_t)most;
        int result = start_piece(ofi, task, move, length);
        if (result < 0)
            return result;
        move->offset += length;
        move->local += length;
        move->length -= length;
    }
    return 0;
}

int ofi_move_start_all(struct ofi_nic *ofi, struct ofi_task *task, struct ofi_move *move)
{
    size_t whole = move->length;
    int64_t deadline_ns = clock_deadline_ns(ofi->timeout_ns);
    for (;;) {
        int result = ofi_move_start(ofi, task, move);
        if (result != RH_EAGAIN || move->length == whole)
            return result;
        ofi_unlock(ofi);
        result = ofi_pause(ofi, move->view->rank, deadline_ns);
        ofi_lock(ofi);
        if (result < 0)
            return result;
    }
}

struct ofi_task *ofi_transfer_start(struct ofi_nic *ofi, int rank, struct rh_done *done)
{
    if (done && ofi->task_count >= OFI_TASKS_MOST)
        return NULL;
    struct ofi_task *task = ofi_task_start(ofi, rank, done);
    if (task)
        atomic_store(&task->pending, 1); /* ours, while it is being started */
    return task;
}

int ofi_transfer_started(struct ofi_nic *ofi, struct ofi_task *task, int result,
                         struct ofi_task **waited)
{
    bool is_nothing = result < 0 && atomic_load(&task->pending) == 1;
    *waited = is_nothing || task->done ? NULL : task;
    if (is_nothing)
        ofi_task_free(ofi, task);
    else
        ofi_task_part_over(ofi, task, result);
    return is_nothing ? result : 0;
}
