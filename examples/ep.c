/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Embarrassingly parallel, ep [PAIRS]: the ranks share out pairs of pseudo-random numbers, count
 * those inside the circle, and add up. Prints the time that clock_gettime() saw: in virtual time,
 * that of the simulated cluster.
 *
 *     rhinet run --nic martini --compute measured -n 16 ep
 */
#include "check.h"

#include <rhinet/msg.h>
#include <stdint.h>
#include <time.h>

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The i-th number from 0 to 1, by SplitMix64. */
static double number(uint64_t i)
{
    uint64_t mixed = i * 0x9e3779b97f4a7c15;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    return (double)((mixed ^ mixed >> 31) >> 11) * 0x1p-53;
}

int main(int count, char **arguments)
{
    static const struct rh_reduction sum = {.type = RH_UINT64, .operator_ = RH_SUM, .count = 1};
    uint64_t pairs = count > 1 ? strtoull(arguments[1], NULL, 10) : 4000000, inside = 0, total;
    struct rh_job *job;
    struct rh_set *all;
    check(rh_join(&job, NULL));
    check(rh_set_all(job, &all));
    uint64_t rank = (uint64_t)rh_rank(job), size = (uint64_t)rh_size(job);
    check(rh_barrier_all(job));
    double start = seconds();
    for (uint64_t i = pairs * rank / size; i < pairs * (rank + 1) / size; i++) {
        double x = number(2 * i), y = number(2 * i + 1);
        inside += x * x + y * y < 1;
    }
    check(rh_allreduce(all, &inside, &total, &sum));
    if (rank == 0)
        printf("%d ranks: pi is about %.4f, %.3f ms\n", (int)size,
               4 * (double)total / (double)pairs, 1e3 * (seconds() - start));
    check(rh_leave(job));
    return 0;
}
