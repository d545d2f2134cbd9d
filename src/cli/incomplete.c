/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See incomplete.h.
 */
#include "cli/incomplete.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

static atomic_bool is_incomplete;

void incomplete_note(void)
{
    atomic_store(&is_incomplete, true);
}

int incomplete_status(int status)
{
    if (!atomic_load(&is_incomplete))
        return status;
    fprintf(stderr, "rhinet: memory ran out; what was printed or written is not complete\n");
    return status ? status : 1;
}
