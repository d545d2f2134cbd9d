/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A process that unmounts what a server has mounted once that server is dead, however it died.
 *
 * Not libfuse's auto_unmount: its helper looks when a socket of the server's closes, which may be
 * before the kernel has closed the rest; it then finds the mount alive, and leaves it for good: so
 * did 8 of 150 servers that were killed on a busy machine. This one waits for the process itself.
 */
#pragma once

#include <stdbool.h>

#define MOUNT_SOURCE "rhinet-cache" /* as mount(8) and df(1) show it */

/* Start it, before the calling process mounts at `place`. 0, or an error number. */
int unmount_prepare(const char *place);

/* Whether main() was started to be that process; it is then, and *status its exit status. */
bool unmount_is_meant(int argc, char **argv, int *status);
