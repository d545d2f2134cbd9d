/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Locks and conditions: variables of entry mode, to each of which the vector of its last holder is
 * bound. So the lock and what must be known to hold it travel together, by the same protocol.
 */
#include "dsm/page/pages.h"

#include <string.h>

static size_t vector_stride(const struct rh_dsm_pages *pages)
{
    return ((size_t)pages->size * 8 + 63) / 64 * 64;
}

static uint64_t vector_offset(const struct rh_dsm_pages *pages, uint32_t lock)
{
    return pages->locks_offset + lock * vector_stride(pages);
}

static int check(const struct rh_dsm_pages *pages, uint32_t lock)
{
    if (lock < pages->options.lock_count)
        return 0;
    return error_fail(RH_EINVALID,
                      "lock %u is beyond the %u locks that these pages were opened with", lock,
                      pages->options.lock_count);
}

/* Bind a vector to the variable of a lock, or nothing; the rank that owns it at first does so. */
static int bind(struct rh_dsm_pages *pages, uint32_t lock, const struct rh_dsm_region *vector)
{
    rh_dsm_variable variable = pages->options.first_variable + lock;
    if (variable % (unsigned)pages->size != (unsigned)pages->rank)
        return 0;
    int result = rh_dsm_acquire(pages->dsm, variable, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT);
    if (result != 0)
        return result;
    if (vector)
        memset(rh_dsm_ptr(pages->dsm, vector->offset), 0, vector->length);
    result = rh_dsm_bind(pages->dsm, variable, vector, vector ? 1 : 0);
    int released = rh_dsm_release(pages->dsm, variable);
    return result < 0 ? result : released;
}

int lock_open(struct rh_dsm_pages *pages, uint32_t name)
{
    uint32_t count = pages->options.lock_count;
    uint64_t length = count * vector_stride(pages);
    int result = length == 0 ? 0
                             : rh_dsm_alloc_named(pages->dsm, name, length, &pages->locks_offset);
    for (uint32_t i = 0; i < count && result == 0; i++) {
        struct rh_dsm_region vector = {.offset = vector_offset(pages, i),
                                       .length = (uint64_t)pages->size * 8};
        result = bind(pages, i, &vector);
    }
    return result;
}

/* Nothing is bound any more when the memory becomes free: acquiring the variable for something else
 * must not write there. */
int lock_close(struct rh_dsm_pages *pages)
{
    int result = 0;
    for (uint32_t i = 0; i < pages->options.lock_count && result == 0; i++)
        result = bind(pages, i, NULL);
    if (result == 0)
        result = rh_barrier(pages->set, RH_TIMEOUT_DEFAULT);
    if (result == 0 && pages->rank == 0 && pages->options.lock_count > 0)
        result = rh_dsm_free(pages->dsm, pages->locks_offset);
    return result;
}

/* The variable is held: learn what its last holder knew. */
static int enter(struct rh_dsm_pages *pages, uint32_t lock)
{
    int result = sync_take(pages);
    if (result < 0)
        return result;
    result = notices_vector_learn(pages, rh_dsm_ptr(pages->dsm, vector_offset(pages, lock)));
    sync_give(pages);
    return result;
}

/* The variable is held for writing: leave to the next holder what we know. */
static int leave(struct rh_dsm_pages *pages, uint32_t lock)
{
    int result = sync_take(pages);
    if (result < 0)
        return result;
    result = interval_close(pages);
    memcpy(rh_dsm_ptr(pages->dsm, vector_offset(pages, lock)), pages->vector,
           (size_t)pages->size * 8);
    sync_give(pages);
    return result;
}

int rh_dsm_pages_lock(struct rh_dsm_pages *pages, uint32_t lock, enum rh_dsm_access access,
                      int64_t timeout_ns)
{
    int result = check(pages, lock);
    rh_dsm_variable variable = pages->options.first_variable + lock;
    sync_thread_check(pages);
    if (result == 0)
        result = rh_dsm_acquire(pages->dsm, variable, access, timeout_ns);
    if (result != 0)
        return result;
    result = enter(pages, lock);
    if (result < 0)
        rh_dsm_release(pages->dsm, variable);
    else if (access == RH_DSM_WRITE)
        pages->is_writer[lock] = true; /* touched by the one writer only */
    return result;
}

int rh_dsm_pages_unlock(struct rh_dsm_pages *pages, uint32_t lock)
{
    int result = check(pages, lock);
    if (result < 0)
        return result;
    if (pages->is_writer[lock]) {
        pages->is_writer[lock] = false;
        result = leave(pages, lock);
    }
    int released = rh_dsm_release(pages->dsm, pages->options.first_variable + lock);
    return result < 0 ? result : released;
}

/* A wait failed while the lock was held: that it is so still means RH_ETIMEOUT alone. */
static int give_up(struct rh_dsm_pages *pages, uint32_t lock, int result)
{
    if (result != RH_ETIMEOUT) {
        pages->is_writer[lock] = false;
        rh_dsm_release(pages->dsm, pages->options.first_variable + lock);
    }
    return result;
}

int rh_dsm_pages_wait(struct rh_dsm_pages *pages, uint32_t lock, int64_t timeout_ns)
{
    int result = check(pages, lock);
    if (result == 0 && !pages->is_writer[lock])
        result = error_fail(RH_EINVALID, "lock %u is not held for writing", lock);
    if (result < 0)
        return result;
    result = leave(pages, lock);
    if (result < 0)
        return give_up(pages, lock, result);
    pages->is_writer[lock] = false;
    int waited = rh_dsm_wait(pages->dsm, pages->options.first_variable + lock, timeout_ns);
    if (waited < 0 && waited != RH_ETIMEOUT)
        return waited; /* not held */
    pages->is_writer[lock] = true;
    result = enter(pages, lock);
    return result < 0 ? give_up(pages, lock, result) : waited;
}

int rh_dsm_pages_signal(struct rh_dsm_pages *pages, uint32_t lock)
{
    int result = check(pages, lock);
    return result < 0 ? result : rh_dsm_signal(pages->dsm, pages->options.first_variable + lock);
}

int rh_dsm_pages_broadcast(struct rh_dsm_pages *pages, uint32_t lock)
{
    int result = check(pages, lock);
    return result < 0 ? result : rh_dsm_broadcast(pages->dsm, pages->options.first_variable + lock);
}
