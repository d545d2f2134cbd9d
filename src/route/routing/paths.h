/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One path for each pair: the form of routing that the paper evaluates and that source routing
 * uses. Unlike trees, paths to one target from different sources may part again after they have
 * met.
 */
#pragma once

#include "route/routing/routing.h"

/* Finds a shortest path over allowed turns from every switch with hosts to every host, so that the
 * channels are evenly loaded, and adds up the loads. out (may be NULL) gets a line for each:
 * "SOURCE-SWITCH HOST port port …", lanes behind a slash where there are several. Hosts of one
 * switch share their paths. -ENETUNREACH: a pair has none. */
int paths_route(const struct routing *routing, struct load *load, FILE *out);
