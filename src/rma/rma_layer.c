/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What remote memory has by name. Data only: it is part of src/base.
 */
#include "rma/rma_layer.h"

#include "base/counters.h"
#include "watch/board.h"

static const struct counter_spec counters[] = {
    [LAYER_AT(COUNTER_PUSH)] = {"push", "pushes, of every kind but inline", .is_progress = true},
    [LAYER_AT(COUNTER_PUSH_BYTES)] = {"push_bytes",
                                      "bytes pushed, inline pushes and stores included"},
    [LAYER_AT(COUNTER_PULL)] = {"pull", "pulls"},
    [LAYER_AT(COUNTER_PULL_BYTES)] = {"pull_bytes", "bytes pulled"},
    [LAYER_AT(COUNTER_INLINE)] = {"inline", "inline pushes", .is_progress = true},
    [LAYER_AT(COUNTER_STORE)] = {"store", "stores through a page handle", .is_progress = true},
    [LAYER_AT(COUNTER_ATOMIC)] = {"atomic", "atomic operations"},
    [LAYER_AT(COUNTER_APPEND)] = {"append", "messages appended to queues", .is_progress = true},
    [LAYER_AT(COUNTER_RECEIVE)] = {"receive", "messages received from own queues",
                                   .is_progress = true},
    [LAYER_AT(COUNTER_FLUSH)] = {"flush", "flushes"},
    [LAYER_AT(COUNTER_WAIT)] = {"wait", "waits"},
};

static const struct wait_spec waits[] = {
    [LAYER_AT(WAIT_SEGMENT)] = {"segment", "rh_segment_wait for %s of %r"},
};

const struct layer rma_layer = {
    LAYER_LIST(counter, counters),
    LAYER_LIST(wait, waits),
};
