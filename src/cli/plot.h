/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Curves as a picture (SVG), for the browser or a document.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PLOT_LINES_MAX 6

struct plot_line {
    const char *name;
    const double *x, *y;
    uint32_t count;
    const double *half; /* of a bar at each point: how far the value may be off; NULL: none */
};

struct plot {
    const char *title, *x_label, *y_label;
    bool is_x_log;
    double y_max; /* what lies above is cut off; 0: nothing does */
    struct plot_line lines[PLOT_LINES_MAX];
    uint32_t line_count;
};

/* "-" is stdout. 0, or 1 after it has said what is wrong. */
int plot_write(const struct plot *plot, const char *path);

/* Where several are to be written; it may be there already. The same results. */
int plot_folder_make(const char *path);
