/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet cache`: one file cache for all nodes of a cluster. Dispatch.
 */
#include "cli/cache/cache.h"

#include "cli/cli.h"

#include <stddef.h>

static const struct cli_action actions[] = {
    {"mount", cli_cache_mount},
    {"run", cli_cache_run},
    {"stat", cli_cache_stat},
    {"warm", cli_cache_warm},
    {"bench", cli_cache_bench},
    {"trial", cli_cache_trial}, /* what `bench` starts */
    {"node", cli_cache_node},   /* what `run` starts on each node */
    {NULL, NULL},
};

static int cache_old(int argc, char **argv)
{
    return cli_act(actions, "run, stat, warm, mount or bench", argc, argv);
}

const struct cli_command cli_cache = {
    .name = "cache", .help = "read a slow shared file system once for all nodes", .old = cache_old};
