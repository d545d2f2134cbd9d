/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the bottom has by name. Data only: it is part of src/base.
 */
#include "base/base_layer.h"

#include "base/settings.h"

static const struct setting_spec settings[] = {
    [LAYER_AT(SETTING_LOG)] = {.name = "RHINET_LOG",
                               .kind = SETTING_CHOICE,
                               .initial = "warning",
                               .choices = "error|warning|info|debug",
                               .help = "what the library prints on stderr by itself"},
};

const struct layer base_layer = {
    .name = "base",
    LAYER_LIST(setting, settings),
};
