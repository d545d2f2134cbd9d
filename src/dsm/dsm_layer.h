/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What distributed shared memory has by name. Names and texts are in dsm_layer.c; see base/layer.h.
 */
#pragma once

#include "base/layer.h"

#include <rhinet/rma.h>

enum dsm_settings {
    SETTING_DSM_HEAP = LAYER_SETTING_FIRST(LAYER_DSM),
    SETTING_DSM_VARIABLES,
    SETTING_DSM_CHECK,
    SETTING_DSM_FAULTS,
    SETTING_DSM_BULK
};

enum dsm_counters {
    COUNTER_DSM_FETCH = LAYER_FIRST(LAYER_DSM),
    COUNTER_DSM_OWN,
    COUNTER_DSM_WAIT,
    COUNTER_DSM_INVALIDATE,
    COUNTER_DSM_UPDATE,
    COUNTER_DSM_BOUNCE,
    COUNTER_DSM_BYTES
};

enum dsm_waits { WAIT_VARIABLE = LAYER_FIRST(LAYER_DSM) };

/* ---- Reserved SIDs -------------------------------------------------------------------------- */

#define DSM_SID_CONTROL (RH_SID_RESERVED + 0xff00)
#define DSM_SID_HEAP    (RH_SID_RESERVED + 0xff01)
#define DSM_SID_CHECK   (RH_SID_RESERVED + 0xff02) /* only in checker mode */
#define DSM_SID_PAGES   (RH_SID_RESERVED + 0xff10) /* and up, for src/dsm/page */
#define DSM_SID_BULK    (RH_SID_RESERVED + 0xff20) /* and up, for src/dsm/datagram */
#define DSM_SID_LAST    (RH_SID_RESERVED + 0xffff)
