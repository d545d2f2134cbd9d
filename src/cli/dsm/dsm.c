/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet dsm`: what belongs to distributed shared memory. `bench` measures it, as `rhinet bench
 * dsm` does; `bench pages`, `himeno` and `datagram` likewise.
 */
#include "cli/cli.h"

#include <stdbool.h>
#include <string.h>

#define ARGUMENTS_MAX 32

/* Layers of `rhinet bench` that may be named after `dsm bench`. */
static bool is_layer(const char *name)
{
    static const char *const names[] = {"pages", "himeno", "datagram"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static int dsm_old(int argc, char **argv)
{
    char *arguments[ARGUMENTS_MAX];
    char bench[] = "bench", layer[] = "dsm";
    if (argc < 2 || strcmp(argv[1], "bench") != 0)
        return cli_usage_error("say what to do: bench");
    if (argc >= ARGUMENTS_MAX)
        return cli_usage_error("more than %d arguments", ARGUMENTS_MAX - 2);
    if (argc > 2 && is_layer(argv[2]))
        return cli_bench.old(argc - 1, argv + 1);
    arguments[0] = bench;
    arguments[1] = layer;
    for (int i = 2; i <= argc; i++) /* with the NULL behind the last */
        arguments[i] = argv[i];
    return cli_bench.old(argc, arguments);
}

const struct cli_command cli_dsm = {
    .name = "dsm", .help = "measure distributed shared memory", .old = dsm_old};
