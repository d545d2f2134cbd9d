/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Latency against load as a picture.
 */
#include "cli/plot.h"
#include "cli/sim/sim.h"
#include "cli/sim/traffic.h"

#include <stdio.h>

int sim_result_plot(const struct sim_result *result, const char *path)
{
    double load[SIM_LOADS_MAX], mean[SIM_LOADS_MAX], p99[SIM_LOADS_MAX];
    uint32_t count = (uint32_t)result->point_count;
    char title[512];
    for (uint32_t i = 0; i < count; i++) {
        const struct workload_report *report = &result->points[i].report;
        load[i] = report->offered;
        mean[i] = report->latency.mean / (double)SIM_US;
        p99[i] = (double)report->latency.p99 / (double)SIM_US;
    }
    snprintf(title, sizeof(title), "%s, %s, %s, %s, %u B; alone: %.3f us", result->network,
             result->topology, result->routing, result->traffic, result->bytes,
             (double)result->latency_min / (double)SIM_US);
    struct plot plot = {
        .title = title,
        .x_label = "offered load (1: all that a host's link carries)",
        .y_label = "latency, us",
        /* saturated points would squeeze the rest together */
        .y_max = 5 * mean[0],
        .lines = {{"mean", load, mean, count, NULL}, {"99 %", load, p99, count, NULL}},
        .line_count = 2};
    return plot_write(&plot, path);
}
