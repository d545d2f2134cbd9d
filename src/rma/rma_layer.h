/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What remote memory has by name. Names and texts are in rma_layer.c; see base/layer.h.
 */
#pragma once

#include "base/layer.h"

enum rma_counters {
    COUNTER_PUSH = LAYER_FIRST(LAYER_RMA),
    COUNTER_PUSH_BYTES,
    COUNTER_PULL,
    COUNTER_PULL_BYTES,
    COUNTER_INLINE,
    COUNTER_STORE,
    COUNTER_ATOMIC,
    COUNTER_APPEND,
    COUNTER_RECEIVE,
    COUNTER_FLUSH,
    COUNTER_WAIT
};

enum rma_waits { WAIT_SEGMENT = LAYER_FIRST(LAYER_RMA), WAIT_EXCHANGE };
