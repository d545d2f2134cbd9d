/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The program `rhinet` is a tree of commands. A command is a struct in the file that does its work:
 * name, one line of help, what it takes, its options, and what it runs or what stands below it.
 * From the tree and the tables come, once for all commands:
 *
 *   command.c     the way from the words to the command
 *   say.c         messages that begin with its words, and how far it is
 *   option.c      reading the options, with ranges, units, abbreviations and hints
 *   help.c        --help at every level, and `rhinet help WORDS`
 *   completion.c  completion of commands, options and values in bash, zsh and fish
 *
 * An option is a line of a table: CLI_NUMBER("ports", "N", 1, 64, &wishes.ports, "ports of a
 * switch", .standard = "8"). It names the place where the value goes, a static variable, because a
 * process runs one command. The standard value is read by the same parser as a given one, and help
 * shows it: it stands nowhere else. A kind decides what is allowed, what an error says, and what
 * completes; what is none of the kinds is a CLI_CALL. When a command runs, its options have been
 * read and its words counted: `operands` is the grammar ("FABRIC", "[JOB]", "PATH...").
 *
 * The manual is written by hand; tests/cli/options_test.py compares its lists with --help.
 */
#pragma once

#include "cli/option.h"

#include <stdio.h>

struct cli_command {
    const char *name;
    const char *help;                          /* one line, small letter, no full stop */
    const char *operands;                      /* words that are no options; NULL: none */
    const struct cli_option *options;          /* each table ends with a name of NULL, or is NULL */
    const struct cli_option *shared;           /* a second one, that other commands have, too */
    const struct cli_command *const *commands; /* what its first word may be; ends with NULL */
    const struct cli_command *same_as;         /* only a name of that command: see CLI_ALIAS */
    const char *const *choices;                /* what operands may be; ends with NULL */
    const char *(*suggest)(size_t index);      /* what completion offers for them; then NULL */
    bool takes_files;                          /* completion offers files for operands */
    bool stops;     /* no option behind the first operand: what follows is another program's */
    bool is_hidden; /* this program calls itself so */
    /* Operands, then NULL. Returns the exit status: 0, 1 (it failed), 2 (usage). NULL: one of
     * `commands` must follow. */
    int (*run)(int count, char **words);
};

/* A command of another folder, under a name of this one. */
#define CLI_ALIAS(name_, command_)                                                                 \
    &(const struct cli_command)                                                                    \
    {                                                                                              \
        .name = (name_), .same_as = &(command_)                                                    \
    }

extern const struct cli_command cli_root; /* the program itself, main.c */
extern const struct cli_command cli_run, cli_node, cli_top, cli_doctor, cli_info, cli_bench,
    cli_dsm, cli_route, cli_sim, cli_cache, cli_report, cli_help, cli_completion, cli_mpirun,
    cli_demo;

/* ---- command.c ------------------------------------------------------------------------------ */

/* Find the command that the words name, read its options, run it. */
int cli_call(int argc, char **argv);

/* The command of this name below another, or NULL; never an alias. */
const struct cli_command *cli_below(const struct cli_command *command, const char *name);

/* What stands behind an alias; any other command is its own. */
static inline const struct cli_command *cli_behind(const struct cli_command *command)
{
    return command->same_as ? command->same_as : command;
}

/* The command that is running, and the one whose list it is in; NULL for the program itself. */
const struct cli_command *cli_current(void);
const struct cli_command *cli_above(void);

/* Says that there is no such word below the command, and what comes near it; returns 2. */
int cli_unknown(const struct cli_command *command, const char *word);

/* ---- say.c ---------------------------------------------------------------------------------- */

/* "rhinet route compute": the command that is running. */
const char *cli_path(void);
void cli_path_add(const char *name);

/* How far a command is that may take more than two seconds: a line on stderr, which the next one
 * takes the place of. Nothing where stderr is no terminal. */
void cli_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same for those who call back: "WHAT: 40 %", of a text and a part; 1 takes the line back. */
void cli_progress_part(void *what, double part);
/* Take the line back, before anything goes to stdout; messages do so themselves. */
void cli_progress_end(void);
/* From now on another process says how far we are. */
void cli_progress_leave(void);

/* The path, a colon and the text on stderr. */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same with the text of the last error; returns 1. */
int cli_fail(void);

/* The same with a hint to the help; returns 2. */
int cli_usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- help.c --------------------------------------------------------------------------------- */

/* path: "rhinet route compute". */
void cli_help_print(FILE *out, const struct cli_command *command, const char *path);
