/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The shape of a job of several hosts: which rank runs on which, and which seat each host's task
 * manager has at the mesh (job/mesh/mesh.h).
 *
 * Hosts that run ranks are nodes, numbered as the user named them. Seats are numbered differently:
 * seat 0, the coordinator, is the task manager of the first launcher, whether ranks run there or
 * not.
 */
#pragma once

#include "base/settings.h"
#include "watch/roster.h"

#include <stdbool.h>

#define JOB_NODES_MAX 4096

struct job_map {
    int size; /* ranks */
    int node_count;
    int coordinator_node; /* the node whose task manager has seat 0, or -1: no rank runs there */
    int seat;             /* ours */
    uint64_t job_id;
    uint8_t secret[32];
    char (*host)[sizeof(((struct roster_node *)0)->host)];          /* node_count names */
    int *node_of;                                                   /* of each rank */
    char coordinator_host[sizeof(((struct roster_node *)0)->host)]; /* if no rank runs there */
};

/* Room for names and ranks; zeroed, coordinator_node -1. RH_ENOSPACE, RH_EINVALID. */
int job_map_open(struct job_map *map, int size, int node_count);
void job_map_close(struct job_map *map);

/* A number and a secret for the job. RH_EREFUSED if the system has no random numbers. */
int job_identity_make(uint64_t *job_id, uint8_t secret[32]);

/* What members get to know instead, for what they say to each other: with the job's own they could
 * pass for a task manager. */
void job_member_secret(const uint8_t secret[32], uint8_t derived[32]);

int job_map_seat_count(const struct job_map *map);
int job_map_seat_of(const struct job_map *map, int node);
int job_map_node_of(const struct job_map *map, int seat); /* -1: no rank runs there */

/* Whether the rank runs where we do; without a map all do. */
bool job_map_is_here(const struct job_map *map, int rank);

/* What people call the host of a seat. */
const char *job_map_host_name(const struct job_map *map, int seat);

/* "ranks 0-3, 7" of a node, cut with "..." where there is no room. */
void job_map_ranks_text(const struct job_map *map, int node, char *text, size_t text_size);

/* The NIC of a job whose program names none: what the user says, else one that reaches all nodes.
 * The text is the settings', or constant. */
const char *nic_choice(const struct settings *settings, uint32_t node_count);
