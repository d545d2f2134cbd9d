/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Subcommands that have actions of their own, such as `rhinet route compute`.
 */
#include "base/text.h"
#include "cli/cli.h"

#include <string.h>

#define ACTIONS_MAX 16

int cli_act(const struct cli_action *actions, const char *choice, int argc, char **argv)
{
    const char *names[ACTIONS_MAX];
    size_t count = 0;
    for (; actions[count].name && count < ACTIONS_MAX; count++) {
        names[count] = actions[count].name;
        if (argc > 1 && strcmp(argv[1], names[count]) == 0)
            return actions[count].run(argc - 1, argv + 1);
    }
    if (argc < 2)
        return cli_usage_error("say what to do: %s", choice);
    const char *near = text_nearest(argv[1], names, count);
    if (near)
        return cli_usage_error("'%s' is unknown; did you mean '%s'?", argv[1], near);
    return cli_usage_error("'%s' is unknown", argv[1]);
}
