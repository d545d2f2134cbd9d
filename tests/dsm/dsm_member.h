/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the programs that test shared memory begin with: a few variables, each with a pair of
 * numbers that are the same whenever nobody writes them.
 */
#pragma once

#include "../msg/member.h"
#include "job/job.h"

#include <rhinet/dsm.h>

#define VARIABLES 4

struct pair {
    uint64_t first;
    char between[500];
    uint64_t second;
};

struct dsm_test {
    struct member member;
    struct rh_dsm *dsm;
    struct pair *pairs[VARIABLES];
};

static inline void start(struct dsm_test *test, uint64_t seed)
{
    struct member *member = &test->member;
    member_start(member, seed);
    struct rh_dsm_options options = {.struct_size = sizeof(options),
                                     .heap_length = 1 << 20,
                                     .variable_count = 16,
                                     .msg = member->msg};
    MEMBER_OK(member, rh_dsm_open(&test->dsm, member->job, &options));
    for (unsigned i = 0; i < VARIABLES; i++) {
        uint64_t offset;
        MEMBER_OK(member, rh_dsm_alloc_named(test->dsm, i, sizeof(struct pair), &offset));
        test->pairs[i] = rh_dsm_ptr(test->dsm, offset);
        if (rh_dsm_owner(test->dsm, i) != member->rank)
            continue;
        struct rh_dsm_region region = {.offset = offset, .length = sizeof(struct pair)};
        MEMBER_OK(member, rh_dsm_acquire(test->dsm, i, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
        MEMBER_OK(member, rh_dsm_bind(test->dsm, i, &region, 1));
        memset(test->pairs[i], 0, sizeof(struct pair));
        MEMBER_OK(member, rh_dsm_release(test->dsm, i));
    }
    MEMBER_OK(member, rh_dsm_barrier(test->dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
}

static inline void finish(struct dsm_test *test)
{
    MEMBER_OK(&test->member, rh_dsm_close(test->dsm));
    member_end(&test->member);
}

struct dsm_case {
    const char *name;
    void (*run)(struct dsm_test *test);
};

/* PROGRAM CASE SEED. 2: there is no such case. */
static inline int dsm_main(int count, char **arguments, const struct dsm_case *cases,
                           size_t case_count)
{
    struct dsm_test test = {.dsm = NULL};
    for (size_t i = 0; count == 3 && i < case_count; i++) {
        if (strcmp(arguments[1], cases[i].name) != 0)
            continue;
        start(&test, strtoull(arguments[2], NULL, 10));
        cases[i].run(&test);
        finish(&test);
        return 0;
    }
    return 2;
}

/* From now on this rank's NIC has these operations, and all go through them: none by the short way
 * into peers' memory (rma/reach.h). */
static inline void dsm_member_ops_set(struct rh_job *job, const struct nic_ops *ops)
{
    for (int i = 0; i < JOB_REACH_SLOTS; i++)
        atomic_store(&job->reach[i], NULL);
    job->nic->has_pointers = job->nic->fence_flushes = false;
    job->nic->looks_first = NULL;
    job->nic->ops = ops;
}
