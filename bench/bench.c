/* SPDX-License-Identifier: BSD-3-Clause
 *
 * rhinet bench: the options and what they choose.
 */
#include "cli/cli.h"

int cli_bench(int argc, char **argv)
{
    if (argc < 2)
        return cli_usage_error("bench", "which layer? Give rma");
    return cli_usage_error("bench", "there is no bench \"%s\"", argv[1]);
}
