/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What PM has by name. Data only: it is part of src/base.
 */
#include "pm/pm_layer.h"

#include "base/layer.h"
#include "base/settings.h"

static const struct setting_spec settings[] = {
    CHOICE_SETTING(LAYER_SETTING_FIRST(LAYER_PM), "RHINET_PM", "pm-auto",
                   "pm-auto|pm-ring|pm-queue",
                   "how PM messages travel: one queue and a few lanes, one ring per sender, or one "
                   "queue"),
};

const struct layer pm_layer = {
    LAYER_LIST(setting, settings),
    .sid_first = PM_SID_QUEUE,
    .sid_last = PM_SID_LAST,
    .sid_name = "the PM context",
};
