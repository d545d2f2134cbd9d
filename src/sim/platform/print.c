/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A platform as a file of its own.
 */
#include "sim/platform/platform.h"

void platform_print(const struct platform *platform, FILE *out)
{
    if (platform->title[0])
        fprintf(out, "# %s\n\n", platform->title);
    for (size_t i = 0; sim_constant_list[i].name; i++) {
        const struct sim_constant *at = &sim_constant_list[i];
        const struct platform_origin *origin = &platform->origins[i];
        fprintf(out, "%s = %lld %s; %s%s%s;%s%s  # %s\n", at->name,
                (long long)sim_constant_get(&platform->constants, i), at->unit[0] ? at->unit : "-",
                platform_class_names[origin->class], origin->row[0] ? " " : "", origin->row,
                origin->source[0] ? " " : "", origin->source, at->meaning);
    }
}
