/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where a steward's body comes from. Private to steward_start.c.
 */
#ifndef JOB_MEMBER_STEWARD_LOAD_H
#define JOB_MEMBER_STEWARD_LOAD_H

#include "job/steward.h"

/* RH_EUNSUP: there is none, or it is of another version. *library is to be unloaded again. */
int steward_load(const struct steward_body **body, void **library);
void steward_unload(void *library); /* NULL: nothing */

#endif
