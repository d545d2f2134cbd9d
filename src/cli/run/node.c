/* SPDX-License-Identifier: BSD-3-Clause
 *
 * rhinet node: the launcher of another host; see job/launch/orders.h.
 */
#include "cli/cli.h"
#include "job/launch/launch.h"

static int node(int count, char **words)
{
    return launch_node(); /* takes its orders on standard input */
}

const struct cli_command cli_node = {
    .name = "node",
    .help = "be the launcher of another host; `rhinet run --hosts` calls it",
    .run = node};
