/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The calling thread's last failure in PM. rhinet keeps such a text, too, but only for itself: so
 * this one remembers whether the last failure was PM's own or one that was passed up.
 */
#include "pm/context.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local struct {
    char text[256];
    bool is_rhinet;
} last;

int pm_fail(int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last.text, sizeof(last.text), format, arguments);
    va_end(arguments);
    last.is_rhinet = false;
    return code;
}

void pm_failure_is_rhinet(void)
{
    last.is_rhinet = true;
}

const char *pmErrorText(void)
{
    return last.is_rhinet ? rh_error_text() : last.text;
}
