/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The inside of a manager process, for programs that have it and for librhinet-manager.
 */
#pragma once

#include "job/manager_process.h"

/* For manager_process_bring(). The name is also what manager_process_load.c looks for in
 * librhinet-manager. */
extern const struct manager_process_body rh_manager_process_body
    __attribute__((visibility("default")));
