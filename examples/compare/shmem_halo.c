/* SPDX-License-Identifier: BSD-3-Clause
 *
 * examples/halo.c with OpenSHMEM: one-sided, with a word that says that a border has come. The
 * copies of the tile take turns, so that a neighbour may be one step ahead.
 */
#include "../heat.h"

#include <shmem.h>
#include <stdint.h>
#include <stdio.h>

enum { N = 48, W = N + 2, STEPS = 200 };
enum { UP, DOWN, LEFT, RIGHT, SIDES };

static double cell[2][W * W];
static unsigned long arrived[SIDES];

static void put_border(double *c, int side, int to)
{
    static const int source[SIDES] = {W + 1, N * W + 1, W + 1, W + N};
    static const int target[SIDES] = {(N + 1) * W + 1, 1, W + N + 1, W};
    if (side <= DOWN)
        shmem_double_put(c + target[side], c + source[side], N, to);
    else
        shmem_double_iput(c + target[side], c + source[side], W, W, N, to);
    shmem_fence();
    shmem_ulong_atomic_inc(&arrived[side ^ 1], to);
}

int main(void)
{
    shmem_init();
    int rank = shmem_my_pe(), size = shmem_n_pes(), across = size, wrong = 0;
    for (int i = 1; i * i <= size; i++)
        across = size % i == 0 ? size / i : across;
    int down = size / across, y = rank / across, x = rank % across;
    int beside[SIDES] = {y > 0 ? rank - across : -1, y + 1 < down ? rank + across : -1,
                         x > 0 ? rank - 1 : -1, x + 1 < across ? rank + 1 : -1};
    for (int i = 0; i < N * N; i++)
        cell[0][heat_at(i / N, i % N, N)] = heat_begin(y * N + i / N, x * N + i % N);
    shmem_barrier_all();
    for (uint64_t step = 0; step < STEPS; step++) {
        for (int side = 0; side < SIDES; side++) {
            if (beside[side] >= 0)
                put_border(cell[step % 2], side, beside[side]);
        }
        for (int side = 0; side < SIDES; side++) {
            if (beside[side] >= 0)
                shmem_ulong_wait_until(&arrived[side], SHMEM_CMP_GE, step + 1);
        }
        heat_spread(cell[step % 2], cell[(step + 1) % 2], N, N);
    }
    double *plate = heat_alone(down * N, across * N, STEPS);
    for (int i = 0; i < N * N; i++)
        wrong += !plate || cell[STEPS % 2][heat_at(i / N, i % N, N)] !=
                               plate[heat_at(y * N + i / N, x * N + i % N, across * N)];
    printf("rank %d: tile %d,%d of %d x %d, %d of %d cells differ from the sequential result\n",
           rank, x, y, across, down, wrong, N * N);
    free(plate);
    shmem_finalize();
    return wrong > 0;
}
