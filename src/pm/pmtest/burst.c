/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Burst: rank 0 sends one message after the other to rank 1, which answers the last. Throughput.
 */
#include "pm/pmtest/pmtest.h"

#define WARM_UP 64

static int burst(struct pmtest *test, struct pm_context *pm, size_t length, unsigned count)
{
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++)
        result = test->rank == 0 ? pmtest_send(pm, 1, length) : pmtest_take(pm, length);
    if (result < 0)
        return result;
    return test->rank == 0 ? pmtest_take(pm, 0) : pmtest_send(pm, 0, 0);
}

static int measure(struct pmtest *test, unsigned which, size_t length)
{
    static double ns[PMTEST_ROUNDS_MAX];
    const struct pmtest_options *options = test->options;
    struct pm_info info = {.struct_size = sizeof(info)};
    pmGetInfo(test->pm[which], &info);
    if (length > info.message_max)
        return 0;
    int result = burst(test, test->pm[which], length, WARM_UP);
    for (unsigned round = 0; round < options->rounds && result == 0; round++) {
        int64_t start_ns = pmtest_now_ns(test);
        result = burst(test, test->pm[which], length, options->count);
        ns[round] = (double)(pmtest_now_ns(test) - start_ns) / options->count;
    }
    if (result < 0)
        return result;
    double median_ns = pmtest_median(ns, options->rounds);
    struct pmtest_figure figure = {.test = "burst",
                                   .pm = info.implementation,
                                   .unit = "MB/s",
                                   .amount_name = "bytes",
                                   .amount = length,
                                   .value = (double)length * 1e3 / median_ns,
                                   .messages = 1e9 / median_ns};
    pmtest_note(test, &figure);
    return 0;
}

int pmtest_burst(struct pmtest *test)
{
    const struct pmtest_options *options = test->options;
    int result = 0;
    for (unsigned i = 0; test->rank < 2 && i < options->size_count && result == 0; i++) {
        for (unsigned which = 0; which < options->pm_count && result == 0; which++)
            result = measure(test, which, options->size[i]);
    }
    return result < 0 ? result : pmtest_meet(test);
}
