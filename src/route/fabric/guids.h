/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds switches by their GUIDs.
 */
#pragma once

#include "route/fabric/fabric.h"

struct guid_at {
    uint64_t guid;
    uint32_t at; /* number among the switches, in node order */
};

struct guids {
    struct guid_at *sorted;
    uint32_t count;
};

int guids_create(struct guids *guids, const struct fabric *fabric);
void guids_destroy(struct guids *guids);

/* The number of the switch, or FABRIC_NONE. */
uint32_t guids_find(const struct guids *guids, uint64_t guid);
