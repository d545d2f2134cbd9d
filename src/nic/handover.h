/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What every NIC may take for granted when it is called, said once (see nic.h): each operation of
 * each NIC begins with the assertion that belongs to it, wrapping NICs included.
 */
#pragma once

#include "nic/nic.h"

#include "base/assert.h"

static inline void nic_assert_rank(const struct nic *nic, int rank)
{
    ASSERT(rank >= 0);
    ASSERT(rank < nic->job->size);
}

/* One that is told when it waits for nobody in particular, or flushes all. */
static inline void nic_assert_any_rank(const struct nic *nic, int rank)
{
    ASSERT(rank == RH_ANY_RANK || rank >= 0);
    ASSERT(rank < nic->job->size);
}

static inline void nic_assert_segment(const struct nic_segment *segment)
{
    ASSERT(segment->kind >= NIC_SEGMENT_ALLOCATED);
    ASSERT(segment->kind <= NIC_SEGMENT_QUEUE);
    ASSERT(segment->kind != NIC_SEGMENT_ATTACHED || segment->base);
    ASSERT(segment->kind != NIC_SEGMENT_QUEUE || segment->shape.slot_count > 0);
    ASSERT(segment->kind != NIC_SEGMENT_QUEUE || segment->shape.slot_length > 0);
}

static inline void nic_assert_push(const struct nic *nic, struct rh_remote target,
                                   const struct nic_extra *extra)
{
    nic_assert_rank(nic, target.rank);
    ASSERT(!extra || !extra->is_inline || !extra->done);
    ASSERT(!extra || !extra->is_nonblocking || extra->is_inline);
    ASSERT(!extra || !extra->notice || extra->notice->word.rank == target.rank);
    ASSERT(!extra || !extra->done || extra->done->rank == target.rank);
}

static inline void nic_assert_pull(const struct nic *nic, struct rh_remote source,
                                   const struct nic_extra *extra)
{
    nic_assert_rank(nic, source.rank);
    ASSERT(!extra || !extra->notice);
    ASSERT(!extra || !extra->is_inline);
    ASSERT(!extra || !extra->done || extra->done->rank == source.rank);
}

static inline void nic_assert_store(const struct nic *nic, const struct nic_view *view,
                                    uint64_t offset, unsigned width)
{
    nic_assert_rank(nic, view->remote.rank);
    ASSERT(width == 1 || width == 2 || width == 4 || width == 8);
    ASSERT(offset <= view->length);
    ASSERT(width <= view->length - offset);
    ASSERT((view->remote.offset + offset) % width == 0);
}

static inline void nic_assert_atomic(const struct nic *nic, struct rh_remote target,
                                     const struct nic_atomic_operands *operands,
                                     const uint64_t *old)
{
    nic_assert_rank(nic, target.rank);
    ASSERT(operands->operation <= NIC_COMPARE_SWAP);
    ASSERT(old);
}

static inline void nic_assert_append(const struct nic *nic, struct rh_remote queue,
                                     int64_t timeout_ns)
{
    nic_assert_rank(nic, queue.rank);
    ASSERT(timeout_ns >= 0);
}

static inline void nic_assert_wait(const struct nic *nic, const struct nic_wait *wait)
{
    nic_assert_any_rank(nic, wait->from);
    ASSERT(!!wait->word + !!wait->done + !!wait->queue + !!wait->is_met == 1);
    ASSERT((uintptr_t)wait->word % sizeof(*wait->word) == 0);
    ASSERT(!wait->until || wait->is_met);
    ASSERT(wait->timeout_ns >= 0);
}
