/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What messages, locks and sets have by name. Data only: it is part of src/base.
 */
#include "msg/msg_layer.h"

#include "base/counters.h"
#include "base/settings.h"
#include "watch/board.h"

static const struct setting_spec settings[] = {
    NUMBER_SETTING(SETTING_LOCKS, "RHINET_LOCKS", "1024", 1, 1 << 20,
                   "locks that a job has, 192 bytes each on every rank; the same on all"),
    RENAMED_SETTING(SETTING_MSG_WAY, "RHINET_MSG_WAY", "auto", "auto|push|ring|pull|both", "joint",
                    "how messages too long for a descriptor travel: push into the receiver's "
                    "buffer, ring of blocks, pull from the sender, copied by both together; auto "
                    "goes by length and NIC"),
};

static const struct counter_spec counters[] = {
    COUNTER(COUNTER_MSG_INLINE, "msg_inline", "messages sent inside their descriptor"),
    COUNTER(COUNTER_MSG_PUSH, "msg_push", "messages sent by push into the receiver's buffer"),
    COUNTER(COUNTER_MSG_RING, "msg_ring", "messages sent by pushes through a ring of blocks"),
    RENAMED_COUNTER(COUNTER_MSG_BOTH_ENDS, "msg_both_ends", "msg_joint",
                    "messages that sender and receiver copied together"),
    COUNTER(COUNTER_MSG_PULL, "msg_pull", "messages that the receiver pulled from our memory"),
    COUNTER(COUNTER_MSG_BYTES, "msg_bytes", "bytes sent in messages"),
    PROGRESS_COUNTER(COUNTER_MSG_RECEIVED, "msg_received", "messages received"),
    PROGRESS_COUNTER(COUNTER_MSG_UNEXPECTED, "msg_unexpected",
                     "messages that came before their receive"),
    COUNTER(COUNTER_MSG_BLOCKED, "msg_blocked", "messages that waited for the receiver's buffers"),
};

static const struct wait_spec waits[] = {
    WAIT_FOR_RANK(WAIT_SEND, "send", "send to %r[, tag %n|, any tag], %l bytes[, %m moved]"),
    WAIT_FOR_RANK(WAIT_RECEIVE, "receive", "receive from %r[, tag %n|, any tag][, %m moved]"),
    WAIT_FOR_RANK(WAIT_REQUESTS, "requests", "rh_wait_any of %n requests"),
    WAIT_FOR_RANK(WAIT_PROBE, "probe", "probe for a message from %r[, tag %n|, any tag]"),
    WAIT_FOR_HOLDER(WAIT_LOCK, "lock", "lock %n[, held by %r]"),
    WAIT_FOR_GROUP(WAIT_BARRIER, "barrier", "barrier of set %n", "set"),
    WAIT_FOR_GROUP(WAIT_COLLECTIVE, "collective", "collective of set %n", "set"),
};

const struct layer msg_layer = {
    LAYER_LIST(setting, settings), LAYER_LIST(counter, counters), LAYER_LIST(wait, waits),
    .sid_first = MSG_SID_INBOX,    .sid_last = MSG_SID_LAST,      .sid_name = "the mailbox",
};
