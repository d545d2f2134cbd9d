/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The checker's channel dependency graph: which channel, on which lane, waits for which other. A
 * cycle in it is a possible deadlock.
 */
#pragma once

#include "route/check/check.h"
#include "route/check/switches.h"

struct check_loop;

/* The switches must outlive the loop. */
int check_loop_create(struct check_loop **loop, const struct check_switches *switches,
                      enum check_lanes lanes);
void check_loop_destroy(struct check_loop *loop);

/* Does a packet change to the next lane at this switch? */
bool check_loop_raises(const struct check_loop *loop, uint32_t at);

/* Packets that came in by a port on these lanes (bits) go out by a port. */
void check_loop_add(struct check_loop *loop, uint32_t at, uint32_t port_in, uint32_t port_out,
                    uint64_t lanes);

/* Looks for a cycle, and describes one in report->witness. Counts the dependencies. */
int check_loop_find(struct check_loop *loop, struct check_report *report, bool *loop_free);
