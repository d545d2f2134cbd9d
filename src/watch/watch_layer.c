/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the watch has by name. Data only: it is part of src/base.
 */
#include "watch/watch_layer.h"

#include "base/settings.h"

static const struct setting_spec settings[] = {
    [LAYER_AT(
        SETTING_STUCK)] = {.name = "RHINET_STUCK",
                           .kind = SETTING_DURATION,
                           .initial = "10s",
                           .most = INT64_MAX,
                           .help = "a wait that takes longer says so on stderr, once, with whom it "
                                   "waits for and what that rank does; 0: never"},
};

const struct layer watch_layer = {
    .name = "watch",
    LAYER_LIST(setting, settings),
};
