/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Heat spreads over a plate in shared pages (Jacobi's method). Compare with halo.c, which does the
 * same by pushing borders: here nothing is sent, every rank just reads its neighbours' rows, as a
 * thread would. A page lives with the rank that touches it first, so that each rank computes in its
 * own memory and only the rows at the borders travel, after every barrier.
 *
 *     rhinet run -n 4 jacobi
 */
#include "check.h"
#include "heat.h"

#include <rhinet/dsm_pages.h>
#include <string.h>

enum { ROWS = 96, COLUMNS = 510, WIDTH = COLUMNS + 2, STEPS = 100 };

int main(void)
{
    struct rh_job *job;
    struct rh_dsm *dsm;
    struct rh_dsm_pages *pages;
    check(rh_join(&job, NULL));
    check(rh_dsm_open(&dsm, job, NULL));
    size_t plate = sizeof(double) * (ROWS + 2) * WIDTH;
    struct rh_dsm_pages_options options = {.struct_size = sizeof(options), .length = 2 * plate};
    check(rh_dsm_pages_open(&pages, dsm, &options));

    double *old = rh_dsm_pages_base(pages), *new = old + plate / sizeof(double);
    int rank = rh_rank(job), size = rh_size(job), wrong = 0;
    int first = ROWS * rank / size, rows = ROWS * (rank + 1) / size - first;
    for (int y = first; y < first + rows; y++)
        for (int x = 0; x < COLUMNS; x++)
            old[heat_at(y, x, COLUMNS)] = heat_begin(y, x);
    for (int step = 0; step < STEPS; step++) {
        check(rh_dsm_pages_barrier(pages, RH_TIMEOUT_DEFAULT));
        heat_spread(old + first * WIDTH, new + first *WIDTH, rows, COLUMNS);
        double *swap = old;
        old = new;
        new = swap;
    }
    check(rh_dsm_pages_barrier(pages, RH_TIMEOUT_DEFAULT));

    double *alone = heat_alone(ROWS, COLUMNS, STEPS);
    for (int i = 0; i < (ROWS + 2) * WIDTH; i++) /* the whole plate, whoever computed it */
        wrong += !alone || memcmp(&old[i], &alone[i], sizeof(double)) != 0;
    printf("rank %d: rows %d to %d, %d of %d cells differ from the sequential result\n", rank,
           first, first + rows - 1, wrong, (ROWS + 2) * WIDTH);
    free(alone);
    check(rh_dsm_pages_close(pages));
    check(rh_dsm_close(dsm));
    return rh_leave(job) < 0 || wrong > 0;
}
