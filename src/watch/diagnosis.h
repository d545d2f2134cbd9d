/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Why does this job not go on? Two looks at its roster and board, a moment apart, are enough to
 * tell a deadlock from a rank that computes for long: a wait is idle if it is the same in both
 * looks, has looked at its condition in between, and its rank has moved nothing. If all ranks that
 * could end it are themselves idle, in a circle, then nobody ever will.
 *
 * `rhinet doctor` uses this from outside, a rank that has waited for too long from inside.
 */
#pragma once

#include "base/process.h"
#include "watch/roster.h"

#include <stdbool.h>
#include <stddef.h>

#define DIAGNOSIS_APART_NS (150LL * 1000 * 1000)  /* between the two looks */
#define DIAGNOSIS_LINE     512                    /* room that any of the texts fits in */
#define DIAGNOSIS_TOLD_NS  (1000LL * 1000 * 1000) /* news of another host are news for so long */

/* A wait on the board, copied and checked. */
struct diagnosis_wait {
    struct wait_note note; /* peer inside the job or -1; of WAIT_ON_HOLDER the holder */
    int64_t since_ns;
    int thread;
    int place; /* on the rank's board */
    uint32_t turn, looks;
    bool is_idle; /* see above */
};

struct diagnosis_group {
    uint32_t key, size;
    uint64_t entered;
};

struct diagnosis_rank {
    enum rh_peer_state state;
    int pid;
    int end_signal, end_status;
    char host[64]; /* of a rank that is not here; else "" */
    bool is_seen;  /* it is here, or its host's task manager has told of it just now */
    int64_t told_ns;
    struct process_look process;
    uint64_t work; /* all that it has done to others or taken from them, counted */
    unsigned wait_count;
    struct diagnosis_wait wait[BOARD_WAITS];
    struct diagnosis_group group[BOARD_GROUPS];
    bool is_deadlocked;
};

struct diagnosis {
    uint32_t size;
    bool is_open; /* of an open job: more may come */
    int64_t now_ns;
    struct diagnosis_rank rank[];
};

/* One look. boards may be NULL: then nobody waits. NULL if memory is out; free() it. */
struct diagnosis *diagnosis_take(const struct roster *roster, const struct board_rank *boards,
                                 uint32_t size);

/* Ask the kernel about a rank's process, on this machine. */
void diagnosis_look(struct diagnosis *diagnosis, int rank);

/* Fill is_idle and is_deadlocked; before may be NULL: then nothing is certain. Needs the processes.
 * False if a later second look may tell more: somebody has not had time to look at its
 * condition. */
bool diagnosis_judge(struct diagnosis *now, const struct diagnosis *before);

/* How far a rank is with a group, NULL: it has not joined it, as far as its board says. */
const struct diagnosis_group *diagnosis_group(const struct diagnosis_rank *rank, uint64_t id);

/* Whether a wait of `rank` depends on what `other` does. */
bool diagnosis_depends(const struct diagnosis *diagnosis, int rank,
                       const struct diagnosis_wait *wait, int other);

/* Whether a wait names the ranks it depends on; else any rank may end it. */
bool diagnosis_is_directed(const struct diagnosis_wait *wait);

static inline double diagnosis_age_s(const struct diagnosis *diagnosis,
                                     const struct diagnosis_wait *wait)
{
    int64_t age_ns = diagnosis->now_ns - wait->since_ns;
    return age_ns > 0 ? (double)age_ns / 1e9 : 0;
}

/* ---- diagnosis_text.c: in words, cut to DIAGNOSIS_LINE -------------------------------------- */

struct diagnosis_text {
    char text[DIAGNOSIS_LINE];
    size_t used;
};

void diagnosis_add(struct diagnosis_text *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same as the next one, of which nothing but itself is known. */
void diagnosis_note_add(struct diagnosis_text *line, const struct wait_note *note);

/* "lock 7, held by rank 2" */
void diagnosis_wait_add(struct diagnosis_text *line, const struct diagnosis *diagnosis, int rank,
                        const struct diagnosis_wait *wait);

/* "is stopped (pid 123)", "waits in receive from rank 0, tag 7" */
void diagnosis_state_add(struct diagnosis_text *line, const struct diagnosis *diagnosis, int rank,
                         bool with_pid);

/* "12 s" */
void diagnosis_age_add(struct diagnosis_text *line, double age_s);

/* "0 waits for 1, 1 waits for 0", the circle that rank is in or waits for. */
void diagnosis_circle_add(struct diagnosis_text *line, const struct diagnosis *diagnosis, int rank);
