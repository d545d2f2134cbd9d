/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What jobs, their members, task managers and launchers have by name. Names and texts are in
 * job_layer.c; see base/layer.h.
 */
#pragma once

#include "base/layer.h"

enum job_settings {
    SETTING_NIC = LAYER_SETTING_FIRST(LAYER_JOB),
    SETTING_MANAGER_FD,
    SETTING_STARTER,
    SETTING_GRACE,
    SETTING_HOST_TIMEOUT,
    SETTING_INTERFACE,
    SETTING_PORTS,
    SETTING_RSH,
    SETTING_RANK,
    SETTING_SIZE,
    SETTING_LOCAL_RANK,
    SETTING_LOCAL_SIZE,
    SETTING_OPEN_JOB,
    SETTING_OPEN_RANKS,
    SETTING_MANAGER_PROGRAM
};
