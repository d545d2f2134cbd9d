/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See failure.h.
 */
#include "experiment/failure.h"

void failure_note(struct failure *failure, int result)
{
    if (result >= 0 || failure->code < 0)
        return;
    failure->code = result;
    error_save(&failure->error);
}

int failure_result(const struct failure *failure, int result)
{
    if (failure->code == 0)
        return result;
    error_restore(&failure->error);
    return failure->code;
}
