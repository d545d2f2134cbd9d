/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Halo exchange: heat spreads over a plate that is cut into tiles, one per rank. In each step the
 * ranks swap the borders of their tiles, which fill the halo round each, and compute.
 *
 *     rhinet run -n 4 halo
 */
#include "check.h"
#include "heat.h"

#include <rhinet/rma.h>

enum { HALO = 1, N = 48, W = N + 2, STEPS = 200 }; /* SID; a tile is N * N cells, W * W with halo */
enum { UP, DOWN, LEFT, RIGHT, SIDES };

/* Where a cell is in its tile, in bytes; the halo is at -1 and N. */
static size_t at(int y, int x)
{
    return (size_t)heat_at(y, x, N) * sizeof(double);
}

int main(void)
{
    static double cell[2][W * W]; /* old and new take turns; zero: the edge of the plate is cold */
    static const size_t one = sizeof(double), row = sizeof(double[N]), next = sizeof(double[W]);
    struct rh_job *job;
    struct rh_exchange *exchange;
    check(rh_join(&job, NULL));
    int rank = rh_rank(job), size = rh_size(job), across = size, wrong = 0;
    for (int i = 1; i * i <= size; i++)
        across = size % i == 0 ? size / i : across; /* as square as it goes */
    int down = size / across, y = rank / across, x = rank % across;
    /* Rows lie in one piece, columns are N blocks of one cell each, a row apart. */
    struct rh_side sides[SIDES] = {
        {y > 0 ? rank - across : -1, DOWN, at(0, 0), at(-1, 0), row, 1, 0},
        {y + 1 < down ? rank + across : -1, UP, at(N - 1, 0), at(N, 0), row, 1, 0},
        {x > 0 ? rank - 1 : -1, RIGHT, at(0, 0), at(0, -1), one, N, next},
        {x + 1 < across ? rank + 1 : -1, LEFT, at(0, N - 1), at(0, N), one, N, next},
    };
    check(rh_exchange_create(job, HALO, sides, SIDES, &exchange));
    for (int i = 0; i < N * N; i++)
        cell[0][heat_at(i / N, i % N, N)] = heat_begin(y * N + i / N, x * N + i % N);
    for (int step = 0; step < STEPS; step++) {
        check(rh_exchange(exchange, cell[step % 2]));
        heat_spread(cell[step % 2], cell[(step + 1) % 2], N, N);
    }
    check(rh_exchange_destroy(exchange));
    double *plate = heat_alone(down * N, across * N, STEPS);
    for (int i = 0; i < N * N; i++)
        wrong += !plate || cell[STEPS % 2][heat_at(i / N, i % N, N)] !=
                               plate[heat_at(y * N + i / N, x * N + i % N, across * N)];
    printf("rank %d: tile %d,%d of %d x %d, %d of %d cells differ from the sequential result\n",
           rank, x, y, across, down, wrong, N * N);
    free(plate);
    return rh_leave(job) < 0 || wrong > 0;
}
