/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests and their replies: each that is awaited has a place in a table, which its number names.
 */
#include "nic/ofi/ofi_nic.h"

#include <string.h>

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
        ofi_tasks_press(ofi, rank);
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

void ofi_calls_fail(struct ofi_nic *ofi, int rank)
{
    for (uint32_t i = 0; i < OFI_CALLS; i++) {
        struct ofi_call *call = &ofi->calls[i];
        if (call->id == 0 || call->rank != rank)
            continue;
        call_end(ofi, call);
        ofi_task_part_over(ofi, call->task, call->task->rank == rank ? RH_EDEAD : 0);
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
                ofi_task_keep_request(ofi, errand->ticket->handle, message, length);
            return result;
        }
        if (result != RH_EAGAIN)
            return ofi_peer_lost(ofi, errand);
        result = ofi_pause(ofi, errand);
        if (result < 0)
            return result;
    }
}
