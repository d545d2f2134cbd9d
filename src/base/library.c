/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See library.h.
 */
#include "base/library.h"

#include <dlfcn.h>

static const char here; /* an address of ours */

/* In a program that has this code inside there is nothing to do, and dlopen() finds nothing. */
void library_pin(void)
{
    Dl_info found;
    if (dladdr(&here, &found) != 0 && found.dli_fname)
        (void)dlopen(found.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}
