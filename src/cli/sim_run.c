/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet sim run`: traffic on a simulated network, at one or several loads.
 */
#include "base/error.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/route.h"
#include "cli/sim.h"
#include "cli/sim_plan.h"
#include "cli/sim_traffic.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum option_number {
    TOPOLOGY = 256,
    ROUTING,
    PATHS,
    LANES,
    TRAFFIC,
    TRACE,
    LOAD,
    SIZE,
    HOT,
    HOT_SHARE,
    NETWORK,
    LENGTH,
    LINKS,
    ERROR_RATE,
    SET,
    SEED,
    WARM,
    TIME,
    JSON,
    PLOT,
    LOADS,
    LOG
};

static const struct option long_options[] = {
    {"topology", required_argument, NULL, TOPOLOGY},
    {"routing", required_argument, NULL, ROUTING},
    {"paths", required_argument, NULL, PATHS},
    {"lanes", required_argument, NULL, LANES},
    {"traffic", required_argument, NULL, TRAFFIC},
    {"trace", required_argument, NULL, TRACE},
    {"load", required_argument, NULL, LOAD},
    {"size", required_argument, NULL, SIZE},
    {"hot", required_argument, NULL, HOT},
    {"hot-share", required_argument, NULL, HOT_SHARE},
    {"network", required_argument, NULL, NETWORK},
    {"length", required_argument, NULL, LENGTH},
    {"links", required_argument, NULL, LINKS},
    {"error-rate", required_argument, NULL, ERROR_RATE},
    {"set", required_argument, NULL, SET},
    {"seed", required_argument, NULL, SEED},
    {"warm", required_argument, NULL, WARM},
    {"time", required_argument, NULL, TIME},
    {"json", required_argument, NULL, JSON},
    {"plot", required_argument, NULL, PLOT},
    {"loads", required_argument, NULL, LOADS},
    {"log", required_argument, NULL, LOG},
    {NULL, 0, NULL, 0},
};

struct arguments {
    const char *topology, *routing, *paths, *lanes, *traffic, *trace, *hot, *links;
    const char *json, *plot, *log;
    struct sim_loads loads;
    struct workload_spec spec;
    struct network_options network;
    struct sim_constants constants;
    uint64_t seed, link_rows;
};

static int wrong_value(const char *option, const char *text, const char *wanted)
{
    return cli_usage_error("sim", "--%s is %s, not '%s'", option, wanted, text);
}

static int name_take(const char *option, const char *text, const char *const *names, int *number)
{
    char list[128] = "";
    for (int i = 0; names[i]; i++) {
        if (strcmp(text, names[i]) == 0) {
            *number = i;
            return 0;
        }
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "", names[i]);
    }
    return wrong_value(option, text, list);
}

static int number_take(const char *option, const char *text, uint64_t most, uint64_t *value)
{
    if (text_to_u64(text, value) && *value <= most)
        return 0;
    return wrong_value(option, text, "a whole number that is not too large");
}

static int real_take(const char *option, const char *text, double most, double *value)
{
    if (text_to_real(text, value) && *value >= 0 && *value <= most)
        return 0;
    return wrong_value(option, text, "a number from 0 to 1");
}

static int duration_take(const char *option, const char *text, sim_time *value)
{
    int64_t ns;
    if (!text_to_duration(text, &ns) || ns < 0 || ns > 1000 * 1000000000LL)
        return wrong_value(option, text, "a duration such as 500us");
    *value = ns * SIM_NS;
    return 0;
}

static const char *const traffic_names[] = {"uniform", "hotspot", "all-to-all", "trace", NULL};
static const char *const network_names[] = {"rhinet2", "rhinet3", NULL};

/* Options that are numbers or names; 0, or the exit status. */
static int value_take(struct arguments *arguments, int option, const char *text)
{
    uint64_t number = 0;
    int which = 0, result = 0;
    switch (option) {
    case TRAFFIC:
        result = name_take("traffic", text, traffic_names, &which);
        arguments->spec.pattern = (enum workload_pattern)which;
        arguments->traffic = text;
        return result;
    case NETWORK:
        result = name_take("network", text, network_names, &which);
        arguments->network.kind = (enum network_kind)which;
        return result;
    case SIZE:
        result = number_take("size", text, 1 << 30, &number);
        arguments->spec.bytes = (uint32_t)number;
        return result;
    case LENGTH:
        result = number_take("length", text, 100000, &number);
        arguments->network.metres = (uint32_t)number;
        return result;
    case SEED:
        return number_take("seed", text, UINT64_MAX, &arguments->seed);
    case LOADS:
        return number_take("loads", text, UINT32_MAX, &arguments->link_rows);
    case HOT_SHARE:
        return real_take("hot-share", text, 1, &arguments->spec.hot_share);
    case ERROR_RATE:
        return real_take("error-rate", text, 1, &arguments->network.bit_error_rate);
    case WARM:
        return duration_take("warm", text, &arguments->spec.warm);
    case TIME:
        return duration_take("time", text, &arguments->spec.measure);
    case LOAD:
        return sim_loads_parse(&arguments->loads, text) < 0 ? sim_fail() : 0;
    case SET:
        return sim_constants_set(&arguments->constants, text) < 0 ? sim_fail() : 0;
    default:
        return cli_usage_error("sim", "run does not understand its options");
    }
}

static int option_take(struct arguments *arguments, int option, const char *text)
{
    const struct {
        int option;
        const char **place;
    } texts[] = {
        {TOPOLOGY, &arguments->topology}, {ROUTING, &arguments->routing},
        {PATHS, &arguments->paths},       {LANES, &arguments->lanes},
        {TRACE, &arguments->trace},       {HOT, &arguments->hot},
        {LINKS, &arguments->links},       {JSON, &arguments->json},
        {PLOT, &arguments->plot},         {LOG, &arguments->log},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (texts[i].option == option) {
            *texts[i].place = text;
            return 0;
        }
    }
    return value_take(arguments, option, text);
}

/* Tables by the name of an algorithm: computed here. */
static int plan_compute(struct sim_plan *plan, const struct route_input *input, const char *name)
{
    struct routing *routing;
    const struct algorithm *algorithm = algorithm_find(name);
    int result = algorithm ? routing_create(&routing, input->traffic, algorithm, NULL) : -EINVAL;
    if (result < 0)
        return result;
    result = sim_plan_by_table(plan, routing->lft, (enum sim_plan_lanes)algorithm->lanes);
    routing_destroy(routing);
    return result;
}

static int plan_read(struct sim_plan *plan, const struct route_input *input, const char *path,
                     enum sim_plan_lanes lanes)
{
    struct lft_dump dump = {0};
    struct lft *lft = NULL;
    uint32_t ignored;
    int result = formats_lft_read(&dump, input->fabric, path);
    if (result == 0)
        result = formats_lft_import(&lft, input->net, &dump, &ignored);
    if (result == 0)
        result = sim_plan_by_table(plan, lft, lanes);
    lft_destroy(lft);
    formats_lft_free(&dump);
    return result;
}

static int plan_make(struct sim_plan *plan, const struct route_input *input,
                     const struct arguments *arguments, int lanes)
{
    int result;
    if (arguments->paths)
        result = sim_plan_by_paths(plan, input->net, arguments->paths);
    else if (access(arguments->routing, F_OK) == 0 || strcmp(arguments->routing, "-") == 0)
        result = plan_read(plan, input, arguments->routing, (enum sim_plan_lanes)lanes);
    else
        result = plan_compute(plan, input, arguments->routing);
    if (result == 0 && arguments->links) {
        result = sim_plan_links_read(plan, input->net, arguments->links);
        if (result < 0)
            sim_plan_free(plan);
    }
    return result;
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* One load, in a world of its own. *network is the caller's, to look into; *sim too. */
static int point_run(const struct arguments *arguments, const struct sim_plan *plan, FILE *log,
                     struct sim_point *point, struct sim **sim, struct network **network)
{
    struct workload_spec spec = arguments->spec;
    struct network_options options = arguments->network;
    struct workload *workload = NULL;
    double before = cpu_seconds();
    spec.load = point->load;
    int result = workload_create(&workload, &spec);
    if (result < 0)
        return result;
    options.deliver = workload_deliver;
    options.context = workload;
    options.constants = &arguments->constants;
    result = sim_create(sim, arguments->seed);
    if (result == 0)
        result = network_create(network, *sim, &plan->plan, &options);
    if (result == 0) {
        sim_log_to(*sim, log);
        result = workload_run(workload, *sim, *network, plan->plan.host_count, &point->report);
    }
    workload_destroy(workload);
    point->seconds = cpu_seconds() - before;
    return result;
}

static sim_time latency_least(const struct network *network, uint32_t hosts, uint32_t bytes)
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

static int outputs_write(const struct arguments *arguments, const struct sim_result *result,
                         const struct network *network)
{
    int status = 0;
    sim_time span = result->points[result->point_count - 1].report.end;
    if (!arguments->json || strcmp(arguments->json, "-") != 0) {
        sim_result_text(result, stdout);
        if (arguments->link_rows > 0)
            sim_links_text(network, span, (uint32_t)arguments->link_rows, stdout);
    }
    if (arguments->json)
        status = sim_result_json(result, network, arguments->json);
    if (status == 0 && arguments->plot)
        status = sim_result_plot(result, arguments->plot);
    for (size_t i = 0; i < result->point_count; i++) {
        const struct workload_report *report = &result->points[i].report;
        if (report->deadlock_count > 0) {
            fprintf(stderr, "rhinet sim: at load %g, seed %llu: %s", result->points[i].load,
                    (unsigned long long)result->seed, report->deadlock);
            status = 1;
        }
    }
    return status;
}

static int points_run(const struct arguments *arguments, const struct sim_plan *plan, FILE *log)
{
    struct sim_point points[SIM_LOADS_MAX] = {0};
    struct sim_result result = {
        .topology = arguments->topology,
        .routing = arguments->paths ? arguments->paths : arguments->routing,
        .traffic = arguments->traffic,
        .network = network_names[arguments->network.kind],
        .switch_count = plan->plan.switch_count,
        .host_count = plan->plan.host_count,
        .lane_count = plan->plan.lane_count,
        .bytes = arguments->spec.bytes,
        .seed = arguments->seed,
        .points = points,
        .point_count = arguments->loads.count,
    };
    struct sim *sim = NULL;
    struct network *network = NULL;
    int status = 0;
    for (size_t i = 0; i < result.point_count && status == 0; i++) {
        network_destroy(network);
        sim_destroy(sim);
        sim = NULL;
        network = NULL;
        points[i].load = arguments->loads.values[i];
        if (point_run(arguments, plan, log, &points[i], &sim, &network) < 0)
            status = sim_fail();
    }
    route_progress((char[]){"simulation"}, 1);
    if (status == 0) {
        result.latency_least = latency_least(network, result.host_count, result.bytes);
        status = outputs_write(arguments, &result, network);
    }
    network_destroy(network);
    sim_destroy(sim);
    return status;
}

static int run(struct arguments *arguments, int lanes)
{
    struct route_input input;
    struct sim_plan plan;
    struct sim_trace trace = {0};
    FILE *log = NULL;
    int status = route_input_open(&input, arguments->topology, "uniform", 0);
    if (status != 0)
        return status;
    if (plan_make(&plan, &input, arguments, lanes) < 0) {
        route_input_close(&input);
        return sim_fail();
    }
    if (arguments->hot && sim_host_find(input.net, arguments->hot, &arguments->spec.hot_host) < 0)
        status = sim_fail();
    if (status == 0 && arguments->trace) {
        if (sim_trace_read(&trace, input.net, arguments->trace) < 0)
            status = sim_fail();
        arguments->spec.trace = trace.messages;
        arguments->spec.trace_count = trace.count;
    }
    if (status == 0 && arguments->log) {
        log = route_output_open(arguments->log);
        status = log ? 0 : 1;
    }
    if (status == 0)
        status = points_run(arguments, &plan, log);
    if (log)
        status = route_output_close(log, arguments->log, status);
    free(trace.messages);
    sim_plan_free(&plan);
    route_input_close(&input);
    return status;
}

int cli_sim_run(int argc, char **argv)
{
    static const char *const lane_names[] = {"one", "hop", "branch", NULL};
    struct arguments arguments = {
        .routing = "turn-addition",
        .traffic = "uniform",
        .loads = {.values = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}, .count = 9},
        .spec = {.bytes = 256,
                 .hot_share = 0.1,
                 .warm = 100 * SIM_US,
                 .measure = 1000 * SIM_US,
                 .progress = route_progress,
                 .progress_context = (char[]){"simulation"}},
        .constants = sim_constants_default(),
        .seed = 1,
    };
    int option, lanes = 0, status = 0;
    bool has_loads = false;
    optind = 1;
    while (status == 0 && (option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        has_loads = has_loads || option == LOAD;
        status = option_take(&arguments, option, optarg);
    }
    if (status == 0 && arguments.lanes)
        status = name_take("lanes", arguments.lanes, lane_names, &lanes);
    if (status != 0)
        return status;
    if (optind != argc)
        return cli_usage_error("sim", "run does not know what to do with '%s'", argv[optind]);
    if (!arguments.topology)
        return cli_usage_error("sim", "run needs --topology FILE");
    if ((arguments.spec.pattern == WORKLOAD_TRACE) != (arguments.trace != NULL))
        return cli_usage_error("sim", "--traffic trace and --trace FILE go together");
    if (arguments.spec.pattern >= WORKLOAD_ALL_TO_ALL && !has_loads)
        arguments.loads = (struct sim_loads){.values = {1}, .count = 1};
    return run(&arguments, lanes);
}
