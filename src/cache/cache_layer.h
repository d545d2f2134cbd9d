/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the file cache has by name. Names and texts are in cache_layer.c; see base/layer.h.
 */
#pragma once

#include "base/layer.h"

#include <rhinet/rma.h>

enum cache_settings {
    SETTING_CACHE_SIZE = LAYER_SETTING_FIRST(LAYER_CACHE),
    SETTING_CACHE_PATH,
    SETTING_CACHE_BLOCK,
    SETTING_CACHE_GROUPS,
    SETTING_CACHE_SINGLETS,
    SETTING_CACHE_AHEAD,
    SETTING_CACHE_SETTLE,
    SETTING_CACHE_LEASE,
    SETTING_CACHE_PATIENCE,
    SETTING_CACHE_CHECKSUM,
    SETTING_CACHE_DIRECT,
    SETTING_CACHE_THREADS,
    SETTING_CACHE_PRETEND,
    SETTING_CACHE_PRELOAD,
    SETTING_CACHE_SOCKET,
    SETTING_CACHE_SERVICE,
    SETTING_CACHE_IMMUTABLE
};

/* ---- Reserved SIDs -------------------------------------------------------------------------- */

#define CACHE_SID_ARENA     (RH_SID_RESERVED + 0xc000)
#define CACHE_SID_WATCH     (RH_SID_RESERVED + 0xc001)
#define CACHE_SID_DIRECTORY (RH_SID_RESERVED + 0xc002)
#define CACHE_SID_LAST      (RH_SID_RESERVED + 0xcfff)
