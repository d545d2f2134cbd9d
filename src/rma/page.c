/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stores and direct memory: what is found out once, when a page is opened, is not asked again.
 */
#include "rma/rma.h"

#include <stdlib.h>

struct rh_page {
    struct nic_view view;
    struct rh_job *job;
    /* For stores of whole words without a call of the NIC; 0 where that cannot be. */
    uint64_t words_end; /* an offset below fits */
    const struct roster_peer *peer;
};

static void prepare_words(struct rh_page *page)
{
    const struct nic_view *view = &page->view;
    bool is_direct = view->pointer && view->sleeper && (uintptr_t)view->pointer % 8 == 0;
    page->words_end = is_direct && view->length >= 8 ? view->length - 7 : 0;
    page->peer = &page->job->nic_job.roster->peer[view->remote.rank];
}

int rh_page_open(struct rh_job *job, struct rh_remote target, uint64_t length,
                 struct rh_page **page)
{
    if (!rma_rank_is_valid(job, target.rank))
        return rma_refuse_rank(job, target.rank);
    struct rh_page *made = calloc(1, sizeof(*made));
    if (!made)
        return error_set(RH_ENOSPACE, target.rank, "no memory for a page handle");
    int result = job->nic->ops->view(job->nic, target, length, RH_WRITE, &made->view);
    if (result < 0) {
        free(made);
        return result;
    }
    made->job = job;
    prepare_words(made);
    *page = made;
    return 0;
}

void rh_page_close(struct rh_page *page)
{
    if (!page)
        return;
    page->job->nic->ops->view_release(page->job->nic, &page->view);
    free(page);
}

static int refuse_store(const struct rh_page *page, uint64_t offset, unsigned width)
{
    const struct nic_view *view = &page->view;
    if (width != 1 && width != 2 && width != 4 && width != 8)
        return error_set(RH_EINVALID, view->remote.rank, "a store has 1, 2, 4 or 8 bytes, not %u",
                         width);
    if ((view->remote.offset + offset) % width != 0)
        return error_set(RH_EINVALID, view->remote.rank, "offset %llu is not aligned to %u bytes",
                         (unsigned long long)offset, width);
    counter_add_exact(page->job->counters, COUNTER_DENIED_BOUNDS);
    return error_set(RH_EBOUNDS, view->remote.rank,
                     "a store of %u bytes at %llu does not fit the page of %llu", width,
                     (unsigned long long)offset, (unsigned long long)view->length);
}

static rare_path int store_by_nic(struct rh_page *page, uint64_t offset, uint64_t value,
                                  unsigned width)
{
    const struct nic_view *view = &page->view;
    bool is_power = width - 1 < 8 && (width & (width - 1)) == 0;
    if (unlikely(!is_power || ((view->remote.offset + offset) & (width - 1)) != 0 ||
                 offset > view->length || width > view->length - offset))
        return refuse_store(page, offset, width);
    struct rh_job *job = page->job;
    int result = job->nic->ops->store(job->nic, view, offset, value, width);
    if (unlikely(result < 0))
        return result;
    counter_add(job->counters, COUNTER_STORE, 1);
    counter_add(job->counters, COUNTER_PUSH_BYTES, width);
    return 0;
}

/* What opening the page has found out is not asked again; see struct nic_view. */
static inline bool is_direct_word(const struct rh_page *page, uint64_t offset, unsigned width)
{
    const struct nic_view *view = &page->view;
    return width == 8 && offset < page->words_end && offset % 8 == 0 &&
           atomic_load_explicit(view->stands, memory_order_acquire) == view->stood &&
           roster_peer_state(page->peer) < RH_PEER_LEFT;
}

int rh_store(struct rh_page *page, uint64_t offset, uint64_t value, unsigned width)
{
    if (unlikely(!is_direct_word(page, offset, width)))
        return store_by_nic(page, offset, value, width);
    const struct nic_view *view = &page->view;
    __atomic_store_n((uint64_t *)(void *)((char *)view->pointer + offset), value, __ATOMIC_RELEASE);
    atomic_signal_fence(memory_order_seq_cst); /* the rest is the sleeper's business */
    struct rh_job *job = page->job;
    counter_add(job->counters, COUNTER_STORE, 1);
    counter_add(job->counters, COUNTER_PUSH_BYTES, 8);
    if (unlikely(atomic_load_explicit(view->sleeper, memory_order_relaxed) != 0))
        return job->nic->ops->wake(job->nic, view->remote.rank);
    return 0;
}

void rma_page_words(const struct rh_page *page, struct rma_words *words)
{
    const struct nic_view *view = &page->view;
    *words = (struct rma_words){.job = page->job,
                                .counters = page->job->counters,
                                .rank = view->remote.rank,
                                .stands = page->words_end > 0 ? view->stands : NULL,
                                .stood = view->stood,
                                .state = &page->peer->state,
                                .sleeper = view->sleeper};
}

void *rh_remote_ptr(struct rh_job *job, struct rh_remote target, uint64_t length)
{
    struct nic_view view;
    if (!rma_rank_is_valid(job, target.rank)) {
        rma_refuse_rank(job, target.rank);
        return NULL;
    }
    if (job->nic->ops->view(job->nic, target, length, RH_READ, &view) < 0)
        return NULL;
    ASSERT(view.length >= length);
    if (!view.pointer) /* else it is the program's for good, also when the peer detaches */
        job->nic->ops->view_release(job->nic, &view);
    return view.pointer;
}

int rh_wake(struct rh_job *job, int rank)
{
    if (!rma_rank_is_valid(job, rank))
        return rma_refuse_rank(job, rank);
    return job->nic->ops->wake(job->nic, rank);
}
