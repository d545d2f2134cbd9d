/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See what_if.h.
 */
#include "experiment/thesis/what_if.h"

#include "cli/sim/sim.h"

#define PCI_X_PS 7519 /* 133 MHz */

/* 0: as it was. */
static struct {
    bool double_buffer, hardware_vpush, pci_x;
    uint64_t windows, mtu;
    double cpu_speed, clock, link;
    const char *firmware;
} wishes;

const struct cli_option sim_what_if_options[] = {
    CLI_FLAG("double-buffer", &wishes.double_buffer, "what if: RFend works while a payload drains"),
    CLI_NUMBER("windows", "N", 1, 8, &wishes.windows, "what if: streams use N windows in turn"),
    CLI_FLAG("hardware-vpush", &wishes.hardware_vpush, "what if: VPUSH in hardware"),
    CLI_REAL("cpu-speed", "X", 0.01, 1000, &wishes.cpu_speed,
             "what if: the on-chip CPU is X times as fast"),
    CLI_FILE("firmware", "FILE", &wishes.firmware,
             "what if: the on-chip CPU executes this ELF file"),
    CLI_REAL("clock", "MHZ", 1, 10000, &wishes.clock, "what if: another core clock"),
    CLI_FLAG("pci-x", &wishes.pci_x, "what if: a bus of 133 MHz"),
    CLI_REAL("link", "MBPS", 1, 1e6, &wishes.link, "what if: other links"),
    CLI_NUMBER("mtu", "BYTES", 8, 4096, &wishes.mtu, "what if: other packets"),
    CLI_OPTIONS_END,
};

static void options_apply(struct sim_constants *constants)
{
    if (wishes.double_buffer)
        constants->double_buffer = 1;
    if (wishes.windows > 0)
        constants->windows = (int64_t)wishes.windows;
    if (wishes.hardware_vpush)
        constants->hardware_vpush = 1;
    if (wishes.cpu_speed > 0)
        constants->cpu_percent = (int64_t)(100 * wishes.cpu_speed + 0.5);
    if (wishes.firmware)
        constants->firmware = wishes.firmware;
    if (wishes.clock > 0)
        constants->core_ps = (int64_t)(1e6 / wishes.clock + 0.5);
    if (wishes.pci_x)
        constants->pci_ps = PCI_X_PS;
    if (wishes.link > 0)
        constants->cluster_mbps = constants->rhinet2_mbps = (int64_t)wishes.link;
    if (wishes.mtu > 0)
        constants->mtu_bytes = (int64_t)wishes.mtu;
}

static int changes_apply(struct sim_constants *constants, const struct cli_list *set)
{
    options_apply(constants);
    return sim_set_apply(set, constants);
}

int what_if_hosts(struct thesis_hosts *hosts, const struct cli_list *platforms,
                  const struct cli_list *set)
{
    if (thesis_hosts_usual(hosts) < 0)
        return cli_fail();
    int status = sim_platform_apply(platforms, &hosts->le, NULL);
    if (platforms->count > 0)
        hosts->hesl = hosts->le;
    if (status == 0)
        status = changes_apply(&hosts->le, set);
    return status != 0 ? status : changes_apply(&hosts->hesl, set);
}
