/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The Himeno benchmark's kernel: 19-point Jacobi iteration for the pressure in a box, in float. One
 * kernel for every version of the program; they differ only in how planes get to those who read
 * them. A plane is computed from three planes of the old pressure; the sum of squared residuals is
 * returned for each plane and always added up in the order of planes, so all versions agree to the
 * last bit, on any number of ranks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define HIMENO_FLOPS       34 /* per point, by the benchmark's definition */
#define HIMENO_OMEGA       0.8f
#define HIMENO_LANES       8
#define HIMENO_COLUMNS_MAX 512
#define HIMENO_COEFFS      12 /* a0..a3, b0..b2, c0..c2, bnd, wrk1 */

struct himeno_size {
    const char *name;
    int planes, rows, columns;
};

static const struct himeno_size himeno_sizes[] = {
    {"XS", 32, 32, 64}, {"S", 64, 64, 128}, {"M", 128, 128, 256}, {"L", 256, 256, 512}};

/* Rows are padded so that arrays do not fall on each other in the cache; planes are whole pages. */
struct himeno_grid {
    int planes, rows, columns;
    size_t row;   /* floats from row to row */
    size_t plane; /* floats from plane to plane */
};

/* The planes of one rank, [first, end), and their coefficients, which nobody else needs. */
struct himeno_slab {
    struct himeno_grid grid;
    int first, end;
    float *memory;
    float *coefficient[HIMENO_COEFFS]; /* of plane `first` on */
};

/* Have the loop over a row's points turned into vector instructions at any -O. */
#ifdef __clang__
#define HIMENO_FAST
#define HIMENO_LOOP
#else
#define HIMENO_LOOP _Pragma("GCC ivdep")
#define HIMENO_FAST __attribute__((optimize("O3")))
#endif

static inline struct himeno_grid himeno_grid(const struct himeno_size *size)
{
    struct himeno_grid grid = {
        .planes = size->planes, .rows = size->rows, .columns = size->columns};
    grid.row = (size_t)size->columns + 16;
    grid.plane = (grid.row * (size_t)size->rows + 1023) / 1024 * 1024;
    return grid;
}

static inline double himeno_flops(const struct himeno_grid *grid)
{
    return (double)(grid->planes - 2) * (grid->rows - 2) * (grid->columns - 2) * HIMENO_FLOPS;
}

/* Bytes of one pressure array. */
static inline size_t himeno_length(const struct himeno_grid *grid)
{
    return (size_t)grid->planes * grid->plane * sizeof(float);
}

/* The inner planes that rank of size computes. */
static inline void himeno_share(struct himeno_slab *slab, int rank, int size)
{
    int inner = slab->grid.planes - 2;
    slab->first = 1 + inner * rank / size;
    slab->end = 1 + inner * (rank + 1) / size;
}

/* Coefficients as the benchmark sets them. False: no memory. */
static inline bool himeno_slab_open(struct himeno_slab *slab)
{
    static const float initial[HIMENO_COEFFS] = {1, 1, 1, 1.0f / 6, 0, 0, 0, 1, 1, 1, 1, 0};
    size_t floats = (size_t)(slab->end - slab->first) * slab->grid.plane;
    size_t stagger = 16 * 5; /* cache lines apart, for the same reason as padded rows */
    slab->memory = (float *)calloc(HIMENO_COEFFS * (floats + stagger), sizeof(float));
    for (size_t i = 0; slab->memory && i < HIMENO_COEFFS; i++) {
        slab->coefficient[i] = slab->memory + i * (floats + stagger);
        for (size_t k = 0; k < floats; k++)
            slab->coefficient[i][k] = initial[i];
    }
    return slab->memory != NULL;
}

static inline void himeno_slab_close(struct himeno_slab *slab)
{
    free(slab->memory);
}

/* First pressure of a plane. */
static inline void himeno_start_plane(const struct himeno_grid *grid, float *p, int plane)
{
    float span = (float)(grid->planes - 1);
    for (size_t i = 0; i < grid->plane; i++)
        p[(size_t)plane * grid->plane + i] = (float)(plane * plane) / (span * span);
}

/* A row of points; their squared residuals go to `squares`. */
static inline __attribute__((always_inline)) void himeno_row(const struct himeno_slab *slab,
                                                             const float *restrict p,
                                                             float *restrict out, size_t c,
                                                             float *restrict squares)
{
    const size_t i = slab->grid.plane, j = slab->grid.row;
    const float *const *a = (const float *const *)slab->coefficient;
    const float *restrict a0 = a[0] + c, *restrict a1 = a[1] + c, *restrict a2 = a[2] + c;
    const float *restrict a3 = a[3] + c, *restrict b0 = a[4] + c, *restrict b1 = a[5] + c;
    const float *restrict b2 = a[6] + c, *restrict c0 = a[7] + c, *restrict c1 = a[8] + c;
    const float *restrict c2 = a[9] + c, *restrict bnd = a[10] + c, *restrict wrk = a[11] + c;
    const float *restrict up = p + i, *restrict down = p - i;
    HIMENO_LOOP for (size_t k = 1; k < (size_t)slab->grid.columns - 1; k++)
    {
        float s0 = a0[k] * up[k] + a1[k] * p[k + j] + a2[k] * p[k + 1];
        s0 += b0[k] * (up[k + j] - up[k - j] - down[k + j] + down[k - j]);
        s0 += b1[k] * (p[k + j + 1] - p[k + 1 - j] - p[k + j - 1] + p[k - 1 - j]);
        s0 += b2[k] * (up[k + 1] - down[k + 1] - up[k - 1] + down[k - 1]);
        s0 += c0[k] * down[k] + c1[k] * p[k - j] + c2[k] * p[k - 1] + wrk[k];
        float ss = (s0 * a3[k] - p[k]) * bnd[k];
        squares[k] = ss * ss;
        out[k] = p[k] + HIMENO_OMEGA * ss;
    }
}

static inline __attribute__((always_inline)) float himeno_rows(const struct himeno_slab *slab,
                                                               const float *p, float *out,
                                                               int plane)
{
    float sums[HIMENO_LANES] = {0}, squares[HIMENO_COLUMNS_MAX] = {0}, sum = 0;
    for (int row = 1; row < slab->grid.rows - 1; row++) {
        size_t c = (size_t)(plane - slab->first) * slab->grid.plane + (size_t)row * slab->grid.row;
        size_t at = (size_t)plane * slab->grid.plane + (size_t)row * slab->grid.row;
        himeno_row(slab, p + at, out + at, c, squares);
        for (int k = 0; k < slab->grid.columns; k += HIMENO_LANES)
            for (int lane = 0; lane < HIMENO_LANES; lane++)
                sums[lane] += squares[k + lane];
    }
    for (int lane = 0; lane < HIMENO_LANES; lane++)
        sum += sums[lane];
    return sum;
}

#ifdef __x86_64__
HIMENO_FAST __attribute__((target("avx2"))) static inline float himeno_plane_avx2(
    const struct himeno_slab *slab, const float *p, float *out, int plane)
{
    return himeno_rows(slab, p, out, plane);
}
#endif

/* Compute one plane of `out` from p, both whole arrays; returns its sum of squared residuals. */
HIMENO_FAST static inline float himeno_plane(const struct himeno_slab *slab, const float *p,
                                             float *out, int plane)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2"))
        return himeno_plane_avx2(slab, p, out, plane);
#endif
    return himeno_rows(slab, p, out, plane);
}
