/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What messages, locks and sets have by name. Names and texts are in msg_layer.c; see base/layer.h.
 */
#pragma once

#include "base/layer.h"

#include <rhinet/rma.h>

enum msg_settings { SETTING_LOCKS = LAYER_SETTING_FIRST(LAYER_MSG), SETTING_MSG_WAY };

enum msg_counters {
    COUNTER_MSG_INLINE = LAYER_FIRST(LAYER_MSG),
    COUNTER_MSG_PUSH,
    COUNTER_MSG_RING,
    COUNTER_MSG_BOTH_ENDS,
    COUNTER_MSG_PULL,
    COUNTER_MSG_BYTES,
    COUNTER_MSG_RECEIVED,
    COUNTER_MSG_UNEXPECTED,
    COUNTER_MSG_BLOCKED
};

enum msg_waits {
    WAIT_SEND = LAYER_FIRST(LAYER_MSG),
    WAIT_RECEIVE,
    WAIT_REQUESTS,
    WAIT_PROBE,
    WAIT_LOCK,
    WAIT_BARRIER,
    WAIT_COLLECTIVE
};

/* ---- Reserved SIDs -------------------------------------------------------------------------- */

#define MSG_SID_INBOX     (RH_SID_RESERVED + 0)
#define MSG_SID_LANES     (RH_SID_RESERVED + 1)
#define MSG_SID_RETURNS   (RH_SID_RESERVED + 2)
#define MSG_SID_BLOCKS    (RH_SID_RESERVED + 3)
#define MSG_SID_BOTH_ENDS (RH_SID_RESERVED + 8) /* + number of the stream */
#define MSG_SID_LOCKS     (RH_SID_RESERVED + 16)
#define MSG_SID_SETS      (RH_SID_RESERVED + 32)     /* and what follows, up to MSG_SID_PULL */
#define MSG_SID_PULL      (RH_SID_RESERVED + 0x8000) /* + number of the sending request */
#define MSG_SID_LAST      (RH_SID_RESERVED + 0xbfff)
