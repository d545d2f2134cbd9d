/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See check.h.
 */
#include "check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local struct check *current;

enum check_outcome check_run(struct check *check, void (*body)(void *), void *argument)
{
    struct check *outer = current;
    check->outcome = CHECK_PASSED;
    check->text[0] = '\0';
    current = check;
    if (setjmp(check->escape) == 0)
        body(argument);
    current = outer;
    return check->outcome;
}

struct check *check_swap(struct check *check)
{
    struct check *before = current;
    current = check;
    return before;
}

void check_leave(enum check_outcome outcome, const char *file, int line, const char *format, ...)
{
    char text[CHECK_TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    const char *name = strrchr(file, '/');
    struct check *check = current;
    if (!check) { /* a check outside of check_run(): nobody to tell but the user */
        fprintf(stderr, "%s:%d: %s\n", name ? name + 1 : file, line, text);
        abort();
    }
    check->outcome = outcome;
    int used = snprintf(check->text, sizeof(check->text), "%s:%d: ", name ? name + 1 : file, line);
    snprintf(check->text + used, sizeof(check->text) - (size_t)used, "%s", text);
    longjmp(check->escape, 1);
}

void check_code(int64_t actual, int64_t expected, const char *what, const char *file, int line)
{
    if (actual == expected)
        return;
    enum check_outcome outcome = actual == RH_EUNSUP ? CHECK_UNSUPPORTED : CHECK_FAILED;
    check_leave(outcome, file, line, "%s: expected %" PRId64 " (%s), got %" PRId64 " (%s: %s)",
                what, expected, expected <= 0 ? rh_error_name((int)expected) : "a count", actual,
                actual <= 0 ? rh_error_name((int)actual) : "a count",
                actual < 0 ? rh_error_text() : "");
}

void check_u64(uint64_t actual, uint64_t expected, const char *what, const char *file, int line)
{
    if (actual != expected)
        check_leave(CHECK_FAILED, file, line,
                    "%s: expected %" PRIu64 " (0x%" PRIx64 "), got %" PRIu64 " (0x%" PRIx64 ")",
                    what, expected, expected, actual, actual);
}
