/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See plot.h.
 */
#include "cli/plot.h"

#include "cli/cli.h"
#include "cli/route/route.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define WIDTH  760.0
#define HEIGHT 440.0
#define LEFT   70.0
#define RIGHT  20.0
#define TOP    56.0
#define BOTTOM 60.0

static const char *const colours[PLOT_LINES_MAX] = {"#05a", "#c50", "#282", "#a0a", "#666", "#b80"};

struct axes {
    bool is_x_log;
    double x_min, x_max, y_max;
};

static double x_at(const struct axes *axes, double value)
{
    double part = axes->is_x_log ? log2(value / axes->x_min) / log2(axes->x_max / axes->x_min)
                                 : (value - axes->x_min) / (axes->x_max - axes->x_min);
    return LEFT + part * (WIDTH - LEFT - RIGHT);
}

static double y_at(const struct axes *axes, double value)
{
    return HEIGHT - BOTTOM - fmin(value / axes->y_max, 1.03) * (HEIGHT - TOP - BOTTOM);
}

/* 1, 2 or 5 times a power of ten, not below value / 5. */
static double step_for(double value)
{
    double raw = value / 5, power = pow(10, floor(log10(raw)));
    double part = raw / power;
    return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
}

static struct axes axes_make(const struct plot *plot)
{
    struct axes axes = {.is_x_log = plot->is_x_log, .x_min = plot->is_x_log ? INFINITY : 0};
    for (uint32_t i = 0; i < plot->line_count; i++) {
        const struct plot_line *line = &plot->lines[i];
        for (uint32_t k = 0; k < line->count; k++) {
            axes.x_min = fmin(axes.x_min, line->x[k]);
            axes.x_max = fmax(axes.x_max, line->x[k]);
            axes.y_max = fmax(axes.y_max, line->y[k] + (line->half ? line->half[k] : 0));
        }
    }
    if (plot->y_max > 0)
        axes.y_max = fmin(axes.y_max, plot->y_max);
    if (!(axes.y_max > 0))
        axes.y_max = 1;
    if (!isfinite(axes.x_min) || axes.x_max <= axes.x_min) {
        axes.x_min = plot->is_x_log ? 1 : 0;
        axes.x_max = fmax(axes.x_max, axes.x_min + 1);
    }
    if (!plot->is_x_log)
        axes.x_max = ceil(axes.x_max / step_for(axes.x_max)) * step_for(axes.x_max);
    axes.y_max = ceil(axes.y_max / step_for(axes.y_max)) * step_for(axes.y_max);
    return axes;
}

/* Names come from files: nothing in them may end the text early. */
static void text_put(const char *text, FILE *out)
{
    for (; *text; text++) {
        if (*text == '<' || *text == '>' || *text == '&')
            fprintf(out, "&#%d;", *text);
        else
            fputc(*text, out);
    }
}

static void x_line(const struct axes *axes, double value, FILE *out)
{
    double x = x_at(axes, value);
    fprintf(out, "<path class='grid' d='M%.1f %.1fV%.1f'/>\n", x, TOP, HEIGHT - BOTTOM);
    fprintf(out, "<text x='%.1f' y='%.1f' text-anchor='middle'>%g</text>\n", x,
            HEIGHT - BOTTOM + 18, value);
}

static void grid_draw(const struct axes *axes, FILE *out)
{
    double x_step = step_for(axes->x_max), y_step = step_for(axes->y_max);
    if (axes->is_x_log) {
        for (double x = axes->x_min; x <= axes->x_max * 1.01; x *= 2)
            x_line(axes, x, out);
    } else {
        for (int i = 0; i * x_step <= axes->x_max * 1.01; i++)
            x_line(axes, i * x_step, out);
    }
    for (int i = 0; i * y_step <= axes->y_max * 1.01; i++) {
        double y = y_at(axes, i * y_step);
        fprintf(out, "<path class='grid' d='M%.1f %.1fH%.1f'/>\n", LEFT, y, WIDTH - RIGHT);
        fprintf(out, "<text x='%.1f' y='%.1f' text-anchor='end'>%g</text>\n", LEFT - 8, y + 4,
                i * y_step);
    }
}

static void labels_draw(const struct plot *plot, FILE *out)
{
    fprintf(out, "<text x='%.1f' y='22' font-size='14'>", LEFT);
    text_put(plot->title, out);
    fprintf(out, "</text>\n<text x='%.1f' y='42'>", LEFT);
    for (uint32_t i = 0; i < plot->line_count; i++) {
        fprintf(out, "<tspan fill='%s'>", colours[i]);
        text_put(plot->lines[i].name, out);
        fputs("</tspan>&#160;&#160; ", out);
    }
    fprintf(out, "</text>\n<text x='%.1f' y='%.1f' text-anchor='middle'>",
            (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14);
    text_put(plot->x_label, out);
    fprintf(out, "</text>\n<text transform='translate(18 %.1f) rotate(-90)' text-anchor='middle'>",
            (TOP + HEIGHT - BOTTOM) / 2);
    text_put(plot->y_label, out);
    fputs("</text>\n", out);
}

static void line_draw(const struct plot_line *line, const struct axes *axes, const char *colour,
                      FILE *out)
{
    fprintf(out, "<polyline fill='none' stroke-width='2' stroke='%s' points='", colour);
    for (uint32_t i = 0; i < line->count; i++)
        fprintf(out, "%.1f,%.1f ", x_at(axes, line->x[i]), y_at(axes, line->y[i]));
    fputs("'/>\n", out);
    for (uint32_t i = 0; line->half && i < line->count; i++)
        fprintf(out, "<path stroke='%s' d='M%.1f %.1fV%.1f'/>\n", colour, x_at(axes, line->x[i]),
                y_at(axes, line->y[i] - line->half[i]), y_at(axes, line->y[i] + line->half[i]));
    for (uint32_t i = 0; i < line->count; i++)
        fprintf(out, "<circle cx='%.1f' cy='%.1f' r='2.5' fill='%s'/>\n", x_at(axes, line->x[i]),
                y_at(axes, line->y[i]), colour);
}

int plot_folder_make(const char *path)
{
    struct stat status;
    int error = mkdir(path, 0777) < 0 ? errno : 0;
    if (error == EEXIST && stat(path, &status) == 0)
        error = S_ISDIR(status.st_mode) ? 0 : ENOTDIR;
    if (error == 0)
        return 0;
    cli_say("cannot make %s: %s", path, strerror(error));
    return 1;
}

int plot_write(const struct plot *plot, const char *path)
{
    FILE *out = route_output_open(path);
    if (!out)
        return 1;
    struct axes axes = axes_make(plot);
    fprintf(out,
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %.0f %.0f' "
            "font-family='sans-serif' font-size='12'>\n",
            WIDTH, HEIGHT);
    fputs("<style>.grid{stroke:#ddd;fill:none}</style>\n"
          "<rect width='100%' height='100%' fill='#fff'/>\n",
          out);
    grid_draw(&axes, out);
    labels_draw(plot, out);
    for (uint32_t i = 0; i < plot->line_count; i++)
        line_draw(&plot->lines[i], &axes, colours[i], out);
    fputs("</svg>\n", out);
    return route_output_close(out, path, 0);
}
