/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages on stderr, which begin with the words of the command that is running.
 */
#include "base/error.h"
#include "cli/cli.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

static char path[128] = "rhinet"; /* "rhinet route compute" */

const char *cli_path(void)
{
    return path;
}

void cli_path_add(const char *name)
{
    snprintf(path + strlen(path), sizeof(path) - strlen(path), " %s", name);
}

static void say(const char *text, const char *tail)
{
    fprintf(stderr, "%s: %s%s\n", path, text, tail);
}

void cli_say(const char *format, ...)
{
    char text[8192]; /* on the stack: this also says that there is no memory */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    say(text, "");
}

void cli_progress(const char *format, ...)
{
    va_list arguments;
    if (!isatty(STDERR_FILENO))
        return;
    va_start(arguments, format);
    fputc('\r', stderr);
    vfprintf(stderr, format, arguments);
    fputs("\033[K", stderr);
    va_end(arguments);
}

int cli_fail(void)
{
    say(rh_error_text(), "");
    return 1;
}

int cli_usage_error(const char *format, ...)
{
    char text[512], tail[sizeof(path) + 64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    bool is_question = text[0] && text[strlen(text) - 1] == '?';
    snprintf(tail, sizeof(tail), "%s `rhinet help%s` shows the usage", is_question ? "" : ";",
             path + strlen("rhinet"));
    say(text, tail);
    return 2;
}
