/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Barrier and allreduce of all ranks.
 */
#include "base/error.h"
#include "experiment/machine/msg/msg.h"

int msg_set_open(struct bench_run *run)
{
    struct rh_set_spec spec = {.struct_size = sizeof(spec), .id = 1};
    int result = msg_open(run);
    if (result == 0)
        result = rh_set_create(run->msg, &spec, &run->set);
    return result;
}

void msg_set_close(struct bench_run *run)
{
    if (run->set)
        rh_set_destroy(run->set);
    run->set = NULL;
    msg_close(run);
}

static int barrier_chunk(struct bench_run *run, unsigned count)
{
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++)
        result = rh_barrier(run->set, RH_TIMEOUT_DEFAULT);
    return result;
}

static int allreduce_chunk(struct bench_run *run, unsigned count)
{
    static const struct rh_reduction sum_of_words = {
        .type = RH_UINT64, .operator_ = RH_SUM, .count = 1};
    uint64_t number = (uint64_t)run->rank, size = (uint64_t)run->size, sum = 0;
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++)
        result = rh_allreduce(run->set, &number, &sum, &sum_of_words);
    if (result == 0 && sum != size * (size - 1) / 2)
        return error_fail(RH_ECORRUPT, "the sum of all ranks is not %llu", (unsigned long long)sum);
    return result;
}

BENCH_MEASURE(msg_barrier, bench_time_together, barrier_chunk, bench_meetings(run))
BENCH_MEASURE(msg_allreduce, bench_time_together, allreduce_chunk, bench_meetings(run))
