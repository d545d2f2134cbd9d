/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Acquire and release: what is here already costs one compare-and-swap on the own word; the rest is
 * in read.c, write.c and serve.c.
 */
#include "dsm/check.h"
#include "dsm/reach.h"
#include "rma/inside.h"

/* While any of these is set, a reader does not simply go in. */
#define READ_STOPS (WORD_TAKEN | WORD_TAKING | WORD_WAIT_WRITE | WORD_WANTED)
/* The same for a writer. */
#define WRITE_STOPS (WORD_TAKEN | WORD_BUSY | WORD_WANTED | WORD_READERS)

static rare_path int refuse_number(const struct rh_dsm *dsm, rh_dsm_variable variable)
{
    return error_fail(RH_EINVALID,
                      "there is no variable %u; they go from 0 to %u (RHINET_DSM_VARIABLES)",
                      variable, dsm->variable_count - 1);
}

static rare_path int refuse_access(rh_dsm_variable variable, int access)
{
    return error_fail(RH_EINVALID,
                      "variable %u: access %d; acquire with RH_DSM_READ or RH_DSM_WRITE", variable,
                      access);
}

static rare_path int refuse_release(rh_dsm_variable variable)
{
    return error_fail(RH_EINVALID, "variable %u is not held", variable);
}

static inline bool read_at_once(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    uint64_t word = dsm_own_word(dsm, variable);
    while ((word & (WORD_VALID | READ_STOPS)) == WORD_VALID &&
           (word & WORD_READERS) != WORD_READERS) {
        if (dsm_own_swap_if(dsm, variable, &word, (word + WORD_READER_ONE) & ~WORD_FRESH))
            return true;
    }
    return false;
}

static inline bool write_at_once(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    uint64_t word = dsm_own_word(dsm, variable);
    while ((word & (WORD_OWNER | WRITE_STOPS)) == WORD_OWNER) {
        if (dsm_own_swap_if(dsm, variable, &word, word | WORD_WRITER))
            return true;
    }
    return false;
}

/* ---- Acquire -------------------------------------------------------------------------------- */

static rare_path int write_alone(struct rh_dsm *dsm, rh_dsm_variable variable, int64_t timeout_ns)
{
    struct dsm_patience patience = {.purpose = "write",
                                    .timeout_ns = rma_timeout_ns(dsm->job, timeout_ns)};
    return dsm_write_alone(dsm, variable, &patience);
}

static inline int acquire_to_read(struct rh_dsm *dsm, rh_dsm_variable variable, int64_t timeout_ns)
{
    if (likely(read_at_once(dsm, variable))) {
        dsm_stat_add(&dsm->own[variable].stat.read_hits, 1);
        return 0;
    }
    return dsm_read_slow(dsm, variable, timeout_ns);
}

static inline int acquire_to_write(struct rh_dsm *dsm, rh_dsm_variable variable, int64_t timeout_ns)
{
    if (unlikely(!write_at_once(dsm, variable)))
        return dsm_write_slow(dsm, variable, timeout_ns);
    struct dsm_own *own = &dsm->own[variable];
    dsm_stat_add(&own->stat.write_hits, 1);
    if (unlikely((dsm_own_word(dsm, variable) & WORD_COPIES) != 0 || own->has_begin_work))
        return write_alone(dsm, variable, timeout_ns);
    return 0;
}

int dsm_acquire(struct rh_dsm *dsm, rh_dsm_variable variable, enum rh_dsm_access access,
                int64_t timeout_ns)
{
    ASSERT(variable < dsm->entry_count);
    ASSERT(access == RH_DSM_READ || access == RH_DSM_WRITE);
    return access == RH_DSM_READ ? acquire_to_read(dsm, variable, timeout_ns)
                                 : acquire_to_write(dsm, variable, timeout_ns);
}

static rare_path int acquire_checked(struct rh_dsm *dsm, rh_dsm_variable variable,
                                     enum rh_dsm_access access, int64_t timeout_ns)
{
    if (access != RH_DSM_READ && access != RH_DSM_WRITE)
        return refuse_access(variable, (int)access);
    int result = dsm_acquire(dsm, variable, access, timeout_ns);
    if (result == 0)
        dsm_check_hold(dsm, variable, access == RH_DSM_WRITE);
    return result;
}

int rh_dsm_acquire(struct rh_dsm *dsm, rh_dsm_variable variable, enum rh_dsm_access access,
                   int64_t timeout_ns)
{
    if (unlikely(variable >= dsm->variable_count))
        return refuse_number(dsm, variable);
    if (unlikely(dsm->check != NULL))
        return acquire_checked(dsm, variable, access, timeout_ns);
    if (access == RH_DSM_READ)
        return acquire_to_read(dsm, variable, timeout_ns);
    if (access == RH_DSM_WRITE)
        return acquire_to_write(dsm, variable, timeout_ns);
    return refuse_access(variable, (int)access);
}

/* ---- Release -------------------------------------------------------------------------------- */

/* The last reader leaves while somebody wants the variable. An owner hands it on; a copy is given
 * up, which saves who wants to write the way back here. */
static rare_path int end_read_wanted(struct rh_dsm *dsm, rh_dsm_variable variable, uint64_t word)
{
    for (;;) {
        ASSERT((word & WORD_READERS) != 0);
        bool is_last = (word & WORD_READERS) == WORD_READER_ONE;
        uint64_t next = word - WORD_READER_ONE;
        if (is_last && (word & WORD_WANTED) && (word & WORD_OWNER) && !(word & WORD_TAKEN))
            next |= WORD_SERVING;
        else if (is_last && (word & WORD_WANTED) && !(word & WORD_OWNER))
            next &= ~(WORD_VALID | WORD_WANTED);
        if (!dsm_own_swap_if(dsm, variable, &word, next))
            continue;
        if ((next & WORD_SERVING) && !(word & WORD_SERVING))
            dsm_serve(dsm, variable);
        else if ((word & ~next) & WORD_WANTED)
            dsm_waiters_signal(dsm, variable);
        return 0;
    }
}

static inline int end_read(struct rh_dsm *dsm, rh_dsm_variable variable, uint64_t word)
{
    while (likely((word & WORD_READERS) != 0)) {
        if (unlikely(word & WORD_WANTED))
            return end_read_wanted(dsm, variable, word);
        if (likely(dsm_own_swap_if(dsm, variable, &word, word - WORD_READER_ONE)))
            return 0;
    }
    return refuse_release(variable);
}

static rare_path void end_write_wanted(struct rh_dsm *dsm, rh_dsm_variable variable, uint64_t word)
{
    while (!dsm_own_swap_if(dsm, variable, &word, (word & ~WORD_WRITER) | WORD_SERVING))
        ;
    dsm_serve(dsm, variable);
}

void dsm_write_end(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    uint64_t word = dsm_own_word(dsm, variable);
    while (likely(!(word & WORD_WANTED))) {
        ASSERT(word & WORD_OWNER);
        ASSERT(word & WORD_WRITER);
        if (likely(dsm_own_swap_if(dsm, variable, &word, word & ~WORD_WRITER)))
            return;
    }
    end_write_wanted(dsm, variable, word);
}

int dsm_release(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    ASSERT(variable < dsm->entry_count);
    uint64_t word = dsm_own_word(dsm, variable);
    if (!(word & WORD_WRITER))
        return end_read(dsm, variable, word);
    if (unlikely(dsm->own[variable].has_end_work) && dsm_copies_update(dsm, variable))
        return 0;
    dsm_write_end(dsm, variable);
    return 0;
}

static rare_path int release_checked(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    uint64_t word = dsm_own_word(dsm, variable);
    if (!(word & (WORD_WRITER | WORD_READERS)))
        return refuse_release(variable);
    dsm_check_drop(dsm, variable, word & WORD_WRITER);
    return dsm_release(dsm, variable);
}

int rh_dsm_release(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    if (unlikely(variable >= dsm->variable_count))
        return refuse_number(dsm, variable);
    if (unlikely(dsm->check != NULL))
        return release_checked(dsm, variable);
    return dsm_release(dsm, variable);
}
