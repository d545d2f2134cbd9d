/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Wait objects and wait sets.
 *
 * Who sleeps in select() on a descriptor makes no progress. So between fi_trywait() and the next
 * completion a thread of ours does, the watcher; it begins with the first descriptor and sleeps
 * while nobody has asked. Domains with automatic progress have always asked. Each queue and counter
 * is asked for by itself: that one has something says nothing of another.
 *
 * Longer than most files: the watcher is for who waits, and both know each other's counts.
 */
#include "provider/op.h"

#include "base/descriptor.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define MEMBERS_MAX 64

struct watcher {
    struct engine *engine;
    pthread_t thread;
    int bell; /* somebody has asked, or it must end */
    _Atomic bool is_ended;
    _Atomic int asked; /* signals that somebody sleeps on */
};

struct wait_set {
    struct fid_wait fid;
    struct signal signal;
    struct fid *member[MEMBERS_MAX];
    int count;
};

/* ---- The watcher ---------------------------------------------------------------------------- */

static bool is_answered(void *context)
{
    struct watcher *watcher = context;
    return atomic_load(&watcher->asked) == 0 || atomic_load(&watcher->is_ended);
}

static void *watch(void *context)
{
    struct watcher *watcher = context;
    while (!atomic_load(&watcher->is_ended)) {
        uint64_t count;
        if (atomic_load(&watcher->asked) > 0)
            engine_wait(watcher->engine, is_answered, watcher, -1);
        else if (read(watcher->bell, &count, sizeof(count)) < 0 && errno != EINTR)
            break;
    }
    return NULL;
}

static void ring(struct watcher *watcher)
{
    uint64_t one = 1;
    if (write(watcher->bell, &one, sizeof(one)) < 0)
        return; /* it is full of rings already */
}

static int watcher_start(struct engine *engine)
{
    struct watcher *watcher = calloc(1, sizeof(*watcher));
    if (!watcher)
        return -FI_ENOMEM;
    watcher->engine = engine;
    watcher->bell = eventfd(0, EFD_CLOEXEC);
    sigset_t all, before; /* signals are for the program's own threads */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = watcher->bell < 0 || pthread_create(&watcher->thread, NULL, watch, watcher) != 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        descriptor_close(&watcher->bell);
        free(watcher);
        return -FI_EMFILE;
    }
    engine->watcher = watcher;
    return 0;
}

/* Without the turn, which it may want. */
static void watcher_stop(struct engine *engine, struct watcher *watcher)
{
    atomic_store(&watcher->is_ended, true);
    ring(watcher);
    rh_wake(engine->job, engine->mail->rank);
    pthread_join(watcher->thread, NULL);
    descriptor_close(&watcher->bell);
    free(watcher);
}

/* Somebody needs the watcher, and does no more. With the turn; the second returns the watcher if it
 * must be stopped, without. */
static int watcher_get(struct engine *engine)
{
    int result = engine->signal_count == 0 ? watcher_start(engine) : 0;
    engine->signal_count += result == 0;
    return result;
}

static struct watcher *watcher_put(struct engine *engine)
{
    struct watcher *last = NULL;
    if (--engine->signal_count == 0) {
        last = engine->watcher;
        engine->watcher = NULL;
    }
    return last;
}

static void watcher_ask(struct watcher *watcher)
{
    if (atomic_fetch_add(&watcher->asked, 1) == 0)
        ring(watcher);
}

int progress_begin(struct engine *engine)
{
    engine_take(engine);
    int result = watcher_get(engine);
    if (result == 0)
        watcher_ask(engine->watcher);
    engine_give(engine);
    return result;
}

void progress_end(struct engine *engine)
{
    engine_take(engine);
    atomic_fetch_sub(&engine->watcher->asked, 1);
    struct watcher *last = watcher_put(engine);
    engine_give(engine);
    if (last)
        watcher_stop(engine, last);
}

static void signal_ask(struct signal *signal)
{
    if (signal->is_asked || (signal->kind != FI_WAIT_FD && signal->kind != FI_WAIT_SET))
        return;
    signal->is_asked = true;
    watcher_ask(signal->engine->watcher);
}

static void signal_answer(struct signal *signal)
{
    if (!signal->is_asked)
        return;
    signal->is_asked = false;
    atomic_fetch_sub(&signal->engine->watcher->asked, 1);
}

/* ---- Signals -------------------------------------------------------------------------------- */

static int join_set(struct signal *signal, struct wait_set *set, struct fid *member)
{
    if (!set || set->count == MEMBERS_MAX)
        return set ? -FI_ENOSPC : -FI_EINVAL;
    set->member[set->count++] = member;
    signal->set = set;
    set->signal.engine = signal->engine;
    return 0;
}

static void leave_set(struct wait_set *set, const struct fid *member)
{
    for (int i = 0; set && i < set->count; i++) {
        if (set->member[i] == member)
            set->member[i--] = set->member[--set->count];
    }
}

/* With the turn. */
static int open_descriptor(struct signal *signal, struct wait_set *set, struct fid *member)
{
    struct engine *engine = signal->engine;
    if (signal->kind == FI_WAIT_FD)
        signal->descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int result = signal->kind == FI_WAIT_SET ? join_set(signal, set, member)
                 : signal->descriptor < 0    ? -FI_EMFILE
                                             : 0;
    if (result == 0)
        result = watcher_get(engine);
    if (result < 0) {
        leave_set(signal->set, member);
        descriptor_close(&signal->descriptor);
    }
    return result;
}

int signal_open(struct signal *signal, struct engine *engine, enum fi_wait_obj kind,
                struct fid_wait *set, struct fid *member)
{
    *signal = (struct signal){.kind = kind, .descriptor = -1, .engine = engine};
    int result;
    switch (kind) {
    case FI_WAIT_NONE:
    case FI_WAIT_UNSPEC:
    case FI_WAIT_YIELD:
        return 0;
    case FI_WAIT_SET:
    case FI_WAIT_FD:
        engine_take(engine);
        result = open_descriptor(signal, (struct wait_set *)set, member);
        engine_give(engine);
        return result;
    default:
        return -FI_ENOSYS;
    }
}

void signal_close(struct signal *signal, struct engine *engine, const struct fid *member)
{
    if (signal->kind != FI_WAIT_FD && signal->kind != FI_WAIT_SET)
        return;
    engine_take(engine);
    signal_answer(signal);
    leave_set(signal->set, member);
    descriptor_close(&signal->descriptor);
    struct watcher *last = watcher_put(engine);
    engine_give(engine);
    if (last)
        watcher_stop(engine, last);
}

void signal_raise(struct signal *signal)
{
    signal_answer(signal);
    if (signal->engine)
        engine_tell(signal->engine);
    if (signal->descriptor >= 0 && !signal->is_raised) {
        uint64_t one = 1;
        signal->is_raised = write(signal->descriptor, &one, sizeof(one)) == sizeof(one);
    }
    if (signal->set)
        signal_raise(&signal->set->signal);
}

void signal_lower(struct signal *signal)
{
    uint64_t count;
    if (signal->descriptor >= 0 && signal->is_raised)
        signal->is_raised = read(signal->descriptor, &count, sizeof(count)) != sizeof(count);
    if (signal->set)
        signal_lower(&signal->set->signal);
}

int signal_get(const struct signal *signal, int command, void *argument)
{
    switch (command) {
    case FI_GETWAIT:
        if (signal->descriptor < 0)
            return -FI_ENODATA;
        *(int *)argument = signal->descriptor;
        return 0;
    case FI_GETWAITOBJ:
        *(enum fi_wait_obj *)argument = signal->kind;
        return 0;
    default:
        return -FI_ENOSYS;
    }
}

/* ---- Is there something? -------------------------------------------------------------------- */

/* With the turn. A counter has something if it has changed since it was looked at. */
static bool has_something(const struct fid *fid)
{
    const struct queue *queue = (const struct queue *)fid;
    const struct counter *counter = (const struct counter *)fid;
    if (fid->fclass == FI_CLASS_CQ)
        return queue->head != queue->tail || queue->is_overrun;
    return counter->value != counter->value_seen || counter->errors != counter->errors_seen;
}

static struct engine *engine_of(const struct fid *fid)
{
    return fid->fclass == FI_CLASS_CQ ? ((const struct queue *)fid)->engine
                                      : ((const struct counter *)fid)->engine;
}

static struct signal *signal_of(struct fid *fid)
{
    return fid->fclass == FI_CLASS_CQ ? &((struct queue *)fid)->signal
                                      : &((struct counter *)fid)->signal;
}

static int try_some(struct engine *engine, struct fid **fids, int count)
{
    bool has = false;
    engine_progress(engine);
    for (int i = 0; i < count && !has; i++)
        has = has_something(fids[i]);
    for (int i = 0; i < count && !has; i++)
        signal_ask(signal_of(fids[i]));
    return has ? -FI_EAGAIN : 0;
}

static int try_one(struct fid **fid)
{
    struct engine *engine = engine_of(*fid);
    engine_take(engine);
    int result = try_some(engine, fid, 1);
    engine_give(engine);
    return result;
}

static int try_set(struct wait_set *set)
{
    struct engine *engine = set->signal.engine;
    if (!engine) /* nobody has joined it */
        return 0;
    engine_take(engine);
    int result = try_some(engine, set->member, set->count);
    engine_give(engine);
    return result;
}

int wait_try(struct fid_fabric *fabric, struct fid **fids, int count)
{
    for (int i = 0; i < count; i++) {
        int result = 0;
        if (fids[i]->fclass == FI_CLASS_CQ || fids[i]->fclass == FI_CLASS_CNTR)
            result = try_one(&fids[i]);
        else if (fids[i]->fclass == FI_CLASS_WAIT)
            result = try_set((struct wait_set *)fids[i]);
        else if (fids[i]->fclass == FI_CLASS_EQ)
            result = event_queue_has(fids[i]) ? -FI_EAGAIN : 0;
        else
            result = -FI_EINVAL;
        if (result < 0)
            return result;
    }
    return 0;
}

/* ---- Wait sets ------------------------------------------------------------------------------ */

static bool any_has_something(void *context)
{
    const struct wait_set *set = context;
    bool has = false;
    for (int i = 0; i < set->count && !has; i++)
        has = has_something(set->member[i]);
    return has;
}

static int wait_for_set(struct fid_wait *fid, int timeout)
{
    struct wait_set *set = (struct wait_set *)fid;
    if (set->count == 0)
        return -FI_EINVAL;
    return engine_wait(engine_of(set->member[0]), any_has_something, set, timeout) < 0
               ? -FI_ETIMEDOUT
               : 0;
}

static int close_wait_set(struct fid *fid)
{
    struct wait_set *set = (struct wait_set *)fid;
    if (set->count > 0)
        return -FI_EBUSY;
    descriptor_close(&set->signal.descriptor);
    free(set);
    return 0;
}

static int control_wait_set(struct fid *fid, int command, void *argument)
{
    return signal_get(&((struct wait_set *)fid)->signal, command, argument);
}

static struct fi_ops wait_fid_calls = {
    .size = sizeof(struct fi_ops),
    .close = close_wait_set,
    .bind = no_bind,
    .control = control_wait_set,
    .ops_open = no_ops_open,
};

static struct fi_ops_wait wait_calls = {.size = sizeof(struct fi_ops_wait), .wait = wait_for_set};

int wait_set_open(struct fid_fabric *fabric, struct fi_wait_attr *attr, struct fid_wait **made)
{
    if (attr->wait_obj != FI_WAIT_UNSPEC && attr->wait_obj != FI_WAIT_FD)
        return -FI_ENOSYS;
    struct wait_set *set = calloc(1, sizeof(*set));
    if (!set)
        return -FI_ENOMEM;
    set->signal = (struct signal){.kind = FI_WAIT_FD,
                                  .descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (set->signal.descriptor < 0) {
        free(set);
        return -FI_EMFILE;
    }
    set->fid = (struct fid_wait){.fid = {.fclass = FI_CLASS_WAIT, .ops = &wait_fid_calls},
                                 .ops = &wait_calls};
    *made = &set->fid;
    return 0;
}
