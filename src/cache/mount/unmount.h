/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A process that unmounts what a server has mounted once that server is dead, however it died.
 *
 * Not libfuse's auto_unmount: its helper looks when a socket of the server's closes, which may be
 * before the kernel has closed the rest; it then finds the mount alive, and leaves it for good: so
 * did 8 of 150 servers that were killed on a busy machine. This one waits for the process itself.
 *
 * It is told the number of the mount, and when the server has unmounted it: at the same place there
 * may be the next server's by then.
 */
#pragma once

#include <stdbool.h>

#define MOUNT_SOURCE "rhinet-cache" /* as mount(8) and df(1) show it */

/* Start it, before the calling process mounts at `place`. *teller is how it is told the rest. 0, or
 * an error number. */
int unmount_prepare(const char *place, int *teller);

/* What is at `place` now is the calling process's. */
void unmount_tell_mounted(int teller, const char *place);

/* There is nothing to unmount any more. */
void unmount_tell_done(int teller);

/* Whether main() was started to be that process; it is then, and *status its exit status. */
bool unmount_is_meant(int argc, char **argv, int *status);
