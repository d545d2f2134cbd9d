/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Halo exchange: heat spreads over a plate that is cut into tiles, one per rank. In each step a rank
 * pushes its borders into its neighbours' halos. Two copies of the plate, old and new, take turns: a
 * neighbour may be one step ahead and write our other copy, but not two, as it needs our border.
 */
#include <rhinet/rma.h>
#include <stdio.h>
#include <stdlib.h>

enum { TILE = 1, N = 48, W = N + 2, STEPS = 300 }; /* SID; cells of a tile's side; with its halo */
enum { UP, DOWN, LEFT, RIGHT };                    /* side ^ 1 is the opposite one */
static struct tile {
    uint64_t arrived[4]; /* from each side: how many borders so far */
    double cell[2][W][W];
} *tile;

static void check(int result)
{
    if (result < 0)
        exit((fprintf(stderr, "halo: %s\n", rh_error_text()), 1));
}

/* One step on a plate of rows * columns cells within their halo. */
static void spread(const double *old, double *new, int rows, int columns)
{
    for (int w = columns + 2, y = 1; y <= rows; y++) {
        for (int i = y * w + 1; i <= y * w + columns; i++)
            new[i] = 0.25 * (old[i - w] + old[i + w] + old[i - 1] + old[i + 1]);
    }
}

/* Rows lie in one piece, columns do not. The word goes after the border: that call has returned. */
static void push_border(struct rh_job *job, int side, int neighbour, uint64_t step)
{
    static const struct place {
        int y, x, to_y, to_x;
    } places[] = {{1, 1, N + 1, 1}, {N, 1, 0, 1}, {1, 1, 1, N + 1}, {1, N, 1, 0}}, *at;
    static const struct rh_stride column = {sizeof(double), N, sizeof(double[W]), sizeof(double[W])};
    double(*plate)[W] = tile->cell[step++ % 2];
    at = &places[side];
    uint64_t offset = (uint64_t)((char *)&plate[at->to_y][at->to_x] - (char *)tile);
    struct rh_remote halo = rh_at(neighbour, TILE, offset);
    check(side <= DOWN ? rh_push(job, halo, &plate[at->y][at->x], sizeof(double[N]))
                       : rh_push_strided(job, halo, &plate[at->y][at->x], &column));
    check(rh_push(job, rh_at(neighbour, TILE, (side ^ 1) * sizeof(step)), &step, sizeof(step)));
}

int main(void)
{
    struct rh_job *job;
    check(rh_join(&job, NULL));
    check(rh_segment_alloc(job, TILE, sizeof(*tile), (void **)&tile));
    int rank = rh_rank(job), size = rh_size(job), across = 1, wrong = 0;
    for (int i = 1; i * i <= size; i++)
        across = size % i == 0 ? size / i : across;
    int x = rank % across, y = rank / across, down = size / across, wide = across * N + 2;
    int beside[] = {y > 0 ? rank - across : -1, y < down - 1 ? rank + across : -1,
                    x > 0 ? rank - 1 : -1, x < across - 1 ? rank + 1 : -1};
    double *whole[] = {calloc((size_t)(down * N + 2) * (size_t)wide, sizeof(double)),
                       calloc((size_t)(down * N + 2) * (size_t)wide, sizeof(double))};
    for (int i = 0; i < wide; i++) /* the upper edge is hot */
        whole[0][i] = whole[1][i] = 100;
    for (int i = 0; i < W; i++)
        tile->cell[0][0][i] = tile->cell[1][0][i] = y == 0 ? 100 : 0;
    for (int side = UP; side <= RIGHT; side++)
        check(beside[side] < 0 ? 0 : rh_segment_wait(job, beside[side], TILE, RH_TIMEOUT_DEFAULT));

    for (uint64_t step = 0; step < STEPS; step++) {
        for (int side = UP; side <= RIGHT; side++) {
            if (beside[side] >= 0)
                push_border(job, side, beside[side], step);
        }
        for (int side = UP; side <= RIGHT; side++) {
            struct rh_wait wait = {&tile->arrived[side], RH_AT_LEAST, step + 1, beside[side],
                                   RH_TIMEOUT_DEFAULT};
            check(beside[side] < 0 ? 0 : rh_wait_word(job, &wait));
        }
        spread(tile->cell[step % 2][0], tile->cell[(step + 1) % 2][0], N, N);
        spread(whole[step % 2], whole[(step + 1) % 2], down * N, across * N); /* to compare with */
    }
    for (int i = 0; i < N * N; i++)
        wrong += tile->cell[STEPS % 2][i / N + 1][i % N + 1] !=
                 whole[STEPS % 2][(y * N + i / N + 1) * wide + x * N + i % N + 1];
    printf("rank %d, tile %d,%d of %d x %d: %d cells, %d wrong, middle %.3f\n", rank, x, y, across,
           down, N * N, wrong, tile->cell[STEPS % 2][N / 2][N / 2]);
    free(whole[0]);
    free(whole[1]);
    return rh_leave(job) < 0 || wrong > 0;
}
