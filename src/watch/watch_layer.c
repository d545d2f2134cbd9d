/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the watch has by name. Data only: it is part of src/base.
 */
#include "base/settings.h"
#include "watch/stall_watch.h"

static const struct setting_spec settings[] = {
    DURATION_SETTING(SETTING_STUCK, "RHINET_STUCK", "10s", 0, INT64_MAX,
                     "a wait that takes longer says so on stderr, once, with whom it waits for and "
                     "what that rank does; 0: never"),
};

const struct layer watch_layer = {
    LAYER_LIST(setting, settings),
};
