/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What tells this host from others: processes for which it is the same can pass descriptors through
 * the same sockets and name each other's processes.
 */
#pragma once

#define THIS_HOST_TEXT 104

/* "boot.network.processes": the kernel's boot, and the namespaces. */
void this_host_text(char text[THIS_HOST_TEXT]);
