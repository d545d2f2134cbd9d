/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet cache`: one file cache for all nodes of a cluster. Dispatch.
 */
#include "cli/cache.h"

#include "base/text.h"
#include "cli/cli.h"

#include <string.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} subcommands[] = {
    {"mount", cli_cache_mount}, {"run", cli_cache_run},
    {"stat", cli_cache_stat},   {"warm", cli_cache_warm},
    {"bench", cli_cache_bench}, {"trial", cli_cache_trial}, /* what `bench` starts */
    {"node", cli_cache_node},                               /* what `run` starts on each node */
};

int cli_cache(int argc, char **argv)
{
    const char *names[sizeof(subcommands) / sizeof(subcommands[0])];
    size_t count = sizeof(names) / sizeof(names[0]);
    for (size_t i = 0; i < count; i++) {
        names[i] = subcommands[i].name;
        if (argc > 1 && strcmp(argv[1], names[i]) == 0)
            return subcommands[i].run(argc - 1, argv + 1);
    }
    if (argc < 2)
        return cli_usage_error("cache", "say what to do: run, stat, warm, mount or bench");
    const char *near = text_nearest(argv[1], names, count);
    if (near)
        return cli_usage_error("cache", "'%s' is unknown; did you mean '%s'?", argv[1], near);
    return cli_usage_error("cache", "'%s' is unknown", argv[1]);
}
