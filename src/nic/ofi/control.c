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
#define RESEND_NS     (1 * NS_PER_S)    /* a request in doubt is not sent again before */
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

static struct ofi_outgoing *keep_message(int rank, const struct ofi_message *message, size_t length)
{
    struct ofi_outgoing *kept = malloc(offsetof(struct ofi_outgoing, message) + length);
    if (!kept)
        return NULL;
    kept->next = NULL;
    kept->rank = rank;
    kept->length = length;
    memcpy(&kept->message, message, length);
    return kept;
}

void ofi_send_soon(struct ofi_nic *ofi, int rank, struct ofi_message *message, size_t length)
{
    if (!ofi->outgoing && ofi_send(ofi, rank, message, length) != RH_EAGAIN)
        return; /* whoever cannot be reached is gone, or about to be */
    struct ofi_outgoing *kept = keep_message(rank, message, length);
    if (!kept)
        return; /* then the peer's deadline passes */
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

struct ofi_errand ofi_errand(const struct ofi_nic *ofi, int rank, const char *during)
{
    return (struct ofi_errand){
        .rank = rank, .during = during, .deadline_ns = clock_deadline_ns(ofi->timeout_ns)};
}

static int64_t left_ns(const struct ofi_errand *errand)
{
    return deadline_left_ns(errand->deadline_ns, clock_now_ns());
}

int ofi_pause(struct ofi_nic *ofi, const struct ofi_errand *errand)
{
    int result = ofi_wait_until(ofi, errand->rank, never, NULL, PAUSE_NS);
    if (result != RH_ETIMEOUT)
        return result;
    if (left_ns(errand) > 0)
        return 0;
    int rank = errand->rank;
    const struct roster_node *node = roster_node_of(ofi->nic.world->roster, rank);
    return error_set(RH_ETIMEOUT, rank,
                     "%s: the network (%s) takes nothing for rank %d%s%s; if it never did, is a "
                     "firewall in between?",
                     errand->during, ofi->info->fabric_attr->prov_name, rank,
                     node->host[0] ? " on " : "", node->host);
}

/* ---- Tasks ---------------------------------------------------------------------------------- */

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
        ofi_send_late_notice(ofi, task); /* one more part */
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

static int no_answer(const struct ofi_nic *ofi, const struct ofi_errand *errand)
{
    int rank = errand->rank;
    const struct roster_node *node = roster_node_of(ofi->nic.world->roster, rank);
    return error_set(RH_ETIMEOUT, rank,
                     "%s: rank %d%s%s did not answer in time; is it stopped, or the network "
                     "between the two cut?",
                     errand->during, rank, node->host[0] ? " on " : "", node->host);
}

void ofi_calls_cancel(struct ofi_nic *ofi, const struct ofi_task *task)
{
    for (uint32_t i = 0; i < OFI_CALLS; i++) {
        struct ofi_call *call = &ofi->calls[i];
        if (call->id == 0 || call->task != task)
            continue;
        ofi->peers[call->rank].has_unflushed = true; /* the request may be under way */
        ofi->peers[call->rank].oneway_count++;
        ofi_call_cancel(ofi, call->id);
    }
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
    int waited = ofi_wait_for_task(ofi, task, rank, left_ns(errand));
    if (waited == RH_EDEAD) /* what it did before counts */
        waited = ofi_wait_for_task(ofi, task, ofi->nic.world->rank, LAST_WORDS_NS) == 0
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

/* No memory: then it is not sent again, and hangs on the connection. */
static void keep_request(struct ofi_nic *ofi, struct ofi_task *task,
                         const struct ofi_message *message, size_t length)
{
    ofi_lock(ofi);
    task->sent = keep_message(task->rank, message, length);
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

/* The window is full of requests that nobody may ever ask about again: get them decided. */
static void press_undecided(struct ofi_nic *ofi, int rank)
{
    for (struct ofi_task *task = ofi->tasks; task; task = task->next) {
        if (task->rank == rank && task->is_parked)
            send_again(ofi, task);
    }
}

/* ---- Replies -------------------------------------------------------------------------------- */

static struct ofi_call *free_call(struct ofi_nic *ofi)
{
    for (uint32_t i = 0; i < OFI_CALLS; i++) {
        uint32_t id = ++ofi->call_next;
        if (id == 0)
            id = ofi->call_next = OFI_CALLS; /* ids are never 0 */
        struct ofi_call *call = &ofi->calls[id % OFI_CALLS];
        if (call->id != 0)
            continue;
        *call = (struct ofi_call){.id = id};
        return call;
    }
    return NULL;
}

bool ofi_call_add(struct ofi_nic *ofi, struct ofi_task *task, int rank, struct ofi_message *message)
{
    struct ofi_call *call = free_call(ofi);
    if (!call)
        return false;
    call->is_once = ofi_is_once(&message->head);
    if (call->is_once && !ofi_once_begin(ofi, rank, &call->once)) {
        call->id = 0;
        press_undecided(ofi, rank);
        return false;
    }
    call->rank = rank;
    call->is_lookup = message->head.kind == OFI_LOOKUP;
    call->oneway_count = ofi->peers[rank].oneway_count;
    call->task = task;
    atomic_fetch_add_explicit(&task->pending, 1, memory_order_relaxed);
    message->head.request = call->id;
    message->head.flags |= OFI_WANTS_REPLY;
    if (call->is_once)
        message->head.once = call->once;
    return true;
}

static void call_end(struct ofi_nic *ofi, struct ofi_call *call)
{
    if (call->is_once)
        ofi_once_end(ofi, call->rank, call->once);
    call->id = 0;
}

void ofi_call_cancel(struct ofi_nic *ofi, uint32_t id)
{
    struct ofi_call *call = &ofi->calls[id % OFI_CALLS];
    if (call->id != id)
        return;
    call_end(ofi, call);
    atomic_fetch_sub_explicit(&call->task->pending, 1, memory_order_relaxed);
}

void ofi_calls_bury(struct ofi_nic *ofi, int rank)
{
    for (uint32_t i = 0; i < OFI_CALLS; i++) {
        struct ofi_call *call = &ofi->calls[i];
        if (call->id == 0 || call->rank != rank)
            continue;
        call_end(ofi, call);
        ofi_task_part_over(ofi, call->task, call->task->rank == rank ? RH_EDEAD : 0);
    }
    struct ofi_task *next;
    for (struct ofi_task *task = ofi->tasks; task; task = next) {
        next = task->next;
        if (task->rank != rank || !task->done)
            continue;
        set_flag(ofi, task, RH_EDEAD);
        drop(ofi, task);
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
    call_end(ofi, call);
    answer->code = (int)(int64_t)message->head.offset;
    size_t body = length - sizeof(message->head);
    memcpy(&answer->info, message->body, body < sizeof(answer->info) ? body : sizeof(answer->info));
    if (call->is_lookup && answer->code == 0)
        ofi_view_told(ofi, call->rank, message->head.sid, &answer->info);
    ofi_task_part_over(ofi, task, answer->code);
}

static int ask_once(struct ofi_nic *ofi, const struct ofi_errand *errand,
                    struct ofi_message *message, size_t length, struct ofi_task **made)
{
    int rank = errand->rank, result = RH_EAGAIN;
    ofi_lock(ofi);
    struct ofi_task *task = ofi_task_start(ofi, rank, NULL);
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

int ofi_ask(struct ofi_nic *ofi, const struct ofi_errand *errand, struct ofi_message *message,
            size_t length, struct ofi_answer *answer)
{
    for (;;) {
        struct ofi_task *task;
        int result = ask_once(ofi, errand, message, length, &task);
        if (result == 0) {
            result = ofi_task_wait(ofi, task, errand, answer);
            if (errand->ticket && errand->ticket->is_open)
                keep_request(ofi, errand->ticket->handle, message, length);
            return result;
        }
        if (result != RH_EAGAIN)
            return ofi_peer_lost(ofi, errand);
        result = ofi_pause(ofi, errand);
        if (result < 0)
            return result;
    }
}
