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

size_t sim_constant_count(void)
{
    return CONSTANT_COUNT;
}

bool sim_constant_find(const char *name, size_t *index)
{
    for (size_t i = 0; i < CONSTANT_COUNT; i++) {
        if (strcmp(sim_constant_list[i].name, name) == 0) {
            *index = i;
            return true;
        }
    }
    return false;
}

const char *sim_constant_nearest(const char *name)
{
    const char *names[CONSTANT_COUNT];
    for (size_t i = 0; i < CONSTANT_COUNT; i++)
        names[i] = sim_constant_list[i].name;
    return text_nearest(name, names, CONSTANT_COUNT);
}

int64_t sim_constant_get(const struct sim_constants *constants, size_t index)
{
    int64_t value;
    memcpy(&value, (const char *)constants + sim_constant_list[index].offset, sizeof(value));
    return value;
}

void sim_constant_put(struct sim_constants *constants, size_t index, int64_t value)
{
    memcpy((char *)constants + sim_constant_list[index].offset, &value, sizeof(value));
}

int sim_constants_set(struct sim_constants *constants, const char *text)
{
    char name[64];
    uint64_t value;
    size_t index;
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || (size_t)(equals - text) >= sizeof(name))
        return error_fail(-EINVAL, "'%s' is not of the form NAME=VALUE", text);
    snprintf(name, sizeof(name), "%.*s", (int)(equals - text), text);
    if (!text_to_u64(equals + 1, &value) || value > INT64_MAX)
        return error_fail(-EINVAL, "%s: '%s' is no whole number", name, equals + 1);
    if (sim_constant_find(name, &index)) {
        sim_constant_put(constants, index, (int64_t)value);
        return 0;
    }
    const char *near = sim_constant_nearest(name);
    return error_fail(-EINVAL, "there is no constant '%s'%s%s%s", name,
                      near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* What the model divides by, and what it keeps tables of. */
static const struct {
    size_t offset;
    int64_t least, most;
} limits[] = {
#define LIMIT(name, least, most)                                                                   \
    {                                                                                              \
        offsetof(struct sim_constants, name), least, most                                          \
    }
    LIMIT(flit_bits, 1, 1 << 20),
    LIMIT(flit_bytes, 1, 1 << 10),
    LIMIT(mtu_bytes, 8, 4096),
    LIMIT(header_flits, 1, 1 << 10),
    LIMIT(rhinet2_mbps, 1, 10000000),
    LIMIT(rhinet3_mbps, 1, 10000000),
    LIMIT(cluster_mbps, 1, 10000000),
    LIMIT(combine_bytes, 8, 4096),
    LIMIT(pci_ps, 1, 1000000000),
    LIMIT(pci_word_bytes, 1, 4096),
    LIMIT(core_ps, 1, 1000000000),
    LIMIT(page_bytes, 4096, 4096),
    LIMIT(patlb_sets, 1, 1 << 20),
    LIMIT(rvatlb_sets, 1, 1 << 20),
    LIMIT(send_fifo_packets, 1, 1 << 16),
    LIMIT(cpu_percent, 1, 1000000),
    LIMIT(dimm_core_ps, 1, 1000000000),
#undef LIMIT
};

/* Nothing takes longer than a second: then no sum of such times overflows. */
#define VALUE_MAX 1000000000000

int sim_constants_check(const struct sim_constants *constants)
{
    for (size_t i = 0; i < CONSTANT_COUNT; i++) {
        int64_t value = sim_constant_get(constants, i), least = 0, most = VALUE_MAX;
        for (size_t k = 0; k < sizeof(limits) / sizeof(limits[0]); k++) {
            if (limits[k].offset == sim_constant_list[i].offset)
                least = limits[k].least, most = limits[k].most;
        }
        if (value < least || value > most)
            return error_fail(-EINVAL, "%s is %lld to %lld, not %lld", sim_constant_list[i].name,
                              (long long)least, (long long)most, (long long)value);
    }
    return 0;
}

void sim_constants_share_network(struct sim_constants *constants,
                                 const struct sim_constants *network)
{
    for (size_t i = 0; sim_constant_list[i].offset <= offsetof(struct sim_constants, cluster_mbps);
         i++)
        sim_constant_put(constants, i, sim_constant_get(network, i));
}
