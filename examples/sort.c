/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A parallel sort with messages (sample sort). Each rank has numbers of its own; samples of all
 * choose the borders, every number travels to the rank whose range it falls into, and each sorts
 * what it has. The result is checked: nothing lost, each part sorted, and no part begins below the
 * end of the last.
 *
 *     rhinet run -n 4 sort 1000000
 */
#include "check.h"

#include <inttypes.h>
#include <rhinet/msg.h>
#include <stdio.h>
#include <stdlib.h>

#define SAMPLES 32 /* of each rank */

enum { TAG_NUMBERS = 1, TAG_LAST };

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The lower border of every rank's range, the same on all ranks. `own` is sorted. */
static uint64_t *choose_borders(struct rh_set *all, const uint64_t *own, size_t count)
{
    int size = rh_set_size(all);
    uint64_t sample[SAMPLES], *samples = malloc((size_t)size * sizeof(sample));
    for (size_t i = 0; i < SAMPLES; i++)
        sample[i] = own[i * count / SAMPLES];
    check(rh_allgather(all, sample, samples, sizeof(sample)));
    qsort(samples, (size_t)size * SAMPLES, 8, compare);
    for (int rank = 0; rank < size; rank++)
        samples[rank] = samples[rank * SAMPLES];
    samples[0] = 0;
    return samples;
}

/* Send every rank its part of our sorted numbers, and receive ours of theirs. */
static uint64_t *exchange(struct rh_msg *msg, const uint64_t *own, size_t count,
                          const uint64_t *borders, int size, uint64_t *got)
{
    struct rh_request **sends = calloc((size_t)size, sizeof(*sends));
    uint64_t *numbers = NULL;
    size_t begin = 0;
    for (int rank = 0; rank < size; rank++) {
        size_t end = begin;
        while (end < count && (rank == size - 1 || own[end] < borders[rank + 1]))
            end++;
        check(rh_isend(msg, rank, TAG_NUMBERS, own + begin, (end - begin) * 8, &sends[rank]));
        begin = end;
    }
    for (int i = 0; i < size; i++) { /* from whoever is ready; the probe says how long it is */
        struct rh_status status;
        check(rh_probe(msg, RH_ANY_RANK, TAG_NUMBERS, &status, RH_TIMEOUT_DEFAULT));
        numbers = realloc(numbers, (*got + 1) * 8 + status.length);
        check(rh_recv(msg, status.source, TAG_NUMBERS, numbers + *got, status.length, NULL));
        *got += status.length / 8;
    }
    check(rh_wait_all(sends, (size_t)size, RH_TIMEOUT_DEFAULT));
    free(sends);
    return numbers;
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 200000;
    struct rh_job *job;
    struct rh_msg *msg;
    struct rh_set *all;
    struct rh_set_spec spec = {.struct_size = sizeof(spec), .id = 1};
    check(rh_join(&job, NULL));
    check(rh_msg_open(&msg, job));
    check(rh_set_create(msg, &spec, &all));
    int rank = rh_rank(job), size = rh_size(job);

    /* Numbers before and after, each with their sum. */
    uint64_t *own = malloc((count + 1) * 8), last = 0, sums[4] = {count, 0};
    uint64_t state = (uint64_t)rank + 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        own[i] = state >> 20;
        sums[1] += own[i];
    }
    qsort(own, count, 8, compare);
    uint64_t *borders = choose_borders(all, own, count);
    uint64_t *part = exchange(msg, own, count, borders, size, &sums[2]);
    qsort(part, sums[2], 8, compare);
    for (size_t i = 0; i < sums[2]; i++)
        sums[3] += part[i];

    /* The end of the part below, which comes up the ranks. */
    if (rank > 0)
        check(rh_recv(msg, rank - 1, TAG_LAST, &last, sizeof(last), NULL));
    int is_sorted = sums[2] == 0 || last <= part[0];
    last = sums[2] > 0 ? part[sums[2] - 1] : last;
    if (rank < size - 1)
        check(rh_send(msg, rank + 1, TAG_LAST, &last, sizeof(last)));
    printf("rank %d has %" PRIu64 " numbers%s\n", rank, sums[2], is_sorted ? "" : " out of order");

    struct rh_reduction add = {.type = RH_UINT64, .operator_ = RH_SUM, .count = 4};
    check(rh_allreduce(all, sums, sums, &add));
    if (rank == 0)
        printf("%" PRIu64 " numbers of %d ranks sorted\n", sums[2], size);
    free(own);
    free(borders);
    free(part);
    check(rh_set_destroy(all));
    check(rh_msg_close(msg));
    check(rh_leave(job));
    return sums[0] == sums[2] && sums[1] == sums[3] && is_sorted ? 0 : 1;
}
