/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulation's door: where ranks that another launcher starts find it.
 */
#pragma once

#include "nic/martini/call.h"

#include <stdint.h>

/* A socket that listens, close-on-exec, and its name; RH_ENOSPACE. */
int martini_door_open(char name[MARTINI_DOOR_NAME]);

/* Waits until all ranks have come in, and gives each one's socket; closes the door. RH_EAGAIN: the
 * end of `life` was closed before, so nobody will come any more. RH_EREFUSED, explained. */
int martini_door_take(int door, int life, int *fds, uint32_t size);
