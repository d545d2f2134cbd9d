/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shell completion, printed from the table of subcommands: a new subcommand or option completes
 * without anyone having to remember it here.
 */
#include "cli/cli.h"

#include <string.h>

typedef void (*option_visitor)(const struct cli_command *command, const char *word, int length);

/* Calls visit for each option word ("-n", "--ranks") of a command's option lines. An option line is
 * indented and begins with '-'; the words end where the help text begins, after two spaces. */
static void each_option(const struct cli_command *command, option_visitor visit)
{
    for (const char *line = command->options; line && *line;) {
        size_t length = strcspn(line, "\n");
        const char *end = line + length;
        const char *at = line + strspn(line, " ");
        while (at < end && *at == '-') {
            int word = (int)strcspn(at, " ,\n");
            visit(command, at, word);
            at += word;
            if (at < end && *at == ',')
                at += 1 + strspn(at + 1, " ");
        }
        line = *end ? end + 1 : end;
    }
}

static void print_word(const struct cli_command *command, const char *word, int length)
{
    (void)command;
    printf(" %.*s", length, word);
}

static void print_fish_option(const struct cli_command *command, const char *word, int length)
{
    bool is_long = length > 2 && word[1] == '-';
    int dashes = is_long ? 2 : 1;
    printf("complete -c rhinet -n '__fish_seen_subcommand_from %s' -%c %.*s\n", command->name,
           is_long ? 'l' : 's', length - dashes, word + dashes);
}

/* In single quotes, for all three shells. */
static void print_quoted(const char *text)
{
    putchar('\'');
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*text);
    }
    putchar('\'');
}

static void print_names(void)
{
    for (const struct cli_command *command = cli_commands; command->name; command++)
        printf("%s%s", command == cli_commands ? "" : " ", command->name);
}

/* The words that may follow a subcommand besides its options. */
static const char *plain_words(const struct cli_command *command)
{
    if (strcmp(command->name, "completion") == 0)
        return "bash zsh fish";
    if (strcmp(command->name, "bench") == 0)
        return "rma msg ofi";
    return "";
}

static void print_bash(void)
{
    printf("# rhinet completion for bash\n"
           "_rhinet() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} words=\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "        words='");
    print_names();
    printf(" --version --help'\n"
           "    else\n"
           "        case ${COMP_WORDS[1]} in\n");
    for (const struct cli_command *command = cli_commands; command->name; command++) {
        printf("        %s) words='%s", command->name, plain_words(command));
        if (strcmp(command->name, "help") == 0)
            print_names();
        each_option(command, print_word);
        printf(" --help' ;;\n");
    }
    printf("        esac\n"
           "    fi\n"
           "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
           "}\n"
           "complete -o default -F _rhinet rhinet\n");
}

static void print_zsh(void)
{
    printf("#compdef rhinet\n"
           "_rhinet() {\n"
           "    if (( CURRENT == 2 )); then\n"
           "        local -a subcommands=(\n");
    for (const struct cli_command *command = cli_commands; command->name; command++) {
        printf("            %s:", command->name);
        print_quoted(command->help);
        putchar('\n');
    }
    printf("        )\n"
           "        _describe subcommand subcommands\n"
           "        return\n"
           "    fi\n"
           "    case $words[2] in\n");
    for (const struct cli_command *command = cli_commands; command->name; command++) {
        printf("    %s) compadd -- %s", command->name, plain_words(command));
        if (strcmp(command->name, "help") == 0)
            print_names();
        each_option(command, print_word);
        printf(" --help%s ;;\n", strcmp(command->name, "run") == 0 ? "; _files" : "");
    }
    printf("    esac\n"
           "}\n"
           "_rhinet \"$@\"\n");
}

static void print_fish(void)
{
    printf("# rhinet completion for fish\n"
           "complete -c rhinet -n __fish_use_subcommand -f -l version\n");
    for (const struct cli_command *command = cli_commands; command->name; command++) {
        const char *name = command->name;
        printf("complete -c rhinet -n __fish_use_subcommand -f -a %s -d ", name);
        print_quoted(command->help);
        printf("\ncomplete -c rhinet -n '__fish_seen_subcommand_from %s' -l help\n", name);
        each_option(command, print_fish_option);
        if (plain_words(command)[0])
            printf("complete -c rhinet -n '__fish_seen_subcommand_from %s' -f -a '%s'\n", name,
                   plain_words(command));
    }
    printf("complete -c rhinet -n '__fish_seen_subcommand_from help' -f -a '");
    print_names();
    printf("'\n");
}

int cli_completion(int argc, char **argv)
{
    static const struct {
        const char *shell;
        void (*print)(void);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    if (argc != 2)
        return cli_usage_error(argv[0], "which shell: bash, zsh or fish?");
    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
        if (strcmp(argv[1], shells[i].shell) == 0) {
            shells[i].print();
            return 0;
        }
    }
    return cli_usage_error(argv[0], "unknown shell '%s': bash, zsh or fish", argv[1]);
}
