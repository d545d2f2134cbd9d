/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where a manager process's body comes from. Private to manager_process_start.c.
 */
#ifndef JOB_MEMBER_MANAGER_PROCESS_LOAD_H
#define JOB_MEMBER_MANAGER_PROCESS_LOAD_H

#include "job/manager_process.h"

/* RH_EUNSUP: there is none, or it is of another version. *library is to be unloaded again. */
int manager_process_load(const struct manager_process_body **body, void **library);
void manager_process_unload(void *library); /* NULL: nothing */

#endif
