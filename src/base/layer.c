/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All layers, by number; the lowest is here.
 */
#include "base/layer.h"

#include "base/settings.h"

enum { SETTING_LOG = LAYER_SETTING_FIRST(LAYER_BASE), SETTING_LIBRARY };

static const struct setting_spec settings[] = {
    CHOICE_SETTING(SETTING_LOG, "RHINET_LOG", "warning", "error|warning|info|debug",
                   "what the library prints on stderr by itself"),
    TEXT_SETTING(SETTING_LIBRARY, "RHINET_LIBRARY", "",
                 "file of librhinet that `import rhinet` loads in Python; empty: the one that "
                 "belongs to it"),
};

static const struct layer base_layer = {LAYER_LIST(setting, settings)};
extern const struct layer watch_layer, nic_layer, job_layer, rma_layer, msg_layer, dsm_layer,
    pm_layer, cache_layer;

const struct layer *const layers[LAYER_COUNT] = {
    [LAYER_BASE] = &base_layer, [LAYER_WATCH] = &watch_layer, [LAYER_NIC] = &nic_layer,
    [LAYER_JOB] = &job_layer,   [LAYER_RMA] = &rma_layer,     [LAYER_MSG] = &msg_layer,
    [LAYER_DSM] = &dsm_layer,   [LAYER_PM] = &pm_layer,       [LAYER_CACHE] = &cache_layer,
};

const struct layer *layer_of_sid(uint32_t sid)
{
    for (int i = 0; i < LAYER_COUNT; i++) {
        if (layers[i]->sid_name && sid >= layers[i]->sid_first && sid <= layers[i]->sid_last)
            return layers[i];
    }
    return NULL;
}
