/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One measurement of `rhinet cache bench`: a job whose ranks are nodes of the cache and readers in
 * one. Rank 0 prints what came out as one line of JSON.
 *
 *   trial.c          being a rank: agent, client, start and end together
 *   trial_reads.c    what is read, in which order
 *   trial_speed.c    hits against the page cache, fetches against pushes
 */
#pragma once

#include "cache/agent/agent.h"
#include "cache/client/client.h"

#include <rhinet/msg.h>

#define TRIAL_FIGURES 6

struct trial {
    /* What is asked for. */
    char kind[32];
    char path[1024]; /* a file, or a folder of files */
    uint64_t length; /* of a read */
    uint64_t reads;  /* how many, where that is not given by the file */
    bool is_plain;   /* without the cache */
    /* What there is. */
    struct agent agent;
    struct rh_job *job;
    struct rh_msg *msg;
    struct rh_set *set;
    struct cache_client *client;
    int rank, size;
    char *buffer;
    char *memory; /* for raw pushes, as long as the file */
    /* What came out. */
    uint64_t bytes;
    double figures[TRIAL_FIGURES];
    const char *figure_names[TRIAL_FIGURES];
    int figure_count;
};

/* A file, open both ways. */
struct trial_file {
    int fd;
    struct cache_file file;
    uint64_t size;
};

/* Each returns 0 or a negative error, which has been said. */
int trial_file_open(struct trial *trial, const char *path, struct trial_file *file);
void trial_file_close(struct trial_file *file);

/* How many reads the file is long, where it must be one at least. */
int trial_pieces(const struct trial *trial, const struct trial_file *file, uint64_t *count);

/* Read by the cache or without it, as the trial says; counts bytes. */
int trial_read(struct trial *trial, struct trial_file *file, uint64_t offset, uint64_t length);

int trial_meet(struct trial *trial);

struct trial_kind {
    const char *name;
    int (*prepare)(struct trial *trial); /* not measured; may be NULL */
    int (*run)(struct trial *trial);
};
extern const struct trial_kind trial_reads[], trial_speeds[]; /* each ends with NULL */

void trial_figure(struct trial *trial, const char *name, double value);
