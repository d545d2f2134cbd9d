/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Builds all trees of a routing and balances them.
 */
#ifndef ROUTE_TREES_TREES_H
#define ROUTE_TREES_TREES_H

#include "route/routing/routing.h"

/* Fills routing->lft and routing->load from routing->turns. */
int trees_build(struct routing *routing, const struct routing_options *options);

#endif
