/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of src/rma share: checks that come before the NIC is asked.
 */
#ifndef RMA_RMA_H
#define RMA_RMA_H

#include "base/error.h"
#include "job/job.h"
#include "rma/rma_layer.h"

#define unlikely(x) __builtin_expect(!!(x), 0)

/* The refusal for a rank outside the job. */
int rma_refuse_rank(const struct rh_job *job, int rank);

static inline bool rma_rank_is_valid(const struct rh_job *job, int rank)
{
    return (unsigned)rank < (unsigned)job->world.size;
}

static inline int64_t rma_timeout(const struct rh_job *job, int64_t timeout_ns)
{
    return timeout_ns < 0 ? job->timeout_ns : timeout_ns;
}

/* rh_wait_word() and rh_wait_until() for the layers above, which know what they wait for and say
 * so: by `describe`, whose context is that of until, or by the stall watch of the longer wait that
 * this one is a part of. See nic/nic.h. */
typedef void (*rma_describe)(void *context, struct wait_note *note);
int rma_wait_word(struct rh_job *job, const struct rh_wait *wait, struct stall_watch *stall);
int rma_wait_until(struct rh_job *job, const struct rh_until *until, rma_describe describe);

/* rh_push_notify() with a done flag: does not wait. */
int rma_push_notify_start(struct rh_job *job, struct rh_remote target, const void *source,
                          size_t length, const struct rh_notice *notice, struct rh_done *done);

/* rh_push_notify() that takes the source now and does not wait, neither for the target nor for room
 * in the network (RH_EAGAIN), for up to RH_INLINE_MAX bytes. The notice does not overtake its data;
 * rh_flush() waits for both. */
int rma_push_notify_inline(struct rh_job *job, struct rh_remote target, const void *source,
                           size_t length, const struct rh_notice *notice);

/* rh_append_try() with a ticket, see nic/nic.h. */
int rma_append_try(struct rh_job *job, struct rh_remote queue, const void *data, size_t length,
                   struct nic_ticket *ticket);

/* rh_segment_create() for allocated memory that other processes of the host are to map as well: *fd
 * (may be NULL) is its descriptor, the NIC's, good until the segment is detached. */
int rma_segment_create(struct rh_job *job, struct rh_segment *segment, int *fd);

/* Let the NIC do what it can do at once, between two looks at memory that it writes. */
void rma_progress(struct rh_job *job);

#endif
