/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Remote memory inside the library: what messages, shared memory and the file cache use besides
 * <rhinet/rma.h>. They know a job by this and the public headers only, neither its NIC nor where it
 * keeps things.
 */
#pragma once

#include "base/counters.h"
#include "base/likely.h"
#include "base/settings.h"
#include "nic/nic_types.h"
#include "rma/rma_layer.h"
#include "watch/stall_watch.h"

/* ---- Time ----------------------------------------------------------------------------------- */

/* The moment timeout_ns from now, which may be RH_TIMEOUT_DEFAULT, on the clock of all deadlines,
 * rh_clock_ns(); and how long it is until then, see base/deadline.h. */
int64_t rma_deadline_ns(struct rh_job *job, int64_t timeout_ns);
int64_t rma_left_ns(struct rh_job *job, int64_t deadline_ns);

/* What a timeout means that may be RH_TIMEOUT_DEFAULT. */
int64_t rma_timeout_ns(const struct rh_job *job, int64_t timeout_ns);

/* The default becomes at most so long. Before other threads use the job. */
void rma_timeout_shorten(struct rh_job *job, int64_t timeout_ns);

/* ---- What a job has ------------------------------------------------------------------------- */

const struct settings *rma_settings(const struct rh_job *job);
struct counters *rma_counters(const struct rh_job *job);
const struct watch_job *rma_watch(const struct rh_job *job); /* for stall watches and groups */

/* Words to look at again and again, good as long as the job: enum rh_peer_state of a rank, how many
 * ranks have died (in an open job: that we have met), and whether who polls keeps others from
 * running. */
const _Atomic uint32_t *rma_peer_state(const struct rh_job *job, int rank);
const _Atomic uint32_t *rma_deaths(const struct rh_job *job);
const _Atomic uint32_t *rma_joins(const struct rh_job *job); /* open jobs: who came, counted */
const _Atomic bool *rma_is_crowded(const struct rh_job *job);

/* Ranks come to an open job one by one (rhinet/job.h): those from rma_used() on have not come yet,
 * so that loops over all ranks end there. In other jobs it is rh_size(). */
int rma_used(const struct rh_job *job);
bool rma_is_open(const struct rh_job *job);

/* Attached memory moves only with its owner's help: better push through allocated memory. */
bool rma_attached_is_slow(const struct rh_job *job);

/* The mailbox that the job keeps; `close` is called when the program leaves. NULL: none. */
void *rma_mailbox(const struct rh_job *job);
void rma_mailbox_keep(struct rh_job *job, void *state, void (*close)(void *state));

/* ---- Operations ----------------------------------------------------------------------------- */

/* A page's words, for who stores there again and again: rh_store() of 8 bytes without a call, while
 * rma_words_stand(). */
struct rma_words {
    struct rh_job *job;
    struct counters *counters;
    int rank;
    const _Atomic uint64_t *stands; /* NULL: only rh_store() can */
    uint64_t stood;
    const _Atomic uint32_t *state; /* enum rh_peer_state */
    const _Atomic uint32_t *sleeper;
};

void rma_page_words(const struct rh_page *page, struct rma_words *words);

static inline bool rma_words_stand(const struct rma_words *words)
{
    return words->stands &&
           atomic_load_explicit(words->stands, memory_order_acquire) == words->stood &&
           atomic_load_explicit(words->state, memory_order_acquire) < RH_PEER_LEFT;
}

/* A sleeper that could not be woken looks by itself before long. */
static inline void rma_words_store(const struct rma_words *words, uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE); /* pairs with whoever looks at the word */
    atomic_signal_fence(memory_order_seq_cst);       /* the rest is the sleeper's business */
    counter_add(words->counters, COUNTER_STORE, 1);
    counter_add(words->counters, COUNTER_PUSH_BYTES, sizeof(*word));
    if (unlikely(atomic_load_explicit(words->sleeper, memory_order_relaxed) != 0))
        rh_wake(words->job, words->rank);
}

/* An atomic operation, with a ticket if it must not happen twice. rank is inside the job. */
int rma_atomic(struct rh_job *job, struct rh_remote target,
               const struct nic_atomic_operands *operands, uint64_t *old);

/* The refusal of an operation on a peer that died or left, with counter and text. */
int rma_peer_gone(struct rh_job *job, int rank, const char *during);

/* rh_wait_word() and rh_wait_until() for the layers above, which know what they wait for and say
 * so: by `describe`, whose context is that of until, or by the stall watch of the longer wait that
 * this one is a part of. */
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

/* rh_append_try() with a ticket. */
int rma_append_try(struct rh_job *job, struct rh_remote queue, const void *data, size_t length,
                   struct nic_ticket *ticket);

/* rh_segment_create() for allocated memory that other processes of the host are to map as well: *fd
 * (may be NULL) is its descriptor, the NIC's, good until the segment is detached. */
int rma_segment_create(struct rh_job *job, struct rh_segment *segment, int *fd);

/* Let the NIC do what it can do at once, between two looks at memory that it writes. */
void rma_progress(struct rh_job *job);
/* So many bytes that came from a peer were copied: simulated hosts take time for that. */
void rma_copied(struct rh_job *job, uint64_t length);
