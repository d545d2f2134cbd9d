/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What remote memory has by name. Data only: it is part of src/base.
 */
#include "rma/rma_layer.h"

#include "base/counters.h"
#include "watch/board.h"

static const struct counter_spec counters[] = {
    [LAYER_AT(COUNTER_PUSH)] = {.name = "push",
                                .help = "pushes, of every kind but inline",
                                .is_progress = true},
    [LAYER_AT(COUNTER_PUSH_BYTES)] = {.name = "push_bytes",
                                      .help = "bytes pushed, inline pushes and stores included"},
    [LAYER_AT(COUNTER_PULL)] = {.name = "pull", .help = "pulls"},
    [LAYER_AT(COUNTER_PULL_BYTES)] = {.name = "pull_bytes", .help = "bytes pulled"},
    [LAYER_AT(COUNTER_INLINE)] = {.name = "inline", .help = "inline pushes", .is_progress = true},
    [LAYER_AT(COUNTER_STORE)] = {.name = "store",
                                 .help = "stores through a page handle",
                                 .is_progress = true},
    [LAYER_AT(COUNTER_ATOMIC)] = {.name = "atomic", .help = "atomic operations"},
    [LAYER_AT(COUNTER_APPEND)] = {.name = "append",
                                  .help = "messages appended to queues",
                                  .is_progress = true},
    [LAYER_AT(COUNTER_RECEIVE)] = {.name = "receive",
                                   .help = "messages received from own queues",
                                   .is_progress = true},
    [LAYER_AT(COUNTER_FLUSH)] = {.name = "flush", .help = "flushes"},
    [LAYER_AT(COUNTER_WAIT)] = {.name = "wait", .help = "waits"},
};

static const struct wait_spec waits[] = {
    [LAYER_AT(WAIT_SEGMENT)] = {.name = "segment", .text = "rh_segment_wait for %s of %r"},
};

const struct layer rma_layer = {
    LAYER_LIST(counter, counters),
    LAYER_LIST(wait, waits),
};
