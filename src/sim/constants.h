/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every number that the simulated hardware is made of, in one table: its value, its unit, where the
 * thesis gives it, and which row of the specification's list of figures set it.
 *
 * Origin: "K …" is a constant of the architecture, "C …" was calibrated on that row, "assumed" is
 * what no source tells and is ours to choose. Rows that serve for validation (V) set nothing here;
 * tests/sim checks that. All of it can be changed for what-if questions (`rhinet sim … --set`).
 */
#ifndef SIM_CONSTANTS_H
#define SIM_CONSTANTS_H

#include <stddef.h>
#include <stdint.h>

/* X(name, value, unit, section of the thesis, origin, meaning) */
#define SIM_CONSTANTS(X)                                                                           \
    /* links and switches */                                                                       \
    X(flit_bits, 80, "bit", "6.1.1", "K L1", "a flit on the link: 64 data, 2 kind, 14 ECC or CRC") \
    X(flit_bytes, 8, "B", "4.6.2", "K M6", "data of a flit")                                       \
    X(mtu_bytes, 2048, "B", "4.2.1", "K L7", "most data of a packet")                              \
    X(header_flits, 6, "flit", "6.1.2", "C M8", "header of a packet")                              \
    X(rhinet2_mbps, 8000, "Mbit/s", "2.3.2", "K L2", "RHiNET-2 link")                              \
    X(rhinet3_mbps, 10000, "Mbit/s", "2.3.3", "K L5", "RHiNET-3 link")                             \
    X(rhinet2_metres, 200, "m", "2.3.2", "K L8", "longest RHiNET-2 link")                          \
    X(rhinet3_metres, 1000, "m", "2.3.3", "K L8", "longest RHiNET-3 link")                         \
    X(fibre_ps_per_metre, 5000, "ps/m", "-", "assumed", "light in glass, two thirds of c")         \
    X(switch_ps, 100000, "ps", "-", "assumed", "header in to header out of an idle switch")        \
    X(stop_go_flits, 1024, "flit", "2.3.2", "assumed", "RHiNET-2 buffer of a virtual channel")     \
    X(slack_flits, 256, "flit", "2.3.2", "assumed", "part of it kept for what follows a stop")     \
    X(go_flits, 32, "flit", "2.3.2", "assumed", "more room than that of a stop, for go")           \
    X(credit_flits, 2048, "flit", "2.3.3", "assumed", "RHiNET-3 buffer of a virtual channel")      \
    X(sequence_flits, 2048, "flit", "2.3.3", "assumed", "flits under way, by sequence numbers")    \
    X(retry_limit, 1000, "", "2.3.3", "assumed", "resendings of one packet before it is lost")

struct sim_constants {
#define SIM_CONSTANT_FIELD(name, value, unit, section, origin, meaning) int64_t name;
    SIM_CONSTANTS(SIM_CONSTANT_FIELD)
#undef SIM_CONSTANT_FIELD
};

/* The table itself, for people and for setting by name. */
struct sim_constant {
    const char *name;
    int64_t value;
    const char *unit, *section, *origin, *meaning;
    size_t offset; /* in struct sim_constants */
};

/* Ends with an entry whose name is NULL. */
extern const struct sim_constant sim_constant_list[];

struct sim_constants sim_constants_default(void);

/* "name=value". -EINVAL, with the nearest name, if there is no such constant or no such value. */
int sim_constants_set(struct sim_constants *constants, const char *text);

#endif
