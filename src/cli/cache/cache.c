/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet cache`: one file cache for all nodes of a cluster.
 */
#include "cli/cache/cache.h"

const struct cli_command cli_cache = {.name = "cache",
                                      .help = "read a slow shared file system once for all nodes",
                                      .commands = (const struct cli_command *const[]){
                                          &cache_run, &cache_stat, &cache_warm, &cache_mount,
                                          &cache_bench, &cache_trial, &cache_node, NULL}};
