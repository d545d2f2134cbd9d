/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The version, when a program is compiled (the macros) and when it runs (rh_version).
 *
 *   #if RH_VERSION_NUMBER >= RH_VERSION_OF(0, 2, 0)
 */
#ifndef RHINET_VERSION_H
#define RHINET_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define RH_VERSION_MAJOR 0
#define RH_VERSION_MINOR 2
#define RH_VERSION_PATCH 0

#define RH_VERSION_OF(major, minor, patch) (((major) << 16) + ((minor) << 8) + (patch))

#define RH_VERSION_NUMBER RH_VERSION_OF(RH_VERSION_MAJOR, RH_VERSION_MINOR, RH_VERSION_PATCH)

/* Of the library in use, as text such as "0.2.0" and as a number to compare. */
const char *rh_version(void);
int rh_version_number(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
