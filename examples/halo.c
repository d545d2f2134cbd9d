/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Halo exchange: heat spreads over a plate that is cut into tiles, one per rank. In each step a
 * rank pushes its borders into its neighbours' halos. Two copies of the tile, old and new, take
 * turns: a neighbour may be one step ahead and write our other copy, but not two, as it needs our
 * border for that.
 *
 *     rhinet run -n 4 halo
 */
#include "check.h"
#include "heat.h"

#include <rhinet/rma.h>

enum { TILE = 1, N = 48, W = N + 2, STEPS = 200 }; /* SID; a tile is N * N cells, W * W with halo */
enum { UP, DOWN, LEFT, RIGHT, SIDES };             /* side ^ 1 is the opposite one */

struct tile {
    uint64_t arrived[SIDES]; /* how many borders have come from there */
    double cell[2][W * W];
};

/* Push one border into the halo of the neighbour on that side, then the word that says so. Rows lie
 * in one piece, columns are N blocks of one cell each, a row apart. */
static void push_border(struct rh_job *job, struct tile *tile, int side, int to, uint64_t step)
{
    static const int source[SIDES] = {W + 1, N * W + 1, W + 1, W + N};
    static const int target[SIDES] = {(N + 1) * W + 1, 1, W + N + 1, W};
    static const struct rh_stride column = {sizeof(double), N, sizeof(double[W]),
                                            sizeof(double[W])};
    double *cells = tile->cell[step % 2], *border = cells + source[side];
    uint64_t offset = (uint64_t)((char *)(cells + target[side]) - (char *)tile);
    check(side <= DOWN ? rh_push(job, rh_at(to, TILE, offset), border, sizeof(double[N]))
                       : rh_push_strided(job, rh_at(to, TILE, offset), border, &column));
    step++;
    check(rh_push(job, rh_at(to, TILE, (side ^ 1) * sizeof(step)), &step, sizeof(step)));
}

int main(void)
{
    struct rh_job *job;
    void *memory; /* zeroed, so the edge of the plate is cold */
    check(rh_join(&job, NULL));
    check(rh_segment_alloc(job, TILE, sizeof(struct tile), &memory));
    struct tile *tile = memory;
    int rank = rh_rank(job), size = rh_size(job), across = size, wrong = 0;
    for (int i = 1; i * i <= size; i++)
        across = size % i == 0 ? size / i : across; /* as square as it goes */
    int down = size / across, y = rank / across, x = rank % across;
    int beside[SIDES] = {y > 0 ? rank - across : -1, y + 1 < down ? rank + across : -1,
                         x > 0 ? rank - 1 : -1, x + 1 < across ? rank + 1 : -1};
    for (int i = 0; i < N * N; i++)
        tile->cell[0][heat_at(i / N, i % N, N)] = heat_begin(y * N + i / N, x * N + i % N);
    for (int side = 0; side < SIDES; side++)
        check(beside[side] < 0 ? 0 : rh_segment_wait(job, beside[side], TILE, RH_TIMEOUT_DEFAULT));

    for (uint64_t step = 0; step < STEPS; step++) {
        for (int side = 0; side < SIDES; side++) {
            if (beside[side] >= 0)
                push_border(job, tile, side, beside[side], step);
        }
        for (int side = 0; side < SIDES; side++) {
            struct rh_wait wait = {&tile->arrived[side], RH_AT_LEAST, step + 1, beside[side],
                                   RH_TIMEOUT_DEFAULT};
            check(beside[side] < 0 ? 0 : rh_wait_word(job, &wait));
        }
        heat_spread(tile->cell[step % 2], tile->cell[(step + 1) % 2], N, N);
    }
    double *plate = heat_alone(down * N, across * N, STEPS);
    for (int i = 0; i < N * N; i++)
        wrong += !plate || tile->cell[STEPS % 2][heat_at(i / N, i % N, N)] !=
                               plate[heat_at(y * N + i / N, x * N + i % N, across * N)];
    printf("rank %d: tile %d,%d of %d x %d, %d of %d cells differ from the sequential result\n",
           rank, x, y, across, down, wrong, N * N);
    free(plate);
    return rh_leave(job) < 0 || wrong > 0;
}
