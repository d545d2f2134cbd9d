/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How much traffic each turn would carry if no turn were prohibited: the paper's provisional
 * routing. Traffic is split evenly over all shortest paths, which is what dealing destinations
 * round-robin over the roots of a fat tree amounts to, but needs no knowledge of trees and makes
 * turns that are equal by symmetry exactly equal.
 */
#pragma once

#include "base/arena.h"
#include "route/traffic/traffic.h"

struct demand {
    struct arena memory; /* of the arrays */
    const struct net *net;
    const struct traffic *traffic;
    size_t *base;     /* switch -> its matrix of degree x degree turns in `turn` */
    double *turn;     /* [base[s] + in * degree + out], one direction */
    double *position; /* channel: mean of hops behind minus hops ahead, over its traffic */
};

int demand_create(struct demand **demand, const struct traffic *traffic);
void demand_destroy(struct demand *demand);

/* A turn and its reverse together. */
static inline double demand_pair(const struct demand *demand, uint32_t at, uint32_t i, uint32_t j)
{
    const double *matrix = demand->turn + demand->base[at];
    uint32_t degree = net_degree(demand->net, at);
    return matrix[i * degree + j] + matrix[j * degree + i];
}
