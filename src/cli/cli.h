/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The program `rhinet`: one table of subcommands, one file each.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stdio.h>

struct cli_command {
    const char *name;
    /* argv[0] is the subcommand's name. Returns the exit status: 0, 1 (it failed), 2 (usage). */
    int (*run)(int argc, char **argv);
    const char *help;    /* one line */
    const char *usage;   /* what follows `rhinet NAME`, for --help */
    const char *options; /* option lines for --help, completion reads them too; may be NULL */
};

/* Ends with an entry whose name is NULL. */
extern const struct cli_command cli_commands[];

int cli_run(int argc, char **argv);
int cli_node(int argc, char **argv);
int cli_top(int argc, char **argv);
int cli_doctor(int argc, char **argv);
int cli_route(int argc, char **argv);
int cli_sim(int argc, char **argv);
int cli_cache(int argc, char **argv);
int cli_info(int argc, char **argv);
int cli_bench(int argc, char **argv);
int cli_dsm(int argc, char **argv);
int cli_help(int argc, char **argv);
int cli_completion(int argc, char **argv);

/* The entry with this name, or NULL. */
const struct cli_command *cli_find(const char *name);

/* "rhinet NAME: text; `rhinet help NAME` shows the usage" on stderr; returns 2. */
int cli_usage_error(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Says that there is no such subcommand, and the nearest one there is; returns 2. */
int cli_unknown(const char *name);

/* What a subcommand can be told to do; a table of these ends with an entry whose name is NULL. */
struct cli_action {
    const char *name;
    int (*run)(int argc, char **argv); /* argv[0] is its name */
};

/* Do what argv[1] says, or say what there is: `choice`, in words. Returns the exit status. */
int cli_act(const char *command, const struct cli_action *actions, const char *choice, int argc,
            char **argv);

/* What `rhinet help` and `rhinet help NAME` print. */
void cli_help_all(FILE *out);
void cli_help_one(FILE *out, const struct cli_command *command);

#endif
