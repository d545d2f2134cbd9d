/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The room of the router: what is here, in the order in which data passes it. Including this header
 * gives all of it. `rhinet route compute` is this page from top to bottom.
 *
 *   fabric/    named switches and hosts, ports, cables, LIDs (fabric.h), and the same as numbered
 *              switches and directed channels, packed into arrays (net.h), which is what all that
 *              computes works on.
 *   formats/   files that fabrics come from: ibnetdiscover, OpenSM's subnet list, ibdm, edge lists
 *              (formats.h); and forwarding tables as switches hold them, and files (dump.h).
 *   generate/  fabrics of known shapes instead: fat trees, tori, random networks, …
 *   traffic/   who sends how much to whom: uniform, by groups, measured.
 *   turns/     which turns packets may take so that no cycle of waiting can close: what each turn
 *              would carry (demand.h), the algorithms that decide (algorithm.h; turn_addition.h is
 *              ours, on a topological order of the channels, order.h), and what the allowed turns
 *              still reach (reach.h).
 *   tables/    forwarding tables by target (lft.h), to and from what switches hold; the load that
 *              they put on channels (load.h), the virtual channels that they need (lanes.h), and
 *              what is known of a table, kept in a file for repairs (memo.h).
 *   trees/     from turns to a table: the tree of each target grows from its switch outward over
 *              the shortest ways (grow.h, ways.h), the cheapest first (price.h), for all targets
 *              (trees.h); then entries move from busy channels to others (tune.h).
 *   routing/   all of this in one call (routing.h): demand, turns, trees, balance. Or one path for
 *              each pair instead of tables (paths.h).
 *   check/     is a table complete and free of deadlock (check.h), may one follow another while the
 *              fabric works (transition.h)?
 *   repair/    mends a table after failures with few changes (repair.h), and finds an order in
 *              which the switches can take it over (stages.h).
 *
 * Lower knows nothing of higher: fabric < {formats, generate}, formats < traffic < turns < tables <
 * trees < {routing, repair}. The check knows fabric and formats only: it follows each entry from
 * file or memory itself, so that no mistake of the router can hide in what both use. The room needs
 * src/base only. tests/tidy/check_layers.py holds all of this.
 *
 * Work is shared out to threads in numbered parts (base/parallel.h); what a part computes depends
 * on its number alone, so any number of threads makes the same tables.
 *
 * To add an algorithm: a function in turns/ that allows turns, named in the table of algorithm.c.
 * To add a format of fabrics: a reader in formats/ that fills a fabric, found by fabric_read.c. To
 * add a shape: a function in generate/, named in the table of generate.c.
 */
#pragma once

#include "route/check/check.h"
#include "route/check/transition.h"
#include "route/formats/formats.h"
#include "route/generate/generate.h"
#include "route/repair/repair.h"
#include "route/repair/stages.h"
#include "route/routing/paths.h"
#include "route/routing/routing.h"
