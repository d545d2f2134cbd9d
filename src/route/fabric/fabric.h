/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The fabric as people see it: named switches and hosts, numbered ports, cables, LIDs. Readers and
 * generators build it, writers print it, net.h turns it into what the algorithms work on.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define FABRIC_NONE      UINT32_MAX
#define FABRIC_PORTS_MAX 254    /* a forwarding table entry is one byte, 255 means "drop" */
#define FABRIC_LID_MAX   0xbfff /* InfiniBand's last unicast LID; larger fabrics get no LIDs */

enum fabric_kind { FABRIC_SWITCH, FABRIC_HOST };

struct fabric_port {
    uint32_t peer_node; /* FABRIC_NONE: no cable */
    uint16_t peer_port;
    uint8_t lmc;       /* it answers to 2^lmc LIDs, lid and those that follow */
    uint32_t lid;      /* hosts: of this port; switches: only port 0 has one; 0: none yet */
    uint32_t lid_line; /* of the file that says so */
    uint64_t guid;
};

struct fabric_node {
    char *name;
    enum fabric_kind kind;
    uint16_t port_count; /* ports 1 … port_count; port 0 is the switch itself */
    uint32_t group;      /* part of the fabric it belongs to, 0 unless said */
    uint64_t guid;
    struct fabric_port *ports; /* port_count + 1 of them */
};

struct fabric {
    struct fabric_node *nodes;
    uint32_t node_count;
    size_t node_capacity;
    uint32_t group_count;
    uint32_t *hash; /* name -> node, open addressing */
    uint32_t hash_size;
};

struct fabric_end {
    uint32_t node;
    uint16_t port; /* 0: the first free one */
};

int fabric_create(struct fabric **fabric);
void fabric_destroy(struct fabric *fabric);

/* Adds a node; *index is its number. -EEXIST: the name is taken. Ports may grow later. */
int fabric_node_add(struct fabric *fabric, enum fabric_kind kind, const char *name,
                    uint32_t *index);
/* The node with this name, added if it is new. */
int fabric_node_get(struct fabric *fabric, enum fabric_kind kind, const char *name,
                    uint32_t *index);
uint32_t fabric_node_find(const struct fabric *fabric, const char *name);
void fabric_names_index(struct fabric *fabric); /* after nodes have moved */

/* Makes sure the node has this many ports. */
int fabric_ports_grow(struct fabric *fabric, uint32_t node, uint32_t port_count);

/* Joins two ports by a cable. -EEXIST: one of them has another cable already; the same cable twice
 * is fine, since most formats name each cable from both ends. */
int fabric_link_add(struct fabric *fabric, struct fabric_end a, struct fabric_end b);

/* Takes a cable away, as a failure would. */
void fabric_link_cut(struct fabric *fabric, struct fabric_end end);

/* Notes the LID that a line of a file gives to a port (0 of a switch). 0 and 0xffff are none. An
 * error says what is wrong with it: no unicast LID, not fit for the LMC, or the port has
 * another. */
struct fabric_lid {
    uint32_t lid, lmc, line;
};
int fabric_lid_set(struct fabric *fabric, struct fabric_end port, struct fabric_lid lid);

/* -EEXIST: two ports have the same LID; *line is where the second gets it. */
int fabric_lids_check(const struct fabric *fabric, uint32_t *line);

/* How many LIDs a port answers to. */
static inline uint32_t fabric_lid_count(const struct fabric_port *port)
{
    return 1u << port->lmc;
}

/* Gives LIDs and GUIDs to what has none, in node order: same fabric, same numbers. Returns how many
 * LIDs were given. Large fabrics get more than InfiniBand has: fabric_lids_fit() tells. */
int fabric_lids_assign(struct fabric *fabric);
bool fabric_lids_fit(const struct fabric *fabric);

/* Takes all nodes away that no cable connects to the largest part of the fabric (the one with most
 * hosts). *cut counts them and names the first. */
struct fabric_cut {
    uint32_t switches, hosts;
    char first[128];
};
int fabric_part_keep(struct fabric *fabric, struct fabric_cut *cut);

/* Puts each node into the group named by its name up to the first occurrence of separator. */
void fabric_groups_by_name(struct fabric *fabric, char separator);

uint32_t fabric_count(const struct fabric *fabric, enum fabric_kind kind);
