/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Data by RMA: a move is cut into pieces, some of which are under way at a time; when one comes
 * back the next one starts. Each is a part of the move's task.
 *
 * A caller that gives up gets its memory back at once, while libfabric keeps a piece until the peer
 * has answered: fi_cancel() does nothing for RMA. So pieces lie in memory of ours. What was read is
 * copied to where it belongs when it is complete and still wanted; what is written is taken from
 * the caller when its piece starts. Only where the caller's memory must be registered anyway
 * (FI_MR_LOCAL) it is used as it is, since closing the registration takes it back.
 */
#include "nic/ofi/ofi_nic.h"

#include <stdlib.h>
#include <string.h>

#define SMALL_LENGTH 512
#define LARGE_LENGTH                                                                               \
    (256 * 1024)     /* shorter ones cost a trip each, longer ones wait for their copy */
#define LARGE_MAX 32 /* pieces, of all moves together */
#define DEPTH     4  /* pieces of one move */

/* ---- Pieces --------------------------------------------------------------------------------- */

static struct ofi_piece *piece_take(struct ofi_nic *ofi, size_t length)
{
    bool is_large = length > SMALL_LENGTH;
    struct ofi_piece **list = is_large ? &ofi->free_large : &ofi->free_small;
    struct ofi_piece *piece = *list;
    if (piece) {
        *list = piece->next;
    } else if (!is_large || ofi->large_count < LARGE_MAX) {
        size_t room = is_large ? LARGE_LENGTH : SMALL_LENGTH;
        piece = malloc(sizeof(*piece) + room);
        if (!piece)
            return NULL;
        ofi->large_count += is_large;
    } else {
        return NULL;
    }
    memset(piece, 0, sizeof(*piece));
    piece->context.use = OFI_USE_PIECE;
    piece->is_large = is_large;
    return piece;
}

static void piece_give_back(struct ofi_nic *ofi, struct ofi_piece *piece)
{
    struct ofi_piece **list = piece->is_large ? &ofi->free_large : &ofi->free_small;
    if (piece->mr)
        fi_close(&piece->mr->fid);
    piece->next = *list;
    *list = piece;
}

static void piece_list(struct ofi_nic *ofi, struct ofi_piece *piece)
{
    piece->next = ofi->pieces;
    if (piece->next)
        piece->next->previous = piece;
    ofi->pieces = piece;
    atomic_fetch_add_explicit(&ofi->piece_count, 1, memory_order_relaxed);
}

static void piece_unlist(struct ofi_nic *ofi, struct ofi_piece *piece)
{
    if (piece->next)
        piece->next->previous = piece->previous;
    if (piece->previous)
        piece->previous->next = piece->next;
    else
        ofi->pieces = piece->next;
    atomic_fetch_sub_explicit(&ofi->piece_count, 1, memory_order_relaxed);
}

static ssize_t post_piece(struct ofi_nic *ofi, struct ofi_piece *piece, const struct ofi_move *move)
{
    const struct ofi_segment_info *info = &move->view->info;
    void *description = piece->mr ? fi_mr_desc(piece->mr) : NULL;
    struct iovec local = {.iov_base = piece->mr ? move->local : piece->buffer,
                          .iov_len = piece->length};
    struct fi_rma_iov remote = {
        .addr = info->address + move->offset, .len = piece->length, .key = info->key};
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
    if (piece->length <= ofi->inject_max)
        flags |= FI_INJECT;
    return fi_writemsg(ofi->ep, &request, flags);
}

/* Its memory: the caller's, registered, or a copy. */
static int piece_prepare(struct ofi_nic *ofi, struct ofi_piece *piece, const struct ofi_move *move)
{
    if (ofi->has_local_mr)
        return ofi_register(ofi, move->local, piece->length, move->is_push ? FI_WRITE : FI_READ,
                            &piece->mr);
    if (move->is_push)
        memcpy(piece->buffer, move->local, piece->length);
    else
        piece->target = move->local;
    return 0;
}

static size_t piece_length(const struct ofi_nic *ofi, const struct ofi_move *move)
{
    size_t most = ofi->has_local_mr ? OFI_PIECE_LENGTH : LARGE_LENGTH;
    if (most > ofi->info->ep_attr->max_msg_size)
        most = ofi->info->ep_attr->max_msg_size;
    return move->length < most ? move->length : most;
}

static int start_piece(struct ofi_nic *ofi, struct ofi_task *task, struct ofi_move *move)
{
    size_t length = piece_length(ofi, move);
    struct ofi_piece *piece = piece_take(ofi, ofi->has_local_mr ? 0 : length);
    if (!piece)
        return RH_EAGAIN;
    piece->task = task;
    piece->view = move->view;
    piece->length = length;
    ssize_t result = piece_prepare(ofi, piece, move);
    if (result == 0) {
        result = post_piece(ofi, piece, move);
        if (result < 0)
            result = result == -FI_EAGAIN ? RH_EAGAIN : -ENOTCONN;
    }
    if (result < 0) {
        piece_give_back(ofi, piece);
        return (int)result;
    }
    piece_list(ofi, piece);
    atomic_fetch_add_explicit(&task->pending, 1, memory_order_relaxed);
    task->piece_count++;
    move->view->underway++;
    move->offset += length;
    move->local += length;
    move->length -= length;
    return 0;
}

/* ---- Moves ---------------------------------------------------------------------------------- */

/* The last of it is on the way, or the rest will never be. The task may be gone afterwards. */
static void move_end(struct ofi_nic *ofi, struct ofi_task *task, int result)
{
    task->has_move = false;
    ofi_view_let_go(ofi, task->move.view);
    ofi_task_part_over(ofi, task, result);
}

/* Writes that were given up may still come at the target: nothing is written before they have. */
static bool must_wait(const struct ofi_nic *ofi, const struct ofi_move *move)
{
    return move->is_push && ofi->peers[move->view->rank].late > 0;
}

static void move_advance(struct ofi_nic *ofi, struct ofi_task *task)
{
    struct ofi_move *move = &task->move;
    while (move->length > 0 && task->piece_count < DEPTH) {
        int result = must_wait(ofi, move) ? RH_EAGAIN : start_piece(ofi, task, move);
        if (result == RH_EAGAIN) {
            ofi->has_stalled = true; /* again when there is progress */
            return;
        }
        if (result < 0) {
            move_end(ofi, task, result);
            return;
        }
    }
    if (move->length > 0)
        return;
    if (task->has_late_notice && ofi->keeps_write_before_send)
        ofi_notice_send_behind(ofi, task);
    move_end(ofi, task, 0);
}

void ofi_move_start(struct ofi_nic *ofi, struct ofi_task *task, const struct ofi_move *move)
{
    task->move = *move;
    task->has_move = true;
    task->sid = move->view->sid;
    task->length = move->length;
    move->view->underway++; /* so that it is not taken back between pieces */
    atomic_fetch_add_explicit(&task->pending, 1, memory_order_relaxed);
    move_advance(ofi, task);
}

void ofi_moves_go_on(struct ofi_nic *ofi)
{
    struct ofi_task *next;
    ofi->has_stalled = false;
    for (struct ofi_task *task = ofi->tasks; task; task = next) {
        next = task->next;
        if (task->has_move)
            move_advance(ofi, task);
    }
}

void ofi_piece_over(struct ofi_nic *ofi, struct ofi_piece *piece, int result)
{
    struct ofi_task *task = piece->task;
    piece_unlist(ofi, piece);
    ofi_view_let_go(ofi, piece->view);
    if (!task) { /* given up */
        atomic_fetch_sub(&ofi->peers[piece->view->rank].late, 1);
        piece_give_back(ofi, piece);
        return;
    }
    if (piece->target && result == 0)
        ofi_put(piece->target, piece->buffer, piece->length);
    piece_give_back(ofi, piece);
    task->piece_count--;
    /* The part that is over still counts, so that the task is there until the end of this. */
    if (task->has_move && result < 0)
        move_end(ofi, task, result);
    else if (task->has_move)
        move_advance(ofi, task);
    ofi_task_part_over(ofi, task, result);
}

void ofi_move_drop(struct ofi_nic *ofi, struct ofi_task *task)
{
    for (struct ofi_piece *piece = ofi->pieces; piece; piece = piece->next) {
        if (piece->task != task)
            continue;
        piece->task = NULL;
        piece->target = NULL;
        atomic_fetch_add(&ofi->peers[piece->view->rank].late, 1);
        if (piece->mr)
            fi_close(&piece->mr->fid); /* takes the caller's memory back */
        piece->mr = NULL;
    }
    if (task->has_move)
        ofi_view_let_go(ofi, task->move.view);
    task->has_move = false;
}

static void free_list(struct ofi_piece *list)
{
    while (list) {
        struct ofi_piece *piece = list;
        list = piece->next;
        free(piece);
    }
}

void ofi_pieces_close(struct ofi_nic *ofi)
{
    free_list(ofi->pieces);
    free_list(ofi->free_small);
    free_list(ofi->free_large);
}

/* ---- Push and pull -------------------------------------------------------------------------- */

struct ofi_task *ofi_transfer_start(struct ofi_nic *ofi, int rank, struct rh_done *done)
{
    if (done && ofi->task_count >= OFI_TASKS_MAX)
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
