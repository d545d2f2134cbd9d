/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The version of the library in use.
 */
#include <rhinet/version.h>

#define TEXT(x)     #x
#define EXPANDED(x) TEXT(x)
#define VERSION_PARTS                                                                              \
    EXPANDED(RH_VERSION_MAJOR) "." EXPANDED(RH_VERSION_MINOR) "." EXPANDED(RH_VERSION_PATCH)

/* The header and the build must say the same. */
_Static_assert(__builtin_strcmp(VERSION_PARTS, RHINET_VERSION) == 0,
               "include/rhinet/version.h and meson.build name different versions");

const char *rh_version(void)
{
    return RHINET_VERSION;
}

int rh_version_number(void)
{
    return RH_VERSION_NUMBER;
}
