/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Data of shared variables through whatever RHINET_DSM_BULK says: transfer_test SEED. Ranks take
 * turns at writing regions of all lengths, by pushing and by pulling, from several threads;
 * everyone must find exactly what was written last.
 */
#include "../../msg/member.h"

#include <pthread.h>
#include <rhinet/dsm.h>

#define VARIABLES 6
#define TURNS     20
#define LONGEST   300000u

struct test {
    struct member member;
    struct rh_dsm *dsm;
    uint64_t offset[VARIABLES];
    uint64_t length[VARIABLES];
};

/* The first word says which writing it was; all the rest follows from it. */
static unsigned char expected(uint64_t writing, unsigned variable, uint64_t at)
{
    return (unsigned char)(member_mix(writing * 64 + variable) + at * 13);
}

static void check(struct test *test, unsigned variable)
{
    const unsigned char *data = rh_dsm_ptr(test->dsm, test->offset[variable]);
    uint64_t writing;
    memcpy(&writing, data, 8);
    for (uint64_t at = 8; at < test->length[variable] && writing > 0; at++)
        if (data[at] != expected(writing, variable, at))
            MEMBER_FAIL(&test->member, "variable %u, writing %llu, byte %llu: %d", variable,
                        (unsigned long long)writing, (unsigned long long)at, data[at]);
}

static void write_next(struct test *test, unsigned variable)
{
    unsigned char *data = rh_dsm_ptr(test->dsm, test->offset[variable]);
    uint64_t writing;
    memcpy(&writing, data, 8);
    writing++;
    memcpy(data, &writing, 8);
    for (uint64_t at = 8; at < test->length[variable]; at++)
        data[at] = expected(writing, variable, at);
}

static void *take_turns(void *argument)
{
    struct test *test = argument;
    uint64_t random = test->member.random + (uint64_t)(uintptr_t)&random;
    for (unsigned turn = 0; turn < TURNS * VARIABLES; turn++) {
        unsigned variable = (unsigned)(turn + member_next(&random)) % VARIABLES;
        enum rh_dsm_access access = turn % 3 == 0 ? RH_DSM_WRITE : RH_DSM_READ;
        MEMBER_OK(&test->member, rh_dsm_acquire(test->dsm, variable, access, RH_TIMEOUT_DEFAULT));
        check(test, variable);
        if (access == RH_DSM_WRITE)
            write_next(test, variable);
        MEMBER_OK(&test->member, rh_dsm_release(test->dsm, variable));
    }
    return NULL;
}

static void bind(struct test *test, unsigned variable)
{
    static const unsigned modes[] = {RH_DSM_PULL, RH_DSM_PUSH, RH_DSM_AUTO};
    struct rh_dsm_region region = {.offset = test->offset[variable],
                                   .length = test->length[variable]};
    MEMBER_OK(&test->member, rh_dsm_acquire(test->dsm, variable, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
    memset(rh_dsm_ptr(test->dsm, region.offset), 0, region.length);
    MEMBER_OK(&test->member, rh_dsm_bind(test->dsm, variable, &region, 1));
    MEMBER_OK(&test->member, rh_dsm_mode(test->dsm, variable, modes[variable % 3]));
    MEMBER_OK(&test->member, rh_dsm_release(test->dsm, variable));
}

int main(int count, char **arguments)
{
    struct test test = {0};
    struct rh_dsm_options options = {.struct_size = sizeof(options), .heap_length = 4u << 20};
    pthread_t thread;
    member_start(&test.member, count > 1 ? strtoull(arguments[1], NULL, 0) : 1);
    options.msg = test.member.msg;
    MEMBER_OK(&test.member, rh_dsm_open(&test.dsm, test.member.job, &options));
    for (unsigned i = 0; i < VARIABLES; i++) {
        uint64_t dice = member_mix(test.member.seed + i);
        test.length[i] = 8 + dice % (i % 2 == 0 ? 5000 : LONGEST);
        MEMBER_OK(&test.member, rh_dsm_alloc_named(test.dsm, i, test.length[i], &test.offset[i]));
        if ((int)i % test.member.size == test.member.rank)
            bind(&test, i);
    }
    MEMBER_OK(&test.member, rh_dsm_barrier(test.dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
    MEMBER_OK(&test.member, pthread_create(&thread, NULL, take_turns, &test));
    take_turns(&test);
    pthread_join(thread, NULL);
    MEMBER_OK(&test.member, rh_dsm_barrier(test.dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
    MEMBER_OK(&test.member, rh_dsm_close(test.dsm));
    member_end(&test.member);
    return 0;
}
