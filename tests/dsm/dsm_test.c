/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared memory as a program uses it: dsm_test CASE SEED, on any number of ranks.
 *
 *   count      all count in a few variables at once; no count is lost, readers never see halves
 */
#include "../msg/member.h"

#include <rhinet/dsm.h>

#define VARIABLES 4
#define ROUNDS    400

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

static void start(struct dsm_test *test, uint64_t seed)
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

static void finish(struct dsm_test *test)
{
    MEMBER_OK(&test->member, rh_dsm_close(test->dsm));
    member_end(&test->member);
}

static void test_count(struct dsm_test *test)
{
    struct member *member = &test->member;
    for (int i = 0; i < ROUNDS; i++) {
        unsigned which = (unsigned)(member_next(&member->random) % VARIABLES);
        struct pair *pair = test->pairs[i % VARIABLES];
        MEMBER_OK(member, rh_dsm_acquire(test->dsm, (unsigned)i % VARIABLES, RH_DSM_WRITE,
                                         RH_TIMEOUT_DEFAULT));
        MEMBER_CHECK(member, pair->first == pair->second);
        pair->first++;
        pair->second++;
        MEMBER_OK(member, rh_dsm_release(test->dsm, (unsigned)i % VARIABLES));
        MEMBER_OK(member, rh_dsm_acquire(test->dsm, which, RH_DSM_READ, RH_TIMEOUT_DEFAULT));
        MEMBER_CHECK(member, test->pairs[which]->first == test->pairs[which]->second);
        MEMBER_OK(member, rh_dsm_release(test->dsm, which));
    }
    MEMBER_OK(member, rh_dsm_barrier(test->dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
    for (unsigned i = 0; i < VARIABLES; i++) {
        MEMBER_OK(member, rh_dsm_acquire(test->dsm, i, RH_DSM_READ, RH_TIMEOUT_DEFAULT));
        if (test->pairs[i]->first != (uint64_t)(ROUNDS / VARIABLES * member->size))
            MEMBER_FAIL(member, "variable %u: %llu", i, (unsigned long long)test->pairs[i]->first);
        MEMBER_OK(member, rh_dsm_release(test->dsm, i));
    }
}

int main(int count, char **arguments)
{
    struct dsm_test test = {.dsm = NULL};
    if (count != 3)
        return 2;
    start(&test, strtoull(arguments[2], NULL, 10));
    if (strcmp(arguments[1], "count") == 0)
        test_count(&test);
    finish(&test);
    return 0;
}
