/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See failure.h.
 */
#include "experiment/failure.h"

#include <rhinet/pm.h>
#include <stdio.h>

void failure_note(struct failure *failure, int result)
{
    if (result >= 0 || failure->code < 0)
        return;
    failure->code = result;
    error_save(&failure->error);
}

void failure_note_pm(struct failure *failure, int result)
{
    char text[sizeof(failure->error.text)];
    if (result >= 0 || failure->code < 0)
        return;
    snprintf(text, sizeof(text), "%s", pmErrorText()); /* it may be the very text that is set */
    failure_note(failure, error_fail(result, "%s", text));
}

int failure_result(const struct failure *failure, int result)
{
    if (failure->code == 0)
        return result;
    error_restore(&failure->error);
    return failure->code;
}
