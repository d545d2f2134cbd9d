/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of `rhinet cache` share.
 *
 *   cache.c   their list
 *   run.c     run, and node: what it starts on each node
 *   stat.c    stat: what the caches of this host hold and have done
 *   find.c    finding their memory
 *   warm.c    warm: reading files into the cache before they are wanted
 *   start.c   start and serve: a cache without a program
 *   service.c exec, env, status, stop: using one
 *   totals.c  the line at the end of run
 *   wishes.c  options that several have
 *   mount.c   mount: a folder shown again, for programs without the library
 */
#pragma once

#include "cli/cli.h"

#include <jansson.h>

extern const struct cli_command cli_cache_run, cli_cache_stat, cli_cache_warm, cli_cache_mount;
extern const struct cli_command cli_cache_start, cli_cache_serve, cli_cache_exec, cli_cache_env,
    cli_cache_status, cli_cache_stop;
extern const struct cli_command cli_cache_node; /* what `run` starts on each node */

/* What the nodes of this host hold and have done, and the files that each has served most. */
json_t *cache_stats_json(uint64_t file_count);

/* The path of this program. 0, or -1: it cannot be found. */
int cache_own_path(char *path, size_t room);

/* What all nodes have read, in one line on stderr; values: enum cache_total. */
void cache_totals_print(const uint64_t *values);

/* The words with which this program is a rank: `rhinet cache COMMAND [SEPARATOR] WORD...`. To be
 * freed; NULL: no memory. */
char **cache_wrap(char *command, char *separator, char **words, const char *remote_rhinet);

/* The first of these files that is there, each seen from this program's folder, or NULL. */
const char *cache_find_beside(const char *const *places, size_t count, char *path, size_t room);

/* The library that programs are started with, or NULL if there is none; path is room for its
 * name. */
struct settings;
const char *cache_find_preload(const struct settings *settings, char *path, size_t room);
