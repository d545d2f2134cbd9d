/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the libfabric NICs work, and what their files do for each other. The structs: ofi_state.h.
 *
 * There is a shm NIC inside: this process's segments and queues are its, so ranks of the same host
 * can use them as ever, and waiting is its waiting, with deaths, deadlines and reports. What comes
 * from elsewhere is put into that memory, and then the inner bell is rung. Operations on ranks that
 * are `near` (the own one; with NIC mixed all of the host) go straight to the inner NIC.
 *
 * To the others there are two ways, both on one RDM endpoint:
 *   RMA       pushes and pulls of anything but words: fi_write with delivery complete, fi_read.
 *   messages  (wire.h) words, which must arrive whole, and all that the target's processor has to
 *             do: stores, notices, inline pushes, atomics, appends, look-ups. A provider's own
 *             atomics are not used: where an adapter does them they are not atomic towards the
 *             owner's instructions, which the contract asks for.
 * Everything that the sender waits for is a task; it is over when no piece of RMA and no reply is
 * missing any more.
 *
 * Segments are looked up at their owner once. Before the owner removes one, it asks all who have
 * looked it up to let go (OFI_REVOKE) and waits for their answer: a late RMA operation with a dead
 * key would break the connection.
 *
 * All calls to libfabric and all tables here are under one lock. Whoever waits makes progress; when
 * nobody does for a millisecond, or a waiting thread goes to sleep, the progress thread takes over.
 * It sleeps on the completion queue's descriptor and answers peers while the program computes.
 *
 *   library.c   libfabric, loaded when needed
 *   provider.c  which provider, and why       peer.c     addresses, tokens, who is near
 *   fabric.c    libfabric's objects           control.c  sending messages
 *   task.c      what is waited for            call.c     requests and their replies
 *   progress.c  completions, the thread       serve.c    what peers ask for
 *   sockets.c   what the progress thread sleeps on
 *   segment.c   own segments                  view.c     peers' segments
 *   move.c      data by RMA                   push.c     push and store
 *   pull.c      pull, atomics, flush          queue.c    append and receive
 *   once.c      what must not happen twice
 */
#pragma once

#include "nic/ofi/ofi_state.h"

/* ---- provider.c ----------------------------------------------------------------------------- */

/* The provider to use; *info is the caller's, to be freed with ofi_library.freeinfo(). */
int ofi_provider_find(const struct nic_job *job, struct fi_info **info);
/* Whether it goes through the kernel's sockets. */
bool ofi_provider_is_slow(const struct fi_info *info);

/* ---- fabric.c ------------------------------------------------------------------------------- */

int ofi_fabric_open(struct ofi_nic *ofi);
void ofi_fabric_close(struct ofi_nic *ofi);
/* Register memory for `access` (FI_REMOTE_WRITE and so on). Under the lock. */
int ofi_register(struct ofi_nic *ofi, const void *base, size_t length, uint64_t access,
                 struct fid_mr **mr);
int ofi_receive_post(struct ofi_nic *ofi, struct ofi_buffer *buffer);

/* ---- peer.c --------------------------------------------------------------------------------- */

int ofi_peers_open(struct ofi_nic *ofi);
void ofi_peers_close(struct ofi_nic *ofi);
/* Make sure that messages to rank can be sent. RH_EAGAIN: it has not told yet how it is reached. */
int ofi_peer_meet(struct ofi_nic *ofi, int rank);
/* Whether that has been done. Not under the lock. */
bool ofi_peer_is_known(struct ofi_nic *ofi, int rank);
/* A peer said itself where it is. Under the lock. */
void ofi_peer_learn(struct ofi_nic *ofi, int rank, const void *address, size_t length);
/* End everything that is under way to a rank that is gone. Under the lock. */
void ofi_peer_fail(struct ofi_nic *ofi, int rank);
/* The connection broke. Waits for the news that the peer is gone, and says what is known then. */
int ofi_peer_lost(struct ofi_nic *ofi, const struct ofi_errand *errand);

/* ---- control.c ------------------------------------------------------------------------------ */

static inline struct ofi_head ofi_head(enum ofi_kind kind, rh_sid sid, uint64_t offset)
{
    return (struct ofi_head){.kind = (uint8_t)kind, .sid = sid, .offset = offset};
}

/* Send now, or RH_EAGAIN. Fills in sender and token. Under the lock. */
int ofi_send(struct ofi_nic *ofi, int rank, struct ofi_message *message, size_t length);
/* Send now or soon, for handlers, which must not wait. Under the lock. */
void ofi_send_soon(struct ofi_nic *ofi, int rank, struct ofi_message *message, size_t length);
void ofi_waiting_send(struct ofi_nic *ofi);
/* A call begins. */
struct ofi_errand ofi_errand(const struct ofi_nic *ofi, int rank, const char *during);
/* The network was full: make progress for a moment. Why not to go on, else 0. Not under the
 * lock. */
int ofi_pause(struct ofi_nic *ofi, const struct ofi_errand *errand);
int64_t ofi_errand_left_ns(const struct ofi_errand *errand);
/* A copy of a message, the caller's to free, or NULL. */
struct ofi_outgoing *ofi_message_keep(int rank, const struct ofi_message *message, size_t length);

/* ---- task.c --------------------------------------------------------------------------------- */

/* A new task, or NULL. Under the lock. */
struct ofi_task *ofi_task_start(struct ofi_nic *ofi, int rank, struct rh_done *done);
void ofi_task_free(struct ofi_nic *ofi, struct ofi_task *task);
void ofi_withdraw(struct nic *nic, struct rh_done *done);
/* For people; before anybody waits for it, who reads this without the lock. */
static inline void ofi_task_is_about(struct ofi_task *task, const struct ofi_head *head)
{
    task->sid = head->sid;
    task->length = head->length;
}
/* One thing less is missing. Under the lock. */
void ofi_task_part_over(struct ofi_nic *ofi, struct ofi_task *task, int result);
/* Wait for a task and free it; its result, and its answer where wanted. If it is not over in time
 * nothing of the caller's is used any more, and the errand's ticket, where there is one, holds it.
 * Not under the lock. */
int ofi_task_wait(struct ofi_nic *ofi, struct ofi_task *task, const struct ofi_errand *errand,
                  struct ofi_answer *answer);
/* A claim that nobody wants was granted. */
void ofi_claim_give_back(struct ofi_nic *ofi, const struct ofi_task *task);
/* Go on with what the errand's ticket holds. */
int ofi_resume(struct ofi_nic *ofi, const struct ofi_errand *errand, struct ofi_answer *answer);
/* A claim is in doubt, and not wanted any more: give its slot back once it is known. */
void ofi_claim_void(struct ofi_nic *ofi, struct nic_ticket *ticket, uint32_t generation);
/* Keep a request in doubt, to be sent again. No memory: then it is not, and hangs on the
 * connection. Not under the lock. */
void ofi_task_keep_request(struct ofi_nic *ofi, struct ofi_task *task,
                           const struct ofi_message *message, size_t length);
/* The window is full of requests that nobody may ever ask about again: get them decided. Under the
 * lock. */
void ofi_tasks_press(struct ofi_nic *ofi, int rank);
/* Those with a done flag, when their peer is gone. Under the lock. */
void ofi_tasks_bury(struct ofi_nic *ofi, int rank);

/* ---- call.c --------------------------------------------------------------------------------- */

/* Make a request part of a task: sets message->head.request. False: too many. Under the lock. */
bool ofi_call_add(struct ofi_nic *ofi, struct ofi_task *task, int rank,
                  struct ofi_message *message);
void ofi_call_cancel(struct ofi_nic *ofi, uint32_t id);
/* All that a task still waits for. Under the lock. */
void ofi_calls_cancel(struct ofi_nic *ofi, const struct ofi_task *task);
void ofi_calls_fail(struct ofi_nic *ofi, int rank);
void ofi_call_answered(struct ofi_nic *ofi, const struct ofi_message *message, size_t length);
/* Ask and wait for the answer. The result is the answer's code or why there is none. */
int ofi_ask(struct ofi_nic *ofi, const struct ofi_errand *errand, struct ofi_message *message,
            size_t length, struct ofi_answer *answer);

/* ---- once.c -------------------------------------------------------------------------------- */

static inline bool ofi_is_once(const struct ofi_head *head)
{
    return head->kind == OFI_ATOMIC || head->kind == OFI_APPEND || head->kind == OFI_CLAIM;
}

#define OFI_REMEMBERED_MAX 16 /* bytes of a reply, beside its code */
_Static_assert(sizeof(struct ofi_claim_body) <= OFI_REMEMBERED_MAX, "it is remembered");

struct ofi_answered {
    int code;
    const void *body;
    size_t length;
};

enum ofi_seen { OFI_SEEN_NEVER, OFI_SEEN_REPEAT, OFI_SEEN_OLD };

/* All under the lock. The next number of requests to a rank. False: too many are not decided. */
bool ofi_once_begin(struct ofi_nic *ofi, int rank, uint32_t *number);
/* It has been answered, or nobody wants to know any more. */
void ofi_once_end(struct ofi_nic *ofi, int rank, uint32_t number);
/* Whether a request came before; if so, what was answered, good until the next request. */
enum ofi_seen ofi_once_look(struct ofi_nic *ofi, const struct ofi_head *head,
                            struct ofi_answered *answered);
void ofi_once_remember(struct ofi_nic *ofi, const struct ofi_head *head,
                       const struct ofi_answered *answered);
void ofi_once_close(struct ofi_nic *ofi);

/* ---- progress.c ----------------------------------------------------------------------------- */

/* Deal with what has happened; how many events there were. Under the lock. */
unsigned ofi_progress(struct ofi_nic *ofi);
/* The same from a thread of the program, without the lock; waits for it. */
void ofi_progress_surely(struct ofi_nic *ofi);
int ofi_progress_thread_start(struct ofi_nic *ofi);
void ofi_progress_thread_stop(struct ofi_nic *ofi);

/* Wait with the inner NIC, which makes progress; is_met must not take the lock for long. */
int ofi_wait_until(struct ofi_nic *ofi, int rank, bool (*is_met)(void *context), void *context,
                   int64_t timeout_ns);
/* The same until a task is over, or `from` is gone. */
int ofi_wait_for_task(struct ofi_nic *ofi, struct ofi_task *task, int from, int64_t timeout_ns);
static inline bool ofi_task_is_over(const struct ofi_task *task)
{
    return atomic_load_explicit(&task->pending, memory_order_acquire) == 0;
}

/* ---- sockets.c ------------------------------------------------------------------------------ */

void ofi_sockets_open(struct ofi_nic *ofi);
void ofi_sockets_close(struct ofi_nic *ofi);
/* Connections may have come. Under the lock. */
void ofi_sockets_changed(struct ofi_nic *ofi);
/* It is not likely, but possible. Under the lock. */
void ofi_sockets_look_soon(struct ofi_nic *ofi);
/* The progress thread has slept on them: what has rung? */
void ofi_sockets_rang(struct ofi_nic *ofi);
/* Whether all are watched, as far as one can tell. Under the lock. */
bool ofi_sockets_are_settled(struct ofi_nic *ofi);

/* ---- serve.c -------------------------------------------------------------------------------- */

/* Copy to memory that somebody looks at: words arrive whole. */
void ofi_put(char *target, const void *source, size_t length);
/* A message came. Under the lock. */
void ofi_serve(struct ofi_nic *ofi, struct ofi_message *message, size_t length);
/* The answer to a revocation that had to wait. Under the lock. */
void ofi_view_released(struct ofi_nic *ofi, struct ofi_view *view);

/* ---- segment.c ------------------------------------------------------------------------------ */

int ofi_segment_add(struct nic *nic, struct nic_segment *segment);
int ofi_segment_remove(struct nic *nic, rh_sid sid, int64_t timeout_ns);
void ofi_segments_close(struct ofi_nic *ofi);
struct ofi_segment *ofi_segment_find(struct ofi_nic *ofi, rh_sid sid);

/* ---- view.c --------------------------------------------------------------------------------- */

/* A peer's segment, looked up if need be; NULL with errand->result set if there is none. The lock
 * is held when this returns one, and not when it does not. */
struct ofi_view *ofi_view_take(struct ofi_nic *ofi, struct ofi_errand *errand, rh_sid sid,
                               bool counted);
/* The same, with the access checked. */
struct ofi_view *ofi_view_check(struct ofi_nic *ofi, struct ofi_errand *errand,
                                struct rh_remote remote, uint64_t length, unsigned rights);
struct ofi_view *ofi_view_find(struct ofi_nic *ofi, int rank, rh_sid sid);
/* Its owner has answered a look-up. At once, since the next message may take it back. Under the
 * lock. */
void ofi_view_told(struct ofi_nic *ofi, int rank, rh_sid sid, const struct ofi_segment_info *info);
/* One use less. Under the lock. */
static inline void ofi_view_let_go(struct ofi_nic *ofi, struct ofi_view *view)
{
    if (--view->underway == 0 && view->revoke != 0)
        ofi_view_released(ofi, view);
}
/* The refusal for a code that the owner answered with. */
int ofi_refused(struct ofi_nic *ofi, int rank, rh_sid sid, int code, const char *during);
/* Refusals of our own; the first gives up the lock, which is held. */
int ofi_refuse_queue(struct ofi_nic *ofi, const struct ofi_view *view);
int ofi_refuse_alignment(struct rh_remote remote);
int ofi_view(struct nic *nic, struct rh_remote remote, uint64_t length, unsigned rights,
             struct nic_view *view);
void ofi_view_release(struct nic *nic, const struct nic_view *view);
void ofi_views_close(struct ofi_nic *ofi);

/* ---- move.c --------------------------------------------------------------------------------- */

/* Make a move part of a task; it goes on by itself, and its errors are the task's. Under the
 * lock, as all of these. */
void ofi_move_start(struct ofi_nic *ofi, struct ofi_task *task, const struct ofi_move *move);
/* The network was full, and there has been progress. */
void ofi_moves_go_on(struct ofi_nic *ofi);
/* Nobody wants a task's data any more: its memory is not used after this. */
void ofi_move_drop(struct ofi_nic *ofi, struct ofi_task *task);
void ofi_piece_over(struct ofi_nic *ofi, struct ofi_piece *piece, int result);
/* When libfabric has been closed. */
void ofi_pieces_close(struct ofi_nic *ofi);

/* The task of a push or pull, or NULL: too many are under way. Under the lock. */
struct ofi_task *ofi_transfer_start(struct ofi_nic *ofi, int rank, struct rh_done *done);
/* All of it that could be started was: *waited is the task if a thread is to wait for it, else
 * NULL. An error only if nothing was started. Under the lock. */
int ofi_transfer_started(struct ofi_nic *ofi, struct ofi_task *task, int result,
                         struct ofi_task **waited);

/* ---- push.c, pull.c, queue.c ---------------------------------------------------------------- */

int ofi_push(struct nic *nic, struct rh_remote target, const void *source, size_t length,
             const struct nic_extra *extra);
int ofi_pull(struct nic *nic, struct rh_remote source, void *target, size_t length,
             const struct nic_extra *extra);
int ofi_store(struct nic *nic, const struct nic_view *view, uint64_t offset, uint64_t value,
              unsigned width);
int ofi_atomic(struct nic *nic, struct rh_remote target, const struct nic_atomic_operands *operands,
               uint64_t *old);
int ofi_flush(struct nic *nic, int rank);
/* A task's notice: when its data has arrived, or behind the data where the network keeps the two in
 * order. */
void ofi_late_notice_send(struct ofi_nic *ofi, struct ofi_task *task);
void ofi_notice_send_behind(struct ofi_nic *ofi, struct ofi_task *task);
int ofi_append(struct nic *nic, struct rh_remote queue, const void *data, size_t length,
               int64_t timeout_ns);
int ofi_append_try(struct nic *nic, struct rh_remote queue, const void *data, size_t length,
                   struct nic_ticket *ticket);
int ofi_queue_peek(struct nic *nic, void *queue, struct rh_arrival *arrival);
void ofi_queue_release(struct nic *nic, void *queue);
