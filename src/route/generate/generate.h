/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes fabrics of known shapes. Each function adds to an empty fabric; all are functions of their
 * arguments alone. Hosts hang on the first ports of their switch.
 */
#pragma once

#include "route/fabric/fabric.h"

enum generate_join { GENERATE_TOP, GENERATE_MIDDLE, GENERATE_BOTTOM };

/* Everything one may ask for; a kind reads what it knows. 0: the kind's default. */
struct generate_options {
    uint32_t ports;      /* fat trees: ports of a switch (k); random: cables of a switch */
    uint32_t levels;     /* fat trees */
    uint32_t over;       /* fat trees: hosts of a bottom switch for each of its cables up */
    uint32_t hosts;      /* of each switch */
    uint32_t switches;   /* random, ring */
    uint32_t size[4];    /* mesh, torus: extent of each dimension, 0 after the last */
    uint32_t dimensions; /* hypercube */
    uint32_t routers;    /* dragonfly: of a group */
    uint32_t global;     /* dragonfly: cables of a router to other groups */
    uint32_t prime;      /* slim fly: q */
    uint64_t seed;       /* random */
    enum generate_join join;
};

typedef int generate_make(struct fabric *fabric, const struct generate_options *options);

struct generate_kind {
    const char *name;
    generate_make *make;
    const char *help;
};

/* Ends with an entry whose name is NULL. */
extern const struct generate_kind generate_kinds[];

int generate_fabric(struct fabric **fabric, const char *kind,
                    const struct generate_options *options);

generate_make generate_fat_tree, generate_joined, generate_random, generate_ring, generate_mesh,
    generate_torus, generate_hypercube, generate_dragonfly, generate_slim_fly;

/* Adds `count` hosts named "h<switch's name>.<number>" to a switch. */
int generate_hosts_add(struct fabric *fabric, uint32_t at, uint32_t count);
