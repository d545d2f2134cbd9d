/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet run` on several hosts: the lists of hosts and of variables that its options give.
 */
#pragma once

#include "base/settings.h"
#include "job/launch/launch.h"

struct run_hosts {
    struct launch_hosts launch;
    size_t host_room;
    char **exported; /* names of variables */
    int exported_count;
    size_t exported_room;
};

/* Each returns 0, or an exit status after it has said what is wrong. */
int run_hosts_add(struct run_hosts *hosts, const char *list);     /* a,b:4 */
int run_hosts_read(struct run_hosts *hosts, const char *path);    /* a host on each line */
int run_hosts_export(struct run_hosts *hosts, const char *names); /* A,B */

/* All options are known: what is still open, and the variables' values. */
int run_hosts_finish(struct run_hosts *hosts, const struct settings *settings);
void run_hosts_free(struct run_hosts *hosts);
