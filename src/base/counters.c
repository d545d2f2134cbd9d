/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names and meanings of the counters.
 */
#include "base/counters.h"

static const struct counter_spec specs[COUNTER_COUNT] = {
    [COUNTER_PUSH] = {"push", "pushes, of every kind but inline"},
    [COUNTER_PUSH_BYTES] = {"push_bytes", "bytes pushed, inline pushes and stores included"},
    [COUNTER_PULL] = {"pull", "pulls"},
    [COUNTER_PULL_BYTES] = {"pull_bytes", "bytes pulled"},
    [COUNTER_INLINE] = {"inline", "inline pushes"},
    [COUNTER_STORE] = {"store", "stores through a page handle"},
    [COUNTER_ATOMIC] = {"atomic", "atomic operations"},
    [COUNTER_APPEND] = {"append", "messages appended to queues"},
    [COUNTER_APPEND_FULL] = {"append_full", "appends that found the queue full"},
    [COUNTER_RECEIVE] = {"receive", "messages received from own queues"},
    [COUNTER_FLUSH] = {"flush", "flushes"},
    [COUNTER_WAIT] = {"wait", "waits"},
    [COUNTER_WAIT_SLEEP] = {"wait_sleep", "times a wait went to sleep"},
    [COUNTER_WAKE] = {"wake", "sleeping peers woken"},
    [COUNTER_AGENT] = {"agent", "operations sent through a peer's agent thread"},
    [COUNTER_DENIED_SEGMENT] = {"denied_segment", "operations refused: no such segment"},
    [COUNTER_DENIED_STALE] = {"denied_stale", "operations refused: segment was detached"},
    [COUNTER_DENIED_BOUNDS] = {"denied_bounds", "operations refused: outside the segment"},
    [COUNTER_DENIED_RIGHTS] = {"denied_rights", "operations refused: access not granted"},
    [COUNTER_DENIED_DEAD] = {"denied_dead", "operations refused: peer died or left"},
    [COUNTER_DENIED_STRANGER] = {"denied_stranger", "network messages refused: not from the job"},
    [COUNTER_FAULT] = {"fault", "faults injected by the fault NIC"},
    [COUNTER_MSG_INLINE] = {"msg_inline", "messages sent inside their descriptor"},
    [COUNTER_MSG_PUSH] = {"msg_push", "messages sent by push into the receiver's buffer"},
    [COUNTER_MSG_RING] = {"msg_ring", "messages sent by pushes through a ring of blocks"},
    [COUNTER_MSG_JOINT] = {"msg_joint", "messages that sender and receiver copied together"},
    [COUNTER_MSG_PULL] = {"msg_pull", "messages that the receiver pulled from our memory"},
    [COUNTER_MSG_BYTES] = {"msg_bytes", "bytes sent in messages"},
    [COUNTER_MSG_RECEIVED] = {"msg_received", "messages received"},
    [COUNTER_MSG_UNEXPECTED] = {"msg_unexpected", "messages that came before their receive"},
    [COUNTER_MSG_BLOCKED] = {"msg_blocked", "messages that waited for the receiver's buffers"},
    [COUNTER_DSM_FETCH] = {"dsm_fetch", "shared memory: reads that had to fetch"},
    [COUNTER_DSM_OWN] = {"dsm_own", "shared memory: writes that took a variable from another rank"},
    [COUNTER_DSM_WAIT] = {"dsm_wait", "shared memory: acquires that waited for other holders"},
    [COUNTER_DSM_INVALIDATE] = {"dsm_invalidate", "shared memory: copies of others made invalid"},
    [COUNTER_DSM_UPDATE] = {"dsm_update", "shared memory: copies of others written"},
    [COUNTER_DSM_BOUNCE] = {"dsm_bounce", "shared memory: variables taken back from the rank that "
                                          "had just taken them"},
    [COUNTER_DSM_BYTES] = {"dsm_bytes", "shared memory: bytes of variables fetched and written"},
};

const struct counter_spec *counter_spec(enum counter which)
{
    return &specs[which];
}
