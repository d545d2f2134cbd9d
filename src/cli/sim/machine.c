/* SPDX-License-Identifier: BSD-3-Clause
 *
 * --platform and --set: the machine that a command simulates.
 */
#include "cli/sim/sim.h"

const char *sim_platform_name(size_t index)
{
    return platform_files[index].name;
}

int sim_platform_apply(const struct cli_list *platforms, struct sim_constants *constants,
                       struct platform_ranges *ranges)
{
    struct platform_ranges none = {0};
    for (size_t i = 0; i < platforms->count; i++) {
        if (platform_take(constants, ranges ? ranges : &none, platforms->item[i]) < 0)
            return cli_fail();
    }
    if (none.count > 0)
        return cli_usage_error("nodes of different platforms are for `rhinet run --nic martini`");
    return 0;
}

int sim_set_apply(const struct cli_list *texts, struct sim_constants *constants)
{
    for (size_t i = 0; i < texts->count; i++) {
        if (sim_constants_set(constants, texts->item[i]) < 0)
            return cli_fail();
    }
    return sim_constants_check(constants) < 0 ? cli_fail() : 0;
}
