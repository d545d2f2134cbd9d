/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See nic_choice.h.
 */
#include "job/nic_choice.h"

#include "nic/nic.h"

#include <string.h>

#define REACHES_ALL "mixed" /* shared memory on a host, the network between hosts */

static bool is_built_in(const char *name)
{
    for (size_t i = 0; nic_list[i]; i++) {
        if (strcmp(nic_list[i]->name, name) == 0)
            return true;
    }
    return false;
}

const char *nic_choice(const struct settings *settings, uint32_t node_count)
{
    bool is_said = settings->value[SETTING_NIC].from_environment;
    if (!is_said && node_count > 1 && is_built_in(REACHES_ALL))
        return REACHES_ALL;
    return setting_text(settings, SETTING_NIC);
}
