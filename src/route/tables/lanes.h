/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Virtual channels (lanes) by the rule of an algorithm.
 */
#pragma once

#include "route/tables/lft.h"
#include "route/turns/algorithm.h"

/* Does a packet change to the next lane when it passes this switch? */
bool lanes_raise(const struct net *net, enum algorithm_lanes lanes, uint32_t at);

/* How many the ways to the first target_count targets need. */
int lanes_count(const struct lft *table, enum algorithm_lanes lanes, uint32_t target_count,
                uint32_t *count);
