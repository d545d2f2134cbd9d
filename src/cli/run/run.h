/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet run`, and what is like it: the same options and some more, and a program of ours around
 * the user's.
 */
#pragma once

#include "cli/option.h"
#include "job/launch/launch.h"

extern const struct cli_option run_options[];

/* Set a variable for the ranks. 0, or an exit status after it has said what is wrong. */
int run_variable_set(const char *name, const char *value);

/* What is simulated under NIC martini: one more NAME=VALUE, -1 if it has a comma or is too long;
 * and all of them, behind what RHINET_MARTINI says already. 0, or an exit status. */
int run_martini_add(const char *name, const char *value);
int run_martini_apply(void);
/* Another NIC has no use for them: 0, or an exit status. */
int run_martini_check(bool is_martini);

struct run_kind {
    enum launch_bind bind; /* unless the user says otherwise */
    /* The command line of each rank, from the user's: itself, or one to be freed. NULL: no memory.
     * remote_rhinet: this program on the other hosts, or NULL. */
    char **(*wrap)(char **argv, const char *remote_rhinet);
    bool is_alone_possible; /* without -n and --hosts: one process, here */
    bool survives;          /* as with --survive */
    bool is_plain;          /* --label does not count: the output is read by us */
    const char *name;       /* for messages; NULL: rhinet run */
};

/* The options are read; argv is the program with its arguments. */
int run_job(const struct run_kind *kind, char **argv);

/* The folder of our libfabric provider: beside this program in a build, or where it is
 * installed. */
bool run_provider_find(char *folder, size_t room);

/* The machine that an option names, for the simulation. */
int run_platform_take(char *text);

/* The NIC that an option names, for who is started; and the names there are. */
int run_nic_take(char *text);
const char *run_nic_name(size_t index);
