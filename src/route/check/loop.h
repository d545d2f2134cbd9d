/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The checker's channel dependency graph: which channel, on which lane, waits for which other. A
 * cycle in it is a possible deadlock.
 */
#ifndef ROUTE_CHECK_LOOP_H
#define ROUTE_CHECK_LOOP_H

#include "route/fabric/fabric.h"

struct check_loop;
struct check_report;

struct check_loop_options {
    bool raise_always;      /* a packet changes to the next lane at every switch */
    bool raise_at_branches; /* only at switches with three or more cables to others */
};

int check_loop_create(struct check_loop **loop, const struct fabric *fabric, uint32_t switch_count,
                      const struct check_loop_options *options);
void check_loop_destroy(struct check_loop *loop);

/* Switches are counted in node order: the fabric's node of a switch, and the switch of a node. */
uint32_t check_loop_node(const struct check_loop *loop, uint32_t at);
uint32_t check_loop_index(const struct check_loop *loop, uint32_t node);

/* Does a packet change to the next lane at this switch? */
bool check_loop_raises(const struct check_loop *loop, uint32_t at);

/* Packets that came in by a port on these lanes (bits) go out by a port. */
void check_loop_add(struct check_loop *loop, uint32_t at, uint32_t port_in, uint32_t port_out,
                    uint64_t lanes);

/* Looks for a cycle, and describes one in report->witness. Counts the dependencies. */
int check_loop_find(struct check_loop *loop, struct check_report *report, bool *loop_free);

#endif
