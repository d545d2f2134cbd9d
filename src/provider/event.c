/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Event queues. Nothing of ours is reported there, since everything is done when its call returns:
 * they hold what programs write into them. They belong to a fabric, which has no engine, and so
 * have a lock of their own.
 */
#include "provider/provider.h"

#include "base/clock.h"
#include "base/descriptor.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define EVENTS_DEFAULT 256
#define EVENTS_MAX     (1u << 20)

struct event {
    struct event *next;
    uint32_t what;
    size_t length;
    char bytes[];
};

struct event_queue {
    struct fid_eq fid;
    enum fi_wait_obj wait;
    bool is_writable;
    size_t count, room;
    struct event *first, **last;
    int descriptor; /* or -1; readable while there is something */
    pthread_mutex_t lock;
    pthread_cond_t has_come;
};

/* ---- Reading -------------------------------------------------------------------------------- */

static ssize_t take(struct event_queue *queue, uint32_t *what, void *buffer, size_t length,
                    uint64_t flags)
{
    struct event *event = queue->first;
    uint64_t count;
    if (!event)
        return -FI_EAGAIN;
    if (length < event->length)
        return -FI_ETOOSMALL;
    *what = event->what;
    memcpy(buffer, event->bytes, event->length);
    ssize_t result = (ssize_t)event->length;
    if (flags & FI_PEEK)
        return result;
    queue->first = event->next;
    queue->count--;
    free(event);
    if (queue->first)
        return result;
    queue->last = &queue->first;
    if (queue->descriptor >= 0 && read(queue->descriptor, &count, sizeof(count)) < 0)
        return result; /* it was not raised */
    return result;
}

static ssize_t read_event(struct fid_eq *eq, uint32_t *what, void *buffer, size_t length,
                          uint64_t flags)
{
    struct event_queue *queue = (struct event_queue *)eq;
    pthread_mutex_lock(&queue->lock);
    ssize_t result = take(queue, what, buffer, length, flags);
    pthread_mutex_unlock(&queue->lock);
    return result;
}

/* timeout in milliseconds; < 0: none. */
static ssize_t wait_event(struct fid_eq *eq, uint32_t *what, void *buffer, size_t length,
                          int timeout, uint64_t flags)
{
    struct event_queue *queue = (struct event_queue *)eq;
    struct timespec end;
    if (queue->wait == FI_WAIT_NONE)
        return -FI_ENOSYS;
    int64_t end_ns = clock_deadline_ns(timeout < 0 ? INT64_MAX : timeout * NS_PER_MS);
    end = (struct timespec){.tv_sec = end_ns / NS_PER_S, .tv_nsec = end_ns % NS_PER_S};
    pthread_mutex_lock(&queue->lock);
    while (!queue->first && clock_now_ns() < end_ns)
        pthread_cond_timedwait(&queue->has_come, &queue->lock, &end);
    ssize_t result = take(queue, what, buffer, length, flags);
    pthread_mutex_unlock(&queue->lock);
    return result;
}

/* There are no errors in it. */
static ssize_t read_event_error(struct fid_eq *eq, struct fi_eq_err_entry *buffer, uint64_t flags)
{
    return -FI_EAGAIN;
}

/* ---- Writing -------------------------------------------------------------------------------- */

static void append(struct event_queue *queue, struct event *event)
{
    uint64_t one = 1;
    bool was_empty = !queue->first;
    *queue->last = event;
    queue->last = &event->next;
    queue->count++;
    pthread_cond_broadcast(&queue->has_come);
    if (was_empty && queue->descriptor >= 0 && write(queue->descriptor, &one, sizeof(one)) < 0)
        return; /* it is raised already */
}

static ssize_t write_event(struct fid_eq *eq, uint32_t what, const void *buffer, size_t length,
                           uint64_t flags)
{
    struct event_queue *queue = (struct event_queue *)eq;
    if (!queue->is_writable || flags)
        return -FI_EINVAL;
    struct event *event = malloc(sizeof(*event) + length);
    if (!event)
        return -FI_ENOMEM;
    *event = (struct event){.what = what, .length = length};
    if (length > 0)
        memcpy(event->bytes, buffer, length);
    pthread_mutex_lock(&queue->lock);
    bool has_room = queue->count < queue->room;
    if (has_room)
        append(queue, event);
    pthread_mutex_unlock(&queue->lock);
    if (!has_room)
        free(event);
    return has_room ? (ssize_t)length : -FI_EAGAIN;
}

static const char *explain_event(struct fid_eq *eq, int result, const void *data, char *buffer,
                                 size_t length)
{
    return fi_strerror(result);
}

static struct fi_ops_eq event_calls = {
    .size = sizeof(struct fi_ops_eq),
    .read = read_event,
    .readerr = read_event_error,
    .write = write_event,
    .sread = wait_event,
    .strerror = explain_event,
};

/* ---- Opening -------------------------------------------------------------------------------- */

bool event_queue_has(struct fid *fid)
{
    struct event_queue *queue = (struct event_queue *)fid;
    pthread_mutex_lock(&queue->lock);
    bool has = queue->first != NULL;
    pthread_mutex_unlock(&queue->lock);
    return has;
}

static int control_event_queue(struct fid *fid, int command, void *argument)
{
    const struct event_queue *queue = (const struct event_queue *)fid;
    switch (command) {
    case FI_GETWAIT:
        if (queue->descriptor < 0)
            return -FI_ENODATA;
        *(int *)argument = queue->descriptor;
        return 0;
    case FI_GETWAITOBJ:
        *(enum fi_wait_obj *)argument = queue->wait;
        return 0;
    default:
        return -FI_ENOSYS;
    }
}

static int close_event_queue(struct fid *fid)
{
    struct event_queue *queue = (struct event_queue *)fid;
    while (queue->first) {
        struct event *event = queue->first;
        queue->first = event->next;
        free(event);
    }
    descriptor_close(&queue->descriptor);
    pthread_cond_destroy(&queue->has_come);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
    return 0;
}

static struct fi_ops event_fid_calls = {
    .size = sizeof(struct fi_ops),
    .close = close_event_queue,
    .bind = no_bind,
    .control = control_event_queue,
    .ops_open = no_ops_open,
};

int event_queue_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq,
                     void *context)
{
    struct fi_eq_attr none = {0};
    if (!attr)
        attr = &none;
    if (attr->wait_obj != FI_WAIT_NONE && attr->wait_obj != FI_WAIT_UNSPEC &&
        attr->wait_obj != FI_WAIT_FD)
        return -FI_ENOSYS;
    struct event_queue *made = calloc(1, sizeof(*made));
    if (!made)
        return -FI_ENOMEM;
    made->wait = attr->wait_obj;
    made->descriptor = attr->wait_obj == FI_WAIT_FD ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
    if (attr->wait_obj == FI_WAIT_FD && made->descriptor < 0) {
        free(made);
        return -FI_EMFILE;
    }
    made->is_writable = attr->flags & FI_WRITE;
    made->room = attr->size ? attr->size : EVENTS_DEFAULT;
    if (made->room > EVENTS_MAX)
        made->room = EVENTS_MAX;
    made->last = &made->first;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&made->has_come, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&made->lock, NULL);
    made->fid = (struct fid_eq){
        .fid = {.fclass = FI_CLASS_EQ, .context = context, .ops = &event_fid_calls},
        .ops = &event_calls};
    *eq = &made->fid;
    return 0;
}
