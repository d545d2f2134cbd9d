/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the collectives share: checks, and the staging blocks.
 *
 * A block is: fill the own stage, sync, read the others' stages. The next block uses the other
 * stage, so that one sync per block is enough: who fills a stage again has passed the sync before
 * which all have read it. The last block is followed by a sync, so that nobody takes its memory
 * away while others read.
 */
#pragma once

#include "msg/set/set.h"

/* Where one of the two stages of every member begins. */
static inline uint64_t collective_stage(const struct rh_set *set, unsigned which)
{
    return set->stage_offset + which * set->stage_length;
}

/* Before a collective: check its root and that `length` bytes of each member can be counted. */
int collective_begin(struct rh_set *set, const struct set_call *call, size_t length);

/* Read from a member's memory; the set is out of step if that fails. */
int collective_pull(struct rh_set *set, int member, uint64_t offset, void *target, size_t length);

/* An exchange that ends in the middle leaves the set out of step. */
int collective_exchange(struct rh_set *set, const struct set_exchange *exchange);

static inline size_t collective_min(size_t a, size_t b)
{
    return a < b ? a : b;
}
