/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes a fabric as ibnetdiscover does, which is what ibsim reads. Names go into the quotes as
 * they are, so that tools show them; GUIDs are in the lines that carry them. Also its LIDs alone,
 * in OpenSM's guid2lid file.
 */
#include "route/formats/formats.h"

#include <errno.h>
#include <inttypes.h>

static void peer_write(const struct fabric *fabric, const struct fabric_port *port, FILE *out)
{
    const struct fabric_node *peer = &fabric->nodes[port->peer_node];
    bool is_host = peer->kind == FABRIC_HOST;
    const struct fabric_port *there = &peer->ports[is_host ? port->peer_port : 0];
    fprintf(out, "\t\"%s\"[%u]", peer->name, port->peer_port);
    if (is_host)
        fprintf(out, "(%" PRIx64 ")", there->guid);
    fprintf(out, "\t\t# \"%s\" lid %u 4xQDR\n", peer->name, there->lid);
}

static void switch_write(const struct fabric *fabric, const struct fabric_node *node, FILE *out)
{
    fprintf(out, "vendid=0x2c9\ndevid=0xb924\nsysimgguid=0x%" PRIx64 "\n", node->guid);
    fprintf(out, "switchguid=0x%" PRIx64 "(%" PRIx64 ")\n", node->guid, node->ports[0].guid);
    fprintf(out, "Switch\t%u \"%s\"\t\t# \"%s\" base port 0 lid %u lmc %u\n", node->port_count,
            node->name, node->name, node->ports[0].lid, node->ports[0].lmc);
    for (uint32_t p = 1; p <= node->port_count; p++) {
        if (node->ports[p].peer_node == FABRIC_NONE)
            continue;
        fprintf(out, "[%u]", p);
        peer_write(fabric, &node->ports[p], out);
    }
}

static void host_write(const struct fabric *fabric, const struct fabric_node *node, FILE *out)
{
    fprintf(out, "vendid=0x2c9\ndevid=0x673c\nsysimgguid=0x%" PRIx64 "\ncaguid=0x%" PRIx64 "\n",
            node->guid, node->guid);
    fprintf(out, "Ca\t%u \"%s\"\t\t# \"%s\"\n", node->port_count, node->name, node->name);
    for (uint32_t p = 1; p <= node->port_count; p++) {
        const struct fabric_port *port = &node->ports[p];
        if (port->peer_node == FABRIC_NONE)
            continue;
        const struct fabric_node *peer = &fabric->nodes[port->peer_node];
        fprintf(out, "[%u](%" PRIx64 ")\t\"%s\"[%u]\t\t# lid %u lmc %u \"%s\" lid %u 4xQDR\n", p,
                port->guid, peer->name, port->peer_port, port->lid, port->lmc, peer->name,
                peer->ports[peer->kind == FABRIC_HOST ? port->peer_port : 0].lid);
    }
}

int formats_ibnet_write(const struct fabric *fabric, FILE *out)
{
    if (fabric->group_count > 1)
        fputs(FORMATS_GROUPS_HINT "\n\n", out);
    for (uint32_t i = 0; i < fabric->node_count; i++) {
        const struct fabric_node *node = &fabric->nodes[i];
        if (node->kind == FABRIC_SWITCH)
            switch_write(fabric, node, out);
        else
            host_write(fabric, node, out);
        fputc('\n', out);
    }
    return ferror(out) ? -EIO : 0;
}

static void lid_line(const struct fabric_port *port, FILE *out)
{
    if (port->lid != 0)
        fprintf(out, "0x%016" PRIx64 " 0x%04x 0x%04x\n\n", port->guid, port->lid,
                port->lid + fabric_lid_count(port) - 1);
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
