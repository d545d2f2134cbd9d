/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Traffic for simulated networks, and what is measured of it: latency, throughput, and whether
 * everything arrived. Every run checks the network's books and looks for deadlock.
 */
#pragma once

#include "sim/switch/switch.h"

enum workload_pattern {
    WORKLOAD_UNIFORM,    /* each message to any other host, at random times (Poisson) */
    WORKLOAD_HOTSPOT,    /* the same, but a share of all goes to one host */
    WORKLOAD_ALL_TO_ALL, /* each host one message to each other, at the pace of `load` */
    WORKLOAD_TRACE       /* a given list */
};

struct workload_message {
    sim_time when;
    uint32_t source, target, bytes;
};

struct workload_spec {
    enum workload_pattern pattern;
    uint32_t bytes;         /* of a message; split at the MTU */
    double load;            /* what a host offers, headers included; 1: all that its link carries */
    uint32_t hot_host;      /* WORKLOAD_HOTSPOT */
    double hot_share;       /* 0 … 1 */
    sim_time warm, measure; /* UNIFORM, HOTSPOT: messages made in `measure` after `warm` count */
    const struct workload_message *trace; /* WORKLOAD_TRACE: in order of time */
    size_t trace_count;
    void (*progress)(void *context, double part); /* 0 … 1, now and then; may be NULL */
    void *progress_context;
};

struct workload_latency {
    uint64_t count; /* messages; the rest is 0 if there are none */
    double mean;    /* all in ps, from making a message to the arrival of its last flit */
    sim_time least, median, most;
    sim_time p99, p999;
};

struct workload_report {
    double offered, accepted; /* flits, as part of what the hosts' links carry */
    struct workload_latency latency;
    uint64_t messages_made, messages_unfinished; /* that count */
    bool is_saturated;                           /* not all of those arrived in the time allowed */
    uint32_t deadlock_count;
    char deadlock[4096]; /* in words, empty if there is none */
    sim_time end;        /* of the run; ALL_TO_ALL, TRACE: when the last flit arrived */
    uint64_t events, hash;
    struct network_count count;
};

/* What traffic needs to know of arrivals. Make one, hand workload_deliver and it to
 * network_options, then run. */
struct workload;
int workload_create(struct workload **workload, const struct workload_spec *spec);
void workload_destroy(struct workload *workload);
void workload_deliver(void *workload, const struct network_arrival *arrival);

/* 0; -EINVAL: the specification is wrong; -EIO: the network's books do not add up; -ENOMEM. */
int workload_run(struct workload *workload, struct sim *sim, struct network *network,
                 uint32_t host_count, struct workload_report *report);
