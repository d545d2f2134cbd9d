/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The inside of a steward, for programs that have it and for librhinet-manager.
 */
#ifndef JOB_MANAGER_STEWARD_RUN_H
#define JOB_MANAGER_STEWARD_RUN_H

#include "job/steward.h"

/* For steward_bring(). The name is also what steward_load.c looks for in librhinet-manager. */
extern const struct steward_body rh_steward_body __attribute__((visibility("default")));

#endif
