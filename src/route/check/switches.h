/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The checker's own count of switches, in node order, as tables of forwarding entries have them.
 */
#pragma once

#include "base/arena.h"
#include "route/fabric/fabric.h"

struct check_switches {
    struct arena memory; /* of the arrays */
    const struct fabric *fabric;
    uint32_t count;
    uint32_t *node;  /* switch -> fabric node */
    uint32_t *index; /* fabric node -> switch, FABRIC_NONE for hosts */
    uint32_t *hosts; /* switch -> its cabled host ports */
};

int check_switches_find(struct check_switches *switches, const struct fabric *fabric);
void check_switches_free(struct check_switches *switches);

static inline const struct fabric_node *check_switch(const struct check_switches *switches,
                                                     uint32_t at)
{
    return &switches->fabric->nodes[switches->node[at]];
}
