/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A librhinet-manager of another version: its struct need not be ours, so nothing but the version
 * may be looked at.
 */
#include "job/manager/steward_run.h"

const struct steward_body rh_steward_body = {.version = "9.9.9"};
