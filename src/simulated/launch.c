/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the launcher starts for NIC martini: the simulation, as RHINET_MARTINI describes it.
 */
#include "job/launch/launch.h"
#include "base/error.h"
#include "base/settings.h"
#include "nic/nic_layer.h"
#include "sim/trace/trace.h"
#include "simulated/network.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the user wants to be simulated. */
struct wanted {
    struct martini_settings settings;
    struct martini_network network;
    uint32_t size;
    int64_t timeout_ns;
    struct trace_files traced;
};

/* Files are opened before anything is started, so that what is wrong is said at once; ranks do not
 * inherit them. */
static int traces_open(struct wanted *wanted)
{
    const struct martini_settings *settings = &wanted->settings;
    const char *const paths[] = {settings->trace, settings->packets, settings->pcap};
    FILE **const files[] = {&wanted->traced.timeline, &wanted->traced.packets,
                            &wanted->traced.pcap};
    wanted->traced.limit = settings->trace_limit;
    for (int i = 0; i < 3; i++) {
        if (!paths[i][0])
            continue;
        *files[i] = fopen(paths[i], "we");
        if (!*files[i])
            return error_fail(RH_EINVALID, "RHINET_MARTINI: cannot write %s: %s", paths[i],
                              strerror(errno));
    }
    return 0;
}

static bool traces_are_wanted(const struct wanted *wanted)
{
    return wanted->traced.timeline || wanted->traced.packets || wanted->traced.pcap;
}

static void traces_close(struct wanted *wanted)
{
    FILE *const files[] = {wanted->traced.timeline, wanted->traced.packets, wanted->traced.pcap};
    for (int i = 0; i < 3; i++) {
        if (files[i])
            fclose(files[i]);
    }
}

static int prepare(void **state, const struct launch_options *options)
{
    struct wanted *wanted = calloc(1, sizeof(*wanted));
    if (!wanted)
        return error_no_memory("a simulation");
    wanted->size = (uint32_t)options->size;
    wanted->timeout_ns = (int64_t)setting_number(options->settings, SETTING_TIMEOUT);
    int result = martini_settings_read(&wanted->settings,
                                       setting_text(options->settings, SETTING_MARTINI));
    if (result == 0)
        result = martini_network_open(&wanted->network, &wanted->settings, wanted->size);
    if (result == 0)
        result = traces_open(wanted);
    if (result < 0) {
        if (wanted->network.plan)
            martini_network_close(&wanted->network);
        traces_close(wanted);
        free(wanted);
        return result;
    }
    *state = wanted;
    return 0;
}

static int serve(void *state, const int *fds)
{
    const struct wanted *wanted = state;
    const struct martini_settings *settings = &wanted->settings;
    struct martini_serve_options options = {.spec = {.size = wanted->size,
                                                     .seed = settings->seed,
                                                     .plan = wanted->network.plan,
                                                     .kind = settings->kind,
                                                     .metres = settings->metres,
                                                     .bit_error_rate = settings->bit_error_rate,
                                                     .constants = &settings->constants,
                                                     .ranges = &settings->ranges,
                                                     .timeout_ns = wanted->timeout_ns},
                                            .fds = fds,
                                            .compute = settings->compute,
                                            .report = settings->report[0] ? settings->report : NULL,
                                            .usage = settings->usage[0] ? settings->usage : NULL};
    struct trace *trace = traces_are_wanted(wanted) ? trace_open(&wanted->traced) : NULL;
    options.spec.trace = trace;
    int result = martini_serve(&options);
    if (trace_full(trace) != SIM_NEVER)
        fprintf(stderr,
                "rhinet: simulation: the trace ends at %.3f us of virtual time, as long as "
                "trace_limit allows\n",
                (double)trace_full(trace) / (double)SIM_US);
    if (trace_close(trace) < 0)
        fprintf(stderr, "rhinet: simulation: %s\n", rh_error_text());
    return result;
}

static void release(void *state)
{
    struct wanted *wanted = state;
    martini_network_close(&wanted->network);
    traces_close(wanted);
    free(wanted);
}

const struct launch_server martini_server = {.nic = "martini",
                                             .variable = "RHINET_MARTINI_FD",
                                             .prepare = prepare,
                                             .serve = serve,
                                             .release = release};
