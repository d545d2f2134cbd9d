/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Help, and what is said to those who need it, all from the table of subcommands.
 */
#include "base/text.h"
#include "cli/cli.h"

#include <ctype.h>
#include <stdarg.h>

#define COMMANDS_MAX 64

void cli_help_all(FILE *out)
{
    fputs("Usage: rhinet SUBCOMMAND [ARGUMENT...]\n"
          "Remote memory for clusters: start jobs, watch them, measure them.\n\n",
          out);
    for (const struct cli_command *command = cli_commands; command->name; command++)
        fprintf(out, "  %-12s %s\n", command->name, command->help);
    fputs("\n  --version    print the version\n"
          "\n`rhinet help SUBCOMMAND` says more, `man rhinet-SUBCOMMAND` says all.\n",
          out);
}

void cli_help_one(FILE *out, const struct cli_command *command)
{
    fprintf(out, "Usage: rhinet %s %s\n", command->name, command->usage);
    fprintf(out, "%c%s.\n", toupper((unsigned char)command->help[0]), command->help + 1);
    if (command->options)
        fprintf(out, "\n%s", command->options);
    fprintf(out, "\nSee man rhinet-%s.\n", command->name);
}

int cli_help(int argc, char **argv)
{
    if (argc > 2)
        return cli_usage_error(argv[0], "one subcommand at a time");
    if (argc < 2) {
        cli_help_all(stdout);
        return 0;
    }
    const struct cli_command *command = cli_find(argv[1]);
    if (!command)
        return cli_unknown(argv[1]);
    cli_help_one(stdout, command);
    return 0;
}

int cli_unknown(const char *name)
{
    const char *names[COMMANDS_MAX];
    size_t name_count = 0;
    for (const struct cli_command *command = cli_commands;
         command->name && name_count < COMMANDS_MAX; command++)
        names[name_count++] = command->name;
    const char *nearest = text_nearest(name, names, name_count);
    if (nearest)
        fprintf(stderr, "rhinet: no subcommand '%s'; did you mean '%s'?\n", name, nearest);
    else
        fprintf(stderr, "rhinet: no subcommand '%s'; `rhinet help` lists them\n", name);
    return 2;
}

int cli_usage_error(const char *command, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fprintf(stderr, "rhinet %s: %s; `rhinet help %s` shows the usage\n", command, text, command);
    return 2;
}
