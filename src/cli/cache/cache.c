/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet cache`: one file cache for all nodes of a cluster.
 */
#include "cli/cache/cache.h"

#include "experiment/experiment.h"

const struct cli_command cli_cache = {
    .name = "cache",
    .help = "read a slow shared file system once for all nodes",
    .commands = (const struct cli_command *const[]){
        &cli_cache_run, &cli_cache_start, &cli_cache_serve, &cli_cache_exec, &cli_cache_env,
        &cli_cache_status, &cli_cache_stop, &cli_cache_stat, &cli_cache_warm, &cli_cache_mount,
        CLI_ALIAS("bench", cli_bench_cache), &cli_cache_node, NULL}};
