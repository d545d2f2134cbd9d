/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a PM context is made of, and what the files of src/pm share.
 *
 * PM stands on the public headers of librhinet and on nothing else, as a user's library would. A
 * context is one thread's: it remembers the one buffer that is out for sending and the one message
 * that is out for reading, and leaves the way a message travels to one of three tables of
 * operations.
 *
 *   context.c   open, close, choice            ring.c      a ring between one sender and one
 *   receiver message.c   the alternating calls          pm_ring.c   one ring per sender
 *   memory.c    writes and reads               pm_queue.c  one queue for all
 *   failure.c   explaining errors              pm_auto.c   a queue for all, rings for a few
 */
#pragma once

#include "pm/pm_layer.h"

#include <rhinet/pm.h>

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define PM_CACHE_LINE 64

#define PM_MEMORY_COUNT (PM_SID_LAST + 1 - PM_SID_MEMORY)

/* ---- Failures (failure.c) ------------------------------------------------------------------- */

/* Keeps the sentence for pmErrorText() and returns code. */
int pm_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* From now on pmErrorText() is what rhinet says. */
void pm_failure_is_rhinet(void);

/* Around every call of rhinet's whose error is passed up. */
static inline int pm_pass(int result)
{
    if (unlikely(result < 0))
        pm_failure_is_rhinet();
    return result;
}

/* ---- Implementations ------------------------------------------------------------------------ */

#define PM_MESSAGE_MAX 8184

/* The bytes around a message in a ring (ring.h) are part of the send buffer, so that a message is
 * pushed from where the program wrote it. */
#define PM_IMAGE_BEFORE 8
#define PM_IMAGE_AFTER  16

struct pm_ops {
    const char *name;
    size_t message_max;
    bool splits_pushes; /* knows PM_SPLIT_PUSHES */

    /* Make pm->state and the memory for receiving, and say in pm->info how much. Undoes all on
     * error. RH_EEXIST, RH_ENOSPACE. */
    int (*open)(struct pm_context *pm);
    int (*close)(struct pm_context *pm);

    /* Send the message in the send buffer, without waiting. RH_EAGAIN without a text: no room, or
     * the receiver is not there yet. */
    int (*send)(struct pm_context *pm);
    /* The same when that has said RH_EAGAIN, with a deadline. RH_ETIMEOUT, RH_EDEAD. */
    int (*send_wait)(struct pm_context *pm, int64_t timeout_ns);

    /* Find the next message, without waiting. RH_EAGAIN without a text: none. Asked from inside of
     * rh_wait_until(), so it is quick. Is not called again before release. */
    int (*look)(struct pm_context *pm, struct pm_message *message);
    /* The same when that has said RH_EAGAIN, with a deadline. RH_ETIMEOUT, or RH_EAGAIN if that is
     * 0; RH_EDEAD. */
    int (*look_wait)(struct pm_context *pm, struct pm_message *message, int64_t timeout_ns);
    void (*release)(struct pm_context *pm);
    /* Where look looks, for pm_look_wait(): fills until->watched and so on. NULL: at few places. */
    void (*places)(struct pm_context *pm, struct rh_until *until);
};

/* Both waits, made of send and look (message.c). */
int pm_send_wait(struct pm_context *pm, int64_t timeout_ns);
int pm_look_wait(struct pm_context *pm, struct pm_message *message, int64_t timeout_ns);

extern const struct pm_ops pm_ring_ops;
extern const struct pm_ops pm_queue_ops;
extern const struct pm_ops pm_auto_ops;

/* ---- The context ---------------------------------------------------------------------------- */

struct pm_registration;

struct pm_context {
    const struct pm_ops *ops;
    struct rh_job *job;
    void *state; /* the implementation's */
    unsigned flags;
    bool is_send_out;
    bool is_message_out;
    int send_rank;
    size_t send_length;
    struct pm_info info;
    struct pm_registration *registrations; /* memory.c */
    uint32_t registration_next;
    uint64_t under_way; /* bit i: done[i] is in use */
    struct rh_done done[PM_UNDER_WAY_MAX];
    _Alignas(PM_CACHE_LINE) char image[PM_IMAGE_BEFORE + PM_MESSAGE_MAX + PM_IMAGE_AFTER];
};

static inline char *pm_send_data(struct pm_context *pm)
{
    return pm->image + PM_IMAGE_BEFORE;
}

/* Whether a rank has opened this segment: 0, RH_EAGAIN if not yet, or RH_EDEAD. */
int pm_peer_reach(struct pm_context *pm, int rank, rh_sid sid);

/* What a queue occupies, for pmGetInfo(): for each slot a line and the message. */
uint64_t pm_queue_memory(struct rh_queue_shape shape);

/* Give back what pmRegisterMemory() opened, and wait for what is under way. */
int pm_memory_close(struct pm_context *pm);
