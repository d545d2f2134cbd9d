/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One line per message, written with one system call so that ranks do not mix their lines.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const level_names[] = {"error", "warning", "info", "debug"};

static int level_from_environment(void)
{
    const char *text = getenv("RHINET_LOG");
    for (int i = 0; text && i < (int)(sizeof(level_names) / sizeof(level_names[0])); i++) {
        if (strcmp(text, level_names[i]) == 0)
            return i;
    }
    return LOG_LEVEL_WARNING; /* a wrong value is reported by settings_load() */
}

bool log_enabled(enum log_level level)
{
    static _Atomic int cached = -1;
    int current = atomic_load_explicit(&cached, memory_order_relaxed);
    if (current < 0) {
        current = level_from_environment();
        atomic_store_explicit(&cached, current, memory_order_relaxed);
    }
    return (int)level <= current;
}

void log_write(enum log_level level, const char *format, ...)
{
    if (!log_enabled(level))
        return;
    char line[1024];
    int used = snprintf(line, sizeof(line), "rhinet: %s: ", level_names[level]);
    va_list arguments;
    va_start(arguments, format);
    int more = vsnprintf(line + used, sizeof(line) - (size_t)used - 1, format, arguments);
    va_end(arguments);
    used += more < 0 ? 0 : more;
    if (used > (int)sizeof(line) - 2)
        used = (int)sizeof(line) - 2;
    line[used++] = '\n';
    ssize_t written = write(STDERR_FILENO, line, (size_t)used);
    (void)written; /* nobody is left to tell */
}
