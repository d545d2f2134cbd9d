/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Latency against load as a picture (SVG), for the browser or a document.
 */
#include "cli/route.h"
#include "cli/sim.h"

#include <math.h>
#include <stdio.h>

#define WIDTH  760.0
#define HEIGHT 440.0
#define LEFT   70.0
#define RIGHT  20.0
#define TOP    50.0
#define BOTTOM 60.0

struct axes {
    double x_most, y_most;
};

static double x_at(const struct axes *axes, double value)
{
    return LEFT + value / axes->x_most * (WIDTH - LEFT - RIGHT);
}

static double y_at(const struct axes *axes, double value)
{
    return HEIGHT - BOTTOM - value / axes->y_most * (HEIGHT - TOP - BOTTOM);
}

/* 1, 2 or 5 times a power of ten, not below value / 5. */
static double step_for(double value)
{
    double raw = value / 5, power = pow(10, floor(log10(raw)));
    double part = raw / power;
    return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
}

/* Saturated points would squeeze the rest together: five times the first is high enough. */
static struct axes axes_make(const struct sim_result *result)
{
    struct axes axes = {0.1, 0.1};
    double first = result->points[0].report.latency.mean / (double)SIM_US;
    for (size_t i = 0; i < result->point_count; i++) {
        const struct workload_report *report = &result->points[i].report;
        double mean = report->latency.mean / (double)SIM_US;
        axes.x_most = fmax(axes.x_most, report->offered);
        axes.y_most = fmax(axes.y_most, fmin(mean, 5 * first));
    }
    axes.x_most = ceil(axes.x_most * 10) / 10;
    axes.y_most = ceil(axes.y_most / step_for(axes.y_most)) * step_for(axes.y_most);
    return axes;
}

static void grid_draw(const struct axes *axes, FILE *out)
{
    double step = step_for(axes->y_most);
    for (int i = 0; i * 0.1 <= axes->x_most + 0.01; i++) {
        double x = x_at(axes, i * 0.1);
        fprintf(out, "<path class='grid' d='M%.1f %.1fV%.1f'/>\n", x, TOP, HEIGHT - BOTTOM);
        fprintf(out, "<text x='%.1f' y='%.1f' text-anchor='middle'>%.1f</text>\n", x,
                HEIGHT - BOTTOM + 18, i * 0.1);
    }
    for (int i = 0; i * step <= axes->y_most + step / 10; i++) {
        double y = y_at(axes, i * step);
        fprintf(out, "<path class='grid' d='M%.1f %.1fH%.1f'/>\n", LEFT, y, WIDTH - RIGHT);
        fprintf(out, "<text x='%.1f' y='%.1f' text-anchor='end'>%g</text>\n", LEFT - 8, y + 4,
                i * step);
    }
    fprintf(out,
            "<text x='%.1f' y='%.1f' text-anchor='middle'>offered load (1: all that a host's "
            "link carries)</text>\n",
            (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14);
    fprintf(out,
            "<text transform='translate(18 %.1f) rotate(-90)' text-anchor='middle'>latency, "
            "us</text>\n",
            (TOP + HEIGHT - BOTTOM) / 2);
}

static void curve_draw(const struct sim_result *result, const struct axes *axes, const char *class,
                       double (*value)(const struct workload_report *), FILE *out)
{
    fprintf(out, "<polyline class='%s' points='", class);
    for (size_t i = 0; i < result->point_count; i++) {
        const struct workload_report *report = &result->points[i].report;
        fprintf(out, "%.1f,%.1f ", x_at(axes, report->offered),
                y_at(axes, fmin(value(report), axes->y_most * 1.05)));
    }
    fputs("'/>\n", out);
}

static double mean_of(const struct workload_report *report)
{
    return report->latency.mean / (double)SIM_US;
}

static double p99_of(const struct workload_report *report)
{
    return (double)report->latency.p99 / (double)SIM_US;
}

/* Names come from files: nothing in them may end the text early. */
static void text_escape(const char *text, FILE *out)
{
    for (; *text; text++) {
        if (*text == '<' || *text == '>' || *text == '&')
            fprintf(out, "&#%d;", *text);
        else
            fputc(*text, out);
    }
}

static void title_draw(const struct sim_result *result, FILE *out)
{
    fprintf(out, "<text x='%.1f' y='22' class='title'>%s, ", LEFT, result->network);
    text_escape(result->topology, out);
    fputs(", ", out);
    text_escape(result->routing, out);
    fprintf(out, ", %s, %u B</text>\n", result->traffic, result->bytes);
    fprintf(out,
            "<text x='%.1f' y='40'><tspan class='mean'>mean</tspan> and <tspan "
            "class='p99'>99 %%</tspan>; alone in the network: %.3f us</text>\n",
            LEFT, (double)result->latency_least / (double)SIM_US);
}

int sim_result_plot(const struct sim_result *result, const char *path)
{
    FILE *out = route_output_open(path);
    if (!out)
        return 1;
    struct axes axes = axes_make(result);
    fprintf(out,
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %.0f %.0f' "
            "font-family='sans-serif' font-size='12'>\n",
            WIDTH, HEIGHT);
    fputs("<style>.grid{stroke:#ddd;fill:none}.title{font-size:14px}polyline{fill:none;"
          "stroke-width:2}polyline.mean{stroke:#05a}polyline.p99{stroke:#c50;stroke-dasharray:5 3}"
          "tspan.mean{fill:#05a}tspan.p99{fill:#c50}</style>\n"
          "<rect width='100%' height='100%' fill='#fff'/>\n",
          out);
    grid_draw(&axes, out);
    title_draw(result, out);
    curve_draw(result, &axes, "mean", mean_of, out);
    curve_draw(result, &axes, "p99", p99_of, out);
    fputs("</svg>\n", out);
    return route_output_close(out, path, 0);
}
