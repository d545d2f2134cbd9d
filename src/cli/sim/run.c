/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet sim run`: traffic on a simulated network, at one or several loads.
 */
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/route/route.h"
#include "cli/sim/options.h"
#include "cli/sim/sim.h"
#include "plan/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int plan_make(struct sim_plan *plan, const struct route_input *input,
                     const struct sim_options *options)
{
    const struct sim_plan_fabric from = {input->fabric, input->net, input->traffic};
    int result = options->paths ? sim_plan_by_paths(plan, input->net, options->paths)
                                : sim_plan_by_name(plan, &from, options->routing,
                                                   (enum algorithm_lanes)options->lanes);
    if (result == 0 && options->links) {
        result = sim_plan_links_read(plan, input->net, options->links);
        if (result < 0)
            sim_plan_free(plan);
    }
    return result;
}

/* One load, in a world of its own. *network is the caller's, to look into; *sim too. */
static int point_run(const struct sim_options *options, const struct sim_plan *plan, FILE *log,
                     struct sim_point *point, struct sim **sim, struct network **network)
{
    struct workload_spec spec = options->spec;
    struct network_options network_options = options->network;
    struct workload *workload = NULL;
    double before = clock_cpu_seconds();
    spec.load = point->load;
    int result = workload_create(&workload, &spec);
    if (result < 0)
        return result;
    network_options.deliver = workload_deliver;
    network_options.context = workload;
    network_options.constants = &options->constants;
    result = sim_create(sim, options->seed);
    if (result == 0)
        result = network_create(network, *sim, &plan->plan, &network_options);
    if (result == 0) {
        sim_log_to(*sim, log);
        result = workload_run(workload, *sim, *network, plan->plan.host_count, &point->report);
    }
    workload_destroy(workload);
    point->seconds = clock_cpu_seconds() - before;
    return result;
}

static sim_time latency_min(const struct network *network, uint32_t hosts, uint32_t bytes)
{
    sim_time least = SIM_NEVER, latency;
    uint32_t mtu = (uint32_t)network_constants(network)->mtu_bytes;
    for (uint32_t target = 1; target < hosts; target++) {
        uint32_t flits = network_flits(network, bytes < mtu ? bytes : mtu);
        if (network_latency(network, 0, target, flits, &latency) == 0 && latency < least)
            least = latency;
    }
    return least == SIM_NEVER ? 0 : least;
}

static int outputs_write(const struct sim_options *options, const struct sim_result *result,
                         const struct network *network)
{
    int status = 0;
    sim_time span = result->points[result->point_count - 1].report.end;
    if (!options->json || strcmp(options->json, "-") != 0) {
        sim_result_text(result, stdout);
        if (options->link_rows > 0)
            sim_links_text(network, span, (uint32_t)options->link_rows, stdout);
    }
    if (options->json)
        status = sim_result_json(result, network, options->json);
    if (status == 0 && options->plot)
        status = sim_result_plot(result, options->plot);
    for (size_t i = 0; i < result->point_count; i++) {
        const struct workload_report *report = &result->points[i].report;
        if (report->deadlock_count > 0) {
            fprintf(stderr, "%s: at load %g, seed %llu: %s", cli_path(), result->points[i].load,
                    (unsigned long long)result->seed, report->deadlock);
            status = 1;
        }
    }
    return status;
}

static int points_run(const struct sim_options *options, const struct sim_plan *plan, FILE *log)
{
    struct sim_point points[SIM_LOADS_MAX] = {0};
    struct sim_result result = {
        .topology = options->topology,
        .routing = options->paths ? options->paths : options->routing,
        .traffic = options->traffic,
        .network = sim_network_names[options->network.kind],
        .switch_count = plan->plan.switch_count,
        .host_count = plan->plan.host_count,
        .lane_count = plan->plan.lane_count,
        .bytes = options->spec.bytes,
        .seed = options->seed,
        .points = points,
        .point_count = options->loads.count,
    };
    struct sim *sim = NULL;
    struct network *network = NULL;
    int status = 0;
    for (size_t i = 0; i < result.point_count && status == 0; i++) {
        network_destroy(network);
        sim_destroy(sim);
        sim = NULL;
        network = NULL;
        points[i].load = options->loads.values[i];
        if (point_run(options, plan, log, &points[i], &sim, &network) < 0)
            status = cli_fail();
    }
    cli_progress_end();
    if (status == 0) {
        result.latency_min = latency_min(network, result.host_count, result.bytes);
        status = outputs_write(options, &result, network);
    }
    network_destroy(network);
    sim_destroy(sim);
    return status;
}

/* ---- Sweeps ---------------------------------------------------------------------------------- */

struct sweeping {
    const struct sim_options *options;
    const struct sim_plan *plan;
};

static int sweep_measure(void *context, const struct sweep_point *at, FILE *out)
{
    const struct sweeping *sweeping = context;
    struct sim_options options = *sweeping->options;
    struct sim_point point = {.load = isnan(at->own) ? options.loads.values[0] : at->own};
    struct sim *sim = NULL;
    struct network *network = NULL;
    options.constants = at->constants;
    options.seed = at->seed;
    int result = point_run(&options, sweeping->plan, NULL, &point, &sim, &network);
    const struct workload_report *report = &point.report;
    const struct workload_latency *latency = &report->latency;
    if (result == 0) {
        sweep_put(out, "offered", "", report->offered);
        sweep_put(out, "accepted", "", report->accepted);
        sweep_put(out, "latency_mean", "us", latency->mean / (double)SIM_US);
        sweep_put(out, "latency_median", "us", (double)latency->median / (double)SIM_US);
        sweep_put(out, "latency_p99", "us", (double)latency->p99 / (double)SIM_US);
        sweep_put(out, "latency_p999", "us", (double)latency->p999 / (double)SIM_US);
        sweep_put(out, "end", "us", (double)report->end / (double)SIM_US);
        sweep_put(out, "saturated", "runs", report->is_saturated);
        sweep_put(out, "deadlocks", "circles", report->deadlock_count);
    }
    network_destroy(network);
    sim_destroy(sim);
    return result < 0 ? cli_fail() : 0;
}

static int sweep_points(struct sim_options *options, const struct sim_plan *plan)
{
    struct sweep *sweep = &options->sweep;
    struct sweeping sweeping = {options, plan};
    const struct sweep_job job = {&options->constants, options->seed, sweep_measure, &sweeping};
    const struct sweep_outputs outputs = {"sim run", options->json, options->plot};
    int status = sweep_open(sweep);
    if (status == 0 && options->loads.count > 1)
        status = sweep_axis_add(sweep, "load", "", options->loads.values, options->loads.count);
    if (status == 0)
        status = sweep_outputs_check(sweep, &outputs);
    if (status == 0)
        status = sweep_run(sweep, &job);
    if (status == 0)
        status = sweep_report(sweep, &outputs);
    sweep_close(sweep);
    return status;
}

static int run(struct sim_options *options)
{
    struct route_input input;
    struct sim_plan plan;
    struct sim_trace trace = {0};
    FILE *log = NULL;
    const struct route_view view = {.traffic = "uniform"};
    int status = route_input_open(&input, options->topology, &view);
    if (status != 0)
        return status;
    if (plan_make(&plan, &input, options) < 0) {
        route_input_close(&input);
        return cli_fail();
    }
    if (options->hot && sim_host_find(input.net, options->hot, &options->spec.hot_host) < 0)
        status = cli_fail();
    if (status == 0 && options->trace) {
        if (sim_trace_read(&trace, input.net, options->trace) < 0)
            status = cli_fail();
        options->spec.trace = trace.messages;
        options->spec.trace_count = trace.count;
    }
    if (status == 0 && options->log) {
        log = route_output_open(options->log);
        status = log ? 0 : 1;
    }
    if (status == 0)
        status = sweep_is_wanted(&options->sweep) ? sweep_points(options, &plan)
                                                  : points_run(options, &plan, log);
    if (log)
        status = route_output_close(log, options->log, status);
    free(trace.messages);
    sim_plan_free(&plan);
    route_input_close(&input);
    return status;
}

static int run_command(int count, char **words)
{
    int status;
    struct sim_options *options = sim_options_get(&status);
    return options ? run(options) : status;
}

const struct cli_command cli_sim_run = {.name = "run",
                                        .help = "traffic on a network, at several loads",
                                        .options = sim_run_options,
                                        .run = run_command};
