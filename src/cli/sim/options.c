/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See options.h.
 */
#include "cli/sim/options.h"

#include "base/error.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/route/route.h"
#include "cli/sim/sim.h"
#include "plan/plan.h"

#include <getopt.h>
#include <string.h>

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

static int wrong_value(const char *option, const char *text, const char *wanted)
{
    return cli_usage_error("--%s is %s, not '%s'", option, wanted, text);
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
const char *const sim_network_names[] = {"rhinet2", "rhinet3", NULL};
static const char *const lane_names[] = {"one", "hop", "branch", NULL};

/* Options that are numbers or names; 0, or the exit status. */
static int value_take(struct sim_options *options, int option, const char *text)
{
    uint64_t number = 0;
    int which = 0, result = 0;
    switch (option) {
    case TRAFFIC:
        result = name_take("traffic", text, traffic_names, &which);
        options->spec.pattern = (enum workload_pattern)which;
        options->traffic = text;
        return result;
    case LANES:
        return name_take("lanes", text, lane_names, &options->lanes);
    case NETWORK:
        result = name_take("network", text, sim_network_names, &which);
        options->network.kind = (enum network_kind)which;
        return result;
    case SIZE:
        result = number_take("size", text, 1 << 30, &number);
        options->spec.bytes = (uint32_t)number;
        return result;
    case LENGTH:
        result = number_take("length", text, 100000, &number);
        options->network.metres = (uint32_t)number;
        return result;
    case SEED:
        return number_take("seed", text, UINT64_MAX, &options->seed);
    case LOADS:
        return number_take("loads", text, UINT32_MAX, &options->link_rows);
    case HOT_SHARE:
        return real_take("hot-share", text, 1, &options->spec.hot_share);
    case ERROR_RATE:
        return real_take("error-rate", text, 1, &options->network.bit_error_rate);
    case WARM:
        return duration_take("warm", text, &options->spec.warm);
    case TIME:
        return duration_take("time", text, &options->spec.measure);
    case LOAD:
        return sim_loads_parse(&options->loads, text) < 0 ? sim_fail() : 0;
    case SET:
        return sim_constants_set(&options->constants, text) < 0 ? sim_fail() : 0;
    default:
        return cli_usage_error("run does not understand its options");
    }
}

static int option_take(struct sim_options *options, int option, const char *text)
{
    const struct {
        int option;
        const char **place;
    } texts[] = {
        {TOPOLOGY, &options->topology}, {ROUTING, &options->routing}, {PATHS, &options->paths},
        {TRACE, &options->trace},       {HOT, &options->hot},         {LINKS, &options->links},
        {JSON, &options->json},         {PLOT, &options->plot},       {LOG, &options->log},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (texts[i].option == option) {
            *texts[i].place = text;
            return 0;
        }
    }
    return value_take(options, option, text);
}

int sim_options_read(struct sim_options *options, int argc, char **argv)
{
    *options = (struct sim_options){
        .routing = SIM_PLAN_ROUTING,
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
    int option, status = 0;
    bool has_loads = false;
    optind = 1;
    while (status == 0 && (option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        has_loads = has_loads || option == LOAD;
        status = option_take(options, option, optarg);
    }
    if (status != 0)
        return status;
    if (optind != argc)
        return cli_usage_error("run does not know what to do with '%s'", argv[optind]);
    if (!options->topology)
        return cli_usage_error("run needs --topology FILE");
    if ((options->spec.pattern == WORKLOAD_TRACE) != (options->trace != NULL))
        return cli_usage_error("--traffic trace and --trace FILE go together");
    if (options->spec.pattern >= WORKLOAD_ALL_TO_ALL && !has_loads)
        options->loads = (struct sim_loads){.values = {1}, .count = 1};
    return 0;
}
