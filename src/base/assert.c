/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See assert.h.
 */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef RHINET_ASSERTIONS
_Noreturn void assert_failed(const char *condition, const char *file, int line, const char *name)
{
    dprintf(2, "rhinet: %s:%d: %s(): this should hold: %s\n", file, line, name, condition);
    abort();
}
#endif
