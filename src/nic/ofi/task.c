/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tasks: what somebody waits for, until no piece of RMA and no reply is missing; and those whose
 * answer did not come in time, which a ticket holds.
 */
#include "base/clock.h"
#include "base/error.h"
#include "nic/ofi/ofi_nic.h"

#include <stdlib.h>

#define LAST_WORDS_NS (300 * NS_PER_MS) /* for what a peer that is gone has sent before */
#define RESEND_NS     (1 * NS_PER_S)    /* a request in doubt is not sent again before */

struct ofi_task *ofi_task_start(struct ofi_nic *ofi, int rank, struct rh_done *done)
{
    ASSERT(!done || !ofi_is_near(ofi, rank));
    struct ofi_task *task = calloc(1, sizeof(*task));
    if (!task)
        return NULL;
    task->rank = rank;
    task->done = done;
    task->is_waited = !done;
    task->next = ofi->tasks;
    if (ofi->tasks)
        ofi->tasks->previous = task;
    ofi->tasks = task;
    ofi->peers[rank].busy++;
    if (done) {
        ofi->task_count++;
        ofi->peers[rank].underway++;
    }
    return task;
}

/* Its done flag is not ours any more. */
static void let_go_of_flag(struct ofi_nic *ofi, struct ofi_task *task)
{
    if (!task->done)
        return;
    ASSERT(ofi->task_count > 0);
    ASSERT(ofi->peers[task->rank].underway > 0);
    task->done = NULL;
    ofi->task_count--;
    ofi->peers[task->rank].underway--;
}

void ofi_task_free(struct ofi_nic *ofi, struct ofi_task *task)
{
    let_go_of_flag(ofi, task);
    ASSERT(ofi->peers[task->rank].busy > 0);
    ASSERT(task->previous ? task->previous->next == task : ofi->tasks == task);
    ofi->peers[task->rank].busy--;
    if (task->next)
        task->next->previous = task->previous;
    if (task->previous)
        task->previous->next = task->next;
    else
        ofi->tasks = task->next;
    free(task->sent);
    free(task);
}

/* Give it up: what is still under way belongs to nobody from here on. */
static void drop(struct ofi_nic *ofi, struct ofi_task *task)
{
    ofi_calls_cancel(ofi, task);
    ofi_move_drop(ofi, task);
    ofi_task_free(ofi, task);
}

void ofi_withdraw(struct nic *nic, struct rh_done *done)
{
    struct ofi_nic *ofi = ofi_nic_of(nic);
    if (ofi_is_near(ofi, done->rank)) {
        ofi->inner->ops->withdraw(ofi->inner, done);
        return;
    }
    ofi_lock(ofi);
    struct ofi_task *task = ofi->tasks;
    while (task && task->done != done)
        task = task->next;
    if (task)
        drop(ofi, task);
    ofi_unlock(ofi);
}

static void set_flag(struct ofi_nic *ofi, struct ofi_task *task, int result)
{
    /* release: pairs with the acquire of whoever sees the flag and reuses the memory */
    if (task->done)
        __atomic_store_n(&task->done->state, result < 0 ? result : 1, __ATOMIC_RELEASE);
    let_go_of_flag(ofi, task);
}

/* Nobody waits for it. */
static void end_unwaited(struct ofi_nic *ofi, struct ofi_task *task)
{
    if (task->is_void_claim && task->result == 0)
        ofi_claim_give_back(ofi, task);
    set_flag(ofi, task, task->result);
    ofi_task_free(ofi, task);
}

void ofi_task_part_over(struct ofi_nic *ofi, struct ofi_task *task, int result)
{
    ASSERT(atomic_load_explicit(&task->pending, memory_order_relaxed) > 0);
    if (result < 0 && task->result == 0)
        task->result = result;
    int pending = atomic_load_explicit(&task->pending, memory_order_relaxed) - 1;
    if (pending == 0 && task->has_late_notice && task->result == 0) {
        ofi_late_notice_send(ofi, task); /* one more part */
        pending = atomic_load_explicit(&task->pending, memory_order_relaxed) - 1;
    }
    if (pending == 0 && task->done && task->result == -ENOTCONN) {
        task->pending = 0; /* the news of its death will end it */
        return;
    }
    if (pending == 0 && !task->is_waited && (!task->is_parked || task->is_void_claim)) {
        end_unwaited(ofi, task);
        return;
    }
    /* release: whoever sees that it is over sees the result; pairs with ofi_task_is_over() */
    atomic_store_explicit(&task->pending, pending, memory_order_release);
}

void ofi_tasks_bury(struct ofi_nic *ofi, int rank)
{
    struct ofi_task *next;
    for (struct ofi_task *task = ofi->tasks; task; task = next) {
        next = task->next;
        if (task->rank != rank || !task->done)
            continue;
        set_flag(ofi, task, RH_EDEAD);
        drop(ofi, task);
    }
}

static int no_answer(const struct ofi_nic *ofi, const struct ofi_errand *errand)
{
    int rank = errand->rank;
    const struct roster_node *node = roster_node_of(ofi->nic.job->roster, rank);
    return error_set(RH_ETIMEOUT, rank,
                     "%s: rank %d%s%s did not answer in time; is it stopped, or the network "
                     "between the two cut?",
                     errand->during, rank, node->host[0] ? " on " : "", node->host);
}

/* The deadline has passed: a ticket holds the task, or nobody does. Under the lock. */
static void leave(struct ofi_nic *ofi, struct ofi_task *task, struct nic_ticket *ticket)
{
    if (!ticket) {
        drop(ofi, task);
        return;
    }
    ASSERT(!ticket->is_open);
    task->is_waited = false;
    task->is_parked = true;
    ticket->is_open = true;
    ticket->handle = task;
}

int ofi_task_wait(struct ofi_nic *ofi, struct ofi_task *task, const struct ofi_errand *errand,
                  struct ofi_answer *answer)
{
    int rank = errand->rank;
    int waited = ofi_wait_for_task(ofi, task, rank, ofi_errand_left_ns(errand));
    if (waited == RH_EDEAD) /* what it did before counts */
        waited = ofi_wait_for_task(ofi, task, ofi->nic.job->rank, LAST_WORDS_NS) == 0
                     ? 0
                     : nic_peer_gone(&ofi->nic, rank, errand->during);
    ofi_lock(ofi);
    bool is_over = ofi_task_is_over(task);
    int result = is_over ? task->result : waited;
    if (is_over && answer)
        *answer = task->answer;
    if (is_over)
        ofi_task_free(ofi, task);
    else
        leave(ofi, task, waited == RH_EDEAD ? NULL : errand->ticket);
    ofi_unlock(ofi);
    if (!is_over && (waited == RH_ETIMEOUT || waited == RH_EAGAIN))
        return no_answer(ofi, errand);
    if (is_over && result == RH_EDEAD)
        return nic_peer_gone(&ofi->nic, rank, errand->during);
    if (is_over && result == -ENOTCONN)
        return ofi_peer_lost(ofi, errand);
    return result;
}

/* ---- In doubt ------------------------------------------------------------------------------- */

/* The connection may have broken, and taken request or answer along. Under the lock. */
static void send_again(struct ofi_nic *ofi, struct ofi_task *task)
{
    int64_t now_ns = clock_now_ns();
    if (!task->sent || ofi_task_is_over(task) || now_ns - task->sent_ns < RESEND_NS)
        return;
    if (ofi_send(ofi, task->rank, &task->sent->message, task->sent->length) == 0)
        task->sent_ns = now_ns;
}

void ofi_task_keep_request(struct ofi_nic *ofi, struct ofi_task *task,
                           const struct ofi_message *message, size_t length)
{
    ofi_lock(ofi);
    task->sent = ofi_message_keep(task->rank, message, length);
    task->sent_ns = clock_now_ns();
    ofi_unlock(ofi);
}

int ofi_resume(struct ofi_nic *ofi, const struct ofi_errand *errand, struct ofi_answer *answer)
{
    ofi_lock(ofi);
    struct ofi_task *task = errand->ticket->handle;
    errand->ticket->is_open = false;
    errand->ticket->handle = NULL;
    task->is_waited = true;
    task->is_parked = false;
    send_again(ofi, task);
    ofi_unlock(ofi);
    return ofi_task_wait(ofi, task, errand, answer);
}

void ofi_claim_void(struct ofi_nic *ofi, struct nic_ticket *ticket, uint32_t generation)
{
    ofi_lock(ofi);
    struct ofi_task *task = ticket->handle;
    task->late_place.generation = generation;
    ticket->is_open = false;
    task->is_void_claim = true;
    if (ofi_task_is_over(task))
        end_unwaited(ofi, task);
    ofi_unlock(ofi);
}

void ofi_tasks_press(struct ofi_nic *ofi, int rank)
{
    for (struct ofi_task *task = ofi->tasks; task; task = task->next) {
        if (task->rank == rank && task->is_parked)
            send_again(ofi, task);
    }
}
