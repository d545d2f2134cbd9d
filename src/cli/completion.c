/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shell completion. The scripts ask this program what may come next, so a new command, option or
 * value completes without anyone having to remember it here: `rhinet completion .words -- WORD...`
 * prints what the last word may become, a line each, with an explanation behind a tab. A first line
 * of ":files" says that it may be a file.
 */
#include "cli/cli.h"

#include <string.h>

static const char bash_script[] =
    "# rhinet completion for bash\n"
    "_rhinet() {\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} line\n"
    "    [[ $word == = ]] && word=\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r line; do\n"
    "        if [[ $line == :files ]]; then\n"
    "            mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
    "            compopt -o filenames 2>/dev/null\n"
    "        else\n"
    "            COMPREPLY+=(\"${line%%$'\\t'*}\")\n"
    "        fi\n"
    "    done < <(\"${COMP_WORDS[0]/#\\~/$HOME}\" completion .words -- \\\n"
    "        \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
    "}\n"
    "complete -F _rhinet rhinet\n";

static const char zsh_script[] =
    "#compdef rhinet\n"
    "_rhinet() {\n"
    "    local -a found\n"
    "    found=(\"${(@f)$(${~words[1]} completion .words -- \"${(@)words[2,CURRENT]}\" "
    "2>/dev/null)}\")\n"
    "    if [[ $found[1] == :files ]]; then\n"
    "        shift found\n"
    "        _files\n"
    "    fi\n"
    "    found=(\"${(@)found//:/\\\\:}\")\n"
    "    found=(\"${(@)found//$'\\t'/:}\")\n"
    "    _describe rhinet found\n"
    "}\n"
    "_rhinet \"$@\"\n";

static const char fish_script[] =
    "# rhinet completion for fish\n"
    "function __rhinet_words\n"
    "    set -l words (commandline -opc) (commandline -ct)\n"
    "    set -l found ($words[1] completion .words -- $words[2..] 2>/dev/null)\n"
    "    if test \"$found[1]\" = :files\n"
    "        set -e found[1]\n"
    "        __fish_complete_path (commandline -ct)\n"
    "    end\n"
    "    printf '%s\\n' $found\n"
    "end\n"
    "complete -c rhinet -f -a '(__rhinet_words)'\n";

/* ---- What may come next --------------------------------------------------------------------- */

static void offer(const char *begun, const char *dashes, const char *word, const char *help)
{
    char whole[128];
    snprintf(whole, sizeof(whole), "%s%s", dashes, word);
    if (strncmp(whole, begun, strlen(begun)) == 0)
        printf("%s%s%s\n", whole, help ? "\t" : "", help ? help : "");
}

static void offer_list(const char *begun, const char *const *words,
                       const char *(*suggest)(size_t index))
{
    for (size_t i = 0; words && words[i]; i++)
        offer(begun, "", words[i], NULL);
    const char *word;
    for (size_t i = 0; suggest && (word = suggest(i)); i++)
        offer(begun, "", word, NULL);
}

static void offer_values(const struct cli_option *option, const char *begun)
{
    if (option->kind == CLI_KIND_FILE || option->takes_file)
        puts(":files");
    offer_list(begun, option->choices, option->suggest);
}

static void offer_options(const struct cli_command *command, const char *begun)
{
    const struct cli_option *option;
    for (size_t i = 0; (option = cli_option_at(command, i)); i++) {
        char letter[2] = {option->letter, '\0'};
        offer(begun, "--", option->name, option->help);
        if (option->letter && strncmp(begun, "--", 2) != 0)
            offer(begun, "-", letter, option->help);
    }
}

static void offer_operands(const struct cli_command *command, const char *begun)
{
    if (command->takes_files)
        puts(":files");
    for (size_t i = 0; command->commands && command->commands[i]; i++) {
        if (!command->commands[i]->is_hidden)
            offer(begun, "", command->commands[i]->name, cli_behind(command->commands[i])->help);
    }
    offer_list(begun, command->choices, command->suggest);
    if (!command->operands && !command->commands)
        offer_options(command, begun);
}

/* Where the words have led so far. */
struct place {
    const struct cli_command *command;
    const struct cli_option *open; /* its value comes next; NULL: none */
    bool has_operand;
    bool is_past_options; /* behind -- */
};

static void step(struct place *place, char *word)
{
    const struct cli_command *command = place->command;
    const struct cli_command *below = place->has_operand ? NULL : cli_below(command, word);
    if (place->open) {
        place->open = NULL;
    } else if (strcmp(word, "--") == 0) {
        place->is_past_options = true;
    } else if (word[0] == '-' && word[1] && !place->is_past_options) {
        struct cli_option_match match = cli_option_find(command, word);
        bool is_clear = match.option && !match.other;
        bool is_open = is_clear && match.option->kind != CLI_KIND_FLAG && !match.value;
        place->open = is_open ? match.option : NULL;
    } else if (below) {
        place->command = below;
    } else {
        place->has_operand = true;
    }
}

static int words_offer(int count, char **words)
{
    struct place place = {.command = &cli_root};
    char *begun = words[count - 1];
    /* Its operands are commands. */
    if (count > 1 && strcmp(words[0], "help") == 0 && begun[0] != '-') {
        words++;
        count--;
    }
    for (int i = 0; i < count - 1; i++) {
        if (strcmp(words[i], "=") != 0) /* bash makes three words of --name=value */
            step(&place, words[i]);
    }
    if (strcmp(begun, "=") == 0)
        begun++;
    if (place.has_operand && place.command->stops)
        puts(":files"); /* a program's own arguments */
    else if (place.open)
        offer_values(place.open, begun);
    else if (begun[0] == '-' && !place.is_past_options)
        offer_options(place.command, begun);
    else
        offer_operands(place.command, begun);
    return 0;
}

static const struct cli_command words_command = {.name = ".words",
                                                 .help = "what may come next",
                                                 .operands = "WORD...",
                                                 .is_hidden = true,
                                                 .run = words_offer};

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

static int completion(int count, char **words)
{
    const char *const scripts[] = {bash_script, zsh_script, fish_script};
    size_t i = 0;
    while (strcmp(words[0], shells[i]) != 0)
        i++;
    fputs(scripts[i], stdout);
    return 0;
}

const struct cli_command cli_completion = {
    .name = "completion",
    .help = "print shell completion",
    .operands = "bash|zsh|fish",
    .choices = shells,
    .commands = (const struct cli_command *const[]){&words_command, NULL},
    .run = completion};
