/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What remote memory has by name. Data only: it is part of src/base.
 */
#include "rma/rma_layer.h"

#include "base/counters.h"
#include "watch/board.h"

static const struct counter_spec counters[] = {
    PROGRESS_COUNTER(COUNTER_PUSH, "push", "pushes, of every kind but inline"),
    COUNTER(COUNTER_PUSH_BYTES, "push_bytes", "bytes pushed, inline pushes and stores included"),
    COUNTER(COUNTER_PULL, "pull", "pulls"),
    COUNTER(COUNTER_PULL_BYTES, "pull_bytes", "bytes pulled"),
    PROGRESS_COUNTER(COUNTER_INLINE, "inline", "inline pushes"),
    PROGRESS_COUNTER(COUNTER_STORE, "store", "stores through a page handle"),
    COUNTER(COUNTER_ATOMIC, "atomic", "atomic operations"),
    PROGRESS_COUNTER(COUNTER_APPEND, "append", "messages appended to queues"),
    PROGRESS_COUNTER(COUNTER_RECEIVE, "receive", "messages received from own queues"),
    COUNTER(COUNTER_FLUSH, "flush", "flushes"),
    COUNTER(COUNTER_WAIT, "wait", "waits"),
};

static const struct wait_spec waits[] = {
    WAIT_FOR_RANK(WAIT_SEGMENT, "segment", "rh_segment_wait for %s of %r"),
    WAIT_FOR_RANK(WAIT_EXCHANGE, "exchange", "rh_exchange %l of %s with %r"),
};

const struct layer rma_layer = {
    LAYER_LIST(counter, counters),
    LAYER_LIST(wait, waits),
};
