/* SPDX-License-Identifier: BSD-3-Clause
 *
 * rhinet node: the launcher of another host; see job/launch_node.c.
 */
#include "cli/cli.h"
#include "job/launch.h"

int cli_node(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return cli_usage_error("node", "it takes its orders on standard input, and no arguments");
    return launch_node();
}
