/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Completion queues: a ring that grows, since nobody may lose a completion. Reading one makes
 * progress, once, if it is empty.
 */
#include "provider/op.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>

#define ROOM_AT_FIRST_MAX (1u << 20) /* it grows, whatever was asked for */

static struct queue *queue_of(struct fid_cq *cq)
{
    return (struct queue *)cq;
}

/* ---- Putting -------------------------------------------------------------------------------- */

static bool grow(struct queue *queue)
{
    struct completion *grown = malloc(2 * queue->room * sizeof(*grown));
    if (!grown)
        return false;
    for (uint64_t i = queue->head; i < queue->tail; i++)
        grown[i % (2 * queue->room)] = queue->ring[i % queue->room];
    free(queue->ring);
    queue->ring = grown;
    queue->room *= 2;
    return true;
}

struct completion *queue_slot(struct queue *queue)
{
    if (unlikely(queue->tail - queue->head == queue->room) && !grow(queue)) {
        queue->is_overrun = true;
        return NULL;
    }
    return &queue->ring[queue->tail & (queue->room - 1)];
}

void queue_put(struct queue *queue)
{
    queue->tail++;
    if (unlikely(queue->signal.kind != FI_WAIT_NONE))
        signal_raise(&queue->signal);
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* What is there, up to count; with the turn. */
static ssize_t take(struct queue *queue, void *buffer, size_t count, fi_addr_t *source)
{
    size_t taken = 0;
    if (unlikely(queue->is_overrun))
        return -FI_EOVERRUN;
    while (taken < count && queue->head < queue->tail) {
        const struct completion *completion = &queue->ring[queue->head & (queue->room - 1)];
        if (unlikely(completion->error != 0))
            break;
        if (likely(queue->entry_length == sizeof(completion->entry)))
            ((struct fi_cq_tagged_entry *)buffer)[taken] = completion->entry;
        else
            memcpy((char *)buffer + taken * queue->entry_length, &completion->entry,
                   queue->entry_length);
        if (source)
            source[taken] = completion->source;
        queue->head++;
        taken++;
    }
    if (queue->head == queue->tail && unlikely(queue->signal.kind != FI_WAIT_NONE))
        signal_lower(&queue->signal);
    if (taken > 0)
        return (ssize_t)taken;
    if (queue->head == queue->tail)
        return -FI_EAGAIN;
    return queue->ring[queue->head & (queue->room - 1)].error != 0 ? -FI_EAVAIL : 0;
}

static ssize_t read_from(struct fid_cq *cq, void *buffer, size_t count, fi_addr_t *source)
{
    struct queue *queue = queue_of(cq);
    engine_take(queue->engine);
    if (queue->head == queue->tail || count == 0)
        engine_look(queue->engine);
    ssize_t result = likely(queue->head == queue->tail) && likely(!queue->is_overrun)
                         ? -FI_EAGAIN
                         : take(queue, buffer, count, source);
    engine_give(queue->engine);
    return result;
}

static ssize_t read_some(struct fid_cq *cq, void *buffer, size_t count)
{
    return read_from(cq, buffer, count, NULL);
}

static ssize_t read_error(struct fid_cq *cq, struct fi_cq_err_entry *buffer, uint64_t flags)
{
    struct queue *queue = queue_of(cq);
    ssize_t result = -FI_EAGAIN;
    engine_take(queue->engine);
    const struct completion *completion = &queue->ring[queue->head & (queue->room - 1)];
    if (queue->head < queue->tail && completion->error != 0) {
        const struct fi_cq_tagged_entry *entry = &completion->entry;
        buffer->op_context = entry->op_context;
        buffer->flags = entry->flags;
        buffer->len = entry->len;
        buffer->buf = entry->buf;
        buffer->data = entry->data;
        buffer->tag = entry->tag;
        buffer->olen = completion->cut;
        buffer->err = completion->error;
        buffer->prov_errno = completion->result;
        buffer->err_data_size = 0; /* the caller's own buffer, if it brought one, is left alone */
        queue->head++;
        result = 1;
    }
    if (queue->head == queue->tail && queue->signal.kind != FI_WAIT_NONE)
        signal_lower(&queue->signal);
    engine_give(queue->engine);
    return result;
}

/* ---- Waiting -------------------------------------------------------------------------------- */

struct reading {
    struct queue *queue;
    uint64_t least;
};

static bool has_enough(void *context)
{
    const struct reading *reading = context;
    struct queue *queue = reading->queue;
    if (queue->is_signaled || queue->is_overrun)
        return true;
    uint64_t count = queue->tail - queue->head;
    bool is_error = count > 0 && queue->ring[queue->head & (queue->room - 1)].error != 0;
    return count >= reading->least || is_error;
}

static ssize_t wait_from(struct fid_cq *cq, void *buffer, size_t count, fi_addr_t *source,
                         const void *condition, int timeout)
{
    struct queue *queue = queue_of(cq);
    struct reading reading = {.queue = queue, .least = 1};
    if (queue->signal.kind == FI_WAIT_NONE)
        return -FI_ENOSYS;
    if (condition && queue->is_threshold)
        reading.least = (uintptr_t)condition > 0 ? (uintptr_t)condition : 1;
    if (reading.least > count)
        reading.least = count;
    engine_wait(queue->engine, has_enough, &reading, timeout);
    engine_take(queue->engine);
    queue->is_signaled = false;
    ssize_t result = take(queue, buffer, count, source);
    engine_give(queue->engine);
    return result;
}

static ssize_t wait_some(struct fid_cq *cq, void *buffer, size_t count, const void *condition,
                         int timeout)
{
    return wait_from(cq, buffer, count, NULL, condition, timeout);
}

static int wake(struct fid_cq *cq)
{
    struct queue *queue = queue_of(cq);
    engine_take(queue->engine);
    queue->is_signaled = true;
    engine_give(queue->engine);
    rh_wake(queue->engine->job, queue->engine->mail->rank);
    return 0;
}

static const char *explain(struct fid_cq *cq, int result, const void *data, char *buffer,
                           size_t length)
{
    const char *name = result == 0 ? "no error of rhinet's own" : rh_error_name(result);
    if (buffer && length > 0)
        snprintf(buffer, length, "%s", name);
    return buffer && length > 0 ? buffer : name;
}

/* ---- Opening -------------------------------------------------------------------------------- */

static struct fi_ops_cq queue_calls = {
    .size = sizeof(struct fi_ops_cq),
    .read = read_some,
    .readfrom = read_from,
    .readerr = read_error,
    .sread = wait_some,
    .sreadfrom = wait_from,
    .signal = wake,
    .strerror = explain,
};

static int close_queue(struct fid *fid)
{
    struct queue *queue = (struct queue *)fid;
    if (queue->users > 0)
        return -FI_EBUSY;
    signal_close(&queue->signal, queue->engine, fid);
    queue->domain->users--;
    free(queue->ring);
    free(queue);
    return 0;
}

static int control_queue(struct fid *fid, int command, void *argument)
{
    return signal_get(&((struct queue *)fid)->signal, command, argument);
}

static struct fi_ops queue_fid_calls = {
    .size = sizeof(struct fi_ops),
    .close = close_queue,
    .bind = no_bind,
    .control = control_queue,
    .ops_open = no_ops_open,
};

static size_t entry_length(enum fi_cq_format format)
{
    switch (format) {
    case FI_CQ_FORMAT_UNSPEC:
    case FI_CQ_FORMAT_CONTEXT:
        return sizeof(struct fi_cq_entry);
    case FI_CQ_FORMAT_MSG:
        return sizeof(struct fi_cq_msg_entry);
    case FI_CQ_FORMAT_DATA:
        return sizeof(struct fi_cq_data_entry);
    case FI_CQ_FORMAT_TAGGED:
        return sizeof(struct fi_cq_tagged_entry);
    }
    return 0;
}

int queue_open(struct fid_domain *fid, struct fi_cq_attr *attr, struct fid_cq **cq, void *context)
{
    struct domain *domain = (struct domain *)fid;
    struct fi_cq_attr none = {0};
    if (!attr)
        attr = &none;
    size_t length = entry_length(attr->format);
    if (length == 0)
        return -FI_EINVAL;
    if (attr->format == FI_CQ_FORMAT_UNSPEC)
        attr->format = FI_CQ_FORMAT_CONTEXT;
    struct queue *queue = calloc(1, sizeof(*queue));
    if (!queue)
        return -FI_ENOMEM;
    queue->room = 64;
    while (queue->room < attr->size && queue->room < ROOM_AT_FIRST_MAX)
        queue->room *= 2;
    queue->ring = malloc(queue->room * sizeof(*queue->ring));
    int result = queue->ring ? signal_open(&queue->signal, domain->engine, attr->wait_obj,
                                           attr->wait_set, &queue->fid.fid)
                             : -FI_ENOMEM;
    if (result < 0) {
        free(queue->ring);
        free(queue);
        return result;
    }
    queue->fid = (struct fid_cq){
        .fid = {.fclass = FI_CLASS_CQ, .context = context, .ops = &queue_fid_calls},
        .ops = &queue_calls};
    queue->engine = domain->engine;
    queue->domain = domain;
    queue->entry_length = length;
    queue->is_threshold = attr->wait_cond == FI_CQ_COND_THRESHOLD;
    domain->users++;
    *cq = &queue->fid;
    return 0;
}
