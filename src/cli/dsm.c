/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet dsm`: what belongs to distributed shared memory. `bench` measures it, as `rhinet bench
 * dsm` does; `bench pages` and `bench himeno` likewise.
 */
#include "cli/cli.h"

#include <stdbool.h>
#include <string.h>

#define ARGUMENTS_MAX 32

int cli_dsm(int argc, char **argv)
{
    char *arguments[ARGUMENTS_MAX];
    char bench[] = "bench", layer[] = "dsm";
    bool is_named = argc > 2 && (strcmp(argv[2], "pages") == 0 || strcmp(argv[2], "himeno") == 0);
    if (argc < 2 || strcmp(argv[1], "bench") != 0)
        return cli_usage_error("dsm", "say what to do: bench");
    if (argc >= ARGUMENTS_MAX)
        return cli_usage_error("dsm", "more than %d arguments", ARGUMENTS_MAX - 2);
    if (is_named)
        return cli_bench(argc - 1, argv + 1);
    arguments[0] = bench;
    arguments[1] = layer;
    for (int i = 2; i <= argc; i++) /* with the NULL behind the last */
        arguments[i] = argv[i];
    return cli_bench(argc, arguments);
}
