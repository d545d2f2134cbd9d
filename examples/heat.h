/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The heat equation of halo.c, and the answer that one process alone finds. Nothing here knows of
 * rhinet. A plate of rows * columns cells is stored with a halo of one cell around it.
 */
#pragma once

#include <stddef.h>
#include <stdlib.h>

/* Index of cell (y, x), both counted from 0 without the halo. */
static inline int heat_at(int y, int x, int columns)
{
    return (y + 1) * (columns + 2) + x + 1;
}

/* How hot a cell is at the start. */
static inline double heat_begin(int y, int x)
{
    return (double)((y * 31 + x * 17) % 100);
}

/* One step: each cell becomes the mean of its four neighbours. */
static inline void heat_spread(const double *old, double *new, int rows, int columns)
{
    int width = columns + 2;
    for (int y = 0; y < rows; y++) {
        for (int i = heat_at(y, 0, columns); i < heat_at(y, columns, columns); i++)
            new[i] = 0.25 * (old[i - width] + old[i + width] + old[i - 1] + old[i + 1]);
    }
}

/* The whole plate after `steps` steps, with a cold edge. The caller free()s it; NULL: no memory. */
static inline double *heat_alone(int rows, int columns, int steps)
{
    size_t cell_count = (size_t)(rows + 2) * (size_t)(columns + 2);
    double *old = calloc(cell_count, sizeof(*old));
    double *new = calloc(cell_count, sizeof(*new));
    for (int y = 0; old && y < rows; y++) {
        for (int x = 0; x < columns; x++)
            old[heat_at(y, x, columns)] = heat_begin(y, x);
    }
    for (int step = 0; old && new &&step < steps; step++) {
        heat_spread(old, new, rows, columns);
        double *swap = old;
        old = new;
        new = swap;
    }
    free(new);
    return old;
}
