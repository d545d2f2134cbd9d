/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the examples do with an error: say what the library says about it, and end. Calls return 0
 * or more, or a negative error; rh_error_text() is the sentence that explains the last one.
 */
#pragma once

#include <rhinet/error.h>
#include <stdio.h>
#include <stdlib.h>

static inline void check(int result)
{
    if (result >= 0)
        return;
    fprintf(stderr, "error: %s\n", rh_error_text());
    exit(1);
}
