/* SPDX-License-Identifier: BSD-3-Clause
 *
 * examples/ring.c with OpenSHMEM.
 */
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct place {
    unsigned long lap;
    unsigned long hops;
} place;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void pass_on(int next, uint64_t lap, uint64_t hops)
{
    shmem_ulong_p(&place.hops, hops, next);
    shmem_fence();
    shmem_ulong_atomic_set(&place.lap, lap, next);
}

int main(int argc, char **argv)
{
    shmem_init();
    int rank = shmem_my_pe(), size = shmem_n_pes(), next = (rank + 1) % size;
    uint64_t laps = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000;
    double start_s = 0;

    shmem_barrier_all();
    for (uint64_t lap = 1; lap <= laps + 1; lap++) { /* the first one warms up */
        uint64_t expected = (lap - 1) * (uint64_t)size + (uint64_t)(rank == 0 ? size : rank);
        if (lap == 2)
            start_s = now_s();
        if (rank == 0)
            pass_on(next, lap, expected - (uint64_t)size + 1);
        shmem_ulong_wait_until(&place.lap, SHMEM_CMP_EQ, lap);
        uint64_t hops = place.hops;
        if (hops != expected) {
            fprintf(stderr, "ring: rank %d, lap %llu: %llu hops, not %llu\n", rank,
                    (unsigned long long)lap, (unsigned long long)hops,
                    (unsigned long long)expected);
            return 1;
        }
        if (rank != 0)
            pass_on(next, lap, expected + 1);
    }
    if (rank == 0)
        printf("%llu laps round %d ranks: %.3f us per hop\n", (unsigned long long)laps, size,
               (now_s() - start_s) * 1e6 / (double)(laps * (uint64_t)size));
    shmem_finalize();
    return 0;
}
