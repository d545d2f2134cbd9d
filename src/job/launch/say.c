/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the launcher says to its user.
 */
#include "job/launch/parts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void launch_say(struct launcher *launcher, const char *format, ...)
{
    char line[1024];
    int used = snprintf(line, sizeof(line), "%s: ", launcher->options->name);
    va_list arguments;
    va_start(arguments, format);
    int more = vsnprintf(line + used, sizeof(line) - (size_t)used - 1, format, arguments);
    va_end(arguments);
    used += more < 0 ? 0 : more;
    if (used > (int)sizeof(line) - 2)
        used = (int)sizeof(line) - 2;
    line[used++] = '\n';
    if (launcher->output)
        launch_output_say(launcher->output, line, (size_t)used);
    else
        (void)!write(STDERR_FILENO, line, (size_t)used); /* nobody is left to tell */
}

const char *launch_advice(int error)
{
    switch (error) {
    case -EAGAIN:
        return "; is the limit on processes (ulimit -u) reached?";
    case -EMFILE:
        return "; raise the limit on descriptors (ulimit -n)";
    default:
        return "";
    }
}
