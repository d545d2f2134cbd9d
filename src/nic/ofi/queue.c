/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Append to queues of ranks that are not near, and receiving from own ones, whoever sent.
 *
 * The queue's owner decides: a short message is put into it by the owner's NIC, which answers
 * whether there was room. For a long one a slot is claimed, filled by further messages and
 * published; should the sender die in between, the owner finds its rank in the slot and skips it.
 * Not by RMA: what is still under way when the sender dies or gives up would be written into a slot
 * that is somebody else's by then, while a message is checked against the claim. A sender that was
 * told "full" hears when there is space again, and asks again by itself from time to time.
 */
#include "base/clock.h"
#include "base/error.h"
#include "nic/handover.h"
#include "nic/ofi/ofi_nic.h"

#include <string.h>

#define AGAIN_NS (4 * NS_PER_MS)

/* ---- Sending -------------------------------------------------------------------------------- */

struct append {
    struct ofi_errand errand;
    struct rh_remote queue;
    const void *data;
    size_t length;
    uint32_t generation;
    uint32_t slot_count;
};

static int append_short(struct ofi_nic *ofi, const struct append *append)
{
    struct ofi_message message;
    message.head = ofi_head(OFI_APPEND, append->queue.sid, 0);
    message.head.generation = append->generation;
    message.head.length = (uint16_t)append->length;
    if (append->length > 0)
        memcpy(message.body, append->data, append->length);
    return ofi_ask(ofi, &append->errand, &message, sizeof(message.head) + append->length, NULL);
}

static int claim(struct ofi_nic *ofi, const struct append *append, struct ofi_claim_body *claimed)
{
    struct ofi_answer answer;
    struct ofi_message message;
    struct nic_ticket ticket = {0};
    struct ofi_errand errand = append->errand;
    errand.ticket = &ticket;
    message.head = ofi_head(OFI_CLAIM, append->queue.sid, append->length);
    message.head.generation = append->generation;
    int result = ofi_ask(ofi, &errand, &message, sizeof(message.head), &answer);
    if (ticket.is_open) /* a slot that is claimed later would stop the queue */
        ofi_claim_void(ofi, &ticket, append->generation);
    if (result == 0)
        *claimed = answer.claim;
    return result;
}

/* One message of its data; RH_EAGAIN: not now. */
static int fill_some(struct ofi_nic *ofi, const struct append *append,
                     const struct ofi_claim_body *claimed, uint64_t at)
{
    struct ofi_message message;
    struct ofi_fill_body body = {.at = at};
    size_t left = append->length - at, length = left < OFI_FILL_MAX ? left : OFI_FILL_MAX;
    message.head = ofi_head(OFI_FILL, append->queue.sid, claimed->number);
    message.head.generation = append->generation;
    message.head.length = (uint16_t)length;
    memcpy(message.body, &body, sizeof(body));
    memcpy(message.body + sizeof(body), (const char *)append->data + at, length);
    ofi_lock(ofi);
    int result = ofi_send(ofi, append->queue.rank, &message,
                          sizeof(message.head) + sizeof(body) + length);
    ofi_unlock(ofi);
    return result;
}

static int fill(struct ofi_nic *ofi, const struct append *append,
                const struct ofi_claim_body *claimed)
{
    for (uint64_t at = 0; at < append->length;) {
        int result = fill_some(ofi, append, claimed, at);
        if (result == 0)
            at += OFI_FILL_MAX;
        else if (result != RH_EAGAIN)
            return ofi_peer_lost(ofi, &append->errand);
        else if ((result = ofi_pause(ofi, &append->errand)) < 0)
            return result;
    }
    return 0;
}

static size_t publish_build(struct ofi_message *message, rh_sid sid, uint32_t generation,
                            const struct ofi_claim_body *claimed,
                            const struct ofi_publish_body *body)
{
    message->head = ofi_head(OFI_PUBLISH, sid, claimed->number);
    message->head.generation = generation;
    memcpy(message->body, body, sizeof(*body));
    return sizeof(message->head) + sizeof(*body);
}

static int publish(struct ofi_nic *ofi, const struct append *append,
                   const struct ofi_claim_body *claimed)
{
    struct ofi_message message;
    struct ofi_publish_body body = {.length = (uint32_t)append->length};
    size_t length = publish_build(&message, append->queue.sid, append->generation, claimed, &body);
    return ofi_ask(ofi, &append->errand, &message, length, NULL);
}

/* There will be no message in the slot. Nobody waits for the answer: there is none that would
 * change anything. Under the lock. */
static void publish_void(struct ofi_nic *ofi, struct rh_remote queue, uint32_t generation,
                         const struct ofi_claim_body *claimed)
{
    struct ofi_message message;
    struct ofi_publish_body body = {.is_void = true};
    size_t length = publish_build(&message, queue.sid, generation, claimed, &body);
    ofi_send_soon(ofi, queue.rank, &message, length);
    ofi->peers[queue.rank].has_unflushed = true;
    ofi->peers[queue.rank].oneway_count++;
}

void ofi_claim_give_back(struct ofi_nic *ofi, const struct ofi_task *task)
{
    publish_void(ofi, rh_at(task->rank, task->sid, 0), task->late_place.generation,
                 &task->answer.claim);
}

static int append_long(struct ofi_nic *ofi, const struct append *append)
{
    struct ofi_claim_body claimed;
    int result = claim(ofi, append, &claimed);
    if (result < 0)
        return result;
    result = fill(ofi, append, &claimed);
    if (result == 0)
        return publish(ofi, append, &claimed);
    ofi_lock(ofi);
    if (!ofi_is_gone(ofi, append->queue.rank))
        publish_void(ofi, append->queue, append->generation, &claimed);
    ofi_unlock(ofi);
    return result;
}

static int check_queue(struct ofi_nic *ofi, const struct ofi_view *view, size_t length)
{
    struct ofi_segment_info info = view->info;
    int rank = view->rank;
    rh_sid sid = view->sid;
    if (info.kind == NIC_SEGMENT_QUEUE && length <= info.slot_length)
        return 0;
    ofi_unlock(ofi);
    if (info.kind != NIC_SEGMENT_QUEUE)
        return error_set(RH_EINVALID, rank, "segment %u of rank %d is not a queue", sid, rank);
    return error_set(RH_ETOOBIG, rank, "message of %zu bytes; queue %u of rank %d takes up to %u",
                     length, sid, rank, info.slot_length);
}

/* 0, RH_EAGAIN: full, or why not. */
static int append_once(struct ofi_nic *ofi, struct append *append, uint32_t *space)
{
    int result = 0;
    struct rh_remote queue = append->queue;
    struct ofi_view *view = ofi_view_take(ofi, &append->errand, queue.sid, true);
    if (!view)
        return append->errand.result;
    result = check_queue(ofi, view, append->length);
    if (result < 0)
        return result;
    *space = atomic_load(&ofi->peers[queue.rank].space);
    append->generation = view->info.generation;
    append->slot_count = view->info.slot_count;
    bool is_long = append->length > OFI_BODY_MAX;
    ofi_unlock(ofi);
    result = is_long ? append_long(ofi, append) : append_short(ofi, append);
    return ofi_refused(ofi, queue.rank, queue.sid, result, "append");
}

/* ---- A full queue --------------------------------------------------------------------------- */

struct space_wait {
    struct ofi_nic *ofi;
    const struct append *append;
    uint32_t seen;
};

static bool has_space(void *context)
{
    struct space_wait *wait = context;
    return atomic_load(&wait->ofi->peers[wait->append->queue.rank].space) != wait->seen;
}

static void describe_full(void *context, struct wait_note *note)
{
    const struct space_wait *wait = context;
    *note = (struct wait_note){
        .call = WAIT_APPEND, .peer = wait->append->queue.rank, .number = wait->append->queue.sid};
}

static int refuse_full(const struct append *append, int64_t timeout_ns)
{
    int rank = append->queue.rank;
    if (timeout_ns == 0)
        return error_set(RH_EAGAIN, rank, "queue %u of rank %d is full", append->queue.sid, rank);
    return error_set(RH_ETIMEOUT, rank,
                     "queue %u of rank %d stayed full (%u messages); does it receive?",
                     append->queue.sid, rank, append->slot_count);
}

/* Ask, wait for space, ask again, until the deadline. */
static int append_patiently(struct ofi_nic *ofi, struct append *append, int64_t timeout_ns,
                            struct stall_watch *stall, struct space_wait *space)
{
    int64_t deadline_ns = append->errand.deadline_ns;
    for (;;) {
        int result = append_once(ofi, append, &space->seen);
        if (result != RH_EAGAIN)
            return result;
        if (!stall->is_kept)
            counter_add(ofi->nic.job->counters, COUNTER_APPEND_FULL, 1);
        int64_t now_ns = clock_now_ns();
        if (timeout_ns == 0 || now_ns >= deadline_ns)
            return refuse_full(append, timeout_ns);
        stall_watch_keep(stall, now_ns);
        struct nic_wait wait = {.is_met = has_space,
                                .describe = describe_full,
                                .context = space,
                                .stall = stall,
                                .from = append->queue.rank,
                                .timeout_ns = deadline_slice_ns(deadline_ns, now_ns, AGAIN_NS)};
        result = ofi->inner->ops->wait(ofi->inner, &wait);
        if (result < 0 && result != RH_ETIMEOUT)
            return result;
    }
}

int ofi_append(struct nic *nic, struct rh_remote queue, const void *data, size_t length,
               int64_t timeout_ns)
{
    nic_assert_append(nic, queue, timeout_ns);
    struct ofi_nic *ofi = ofi_nic_of(nic);
    if (ofi_is_near(ofi, queue.rank))
        return ofi->inner->ops->append(ofi->inner, queue, data, length, timeout_ns);
    struct append append = {.errand = ofi_errand(ofi, queue.rank, "append"),
                            .queue = queue,
                            .data = data,
                            .length = length};
    struct space_wait space = {.ofi = ofi, .append = &append};
    struct stall_watch stall = {.job = &nic->job->watch,
                                .since_ns = clock_now_ns(),
                                .describe = describe_full,
                                .context = &space};
    if (timeout_ns > 0)
        append.errand.deadline_ns = clock_deadline_ns(timeout_ns);
    int result = append_patiently(ofi, &append, timeout_ns, &stall, &space);
    stall_watch_end(&stall);
    return result;
}

int ofi_append_try(struct nic *nic, struct rh_remote queue, const void *data, size_t length,
                   struct nic_ticket *ticket)
{
    nic_assert_append(nic, queue, 0);
    ASSERT(ticket);
    struct ofi_nic *ofi = ofi_nic_of(nic);
    uint32_t space;
    if (ofi_is_near(ofi, queue.rank))
        return ofi->inner->ops->append_try(ofi->inner, queue, data, length, ticket);
    struct append append = {.errand = ofi_errand(ofi, queue.rank, "append"),
                            .queue = queue,
                            .data = data,
                            .length = length};
    append.errand.ticket = ticket;
    if (ticket->deadline_ns != 0)
        append.errand.deadline_ns = ticket->deadline_ns;
    int result = ticket->is_open ? ofi_refused(ofi, queue.rank, queue.sid,
                                               ofi_resume(ofi, &append.errand, NULL), "append")
                                 : append_once(ofi, &append, &space);
    return result == RH_EAGAIN ? refuse_full(&append, 0) : result;
}

/* ---- Receiving ------------------------------------------------------------------------------ */

int ofi_queue_peek(struct nic *nic, void *queue, struct rh_arrival *arrival)
{
    struct ofi_nic *ofi = ofi_nic_of(nic);
    int result = ofi->inner->ops->queue_peek(ofi->inner, queue, arrival);
    if (result != RH_EAGAIN || ofi->is_alone)
        return result;
    ofi_progress_surely(ofi);
    return ofi->inner->ops->queue_peek(ofi->inner, queue, arrival);
}

/* Under the lock. */
static void tell_waiting(struct ofi_nic *ofi, struct ofi_segment *segment)
{
    for (int rank = 0; rank < ofi->nic.job->size; rank++) {
        struct ofi_message message;
        message.head = ofi_head(OFI_SPACE, segment->sid, 0);
        if (!(segment->waiting[rank / 8] >> rank % 8 & 1))
            continue;
        segment->waiting[rank / 8] &= (uint8_t) ~(1u << rank % 8);
        ofi_send_soon(ofi, rank, &message, sizeof(message.head));
    }
    segment->has_waiting = false;
    atomic_fetch_sub(&ofi->waiting_queues, 1);
}

static void tell_senders(struct ofi_nic *ofi, const void *queue)
{
    ofi_lock(ofi);
    for (int i = 0; i < OFI_CHAINS; i++) {
        struct ofi_segment *segment = ofi->segments[i];
        for (; segment; segment = segment->next) {
            if (segment->base == queue && segment->has_waiting)
                tell_waiting(ofi, segment);
        }
    }
    ofi_unlock(ofi);
}

void ofi_queue_release(struct nic *nic, void *queue)
{
    struct ofi_nic *ofi = ofi_nic_of(nic);
    ofi->inner->ops->queue_release(ofi->inner, queue);
    if (atomic_load(&ofi->waiting_queues) > 0)
        tell_senders(ofi, queue);
}
