/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All layers, by number.
 */
#include "base/layer.h"

extern const struct layer base_layer, watch_layer, nic_layer, job_layer, rma_layer, msg_layer,
    dsm_layer, pm_layer, cache_layer;

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
