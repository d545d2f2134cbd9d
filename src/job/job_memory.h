/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making and mapping a job's roster and board (their layout is watch/roster.h). Used by the task
 * manager, and by a job of one, which is its own manager.
 */
#pragma once

#include "watch/roster.h"

struct job_memory {
    int roster_fd; /* the maker's; -1 for a member, which needs them no longer once mapped */
    int board_fd;
    struct roster *roster;    /* writable for the maker, read-only for a member */
    struct board_rank *board; /* an array, one per rank */
    uint32_t size;
};

/* Make both for `size` ranks, roster filled but for nic and command. Errors: RH_ENOSPACE. */
int job_memory_create(struct job_memory *memory, uint32_t size, uint64_t job_id);

/* The same for an open job of at most `size`, of which nobody is there yet: a rank's part of the
 * board is memory only once job_memory_rank_add() has reserved it, which also clears it. */
int job_memory_create_open(struct job_memory *memory, uint32_t size, uint64_t job_id);
int job_memory_rank_add(struct job_memory *memory, int rank);

/* Map descriptors that came from the manager; closes them on success. Errors: RH_ECORRUPT,
 * RH_ENOSPACE. */
int job_memory_map(struct job_memory *memory, int roster_fd, int board_fd, uint32_t size);

void job_memory_release(struct job_memory *memory);
