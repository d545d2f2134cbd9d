/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What processes are called that wait for the end of others and then remove what these have left;
 * launchers, which leave no process behind, let them finish.
 */
#pragma once

#define SWEEPER_NAME "rhinet-sweeper" /* as the kernel shows it: 15 characters at most */
