/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet run`, and what is like it: the same options and some more, and a program of ours around
 * the user's.
 */
#ifndef CLI_RUN_RUN_H
#define CLI_RUN_RUN_H

#include "job/launch.h"

#include <getopt.h>
#include <stddef.h>

#define RUN_OPTION_EXTRA 1024 /* values of further options begin here */

struct run_kind {
    const char *name;             /* of the subcommand, for messages */
    enum launch_bind bind;        /* unless the user says otherwise */
    const struct option *options; /* further ones */
    size_t option_count;
    /* Take one of them: 0, or an exit status after it has said what is wrong. */
    int (*set_option)(int option, char *value);
    /* The command line of each rank, from the user's: itself, or one to be freed. NULL: no memory.
     * remote_rhinet: this program on the other hosts, or NULL. */
    char **(*wrap)(char **argv, const char *remote_rhinet);
};

int run_command(const struct run_kind *kind, int argc, char **argv);

#endif
