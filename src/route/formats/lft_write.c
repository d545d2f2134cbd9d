/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes what OpenSM reads: forwarding tables in the form of dump_fts (opensm -R file -U FILE), and
 * the guid2lid file that makes it give the same LIDs.
 */
#include "route/formats.h"

#include <errno.h>
#include <inttypes.h>

/* The port by which a switch reaches a target, or -1. */
static int port_of(const struct lft *lft, uint32_t at, uint32_t target)
{
    const struct net *net = lft->net;
    uint8_t next = lft_tree(lft, target)[at];
    if (next == LFT_NONE)
        return -1;
    if (next == LFT_HERE)
        return net->target_port[target];
    return net->port[net->first[at] + next];
}

int formats_lft_write(const struct lft *lft, FILE *out)
{
    const struct net *net = lft->net;
    uint32_t lid_last = 0;
    for (uint32_t t = 0; t < net->target_count; t++) {
        if (net->target_lid[t] > lid_last)
            lid_last = net->target_lid[t];
    }
    for (uint32_t s = 0; s < net->switch_count; s++) {
        const struct fabric_node *node = &net->fabric->nodes[net->node[s]];
        uint32_t count = 0;
        fprintf(out, "Unicast lids [0x0-0x%x] of switch Lid %u guid 0x%016" PRIx64 " ('%s'):\n",
                lid_last, node->ports[0].lid, node->guid, node->name);
        for (uint32_t t = 0; t < net->target_count; t++) {
            int port = port_of(lft, s, t);
            if (port < 0 || net->target_lid[t] == 0)
                continue;
            fprintf(out, "0x%04x %03d : (%s)\n", net->target_lid[t], port,
                    net->fabric->nodes[net->target_node[t]].name);
            count++;
        }
        fprintf(out, "%u valid lids dumped\n", count);
    }
    return ferror(out) ? -EIO : 0;
}

static void lid_line(const struct fabric_port *port, FILE *out)
{
    if (port->lid != 0)
        fprintf(out, "0x%016" PRIx64 " 0x%04x 0x%04x\n\n", port->guid, port->lid, port->lid);
}

int formats_guid2lid_write(const struct fabric *fabric, FILE *out)
{
    for (uint32_t i = 0; i < fabric->node_count; i++) {
        const struct fabric_node *node = &fabric->nodes[i];
        if (node->kind == FABRIC_SWITCH)
            lid_line(&node->ports[0], out);
        for (uint32_t p = 1; node->kind == FABRIC_HOST && p <= node->port_count; p++)
            lid_line(&node->ports[p], out);
    }
    return ferror(out) ? -EIO : 0;
}
