/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a command says on stderr: how far it is, to people who look on, and messages, which begin
 * with its words.
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

/* ---- How far it is -------------------------------------------------------------------------- */

static bool is_shown;   /* a line that is not taken back yet */
static bool is_another; /* process that says it */

void cli_progress(const char *format, ...)
{
    char text[80]; /* a line of a terminal */
    va_list arguments;
    if (is_another || !isatty(STDERR_FILENO))
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fprintf(stderr, "\r%s\033[K", text);
    is_shown = true;
}

void cli_progress_part(void *what, double part)
{
    if (part < 1)
        cli_progress("%s: %3.0f %%", (const char *)what, part * 100);
    else
        cli_progress_end();
}

void cli_progress_end(void)
{
    if (is_shown)
        fputs("\r\033[K", stderr);
    is_shown = false;
}

void cli_progress_leave(void)
{
    is_another = true;
}

/* ---- Messages ------------------------------------------------------------------------------- */

static void say(const char *text, const char *tail)
{
    cli_progress_end();
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
