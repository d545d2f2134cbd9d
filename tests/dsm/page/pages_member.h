/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the test programs of page mode share: being a rank with shared memory and shared pages.
 */
#pragma once

#include "../../msg/member.h"

#include <rhinet/dsm_pages.h>

#define PAGE 4096u

struct pages_member {
    struct member member;
    struct rh_dsm *dsm;
    struct rh_dsm_pages *pages;
    char *base;
    int rank, size;
};

static inline void pages_member_start(struct pages_member *me, uint64_t seed,
                                      struct rh_dsm_pages_options *options)
{
    struct rh_dsm_options dsm = {.struct_size = sizeof(dsm), .heap_length = 1 << 20};
    member_start(&me->member, seed);
    dsm.msg = me->member.msg;
    MEMBER_OK(&me->member, rh_dsm_open(&me->dsm, me->member.job, &dsm));
    options->struct_size = sizeof(*options);
    if (options->lock_count == 0)
        options->lock_count = 8;
    MEMBER_OK(&me->member, rh_dsm_pages_open(&me->pages, me->dsm, options));
    me->base = rh_dsm_pages_base(me->pages);
    me->rank = me->member.rank;
    me->size = me->member.size;
}

static inline void pages_member_end(struct pages_member *me)
{
    MEMBER_OK(&me->member, rh_dsm_pages_close(me->pages));
    MEMBER_OK(&me->member, rh_dsm_close(me->dsm));
    member_end(&me->member);
}

static inline void pages_member_barrier(struct pages_member *me)
{
    MEMBER_OK(&me->member, rh_dsm_pages_barrier(me->pages, RH_TIMEOUT_DEFAULT));
}

static inline void pages_member_lock(struct pages_member *me, uint32_t lock)
{
    MEMBER_OK(&me->member, rh_dsm_pages_lock(me->pages, lock, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
}

static inline void pages_member_unlock(struct pages_member *me, uint32_t lock)
{
    MEMBER_OK(&me->member, rh_dsm_pages_unlock(me->pages, lock));
}

static inline struct rh_dsm_pages_stat pages_member_stat(struct pages_member *me)
{
    struct rh_dsm_pages_stat stat = {.struct_size = sizeof(stat)};
    MEMBER_OK(&me->member, rh_dsm_pages_stat(me->pages, &stat));
    return stat;
}
