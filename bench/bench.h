/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The frame of `rhinet bench`.
 *
 * Machines are noisy and virtual cores migrate, so every figure is a ratio: a case measures
 * something of ours and a raw program that does the same without us, alternately and in the same
 * processes. The command starts jobs of itself; rank 0 of a job conducts, the others follow it
 * step by step. A round is: line trip, raw, ours, raw, line trip. Rounds in which the machine
 * changed are thrown away.
 *
 *   bench.c    options, and the order of things      cases.c    the table of cases
 *   members.c  starting a job, being a rank of it    raw.c      the raw programs
 *   conduct.c  steps: rank 0 leads, others follow    rma_*.c    our side of each case
 *   rounds.c   rounds, and what is made of them      start.c    starting jobs, from outside
 *   timing.c   loops and their time                  report.c   table and JSON
 *   sheet.c    memory that all of them share         cores.c    whether two cores are two
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <rhinet/rma.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define BENCH_LINE       64
#define BENCH_ROUNDS_MIN 9 /* below this a figure is not to be trusted */
#define BENCH_ROUNDS_MAX 199
#define BENCH_CASES_MAX  64

/* ---- Cases ---------------------------------------------------------------------------------- */

struct bench_run;

enum bench_bound { BENCH_NO_BOUND, BENCH_RATIO_AT_MOST, BENCH_RATIO_AT_LEAST, BENCH_VALUE_AT_MOST };

/* Every process of the job calls raw and measure; rank 0's figure counts. All return 0 or a
 * negative error with its text. set_up and tear_down may be NULL. */
struct bench_case {
    const char *name;
    const char *unit;
    const char *help; /* what is measured, and what raw is */
    int rank_count;   /* processes of the job; 0: no job, the command measures from outside */
    int amount;       /* how many of whatever the case counts */
    int repeat_count; /* a figure is the median of this many; 0: one */
    enum bench_bound bound;
    double bound_value;
    double drift_most; /* of raw during a round, as a part of it */
    int (*set_up)(struct bench_run *run);
    void (*tear_down)(struct bench_run *run);
    int (*raw)(struct bench_run *run, double *figure);
    int (*measure)(struct bench_run *run, double *figure);
};

extern const struct bench_case bench_cases[];
extern const int bench_case_count;

/* ---- Sheet: memory shared by the command and all ranks --------------------------------------- */

struct bench_round {
    double value;
    double raw;
    double trip; /* of a cache line; 0 outside jobs */
};

struct bench_figure {
    _Atomic uint32_t round_count; /* good ones */
    _Atomic uint32_t discarded_count;
    _Atomic uint32_t one_core_count; /* those of them in which the two cores were one */
    struct bench_round round[BENCH_ROUNDS_MAX];
};

struct bench_wishes {
    bool is_chosen[BENCH_CASES_MAX];
    uint32_t round_count;
    int64_t case_time_ns; /* at most that long per case */
};

enum bench_companion { BENCH_COMPANION_IDLE, BENCH_COMPANION_BUSY, BENCH_COMPANION_ENOUGH };

struct bench_sheet {
    struct bench_wishes wishes;
    _Atomic int32_t case_now; /* for the progress line */
    /* Steps: rank 0 writes the kind, then the number; the others count themselves done. */
    alignas(BENCH_LINE) _Atomic uint32_t step;
    uint32_t step_kind;
    int32_t step_case;
    alignas(BENCH_LINE) _Atomic uint32_t done_count;
    alignas(BENCH_LINE) _Atomic uint32_t companion;  /* cores.c */
    alignas(BENCH_LINE) _Atomic uint64_t sent_count; /* rma_append.c */
    alignas(BENCH_LINE) struct bench_figure figure[BENCH_CASES_MAX];
};

struct bench_sheet *bench_sheet_create(int *fd); /* NULL if there is no memory */
struct bench_sheet *bench_sheet_map(int fd);

/* ---- What a case sees ------------------------------------------------------------------------ */

/* The first segment of each rank: words, then lines, then a block. */
#define BENCH_SID          1u
#define BENCH_SID_ATTACHED 2u
#define BENCH_SID_QUEUE    3u
#define BENCH_WORD_ATOMIC  512u /* offsets of words, each alone in its line; the trip's is 0 */
#define BENCH_WORD_HOT     1024u
#define BENCH_WORD_PID     1536u
#define BENCH_WORD_ADDRESS 2048u
#define BENCH_LINES_AT     4096u
#define BENCH_LINE_COUNT   64u
#define BENCH_BLOCK_AT     (1u << 20)
#define BENCH_BLOCK_LENGTH (1u << 20)
#define BENCH_MEMORY       (2u << 20)

struct bench_run {
    const struct bench_case *bench_case;
    struct bench_sheet *sheet;
    struct rh_job *job; /* NULL in the command */
    int rank;
    int size;
    int peer;            /* ranks 0 and 1 are each other's; the others have none: -1 */
    char *memory;        /* own segment BENCH_SID */
    char *remote_memory; /* the peer's, directly */
    char *block;         /* private memory of BENCH_BLOCK_LENGTH */
    uint64_t sequence;   /* last number sent in a ping-pong; the same on both sides */
    uint64_t atomic_sequence;
    struct rh_page *page;
    struct rh_queue *queue;
};

/* ---- conduct.c ------------------------------------------------------------------------------- */

enum bench_step {
    BENCH_STEP_CASE,  /* begin a case: set up */
    BENCH_STEP_ROUND, /* begin a round: real-time priority, where we may */
    BENCH_STEP_TRIP,
    BENCH_STEP_RAW,
    BENCH_STEP_MEASURE,
    BENCH_STEP_CORES,
    BENCH_STEP_REST, /* end a round */
    BENCH_STEP_CASE_END,
    BENCH_STEP_QUIT
};

/* Rank 0, or the command alone: have everybody take a step, and take it. figure may be NULL. */
int bench_lead(struct bench_run *run, enum bench_step step, double *figure);
/* The others: follow until told to quit. */
int bench_follow(struct bench_run *run);

/* ---- rounds.c -------------------------------------------------------------------------------- */

/* Measure one case, as rank 0 or as the command. Fills its figure in the sheet. */
int bench_rounds_measure(struct bench_run *run, int case_index);

/* The round whose ratio is the median; false if there is none. */
bool bench_figure_median(const struct bench_figure *figure, struct bench_round *round);
double bench_median(double *values, unsigned count);

/* ---- timing.c -------------------------------------------------------------------------------- */

/* Does something count times. */
typedef int (*bench_chunk)(struct bench_run *run, unsigned count);

/* Time per iteration in ns, of rank 0 alone. */
int bench_time(struct bench_run *run, bench_chunk chunk, unsigned count, double *ns);
/* A ping-pong of ranks 0 and 1: half a round trip in ns. */
int bench_one_way(struct bench_run *run, bench_chunk chunk, double *ns);
/* Rank 0 moves blocks while the peer idles: GB/s. */
int bench_bandwidth(struct bench_run *run, bench_chunk chunk, double *figure);
/* Ranks 0 and 1 move a block to and fro: GB/s. */
int bench_bandwidth_ping(struct bench_run *run, bench_chunk chunk, double *figure);

static inline uint64_t *bench_word(char *memory, uint64_t offset)
{
    return (uint64_t *)(void *)(memory + offset);
}

/* ---- cores.c --------------------------------------------------------------------------------- */

/* How much slower rank 0 computes while rank 1 does so, too. */
int bench_cores(struct bench_run *run, double *slowdown);
/* Whether that means that both run on one real core. */
bool bench_cores_are_shared(double slowdown);

/* ---- members.c ------------------------------------------------------------------------------- */

/* Run all chosen cases that need a job of this many ranks. */
int bench_members_start(struct bench_sheet *sheet, int sheet_fd, int rank_count,
                        bool show_progress);
/* What the ranks do: `rhinet bench .rank SHEET_FD`. Returns the exit status. */
int bench_members_be_rank(const char *sheet_fd);
/* Path of this program, for starting it again; NULL if unknown. */
const char *bench_program(void);

/* ---- raw.c ----------------------------------------------------------------------------------- */

int raw_trip(struct bench_run *run, double *figure);       /* one line, one way, ns */
int raw_trip_lines(struct bench_run *run, double *figure); /* the same over many lines */
int raw_copy(struct bench_run *run, double *figure);       /* memcpy into the peer's block, GB/s */
int raw_copy_ping(struct bench_run *run, double *figure);  /* the same block to and fro */
int raw_process_write(struct bench_run *run, double *figure);
int raw_atomic_trip(struct bench_run *run, double *figure);
int raw_atomic(struct bench_run *run, double *figure);
int raw_store_fence(struct bench_run *run, double *figure);

/* ---- rma_*.c and start.c --------------------------------------------------------------------- */

int rma_store_open(struct bench_run *run);
void rma_store_close(struct bench_run *run);
int rma_store(struct bench_run *run, double *figure);
int rma_push(struct bench_run *run, double *figure);
int rma_inline(struct bench_run *run, double *figure);
int rma_fetch_add_trip(struct bench_run *run, double *figure);
int rma_fetch_add(struct bench_run *run, double *figure);
int rma_push_flush(struct bench_run *run, double *figure);

int rma_push_block(struct bench_run *run, double *figure);
int rma_push_ping(struct bench_run *run, double *figure);
int rma_attached_open(struct bench_run *run);
void rma_attached_close(struct bench_run *run);
int rma_push_attached(struct bench_run *run, double *figure);

int rma_append_open(struct bench_run *run);
void rma_append_close(struct bench_run *run);
int rma_append(struct bench_run *run, double *figure);
int rma_drain_open(struct bench_run *run);
int rma_drain_one(struct bench_run *run, double *figure); /* one sender */
int rma_drain_all(struct bench_run *run, double *figure);

int start_nothing(struct bench_run *run, double *figure);
int start_job(struct bench_run *run, double *figure);
/* What the started do: `rhinet bench .join`. */
int start_join_and_leave(void);

/* ---- report.c -------------------------------------------------------------------------------- */

struct bench_report {
    const struct bench_sheet *sheet;
    const char *json_path; /* NULL: a table; "-": stdout */
};

int bench_report_write(const struct bench_report *report);

#endif
