/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See options.h.
 */
#include "cli/sim/options.h"

#include "cli/cli.h"
#include "cli/route/route.h"
#include "cli/sim/sim.h"
#include "plan/plan.h"

static struct sim_options wishes;
static char progress_name[] = "simulation";

static const char *const traffic_names[] = {"uniform", "hotspot", "all-to-all", "trace", NULL};
const char *const sim_network_names[] = {"rhinet2", "rhinet3", NULL};
static const char *const lane_names[] = {"one", "hop", "branch", NULL};

static int take_load(char *text)
{
    return sim_loads_parse(&wishes.loads, text) < 0 ? cli_fail() : 0;
}

#define TIME_MAX_NS 1000000000000

const struct cli_option sim_run_options[] = {
    CLI_FILE("topology", "FILE", &wishes.topology, "the fabric, as `rhinet route` reads it"),
    CLI_FILE("routing", "FILE", &wishes.routing,
             "tables of `rhinet route`, or the name of an algorithm", .standard = SIM_PLAN_ROUTING,
             .suggest = route_algorithm_name),
    CLI_FILE("paths", "FILE", &wishes.paths,
             "source routing by the paths of `rhinet route compute --paths`"),
    CLI_CHOICE("lanes", NULL, lane_names, &wishes.lanes, "rule of tables from a file"),
    CLI_CHOICE("traffic", "KIND", traffic_names, &wishes.spec.pattern,
               "uniform, hotspot, all-to-all or trace", .standard = "uniform"),
    CLI_FILE("trace", "FILE", &wishes.trace, "lines of NANOSECONDS SOURCE TARGET BYTES"),
    CLI_CALL("load", "LIST", take_load,
             "A,B,C or FROM:TO:STEP, 0.1 to 0.9 unless given; 1 is all that a host's link carries"),
    CLI_NUMBER("size", "BYTES", 0, 1 << 30, &wishes.spec.bytes, "of a message", .standard = "256"),
    CLI_TEXT("hot", "HOST", &wishes.hot, "hotspot: where much of the traffic goes"),
    CLI_REAL("hot-share", "PART", 0, 1, &wishes.spec.hot_share, "hotspot: how much of it",
             .standard = "0.1"),
    CLI_CHOICE("network", NULL, sim_network_names, &wishes.network.kind, "which switches",
               .standard = "rhinet2"),
    CLI_NUMBER("length", "METRES", 0, 100000, &wishes.network.metres, "of the links"),
    CLI_FILE("links", "FILE", &wishes.links, "lines of NODE PORT MBPS METRES for single links"),
    CLI_REAL("error-rate", "RATE", 0, 1, &wishes.network.bit_error_rate, "wrong bits on links"),
    SIM_PLATFORM_OPTION(&wishes.platforms),
    CLI_LIST("set", "NAME=VALUE", &wishes.set, "change a constant"),
    CLI_NUMBER("seed", "N", 0, UINT64_MAX, &wishes.seed,
               "of all chance; the same seed gives the same run", .standard = "1"),
    CLI_TIME("warm", "T", 0, TIME_MAX_NS, &wishes.warm_ns, "virtual time before the measurement",
             .standard = "100us"),
    CLI_TIME("time", "T", 0, TIME_MAX_NS, &wishes.measure_ns, "virtual time of the measurement",
             .standard = "1ms"),
    SIM_SWEEP_OPTIONS(&wishes.sweep),
    SIM_SEEDS_OPTION(&wishes.sweep),
    CLI_FILE("json", "FILE", &wishes.json, "the report as JSON, - for stdout"),
    CLI_FILE("plot", "FILE", &wishes.plot,
             "latency against load, as SVG; of a sweep a folder of pictures"),
    CLI_NUMBER("loads", "N", 0, UINT32_MAX, &wishes.link_rows, "show the N busiest links"),
    CLI_FILE("log", "FILE", &wishes.log, "every event, one a line"),
    CLI_OPTIONS_END,
};

struct sim_options *sim_options_get(int *status)
{
    wishes.constants = sim_constants_default();
    *status = sim_platform_apply(&wishes.platforms, &wishes.constants, NULL);
    if (*status == 0)
        *status = sim_set_apply(&wishes.set, &wishes.constants);
    if (*status == 0 && !wishes.topology)
        *status = cli_usage_error("--topology FILE is missing");
    if (*status == 0 && (wishes.spec.pattern == WORKLOAD_TRACE) != (wishes.trace != NULL))
        *status = cli_usage_error("--traffic trace and --trace FILE go together");
    if (wishes.loads.count == 0 && wishes.spec.pattern >= WORKLOAD_ALL_TO_ALL)
        wishes.loads = (struct sim_loads){.values = {1}, .count = 1};
    else if (wishes.loads.count == 0)
        sim_loads_parse(&wishes.loads, "0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9");
    if (*status == 0 && sweep_is_wanted(&wishes.sweep) && (wishes.log || wishes.link_rows > 0))
        *status = cli_usage_error("--log and --loads are of one run, not of a sweep");
    wishes.traffic = traffic_names[wishes.spec.pattern];
    wishes.spec.warm = wishes.warm_ns * SIM_NS;
    wishes.spec.measure = wishes.measure_ns * SIM_NS;
    wishes.spec.progress = cli_progress_part;
    wishes.spec.progress_context = progress_name;
    return *status == 0 ? &wishes : NULL;
}
