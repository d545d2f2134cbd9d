/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of constants as data; see constants.h.
 */
#include "sim/constants.h"

#include "base/error.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CONSTANT_ROW(name, value, unit, section, origin, meaning)                                  \
    {#name, value, unit, section, origin, meaning, offsetof(struct sim_constants, name)},

const struct sim_constant sim_constant_list[] = {
    SIM_CONSTANTS(CONSTANT_ROW){NULL, 0, NULL, NULL, NULL, NULL, 0}};

#define CONSTANT_COUNT (sizeof(sim_constant_list) / sizeof(sim_constant_list[0]) - 1)

struct sim_constants sim_constants_default(void)
{
#define CONSTANT_VALUE(name, value, unit, section, origin, meaning) .name = (value),
    return (struct sim_constants){SIM_CONSTANTS(CONSTANT_VALUE)};
}

struct sim_constants sim_constants_hesl(const struct sim_constants *le)
{
    struct sim_constants hesl = *le;
    hesl.pci_read_cycles += le->hesl_bridge_cycles;
    hesl.post_cycles += le->hesl_bridge_cycles;
    return hesl;
}

struct sim_constants sim_constants_dimm(const struct sim_constants *pci)
{
    struct sim_constants dimm = *pci;
    dimm.core_ps = dimm.pci_ps = pci->dimm_core_ps;
    dimm.swi_rx_cycles += pci->dimm_unknown_cycles;
    dimm.see_cycles +=
        pci->post_cycles; /* no bridge: nothing is posted that a read must wait for */
    dimm.post_cycles = 0;
    dimm.pci_read_cycles = pci->dimm_read_cycles;
    dimm.pci_snoop_cycles = 0; /* SO-DIMM is no memory of the CPU's cache */
    dimm.pio_ps = pci->dimm_pio_ps;
    dimm.pio_word_ps = pci->dimm_pio_word_ps;
    dimm.cluster_mbps = pci->rhinet2_mbps;
    return dimm;
}

int sim_constants_set(struct sim_constants *constants, const char *text)
{
    char name[64];
    uint64_t value;
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || (size_t)(equals - text) >= sizeof(name))
        return error_fail(-EINVAL, "'%s' is not of the form NAME=VALUE", text);
    snprintf(name, sizeof(name), "%.*s", (int)(equals - text), text);
    if (!text_to_u64(equals + 1, &value) || value > INT64_MAX)
        return error_fail(-EINVAL, "%s: '%s' is no whole number", name, equals + 1);
    const char *names[CONSTANT_COUNT];
    for (size_t i = 0; i < CONSTANT_COUNT; i++) {
        names[i] = sim_constant_list[i].name;
        if (strcmp(names[i], name) != 0)
            continue;
        memcpy((char *)constants + sim_constant_list[i].offset, &value, sizeof(value));
        return 0;
    }
    const char *near = text_nearest(name, names, CONSTANT_COUNT);
    return error_fail(-EINVAL, "there is no constant '%s'%s%s%s", name,
                      near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}
