/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What peers ask for. Every message is checked: the token says that it is from the job, and each
 * access is checked against our own table, whatever the sender has checked before. Nothing here
 * waits; all of it runs under the lock.
 */
#include "base/error.h"
#include "nic/ofi/ofi_nic.h"

#include <string.h>

static void bit_set(uint8_t *bits, uint32_t rank)
{
    bits[rank / 8] |= (uint8_t)(1u << rank % 8);
}

/* ---- Replies -------------------------------------------------------------------------------- */

static void send_reply(struct ofi_nic *ofi, const struct ofi_head *to,
                       const struct ofi_answered *answered)
{
    struct ofi_message message;
    if (!(to->flags & OFI_WANTS_REPLY))
        return;
    message.head = ofi_head(OFI_REPLY, to->sid, (uint64_t)(int64_t)answered->code);
    message.head.request = to->request;
    if (answered->length > 0)
        memcpy(message.body, answered->body, answered->length);
    ofi_send_soon(ofi, (int)to->sender, &message, sizeof(message.head) + answered->length);
}

static void reply_with(struct ofi_nic *ofi, const struct ofi_head *to, int code, const void *body,
                       size_t length)
{
    struct ofi_answered answered = {.code = code, .body = body, .length = length};
    if (ofi_is_once(to))
        ofi_once_remember(ofi, to, &answered);
    send_reply(ofi, to, &answered);
}

static void reply(struct ofi_nic *ofi, const struct ofi_head *to, int code)
{
    reply_with(ofi, to, code, NULL, 0);
}

/* ---- Segments ------------------------------------------------------------------------------- */

static struct ofi_segment *current_segment(struct ofi_nic *ofi, rh_sid sid, uint32_t generation)
{
    struct ofi_segment *segment = ofi_segment_find(ofi, sid);
    return segment && segment->generation == generation && !segment->is_closed ? segment : NULL;
}

static int missing_code(struct ofi_nic *ofi, rh_sid sid, const struct ofi_segment *segment)
{
    struct shm_own_segment own;
    bool was_open = segment ? segment->was_open
                            : shm_inside_find(ofi->inner, sid, &own) && !own.is_open;
    return was_open ? RH_ESTALE : RH_ENOSEG;
}

static void serve_lookup(struct ofi_nic *ofi, const struct ofi_message *message)
{
    const struct ofi_head *head = &message->head;
    ofi_peer_learn(ofi, (int)head->sender, message->body, head->length);
    struct ofi_segment *segment = ofi_segment_find(ofi, head->sid);
    if (!segment || segment->is_closed) {
        reply(ofi, head, missing_code(ofi, head->sid, segment));
        return;
    }
    bit_set(segment->users, head->sender);
    struct ofi_segment_info info = {
        .key = segment->key,
        .address = ofi->has_virtual_addresses ? (uint64_t)(uintptr_t)segment->base : 0,
        .length = segment->length,
        .kind = segment->kind,
        .rights = segment->rights,
        .generation = segment->generation,
        .slot_count = segment->shape.slot_count,
        .slot_length = segment->shape.slot_length};
    reply_with(ofi, head, 0, &info, sizeof(info));
}

static void serve_revoke(struct ofi_nic *ofi, const struct ofi_head *head)
{
    struct ofi_view *view = ofi_view_find(ofi, (int)head->sender, head->sid);
    if (!view || view->info.generation != head->generation) {
        reply(ofi, head, 0);
        return;
    }
    view->is_stale = true;
    view->revoke = head->request;
    if (view->underway == 0)
        ofi_view_released(ofi, view);
}

void ofi_view_released(struct ofi_nic *ofi, struct ofi_view *view)
{
    struct ofi_head to = {.sender = (uint32_t)view->rank,
                          .sid = view->sid,
                          .flags = OFI_WANTS_REPLY,
                          .request = view->revoke};
    if (view->revoke != 0)
        reply(ofi, &to, 0);
    view->revoke = 0;
}

/* ---- Memory --------------------------------------------------------------------------------- */

/* A place in our memory, if its segment allows this; NULL with *code set if not. */
static char *checked_place(const struct ofi_segment *segment, uint64_t offset, uint64_t length,
                           unsigned rights, int *code)
{
    if (!segment)
        *code = RH_ESTALE;
    else if (segment->kind == NIC_SEGMENT_QUEUE)
        *code = RH_EINVALID;
    else if ((segment->rights & rights) != rights)
        *code = RH_ERIGHTS;
    else if (offset > segment->length || length > segment->length - offset)
        *code = RH_EBOUNDS;
    else
        return segment->base + offset;
    return NULL;
}

void ofi_put(char *target, const void *source, size_t length)
{
    uintptr_t at = (uintptr_t)target;
    uint64_t word = 0;
    if (length > 8 || length == 0 || (length & (length - 1)) != 0 || at % length != 0) {
        if (length > 0)
            memcpy(target, source, length);
        return;
    }
    memcpy(&word, source, length);
    switch (length) {
    case 8:
        __atomic_store_n((uint64_t *)(void *)target, word, __ATOMIC_RELEASE);
        break;
    case 4:
        __atomic_store_n((uint32_t *)(void *)target, (uint32_t)word, __ATOMIC_RELEASE);
        break;
    case 2:
        __atomic_store_n((uint16_t *)(void *)target, (uint16_t)word, __ATOMIC_RELEASE);
        break;
    default:
        __atomic_store_n((uint8_t *)target, (uint8_t)word, __ATOMIC_RELEASE);
    }
}

/* What a PUT asks for, taken apart. */
struct put_request {
    bool has_notice;
    struct ofi_far_place place; /* of the notice */
    uint64_t value;
    const void *data;
};

static bool put_parse(const struct ofi_message *message, size_t length, struct put_request *parsed)
{
    const struct ofi_head *head = &message->head;
    size_t at = 0, body = length - sizeof(*head);
    size_t needed = head->length + (head->flags & OFI_HAS_NOTICE ? sizeof(parsed->value) : 0) +
                    (head->flags & OFI_FAR_NOTICE ? sizeof(parsed->place) : 0);
    if (needed > body)
        return false;
    parsed->has_notice = head->flags & OFI_HAS_NOTICE;
    parsed->place = (struct ofi_far_place){head->sid, head->generation,
                                           head->offset + (uint64_t)(int64_t)head->notice_delta};
    if (head->flags & OFI_FAR_NOTICE) {
        memcpy(&parsed->place, message->body, sizeof(parsed->place));
        at += sizeof(parsed->place);
    }
    if (parsed->has_notice) {
        memcpy(&parsed->value, message->body + at, sizeof(parsed->value));
        at += sizeof(parsed->value);
    }
    parsed->data = message->body + at;
    return true;
}

static void serve_put(struct ofi_nic *ofi, const struct ofi_message *message, size_t length)
{
    const struct ofi_head *head = &message->head;
    struct put_request parsed = {0};
    int code = RH_ECORRUPT;
    char *target = NULL, *word = NULL;
    if (put_parse(message, length, &parsed))
        target = checked_place(current_segment(ofi, head->sid, head->generation), head->offset,
                               head->length, RH_WRITE, &code);
    if (target && parsed.has_notice)
        word = checked_place(current_segment(ofi, parsed.place.sid, parsed.place.generation),
                             parsed.place.offset, sizeof(parsed.value), RH_WRITE, &code);
    if (target && (word || !parsed.has_notice)) {
        code = 0;
        ofi_put(target, parsed.data, head->length);
        if (word)
            ofi_put(word, &parsed.value, sizeof(parsed.value));
    }
    reply(ofi, head, code);
}

static void serve_atomic(struct ofi_nic *ofi, const struct ofi_message *message, size_t length)
{
    const struct ofi_head *head = &message->head;
    struct ofi_atomic_body body;
    int code = RH_ECORRUPT;
    uint64_t old = 0;
    if (length >= sizeof(*head) + sizeof(body) && head->offset % 8 == 0) {
        memcpy(&body, message->body, sizeof(body));
        struct nic_atomic_operands operands = {.operation = (enum nic_atomic)body.operation,
                                               .operand = body.operand,
                                               .expected = body.expected};
        char *word = checked_place(current_segment(ofi, head->sid, head->generation), head->offset,
                                   8, RH_ATOMIC, &code);
        if (word) {
            old = nic_atomic_apply((_Atomic uint64_t *)(void *)word, &operands);
            code = 0;
        }
    }
    reply_with(ofi, head, code, &old, sizeof(old));
}

/* ---- Queues --------------------------------------------------------------------------------- */

static struct ofi_segment *current_queue(struct ofi_nic *ofi, const struct ofi_head *head,
                                         uint64_t length, int *code)
{
    struct ofi_segment *segment = current_segment(ofi, head->sid, head->generation);
    if (segment && segment->kind == NIC_SEGMENT_QUEUE && length <= segment->shape.slot_length)
        return segment;
    *code = segment ? RH_ECORRUPT : RH_ESTALE;
    return NULL;
}

/* It is full: tell the sender when it is not any more. */
static int note_waiting(struct ofi_nic *ofi, struct ofi_segment *segment, uint32_t sender)
{
    bit_set(segment->waiting, sender);
    if (!segment->has_waiting)
        atomic_fetch_add(&ofi->waiting_queues, 1);
    segment->has_waiting = true;
    return RH_EAGAIN;
}

static void serve_append(struct ofi_nic *ofi, const struct ofi_message *message, size_t length)
{
    const struct ofi_head *head = &message->head;
    int code = RH_ECORRUPT;
    struct ofi_segment *segment = NULL;
    if (head->length <= length - sizeof(*head))
        segment = current_queue(ofi, head, head->length, &code);
    if (segment)
        code = shm_queue_put(ofi->inner, segment->base, (int)head->sender, message->body,
                             head->length)
                   ? 0
                   : note_waiting(ofi, segment, head->sender);
    reply(ofi, head, code);
}

static void serve_claim(struct ofi_nic *ofi, const struct ofi_head *head)
{
    int code = 0;
    struct shm_claim claim = {0};
    struct ofi_segment *segment = current_queue(ofi, head, head->offset, &code);
    if (segment && !shm_queue_claim(segment->base, (int)head->sender, &claim))
        code = note_waiting(ofi, segment, head->sender);
    struct ofi_claim_body body = {.number = claim.number};
    reply_with(ofi, head, code, &body, sizeof(body));
}

/* What is wrong here shows when it is published. */
static void serve_fill(struct ofi_nic *ofi, const struct ofi_message *message, size_t length)
{
    const struct ofi_head *head = &message->head;
    struct ofi_fill_body body;
    int code = 0;
    if (length < sizeof(*head) + sizeof(body) + head->length)
        return;
    memcpy(&body, message->body, sizeof(body));
    struct ofi_segment *segment = current_queue(ofi, head, head->length, &code);
    struct shm_claim claim = {.number = head->offset};
    struct shm_part part = {
        .at = body.at, .data = message->body + sizeof(body), .length = head->length};
    if (segment)
        shm_queue_fill(segment->base, (int)head->sender, &claim, &part);
}

static void serve_publish(struct ofi_nic *ofi, const struct ofi_message *message, size_t length)
{
    const struct ofi_head *head = &message->head;
    struct ofi_publish_body body;
    int code = RH_ECORRUPT;
    struct ofi_segment *segment = NULL;
    if (length >= sizeof(*head) + sizeof(body)) {
        memcpy(&body, message->body, sizeof(body));
        segment = current_queue(ofi, head, body.length, &code);
    }
    if (segment) {
        struct shm_claim claim = {.number = head->offset};
        shm_queue_publish(ofi->inner, segment->base, (int)head->sender, &claim, body.length,
                          body.is_void);
        code = 0;
    }
    reply(ofi, head, code);
}

/* ---- All of them ---------------------------------------------------------------------------- */

static bool is_of_the_job(struct ofi_nic *ofi, const struct ofi_message *message, size_t length)
{
    const struct ofi_head *head = &message->head;
    return length >= sizeof(*head) && head->sender < (uint32_t)ofi->nic.job->size &&
           head->token == ofi->peers[head->sender].token_from;
}

/* A request that is to happen once: whether it is new. A repeat gets the same answer again. */
static bool is_first(struct ofi_nic *ofi, const struct ofi_head *head)
{
    struct ofi_answered before;
    enum ofi_seen seen = ofi_once_look(ofi, head, &before);
    if (seen == OFI_SEEN_REPEAT)
        send_reply(ofi, head, &before);
    return seen == OFI_SEEN_NEVER;
}

void ofi_serve(struct ofi_nic *ofi, struct ofi_message *message, size_t length)
{
    const struct ofi_head *head = &message->head;
    if (!is_of_the_job(ofi, message, length)) {
        counter_add_exact(ofi->nic.job->counters, COUNTER_DENIED_STRANGER);
        return;
    }
    if (ofi_is_once(head) && !is_first(ofi, head))
        return;
    switch ((enum ofi_kind)head->kind) {
    case OFI_REPLY:
        ofi_call_answered(ofi, message, length);
        break;
    case OFI_LOOKUP:
        serve_lookup(ofi, message);
        break;
    case OFI_PUT:
        serve_put(ofi, message, length);
        break;
    case OFI_ATOMIC:
        serve_atomic(ofi, message, length);
        break;
    case OFI_APPEND:
        serve_append(ofi, message, length);
        break;
    case OFI_CLAIM:
        serve_claim(ofi, head);
        break;
    case OFI_FILL:
        serve_fill(ofi, message, length);
        break;
    case OFI_PUBLISH:
        serve_publish(ofi, message, length);
        break;
    case OFI_FLUSH:
        reply(ofi, head, 0);
        break;
    case OFI_REVOKE:
        serve_revoke(ofi, head);
        break;
    case OFI_SPACE:
        ofi->peers[head->sender].space++;
        break;
    }
}
