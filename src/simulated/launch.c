/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the launcher starts for NIC martini: the simulation, as RHINET_MARTINI describes it.
 */
#include "job/launch/launch.h"
#include "base/error.h"
#include "base/settings.h"
#include "nic/nic_layer.h"
#include "simulated/network.h"

#include <stdlib.h>

/* What the user wants to be simulated. */
struct wanted {
    struct martini_settings settings;
    struct martini_network network;
    uint32_t size;
    int64_t timeout_ns;
};

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
    if (result < 0) {
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
                                            .report = settings->report[0] ? settings->report
                                                                          : NULL};
    return martini_serve(&options);
}

static void release(void *state)
{
    struct wanted *wanted = state;
    martini_network_close(&wanted->network);
    free(wanted);
}

const struct launch_server martini_server = {.nic = "martini",
                                             .variable = "RHINET_MARTINI_FD",
                                             .prepare = prepare,
                                             .serve = serve,
                                             .release = release};
