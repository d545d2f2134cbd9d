/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Help at every level, from the tree of commands and the tables of options.
 */
#include "cli/cli.h"
#include "cli/table.h"

#include <ctype.h>
#include <string.h>

static const struct table_column columns[] = {{.title = NULL}, {.title = NULL}};

/* Returns how many there are. */
static size_t commands_print(FILE *out, const struct cli_command *command)
{
    struct table *table = table_create(columns, 2);
    size_t shown = 0;
    for (size_t i = 0; command->commands && command->commands[i]; i++) {
        if (command->commands[i]->is_hidden)
            continue;
        table_cell(table, "  %s", command->commands[i]->name);
        table_cell(table, "%s", command->commands[i]->help);
        shown++;
    }
    table_print(table, out, terminal_width());
    table_destroy(table);
    fputs(shown > 0 ? "\n" : "", out);
    return shown;
}

static void option_cell(struct table *table, const struct cli_option *option)
{
    char letter[8] = "    ", value[128] = "";
    if (option->letter)
        snprintf(letter, sizeof(letter), "-%c, ", option->letter);
    if (option->value)
        snprintf(value, sizeof(value), " %s", option->value);
    for (size_t i = 0; !option->value && option->choices && option->choices[i]; i++)
        snprintf(value + strlen(value), sizeof(value) - strlen(value), "%c%s", i ? '|' : ' ',
                 option->choices[i]);
    table_cell(table, "  %s--%s%s", letter, option->name, value);
}

static void options_print(FILE *out, const struct cli_command *command)
{
    const struct cli_option *option;
    struct table *table = table_create(columns, 2);
    for (size_t i = 0; (option = cli_option_at(command, i)); i++) {
        option_cell(table, option);
        if (option->standard)
            table_cell(table, "%s; %s unless given", option->help, option->standard);
        else
            table_cell(table, "%s", option->help);
    }
    table_print(table, out, terminal_width());
    table_destroy(table);
}

/* What optional operands may be; of others the grammar says it. */
static void choices_print(FILE *out, const struct cli_command *command)
{
    char all[256];
    if (!command->choices || command->operands[0] != '[')
        return;
    cli_words_join(all, sizeof(all), command->choices);
    fprintf(out, "%.*s is %s; all unless given.\n\n", (int)strcspn(command->operands + 1, ".]"),
            command->operands + 1, all);
}

void cli_help_print(FILE *out, const struct cli_command *command, const char *path)
{
    const char *operands = command->run ? command->operands : "SUBCOMMAND [ARGUMENT...]";
    const char *below = path + strcspn(path, " ");
    char last = command->help[strlen(command->help) - 1];
    fprintf(out, "Usage: %s%s%s%s\n", path, command->run ? " [OPTION...]" : "", operands ? " " : "",
            operands ? operands : "");
    fprintf(out, "%c%s%s\n\n", toupper((unsigned char)command->help[0]), command->help + 1,
            last == '?' ? "" : ".");
    choices_print(out, command);
    size_t shown = commands_print(out, command);
    options_print(out, command);
    if (shown > 0)
        fprintf(out, "\n`rhinet help%s SUBCOMMAND` says more.\n", below);
    fprintf(out, "\nSee man rhinet%s%.*s.\n", *below ? "-" : "",
            *below ? (int)strcspn(below + 1, " ") : 0, *below ? below + 1 : "");
}

static int help(int count, char **words)
{
    const struct cli_command *command = &cli_root;
    char path[256] = "rhinet";
    for (int i = 0; i < count; i++) {
        const struct cli_command *below = cli_below(command, words[i]);
        if (!below)
            return cli_unknown(command, words[i]);
        command = below;
        snprintf(path + strlen(path), sizeof(path) - strlen(path), " %s", command->name);
    }
    cli_help_print(stdout, command, path);
    return 0;
}

const struct cli_command cli_help = {
    .name = "help", .help = "explain a subcommand", .operands = "[SUBCOMMAND...]", .run = help};
