/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ping-pong between ranks 0 and 1: the time of a round trip. Raw is the same with one word in one
 * cache line and nothing of ours.
 */
#include "pm/pmtest/pmtest.h"

#define WARM_UP 64 /* round trips before the clock runs; enough to become a busy pair */

static int trips(struct pmtest *test, struct pm_context *pm, size_t length, unsigned count)
{
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++) {
        if (test->rank == 0)
            result = pmtest_send(pm, 1, length);
        if (result == 0)
            result = pmtest_take(pm, length);
        if (result == 0 && test->rank == 1)
            result = pmtest_send(pm, 0, length);
    }
    return result;
}

static int measure(struct pmtest *test, struct pm_context *pm, size_t length, double *ns)
{
    int result = trips(test, pm, length, WARM_UP);
    int64_t start_ns = pmtest_now_ns(test);
    if (result == 0)
        result = trips(test, pm, length, test->options->count);
    *ns = (double)(pmtest_now_ns(test) - start_ns) / test->options->count;
    return result;
}

/* Without a deadline: the peer is in the same loop, and a look at the clock would be measured. */
static double measure_raw(struct pmtest *test, struct pmtest_words *peer)
{
    uint64_t *in = &test->words->trip;
    uint64_t *out = &peer->trip;
    int64_t start_ns = 0;
    for (unsigned i = 0; i < WARM_UP + test->options->count; i++) {
        uint64_t number = ++test->trips;
        if (i == WARM_UP)
            start_ns = pmtest_now_ns(test);
        if (test->rank == 0)
            __atomic_store_n(out, number, __ATOMIC_RELEASE);
        while (__atomic_load_n(in, __ATOMIC_ACQUIRE) != number)
            ;
        if (test->rank == 1)
            __atomic_store_n(out, number, __ATOMIC_RELEASE);
    }
    return (double)(pmtest_now_ns(test) - start_ns) / test->options->count;
}

static int measure_size(struct pmtest *test, struct pmtest_words *peer, size_t length)
{
    static double ns[PMTEST_PM_MAX][PMTEST_ROUNDS_MAX], raw[PMTEST_ROUNDS_MAX];
    const struct pmtest_options *options = test->options;
    for (unsigned round = 0; round < options->rounds; round++) {
        raw[round] = peer ? measure_raw(test, peer) : 0;
        for (unsigned i = 0; i < options->pm_count; i++) {
            struct pm_info info = {.struct_size = sizeof(info)};
            pmGetInfo(test->pm[i], &info);
            if (length > info.message_max)
                continue;
            int result = measure(test, test->pm[i], length, &ns[i][round]);
            if (result < 0)
                return result;
        }
    }
    double raw_median = pmtest_median(raw, options->rounds);
    for (unsigned i = 0; i < options->pm_count; i++) {
        struct pm_info info = {.struct_size = sizeof(info)};
        pmGetInfo(test->pm[i], &info);
        if (length > info.message_max)
            continue;
        struct pmtest_figure figure = {.test = "pingpong",
                                       .pm = info.implementation,
                                       .unit = "us round trip",
                                       .amount_name = "bytes",
                                       .amount = length,
                                       .value = pmtest_median(ns[i], options->rounds) / 1e3,
                                       .raw = raw_median / 1e3};
        pmtest_note(test, &figure);
    }
    return 0;
}

int pmtest_pingpong(struct pmtest *test)
{
    int result = 0;
    if (test->rank < 2) {
        struct pmtest_words *peer = pmtest_words_of(test, 1 - test->rank);
        for (unsigned i = 0; i < test->options->size_count && result == 0; i++)
            result = measure_size(test, peer, test->options->size[i]);
    }
    return result < 0 ? result : pmtest_meet(test);
}
