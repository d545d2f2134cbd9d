/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See nic_choice.h.
 */
#include "job/nic_choice.h"

#include "job/job_layer.h"

#include <stdbool.h>

#define REACHES_ALL "mixed" /* shared memory on a host, the network between hosts */

const char *nic_choice(const struct settings *settings, uint32_t node_count)
{
    bool is_said = setting_value(settings, SETTING_NIC)->from_environment;
    if (!is_said && node_count > 1)
        return REACHES_ALL;
    return setting_text(settings, SETTING_NIC);
}
