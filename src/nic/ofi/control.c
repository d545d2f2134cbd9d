/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sending messages, and tasks: what is waited for, with its replies.
 */
#include "base/clock.h"
#include "base/error.h"
#include "nic/ofi/ofi_nic.h"

#include <stdlib.h>
#include <string.h>

#define PAUSE_NS      (100 * NS_PER_US)
#define LAST_WORDS_NS (300 * NS_PER_MS) /* for what a peer that is gone has sent before */
#define CALL_SHIFT    12                /* an id is sequence << CALL_SHIFT | place */
_Static_assert(1 << CALL_SHIFT == OFI_CALLS, "a place fits its bits");

/* ---- Sending -------------------------------------------------------------------------------- */

static int send_buffered(struct ofi_nic *ofi, fi_addr_t address, const struct ofi_message *message,
                         size_t length)
{
    struct ofi_buffer *buffer = ofi->free_sends;
    if (!buffer)
        return -FI_EAGAIN;
    memcpy(&buffer->message, message, length);
    struct iovec part = {.iov_base = &buffer->message, .iov_len = length};
    void *description = ofi->sends_mr ? fi_mr_desc(ofi->sends_mr) : NULL;
    struct fi_msg request = {
        .msg_iov = &part, .desc = &description, .iov_count = 1, .addr = address, .context = buffer};
    int result = (int)fi_sendmsg(ofi->ep, &request, FI_COMPLETION);
    if (result == 0)
        ofi->free_sends = buffer->next;
    return result;
}

int ofi_send(struct ofi_nic *ofi, int rank, struct ofi_message *message, size_t length)
{
    struct ofi_peer *peer = &ofi->peers[rank];
    if (unlikely(!peer->is_known))
        return RH_EAGAIN;
    message->head.sender = (uint32_t)ofi->nic.world->rank;
    message->head.token = peer->token_to;
    ssize_t result = length <= ofi->inject_most
                         ? fi_inject(ofi->ep, message, length, peer->address)
                         : send_buffered(ofi, peer->address, message, length);
    return result == -FI_EAGAIN ? RH_EAGAIN : (int)result;
}

void ofi_send_soon(struct ofi_nic *ofi, int rank, struct ofi_message *message, size_t length)
{
    if (!ofi->outgoing && ofi_send(ofi, rank, message, length) != RH_EAGAIN)
        return; /* whoever cannot be reached is gone, or about to be */
    struct ofi_outgoing *kept = malloc(offsetof(struct ofi_outgoing, message) + length);
    if (!kept)
        return; /* then the peer's deadline passes */
    kept->next = NULL;
    kept->rank = rank;
    kept->length = length;
    memcpy(&kept->message, message, length);
    *ofi->outgoing_end = kept;
    ofi->outgoing_end = &kept->next;
}

void ofi_send_waiting(struct ofi_nic *ofi)
{
    struct ofi_outgoing **link = &ofi->outgoing;
    while (*link) {
        struct ofi_outgoing *kept = *link;
        if (!ofi_is_gone(ofi, kept->rank) &&
            ofi_send(ofi, kept->rank, &kept->message, kept->length) == RH_EAGAIN) {
            link = &kept->next; /* another peer may have room */
            continue;
        }
        *link = kept->next;
        free(kept);
    }
    ofi->outgoing_end = link;
}

static bool never(void *context)
{
    (void)context;
    return false;
}

int ofi_pause(struct ofi_nic *ofi, int rank, int64_t deadline_ns)
{
    int result = ofi_wait_until(ofi, rank, never, NULL, PAUSE_NS);
    if (result != RH_ETIMEOUT)
        return result;
    if (clock_now_ns() < deadline_ns)
        return 0;
    const struct roster_node *node = roster_node_of(ofi->nic.world->roster, rank);
    return error_set(RH_ETIMEOUT, rank,
                     "the network (%s) takes nothing for rank %d%s%s; if it never did, is a "
                     "firewall in between?",
                     ofi->info->fabric_attr->prov_name, rank, node->host[0] ? " on " : "",
                     node->host);
}

int ofi_pause_again(struct ofi_nic *ofi, int rank, int64_t *deadline_ns)
{
    if (*deadline_ns == 0)
        *deadline_ns = clock_deadline_ns(ofi->timeout_ns);
    return ofi_pause(ofi, rank, *deadline_ns);
}

/* ---- Tasks ---------------------------------------------------------------------------------- */

struct ofi_task *ofi_task_start(struct ofi_nic *ofi, int rank, struct rh_done *done)
{
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
    task->done = NULL;
    ofi->task_count--;
    ofi->peers[task->rank].underway--;
}

void ofi_task_free(struct ofi_nic *ofi, struct ofi_task *task)
{
    let_go_of_flag(ofi, task);
    ofi->peers[task->rank].busy--;
    if (task->next)
        task->next->previous = task->previous;
    if (task->previous)
        task->previous->next = task->next;
    else
        ofi->tasks = task->next;
    free(task);
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
        let_go_of_flag(ofi, task);
    ofi_unlock(ofi);
}

static void set_flag(struct ofi_nic *ofi, struct ofi_task *task, int result)
{
    /* release: pairs with the acquire of whoever sees the flag and reuses the memory */
    if (task->done)
        __atomic_store_n(&task->done->state, result < 0 ? result : 1, __ATOMIC_RELEASE);
    let_go_of_flag(ofi, task);
}

void ofi_task_part_over(struct ofi_nic *ofi, struct ofi_task *task, int result)
{
    if (result < 0 && task->result == 0)
        task->result = result;
    int pending = atomic_load_explicit(&task->pending, memory_order_relaxed) - 1;
    if (pending == 0 && task->has_late_notice && task->result == 0) {
        ofi_send_late_notice(ofi, task); /* one more part */
        pending = atomic_load_explicit(&task->pending, memory_order_relaxed) - 1;
    }
    if (pending == 0 && task->done && task->result == -ENOTCONN) {
        task->pending = 0; /* the news of its death will end it */
        return;
    }
    if (pending == 0 && !task->is_waited) {
        set_flag(ofi, task, task->result);
        ofi_task_free(ofi, task);
        return;
    }
    /* release: whoever sees that it is over sees the result; pairs with ofi_task_is_over() */
    atomic_store_explicit(&task->pending, pending, memory_order_release);
}

static int no_answer(const struct ofi_nic *ofi, int rank, const char *during)
{
    const struct roster_node *node = roster_node_of(ofi->nic.world->roster, rank);
    return error_set(RH_ETIMEOUT, rank,
                     "%s: rank %d%s%s did not answer for %.3g s; is it stopped, or the network "
                     "between the two cut?",
                     during, rank, node->host[0] ? " on " : "", node->host,
                     (double)ofi->timeout_ns / 1e9);
}

void ofi_calls_cancel(struct ofi_nic *ofi, const struct ofi_task *task)
{
    for (uint32_t i = 0; i < OFI_CALLS; i++) {
        if (ofi->calls[i].id != 0 && ofi->calls[i].task == task)
            ofi_call_cancel(ofi, ofi->calls[i].id);
    }
}

int ofi_task_wait(struct ofi_nic *ofi, struct ofi_task *task, struct ofi_answer *answer,
                  const char *during)
{
    int rank = task->rank;
    int waited = ofi_wait_for_task(ofi, task, rank, ofi->timeout_ns);
    if (waited == RH_EDEAD) /* what it did before counts, and libfabric may still use our memory */
        waited = ofi_wait_for_task(ofi, task, ofi->nic.world->rank, LAST_WORDS_NS) == 0
                     ? 0
                     : nic_peer_gone(&ofi->nic, rank, during);
    ofi_lock(ofi);
    int result = waited < 0 ? waited : task->result;
    if (answer)
        *answer = task->answer;
    if (!ofi_task_is_over(task))
        ofi_calls_cancel(ofi, task);
    if (ofi_task_is_over(task))
        ofi_task_free(ofi, task);
    else
        task->is_waited = false; /* libfabric still has a piece; freed when that comes back */
    ofi_unlock(ofi);
    if (waited == RH_ETIMEOUT)
        return no_answer(ofi, rank, during);
    if (waited == 0 && result == RH_EDEAD)
        return nic_peer_gone(&ofi->nic, rank, during);
    if (waited == 0 && result == -ENOTCONN)
        return ofi_peer_lost(ofi, rank, during);
    return result;
}

/* ---- Replies -------------------------------------------------------------------------------- */

bool ofi_call_add(struct ofi_nic *ofi, struct ofi_task *task, int rank, struct ofi_message *message)
{
    for (uint32_t i = 0; i < OFI_CALLS; i++) {
        uint32_t id = ++ofi->call_next;
        if (id == 0)
            id = ofi->call_next = OFI_CALLS; /* ids are never 0 */
        struct ofi_call *call = &ofi->calls[id % OFI_CALLS];
        if (call->id != 0)
            continue;
        *call = (struct ofi_call){.id = id,
                                  .rank = rank,
                                  .is_lookup = message->head.kind == OFI_LOOKUP,
                                  .oneway_count = ofi->peers[rank].oneway_count,
                                  .task = task};
        atomic_fetch_add_explicit(&task->pending, 1, memory_order_relaxed);
        message->head.request = id;
        message->head.flags |= OFI_WANTS_REPLY;
        return true;
    }
    return false;
}

void ofi_call_cancel(struct ofi_nic *ofi, uint32_t id)
{
    struct ofi_call *call = &ofi->calls[id % OFI_CALLS];
    if (call->id != id)
        return;
    call->id = 0;
    atomic_fetch_sub_explicit(&call->task->pending, 1, memory_order_relaxed);
}

void ofi_calls_bury(struct ofi_nic *ofi, int rank)
{
    for (uint32_t i = 0; i < OFI_CALLS; i++) {
        struct ofi_call *call = &ofi->calls[i];
        if (call->id == 0 || call->rank != rank)
            continue;
        call->id = 0;
        ofi_task_part_over(ofi, call->task, call->task->rank == rank ? RH_EDEAD : 0);
    }
    struct ofi_task *next;
    for (struct ofi_task *task = ofi->tasks; task; task = next) {
        next = task->next;
        if (task->rank != rank || !task->done)
            continue;
        set_flag(ofi, task, RH_EDEAD);
        if (task->pending == 0)
            ofi_task_free(ofi, task);
    }
}

void ofi_call_answered(struct ofi_nic *ofi, const struct ofi_message *message, size_t length)
{
    struct ofi_call *call = &ofi->calls[message->head.request % OFI_CALLS];
    if (call->id == 0 || call->id != message->head.request ||
        call->rank != (int)message->head.sender)
        return; /* nobody waits for it any more */
    struct ofi_task *task = call->task;
    struct ofi_answer *answer = &task->answer;
    struct ofi_peer *peer = &ofi->peers[call->rank];
    if (call->oneway_count == peer->oneway_count)
        peer->has_unflushed = false; /* messages are dealt with in order */
    call->id = 0;
    answer->code = (int)(int64_t)message->head.offset;
    size_t body = length - sizeof(message->head);
    memcpy(&answer->info, message->body, body < sizeof(answer->info) ? body : sizeof(answer->info));
    if (call->is_lookup && answer->code == 0)
        ofi_view_told(ofi, call->rank, message->head.sid, &answer->info);
    ofi_task_part_over(ofi, task, answer->code);
}

static int ask_once(struct ofi_nic *ofi, int rank, struct ofi_message *message, size_t length,
                    struct ofi_task **made)
{
    ofi_lock(ofi);
    struct ofi_task *task = ofi_task_start(ofi, rank, NULL);
    int result = RH_EAGAIN;
    if (task)
        ofi_task_is_about(task, &message->head);
    if (task && ofi_call_add(ofi, task, rank, message)) {
        result = ofi_send(ofi, rank, message, length);
        if (result < 0)
            ofi_call_cancel(ofi, message->head.request);
    }
    if (task && result < 0)
        ofi_task_free(ofi, task);
    ofi_unlock(ofi);
    *made = task;
    return result;
}

int ofi_ask(struct ofi_nic *ofi, int rank, struct ofi_message *message, size_t length,
            struct ofi_answer *answer, const char *during)
{
    int64_t deadline_ns = clock_deadline_ns(ofi->timeout_ns);
    for (;;) {
        struct ofi_task *task;
        int result = ask_once(ofi, rank, message, length, &task);
        if (result == 0)
            return ofi_task_wait(ofi, task, answer, during);
        if (result != RH_EAGAIN)
            return ofi_peer_lost(ofi, rank, during);
        result = ofi_pause(ofi, rank, deadline_ns);
        if (result < 0)
            return result;
    }
}
