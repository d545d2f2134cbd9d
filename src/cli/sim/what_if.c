/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See what_if.h.
 */
#include "cli/sim/what_if.h"

#include "base/text.h"
#include "cli/cli.h"

#include <stdbool.h>

#define PCI_X_PS 7519 /* 133 MHz */

static bool number_between(const char *text, double least, double most, double *value)
{
    return text_to_real(text, value) && *value >= least && *value <= most;
}

int sim_what_if_take(struct sim_constants *constants, int option, const char *text)
{
    double value = 0;
    switch (option) {
    case WHAT_IF_DOUBLE_BUFFER:
        constants->double_buffer = 1;
        return 0;
    case WHAT_IF_HARDWARE_VPUSH:
        constants->hardware_vpush = 1;
        return 0;
    case WHAT_IF_PCI_X:
        constants->pci_ps = PCI_X_PS;
        return 0;
    case WHAT_IF_WINDOWS:
        if (!number_between(text, 1, 8, &value))
            return cli_usage_error("--windows is a number from 1 to 8, not '%s'", text);
        constants->windows = (int64_t)value;
        return 0;
    case WHAT_IF_CPU_SPEED:
        if (!number_between(text, 0.01, 1000, &value))
            return cli_usage_error("--cpu-speed is a factor such as 2, not '%s'", text);
        constants->cpu_percent = (int64_t)(100 * value + 0.5);
        return 0;
    case WHAT_IF_CLOCK:
        if (!number_between(text, 1, 10000, &value))
            return cli_usage_error("--clock is a number of MHz, not '%s'", text);
        constants->core_ps = (int64_t)(1e6 / value + 0.5);
        return 0;
    case WHAT_IF_LINK:
        if (!number_between(text, 1, 1e6, &value))
            return cli_usage_error("--link is a number of Mbit/s, not '%s'", text);
        constants->cluster_mbps = constants->rhinet2_mbps = (int64_t)value;
        return 0;
    case WHAT_IF_MTU:
        if (!number_between(text, 8, 4096, &value))
            return cli_usage_error("--mtu is a number of bytes from 8 to 4096, not '%s'", text);
        constants->mtu_bytes = (int64_t)value;
        return 0;
    default:
        return -1;
    }
}
