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
    RENAMED_CHOICE_SETTING(
        SETTING_MSG_WAY, "RHINET_MSG_WAY", "auto", "auto|push|ring|pull|both", "joint",
        "how messages too long for a descriptor travel: push into the receiver's "
        "buffer, ring of blocks, pull from the sender, copied by both together; auto "
        "goes by length and NIC"),
};

static const struct counter_spec counters[] = {
    [LAYER_AT(COUNTER_MSG_INLINE)] = {.name = "msg_inline",
                                      .help = "messages sent inside their descriptor"},
    [LAYER_AT(COUNTER_MSG_PUSH)] = {.name = "msg_push",
                                    .help = "messages sent by push into the receiver's buffer"},
    [LAYER_AT(COUNTER_MSG_RING)] = {.name = "msg_ring",
                                    .help = "messages sent by pushes through a ring of blocks"},
    [LAYER_AT(
        COUNTER_MSG_BOTH_ENDS)] = {.name = "msg_both_ends",
                                   .help = "messages that sender and receiver copied together",
                                   .was = "msg_joint"},
    [LAYER_AT(COUNTER_MSG_PULL)] = {.name = "msg_pull",
                                    .help = "messages that the receiver pulled from our memory"},
    [LAYER_AT(COUNTER_MSG_BYTES)] = {.name = "msg_bytes", .help = "bytes sent in messages"},
    [LAYER_AT(COUNTER_MSG_RECEIVED)] = {.name = "msg_received",
                                        .help = "messages received",
                                        .is_progress = true},
    [LAYER_AT(COUNTER_MSG_UNEXPECTED)] = {.name = "msg_unexpected",
                                          .help = "messages that came before their receive",
                                          .is_progress = true},
    [LAYER_AT(COUNTER_MSG_BLOCKED)] = {.name = "msg_blocked",
                                       .help = "messages that waited for the receiver's buffers"},
};

static const struct wait_spec waits[] = {
    [LAYER_AT(WAIT_SEND)] = {.name = "send",
                             .text = "send to %r[, tag %n|, any tag], %l bytes[, %m moved]"},
    [LAYER_AT(WAIT_RECEIVE)] = {.name = "receive",
                                .text = "receive from %r[, tag %n|, any tag][, %m moved]"},
    [LAYER_AT(WAIT_REQUESTS)] = {.name = "requests", .text = "rh_wait_any of %n requests"},
    [LAYER_AT(WAIT_PROBE)] = {.name = "probe",
                              .text = "probe for a message from %r[, tag %n|, any tag]"},
    [LAYER_AT(WAIT_LOCK)] = {.name = "lock", .text = "lock %n[, held by %r]", .on = WAIT_ON_HOLDER},
    [LAYER_AT(WAIT_BARRIER)] = {.name = "barrier",
                                .text = "barrier of set %n",
                                .on = WAIT_ON_GROUP,
                                .group = "set"},
    [LAYER_AT(WAIT_COLLECTIVE)] = {.name = "collective",
                                   .text = "collective of set %n",
                                   .on = WAIT_ON_GROUP,
                                   .group = "set"},
};

const struct layer msg_layer = {
    LAYER_LIST(setting, settings), LAYER_LIST(counter, counters), LAYER_LIST(wait, waits),
    .sid_first = MSG_SID_INBOX,    .sid_last = MSG_SID_LAST,      .sid_name = "the mailbox",
};
