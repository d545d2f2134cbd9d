/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A librhinet-manager of another version: its struct need not be ours, so nothing but the version
 * may be looked at.
 */
#include "job/manager/manager_process_run.h"

const struct manager_process_body rh_manager_process_body = {.version = "9.9.9"};
