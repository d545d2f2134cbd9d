/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulated network: RHiNET-2 and RHiNET-3 switches and links between hosts.
 *
 * Virtual cut-through: a packet goes on as soon as its header is routed, its output is free and the
 * next buffer has room for all of it; so once it has begun to cross a link nothing stops it, and
 * the times of all its flits are known at that moment. That is why there is one event for a
 * packet's step over a link where flit-by-flit simulators have hundreds, with the same times to the
 * picosecond. Every input has a buffer for each virtual channel (lane).
 *
 *   RHiNET-2: stop and go. A buffer with less room than a packet and the slack sends stop, later
 *             go; signals take as long as light. Errors of one bit in a flit are mended by ECC; two
 *             bits in one flit damage the packet, which is then lost and counted.
 *   RHiNET-3: credits for flits, flit by flit; a flit whose CRC is wrong is sent again with all
 *   that
 *             followed it (go back, by sequence number), hop by hop.
 *
 * What the sources leave open is assumed in sim/constants.h. Besides: an output serves the oldest
 * request whose lane has room; an input reads one packet at a time, copies of a multicast that
 * begin together counting as one.
 *
 * A plan tells what is connected and how packets find their way; the command line makes it from the
 * files of the routing module, which this module does not know.
 */
#pragma once

#include "sim/constants.h"
#include "sim/engine/engine.h"

#define NETWORK_LANES_MAX 64
#define NETWORK_NO_PORT   255

struct network;

enum network_kind { NETWORK_RHINET2, NETWORK_RHINET3 };

struct network_end {
    uint32_t node;
    uint8_t port; /* from 1; a host's only port is 1 */
};

struct network_link {
    struct network_end a, b;
    uint32_t mbps;   /* 0: the network's own speed */
    uint32_t metres; /* 0: network_options.metres */
};

/* Nodes are the switches 0 … switch_count - 1, then the hosts. Hosts are also numbered from 0. All
 * of it belongs to the caller and must outlive the network. */
struct network_plan {
    uint32_t switch_count, host_count, link_count;
    const struct network_link *links;
    const char *const *names; /* of nodes, for people; NULL: "switch 3", "host 5" */
    /* Destination routing: [switch * host_count + host] -> port, NETWORK_NO_PORT: no way. */
    const uint8_t *port_to;
    /* Source routing, instead of port_to: [switch of the source * host_count + host] -> the first
     * of its steps, which end with the one to the host itself. */
    const uint32_t *path_to;
    const struct network_step {
        uint8_t port, lane;
    } * steps;
    uint32_t step_count;
    /* [switch] -> does a packet that came from a switch and goes to a switch change to the next
     * lane? (structured channels: everywhere; reduced: at switches with three or more links).
     * NULL: nowhere. Not used by source routing. */
    const bool *raises;
    uint32_t lane_count; /* 0: 1 */
};

/* A packet that begins to arrive: called when its first flit is there. */
struct network_arrival {
    uint64_t packet; /* its number */
    uint32_t source, target;
    uint32_t flits, lane;
    uint64_t cookie;
    sim_time sent; /* when network_send() was called */
    sim_time tail; /* when its last flit will be there */
    uint32_t stay; /* for network_drain() */
};

struct network_options {
    enum network_kind kind;
    const struct sim_constants *constants; /* NULL: the default ones */
    uint32_t metres;                       /* of links that do not say */
    double bit_error_rate;                 /* on every link */
    void (*deliver)(void *context, const struct network_arrival *arrival); /* may be NULL */
    /* The last flit of a packet has left its host; may be NULL. */
    void (*sent)(void *context, uint32_t source, uint64_t cookie);
    void *context;    /* of both */
    bool hosts_drain; /* hosts free their buffer by network_drain(); else it frees itself */
};

struct network_packet {
    uint32_t source;
    const uint32_t *targets; /* one, or several: multicast, by destination routing only */
    uint32_t target_count;
    uint32_t flits;
    uint64_t cookie;
    sim_time tail_ready; /* when its last flit can leave the host; before now: at once */
};

/* -EINVAL with the reason if the plan is wrong: two cables in one port, a link that is too long for
 * its buffers; -ENOMEM. */
int network_create(struct network **network, struct sim *sim, const struct network_plan *plan,
                   const struct network_options *options);
void network_destroy(struct network *network);

/* Puts a packet into the host's queue. -EINVAL: longer than the MTU, no such host; -ENETUNREACH;
 * -ENOMEM. */
int network_send(struct network *network, const struct network_packet *packet);

/* With hosts_drain: the host takes the packet out of its buffer, from now until `end`. The buffer
 * is freed in order of arrival: what was taken before one that came earlier is freed after that. */
void network_drain(struct network *network, uint32_t stay, sim_time end);

/* What a packet needs from host to host when nobody else is there, until its last flit has arrived:
 * the closed formula, walked over the tables. With H switches and N flits on links of flit time T
 * and delay P it is: sum of T + P over the links, H times switch_ps, (N - 1) times the largest T.
 * -ENETUNREACH. */
int network_latency(const struct network *network, uint32_t source, uint32_t target, uint32_t flits,
                    sim_time *latency);

struct network_count {
    uint64_t packets_sent; /* a multicast counts once for each target */
    uint64_t packets_delivered;
    uint64_t packets_lost;
    uint64_t packets_inside;
    uint64_t flit_hops; /* flits that crossed a link, without resent ones */
    uint64_t flits_resent;
    uint64_t bits_corrected;
    uint64_t stops; /* stop signals sent */
};
void network_count(const struct network *network, struct network_count *count);

struct network_load {
    struct network_end from, to;
    uint64_t packets, flits;
    sim_time busy; /* time in which the link carried a packet */
};
uint32_t network_link_count(const struct network *network); /* directions of links */
void network_link_load(const struct network *network, uint32_t link, struct network_load *load);

/* Nothing may be lost uncounted: packets, credits, room in buffers. 0, or -EIO and the first
 * violation as error text. When the network is empty every credit must be back. */
int network_check(const struct network *network);

/* Packets that wait in a circle for each other's buffers: returns how many circles there are and,
 * if there is one, writes the first in words, a line for each buffer. out may be NULL. */
uint32_t network_deadlock(const struct network *network, FILE *out);

/* "switch 3", or the plan's name for it. */
#define NETWORK_NAME_MAX 128
const char *network_name(const struct network *network, uint32_t node, char text[NETWORK_NAME_MAX]);

const struct sim_constants *network_constants(const struct network *network);
sim_time network_flit_time(const struct network *network); /* of links that say no speed */
uint32_t network_flits(const struct network *network, uint32_t bytes); /* of a packet with data */
