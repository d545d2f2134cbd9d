/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A token goes round the ring of ranks; rank 0 prints the time per hop.
 *
 *     rhinet run -n 2 --bind core ring [LAPS]
 *
 * One place for the token is enough: it comes back only after it has been everywhere else.
 */
#include "check.h"

#include <rhinet/rma.h>

#define RING 1

struct place {
    uint64_t lap;  /* the notice: which lap the token is on */
    uint64_t hops; /* the token: how far it has come */
};

/* By the job's clock: of a simulated network, where there is one. */
static double now_s(const struct rh_job *job)
{
    return (double)rh_clock_ns(job) * 1e-9;
}

static void pass_on(struct rh_job *job, int next, uint64_t lap, uint64_t hops)
{
    struct rh_notice notice = {rh_at(next, RING, offsetof(struct place, lap)), lap};
    check(rh_push_notify(job, rh_at(next, RING, offsetof(struct place, hops)), &hops, sizeof(hops),
                         &notice));
}

int main(int argc, char **argv)
{
    struct rh_job *job;
    void *memory;
    check(rh_join(&job, NULL));
    check(rh_segment_alloc(job, RING, sizeof(struct place), &memory));
    const struct place *place = memory;
    int rank = rh_rank(job), size = rh_size(job);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    uint64_t laps = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000;
    double start_s = 0;

    check(rh_segment_wait_all(job, RING, RH_TIMEOUT_DEFAULT));
    for (uint64_t lap = 1; lap <= laps + 1; lap++) { /* the first one warms up */
        uint64_t expected = (lap - 1) * (uint64_t)size + (uint64_t)(rank == 0 ? size : rank);
        if (lap == 2)
            start_s = now_s(job);
        if (rank == 0)
            pass_on(job, next, lap, expected - (uint64_t)size + 1);
        check(rh_wait_for(job, &place->lap, lap, before, "the token"));
        if (place->hops != expected) {
            fprintf(stderr, "ring: rank %d, lap %llu: %llu hops, not %llu\n", rank,
                    (unsigned long long)lap, (unsigned long long)place->hops,
                    (unsigned long long)expected);
            return 1;
        }
        if (rank != 0)
            pass_on(job, next, lap, expected + 1);
    }
    if (rank == 0)
        printf("%llu laps round %d ranks: %.3f us per hop\n", (unsigned long long)laps, size,
               (now_s(job) - start_s) * 1e6 / (double)(laps * (uint64_t)size));
    return rh_leave(job) < 0;
}
