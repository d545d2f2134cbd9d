/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See access.h.
 */
#include "access.h"

#include <string.h>

static const unsigned char written[ACCESS_BYTES] = {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88};

static int finish(struct test *test, int started, struct rh_done *done)
{
    return started < 0 ? started : rh_wait_done(test->job, done, TEST_WAIT_NS);
}

static int access_push(struct test *test, struct rh_remote remote)
{
    return rh_push(test->job, remote, written, ACCESS_BYTES);
}

static int access_push_start(struct test *test, struct rh_remote remote)
{
    struct rh_done done = {0};
    return finish(test, rh_push_start(test->job, remote, written, ACCESS_BYTES, &done), &done);
}

static int access_push_inline(struct test *test, struct rh_remote remote)
{
    int result = rh_push_inline(test->job, remote, written, ACCESS_BYTES);
    return result < 0 ? result : rh_flush(test->job, remote.rank);
}

static int access_push_notify(struct test *test, struct rh_remote remote)
{
    struct rh_notice notice = {.word = remote, .value = 1};
    return rh_push_notify(test->job, remote, written, ACCESS_BYTES, &notice);
}

static int access_push_ordered(struct test *test, struct rh_remote remote)
{
    return rh_push_ordered(test->job, remote, written, 8);
}

static int access_push_strided(struct test *test, struct rh_remote remote)
{
    struct rh_stride stride = {
        .block_length = 2, .block_count = 2, .source_stride = 2, .target_stride = 6};
    return rh_push_strided(test->job, remote, written, &stride);
}

static int access_push_masked(struct test *test, struct rh_remote remote)
{
    uint64_t bitmap = 0x81; /* first and last byte */
    struct rh_mask mask = {.bitmap = &bitmap, .grain = 1};
    return rh_push_masked(test->job, remote, written, ACCESS_BYTES, &mask);
}

static int access_push_diff(struct test *test, struct rh_remote remote)
{
    unsigned char twin[ACCESS_BYTES] = {0};
    int64_t result = rh_push_diff(test->job, remote, written, twin, ACCESS_BYTES);
    return result < 0 ? (int)result : 0;
}

static int access_push_multicast(struct test *test, struct rh_remote remote)
{
    struct rh_multicast targets = {
        .ranks = &remote.rank, .rank_count = 1, .sid = remote.sid, .offset = remote.offset};
    return rh_push_multicast(test->job, &targets, written, ACCESS_BYTES);
}

static int access_store(struct test *test, struct rh_remote remote)
{
    struct rh_page *page;
    int result = rh_page_open(test->job, remote, ACCESS_BYTES, &page);
    if (result < 0)
        return result;
    result = rh_store(page, 0, 0x8877665544332211u, 8);
    rh_page_close(page);
    return result < 0 ? result : rh_flush(test->job, remote.rank);
}

static int access_pull(struct test *test, struct rh_remote remote)
{
    unsigned char target[ACCESS_BYTES];
    return rh_pull(test->job, remote, target, ACCESS_BYTES);
}

static int access_pull_start(struct test *test, struct rh_remote remote)
{
    unsigned char target[ACCESS_BYTES];
    struct rh_done done = {0};
    return finish(test, rh_pull_start(test->job, remote, target, ACCESS_BYTES, &done), &done);
}

static int access_pull_strided(struct test *test, struct rh_remote remote)
{
    unsigned char target[ACCESS_BYTES];
    struct rh_stride stride = {
        .block_length = 2, .block_count = 2, .source_stride = 6, .target_stride = 2};
    return rh_pull_strided(test->job, remote, target, &stride);
}

static int access_fetch_add(struct test *test, struct rh_remote remote)
{
    uint64_t old;
    return rh_fetch_add(test->job, remote, 1, &old);
}

static int access_compare_swap(struct test *test, struct rh_remote remote)
{
    uint64_t old;
    return rh_compare_swap(test->job, remote, 12345, 54321, &old);
}

const struct access accesses[] = {
    {"push", RH_WRITE, access_push},
    {"push_start", RH_WRITE, access_push_start},
    {"push_inline", RH_WRITE, access_push_inline},
    {"push_notify", RH_WRITE, access_push_notify},
    {"push_ordered", RH_WRITE, access_push_ordered},
    {"push_strided", RH_WRITE, access_push_strided},
    {"push_masked", RH_WRITE, access_push_masked},
    {"push_diff", RH_WRITE, access_push_diff},
    {"push_multicast", RH_WRITE, access_push_multicast},
    {"store", RH_WRITE, access_store},
    {"pull", RH_READ, access_pull},
    {"pull_start", RH_READ, access_pull_start},
    {"pull_strided", RH_READ, access_pull_strided},
    {"fetch_add", RH_ATOMIC, access_fetch_add},
    {"compare_swap", RH_ATOMIC, access_compare_swap},
    {NULL, 0, NULL},
};

void check_accesses(struct test *test, struct rh_remote remote, unsigned needs, int expected,
                    const char *file, int line)
{
    for (const struct access *access = accesses; access->name; access++) {
        if (access->needs & needs)
            check_code(access->run(test, remote), expected, access->name, file, line);
    }
}
