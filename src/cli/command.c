/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From the words of the command line to the command that they name.
 */
#include "base/text.h"
#include "cli/cli.h"

#include <limits.h>
#include <string.h>

#define COMMANDS_MAX 32

static const struct cli_command *current = &cli_root, *above;

const struct cli_command *cli_current(void)
{
    return current;
}

const struct cli_command *cli_above(void)
{
    return above;
}

const struct cli_command *cli_below(const struct cli_command *command, const char *name)
{
    for (size_t i = 0; command->commands && command->commands[i]; i++) {
        if (strcmp(command->commands[i]->name, name) == 0)
            return cli_behind(command->commands[i]);
    }
    return NULL;
}

/* Those that are shown; ends with NULL. */
static size_t names_list(const struct cli_command *command, const char *names[COMMANDS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; command->commands && command->commands[i] && count + 1 < COMMANDS_MAX; i++) {
        if (!command->commands[i]->is_hidden)
            names[count++] = command->commands[i]->name;
    }
    names[count] = NULL;
    return count;
}

int cli_unknown(const struct cli_command *command, const char *word)
{
    const char *names[COMMANDS_MAX];
    size_t count = names_list(command, names);
    const char *kind = word[0] == '-' ? "option" : "subcommand";
    const char *nearest = text_nearest(word, names, count);
    if (nearest)
        return cli_usage_error("no %s '%s'; did you mean '%s'?", kind, word, nearest);
    return cli_usage_error("no %s '%s'", kind, word);
}

/* ---- Running -------------------------------------------------------------------------------- */

/* "FABRIC", "[JOB]", "PATH...", "PLACE [-- PROGRAM [ARGUMENT...]]": how many words these are. */
static void operands_count(const char *grammar, int *least, int *most)
{
    int depth = 0;
    *least = *most = 0;
    for (const char *at = grammar; at && *at; at++) {
        bool is_first = at == grammar || at[-1] == ' ';
        depth += (*at == '[') - (*at == ']');
        *least += is_first && depth == 0;
        *most += is_first;
    }
    if (grammar && strstr(grammar, "..."))
        *most = INT_MAX;
}

static int operand_check(const char *word)
{
    char all[256];
    for (size_t i = 0; current->choices && current->choices[i]; i++) {
        if (strcmp(word, current->choices[i]) == 0)
            return 0;
    }
    if (!current->choices)
        return 0;
    cli_words_join(all, sizeof(all), current->choices);
    return cli_usage_error("%s is expected, not '%s'", all, word);
}

static int operands_check(int count, char **words)
{
    const char *grammar = current->operands;
    int least, most, status = 0;
    operands_count(grammar, &least, &most);
    if (count < least) {
        for (int i = 0; i < count; i++)
            grammar += strcspn(grammar, " ") + 1;
        return cli_usage_error("%s is missing", grammar);
    }
    if (count > most && most == 0 && current->commands)
        return cli_unknown(current, words[0]);
    if (count > most)
        return cli_usage_error("'%s' is one word too many; %s is expected", words[most],
                               grammar ? grammar : "nothing more");
    for (int i = 0; i < count && status == 0; i++)
        status = operand_check(words[i]);
    return status;
}

static int choose(int count, char **words)
{
    const char *names[COMMANDS_MAX];
    char all[256];
    if (count > 0)
        return cli_unknown(current, words[0]);
    names_list(current, names);
    cli_words_join(all, sizeof(all), names);
    return cli_usage_error("say what to do: %s", all);
}

int cli_call(int argc, char **argv)
{
    const struct cli_command *below;
    char **words = argv + 1;
    int count = argc - 1;
    for (; count > 0 && (below = cli_below(current, words[0])); count--, words++) {
        above = current;
        current = below;
        cli_path_add(words[0]);
    }
    bool asks = count > 0 && (strcmp(words[0], "--help") == 0 || strcmp(words[0], "-h") == 0);
    if (!asks && !current->run)
        return choose(count, words);
    int status = cli_options_read(current, &count, words);
    if (status == CLI_WANTS_HELP) {
        cli_help_print(stdout, current, cli_path());
        return 0;
    }
    if (status == 0)
        status = operands_check(count, words);
    return status != 0 ? status : current->run(count, words);
}
