/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The file cache on a simulated cluster: each node is a fiber that reads through the cache's own
 * code (cache/node), over NIC martini, in virtual time. The file system is one server that all
 * nodes share. Without threads there is no reading ahead, and nobody renews claims: nobody dies
 * here either, and leases are long.
 */
#pragma once

#include "cache/cache.h"

#include <stdbool.h>
#include <stdint.h>

#define CACHE_CLUSTER_NODES 128

enum cache_cluster_kind {
    CACHE_CLUSTER_SEQUENTIAL, /* every node reads all of the file from its start */
    CACHE_CLUSTER_STRIDE,     /* the nodes take turns, piece by piece */
    CACHE_CLUSTER_RANDOM      /* `reads` by each, after as many that fill the caches */
};

struct cache_cluster_trial {
    enum cache_cluster_kind kind;
    int nodes;
    bool is_plain;         /* from the server, without the cache */
    int groups;            /* 0: by the number of nodes */
    double singlets;       /* negative: adapts */
    uint32_t block_length; /* as node_options */
    uint32_t cache_blocks; /* of a node */
    uint64_t file_length;  /* a multiple of both lengths */
    uint32_t read_length;
    uint32_t reads;
    uint64_t seed;
};

struct cache_cluster_result {
    double seconds; /* virtual, from the first read to the last */
    uint64_t bytes;
    uint64_t counters[CACHE_COUNTER_COUNT]; /* of the measured part, all nodes */
    uint64_t hash;                          /* of all events: the same trial has the same */
};

/* 0, or a code of rhinet/error.h with its text. */
int cache_cluster_run(const struct cache_cluster_trial *trial, struct cache_cluster_result *result);
