/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Simulated nodes on a simulated network: a host and a controller each, joined by switches, or two
 * of them back to back. Programs on them are fibers; several nodes' programs live in one process.
 */
#pragma once

#include "sim/driver/driver.h"
#include "sim/platform/platform.h"
#include "sim/switch/switch.h"

struct cluster;

struct cluster_spec {
    uint32_t node_count;
    uint64_t memory;                 /* of each node */
    const struct network_plan *plan; /* NULL: two nodes back to back */
    enum network_kind kind;
    uint32_t metres;                       /* of links that do not say */
    uint32_t mbps;                         /* of links back to back; 0: cluster_mbps */
    double bit_error_rate;                 /* on every link */
    const struct sim_constants *constants; /* NULL: the default ones */
    const struct platform_ranges *ranges;  /* nodes that are other machines; may be NULL */
    struct trace *trace;                   /* may be NULL */
};

/* -EINVAL: more nodes than the plan has hosts, or a file that is no firmware; errors of open();
 * -ENOMEM. */
int cluster_create(struct cluster **cluster, struct sim *sim, const struct cluster_spec *spec);
void cluster_destroy(struct cluster *cluster);

struct host *cluster_host(const struct cluster *cluster, uint32_t node);
struct chip *cluster_chip(const struct cluster *cluster, uint32_t node);
struct driver *cluster_driver(const struct cluster *cluster, uint32_t node);
/* Of this node: what is links' and switches' is the same everywhere. */
const struct sim_constants *cluster_constants(const struct cluster *cluster, uint32_t node);
struct network *cluster_network(const struct cluster *cluster);

uint32_t cluster_node_count(const struct cluster *cluster);

/* What was measured since the beginning: how long packets were in FIFOs of a node, summed up, and
 * how long they took through the network. */
struct cluster_usage {
    sim_time send_fifo;    /* of those that have left */
    sim_time receive_fifo; /* when they left, less when they came */
    uint32_t receiving;    /* that have not left */
};
const struct cluster_usage *cluster_usage(const struct cluster *cluster, uint32_t node);
struct histogram;
const struct histogram *cluster_latency(const struct cluster *cluster);

/* Faults. A node that is killed sends and receives nothing any more, not even what is on its way.
 * If only its program is, the controller still answers what it receives.
 * Loss: each packet that arrives vanishes with this probability, as on a link whose errors nobody
 * mends; of one source or target, or of any (CLUSTER_ANY). Nothing may pass one that is missing, so
 * from then on these two nodes do not hear of each other. */
#define CLUSTER_ANY UINT32_MAX
struct cluster_loss {
    double probability;
    uint32_t source, target;
};
void cluster_node_kill(struct cluster *cluster, uint32_t node);
void cluster_program_kill(struct cluster *cluster, uint32_t node);
int cluster_loss_set(struct cluster *cluster, const struct cluster_loss *loss); /* -ENOMEM */
uint64_t cluster_lost(const struct cluster *cluster); /* packets, by both */
