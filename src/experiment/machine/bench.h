/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The frame of `rhinet bench`.
 *
 * Machines are noisy and virtual cores migrate, so every figure is a ratio: a case measures
 * something of ours and a raw program that does the same without us, alternately and in the same
 * processes. The command starts jobs of itself; rank 0 of a job conducts, the others follow it
 * step by step. A round is: line trip, raw, ours, the peers, raw, line trip. Rounds in which the
 * machine changed are thrown away. There is one table of cases per layer: remote memory, messages,
 * sizes, the libfabric NICs, MPI programs.
 *
 *   bench.c    options, and the order of things      raw.c      raw programs of remote memory
 *   members.c  starting a job, being a rank of it    start.c    starting jobs, from outside
 *   conduct.c  steps: rank 0 leads, others follow    report.c   table and JSON
 *   rounds.c   rounds, and what is made of them      peers*.c   Open MPI, MPICH, UCX
 *   timing.c   loops and their time                  sheet.c    memory that all of them share
 *   cores.c    which core, and whether two are two   curves.c   over sizes, below the table
 *
 * and a folder per layer, rma/, msg/, sizes/, tail/, sets/, ofi/, mpi/, dsm/: cases*.c is its table
 * of cases, raw.c its raw programs, the rest our side.
 */
#pragma once

#include "experiment/scratch.h"

#include <rhinet/msg.h>
#include <rhinet/pm.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define BENCH_LINE       64
#define BENCH_ROUNDS_MIN 9 /* below this a figure is not to be trusted */
#define BENCH_ROUNDS_MAX 199
#define BENCH_CASES_MAX  64
#define BENCH_CROWD_MAX  64         /* ranks of a raw barrier */
#define BENCH_MEMORY     (2u << 20) /* of each rank, see below */

/* ---- Cases ---------------------------------------------------------------------------------- */

struct bench_run;

enum bench_bound { BENCH_NO_BOUND, BENCH_RATIO_AT_MOST, BENCH_RATIO_AT_LEAST, BENCH_VALUE_AT_MOST };

/* Where a job's ranks run. */
enum bench_place {
    BENCH_RANK_0_ALONE, /* it has the first core, all others the last; real-time priority */
    BENCH_CROWDED       /* even ranks on the first, odd ones on the last, as an MPI job's; none */
};

enum bench_peer {
    BENCH_OPEN_MPI,
    BENCH_MPICH,
    BENCH_OPEN_MPI_SHM, /* on libfabric's own shm */
    BENCH_PROVIDER,     /* Open MPI on ours: no peer, but what mpi/ measures */
    BENCH_UCX,
    BENCH_PEER_COUNT
};

/* What a case is made of. Every process of the job calls raw and measure; rank 0's figure counts.
 * They return 0 or a negative error with its text. Headers declare them as
 * `bench_measure rma_push, rma_store;`. */
typedef int bench_set_up(struct bench_run *run);
typedef void bench_tear_down(struct bench_run *run);
typedef int bench_measure(struct bench_run *run, double *figure);

struct bench_case {
    const char *name;
    const char *unit;
    const char *help; /* what is measured, and what raw is */
    int rank_count;   /* processes of the job; 0: no job, the command measures from outside */
    int amount;       /* how many of whatever the case counts */
    uint64_t memory;  /* bytes that the job needs; 0: little */
    int repeat_count; /* a figure is the median of this many; 0: one */
    enum bench_bound bound;
    double bound_value;
    double drift_max; /* of raw during a round, as a part of it */
    enum bench_place place;
    bool has_tail;           /* also tells what 99 and 99.9 of 100 stay below */
    bool has_mpi;            /* MPI libraries can do the same: peers/mpi_peer.c knows the name */
    const char *ucx;         /* ucx_perftest's options for the same, or NULL */
    enum bench_bound versus; /* value to that of Open MPI: a ratio, or no bound */
    double versus_value;
    bench_set_up *set_up;       /* or NULL */
    bench_tear_down *tear_down; /* or NULL */
    bench_measure *raw, *measure;
};

struct bench_layer {
    const char *name;
    const struct bench_case *cases;
    int case_count;
    const char *nic; /* NULL: as RHINET_NIC says */
    bool has_curves; /* cases are kinds over sizes, named KIND-SIZE */
    bool is_mpi;     /* about MPI programs: they are always there */
};

extern const struct bench_layer bench_layers[]; /* ends with a name of NULL */

/* ---- Sheet: memory shared by the command and all ranks --------------------------------------- */

struct bench_round {
    double value;
    double raw;
    double trip;                   /* of a cache line; 0 outside jobs */
    double tail[2], raw_tail[2];   /* what 99 and 99.9 of 100 stay below, of cases that have it */
    double peer[BENCH_PEER_COUNT]; /* 0: not measured */
};

struct bench_figure {
    _Atomic uint32_t round_count; /* good ones */
    _Atomic uint32_t discarded_count;
    _Atomic uint32_t one_core_count; /* those of them in which the two cores were one */
    uint64_t memory;                 /* of a receiver, msg/pm.c */
    uint64_t memory_per_sender;
    struct bench_round round[BENCH_ROUNDS_MAX];
};

struct bench_wishes {
    int layer;
    bool with_peers;
    bool is_chosen[BENCH_CASES_MAX];
    uint32_t round_count;
    int64_t case_time_ns; /* at most that long per case */
    char nic[32];         /* --nic, or empty */
};

/* How a peer is reached by rank 0 of a job; peers.c. */
struct bench_peer_way {
    bool is_there;
    _Atomic bool has_failed;
    char path[SCRATCH_PATH_MAX + 16]; /* of its sheet, for MPI */
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
    alignas(BENCH_LINE) _Atomic uint64_t sent_count; /* rma/append.c, msg/pm.c */
    alignas(BENCH_LINE) _Atomic uint32_t burst;      /* msg/pm.c; 0 between steps */
    /* msg/raw.c: a barrier of any number of ranks, and what each brings to it */
    alignas(BENCH_LINE) _Atomic uint64_t arrived_count;
    alignas(BENCH_LINE) _Atomic uint64_t released;
    uint64_t sum;
    struct {
        alignas(BENCH_LINE) uint64_t value;
    } brought[BENCH_CROWD_MAX];
    struct bench_peer_way peer[BENCH_PEER_COUNT];
    alignas(BENCH_LINE) struct bench_figure figure[BENCH_CASES_MAX];
    /* What raw programs of ranks 0 and 1 use where the NIC gives no pointer: members.c */
    alignas(4096) char raw[2][BENCH_MEMORY];
};

struct bench_sheet *bench_sheet_create(int *fd); /* NULL if there is no memory */
struct bench_sheet *bench_sheet_map(int fd);

/* By --nic, a NIC was chosen that does without the machine's shared memory: targets and real-time
 * priority, which its own threads do not have, are not for it. */
static inline bool bench_is_far(const struct bench_sheet *sheet)
{
    return sheet->wishes.nic[0] != '\0' && strcmp(sheet->wishes.nic, "shm") != 0;
}

static inline const struct bench_layer *bench_layer_of(const struct bench_sheet *sheet)
{
    return &bench_layers[sheet->wishes.layer];
}

/* ---- What a case sees ------------------------------------------------------------------------ */

/* The first segment of each rank: words, then lines, then a block. */
#define BENCH_SID          1u
#define BENCH_SID_ATTACHED 2u
#define BENCH_SID_QUEUE    3u
#define BENCH_WORD_ATOMIC  512u /* offsets of words, each alone in its line; the trip's is 0 */
#define BENCH_WORD_HOT     1024u
#define BENCH_WORD_PID     1536u
#define BENCH_WORD_ADDRESS 2048u
#define BENCH_WORD_DONE    2560u
#define BENCH_WORD_TAIL    3072u
#define BENCH_WORD_MEET    3328u
#define BENCH_WORD_NEXT    3584u /* and the word in the line after it */
#define BENCH_LINES_AT     4096u
#define BENCH_LINE_COUNT   64u
#define BENCH_BLOCK_AT     (1u << 20)
#define BENCH_BLOCK_LENGTH (1u << 20)

struct bench_run {
    const struct bench_case *bench_case;
    struct bench_sheet *sheet;
    struct rh_job *job; /* NULL in the command */
    int rank;
    int size;
    int peer;            /* ranks 0 and 1 are each other's; the others have none: -1 */
    char *memory;        /* own segment BENCH_SID */
    char *remote_memory; /* the peer's, directly; NULL where the NIC has no direct memory */
    char *block;         /* private memory of BENCH_BLOCK_LENGTH */
    uint64_t sequence;   /* last number sent in a ping-pong; the same on both sides */
    uint64_t atomic_sequence;
    struct rh_page *page;
    struct rh_queue *queue;
    struct rh_msg *msg;
    struct rh_set *set;
    struct pm_context *pm;
    struct raw_ofi *raw_ofi;
    struct rh_dsm *dsm;
    uint64_t dsm_offset; /* of what is bound */
    struct bench_pages *pages;
    struct bench_himeno *himeno;
    double tail[2];        /* tail/: what 99 and 99.9 of 100 stayed below in the last step */
    uint64_t message;      /* number of the last message of a pair */
    uint32_t bell;         /* how often ours has been heard */
    char *source, *target; /* sizes/: own memory; the peer's, directly */
    uint64_t meeting;      /* number of the last raw barrier; the same on all */
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
/* The round whose ratio to a peer's figure is the median; returns how many rounds have one. */
unsigned bench_figure_versus(const struct bench_figure *figure, enum bench_peer peer,
                             struct bench_round *round);
double bench_median(double *values, unsigned count);

/* ---- timing.c -------------------------------------------------------------------------------- */

/* Does something count times. */
typedef int (*bench_chunk)(struct bench_run *run, unsigned count);

/* Time per iteration in ns, of ranks that all do the same. */
int bench_time_together(struct bench_run *run, bench_chunk chunk, unsigned count, double *ns);
/* The same for blocks of BENCH_BLOCK_LENGTH, as GB/s. */
int bench_blocks_together(struct bench_run *run, bench_chunk chunk, unsigned count, double *rate);
/* The same, of rank 0 alone. */
int bench_time(struct bench_run *run, bench_chunk chunk, unsigned count, double *ns);
/* A ping-pong of ranks 0 and 1: half a round trip in ns. */
int bench_one_way(struct bench_run *run, bench_chunk chunk, double *ns);
/* Rank 0 moves blocks while the peer idles: GB/s. */
int bench_bandwidth(struct bench_run *run, bench_chunk chunk, double *figure);
/* Ranks 0 and 1 move a block to and fro: GB/s. */
int bench_bandwidth_ping(struct bench_run *run, bench_chunk chunk, double *figure);
/* Rank 0 sends blocks to rank 1, each written anew before the clock runs: GB/s. */
int bench_bandwidth_fresh(struct bench_run *run, bench_chunk chunk, double *figure);

/* Defines what a case measures: a chunk, by one of the ways above to time it. */
#define BENCH_MEASURE(name, timing, ...)                                                           \
    int name(struct bench_run *run, double *figure)                                                \
    {                                                                                              \
        return timing(run, __VA_ARGS__, figure);                                                   \
    }

static inline uint64_t *bench_word(char *memory, uint64_t offset)
{
    return (uint64_t *)(void *)(memory + offset);
}

/* ---- cores.c --------------------------------------------------------------------------------- */

/* How much slower rank 0 computes while rank 1 does so, too. */
int bench_cores(struct bench_run *run, double *slowdown);
/* Whether that means that both run on one real core. */
bool bench_cores_are_shared(double slowdown);
/* Have a rank of a case's job run where it should. */
int bench_cores_take(int rank, enum bench_place place);
/* The same for another process, before it is what it will be. */
int bench_cores_take_of_pair(bool is_first);

/* ---- members.c ------------------------------------------------------------------------------- */

/* Run all chosen cases that need a job of this many ranks. */
int bench_members_start(struct bench_sheet *sheet, int sheet_fd, int rank_count);
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

/* ---- start.c --------------------------------------------------------------------------------- */

int start_nothing(struct bench_run *run, double *figure);
int start_job(struct bench_run *run, double *figure);
/* What the started do: `rhinet bench .join`. */
int start_join_and_leave(void);

/* ---- peers.c, peers_ucx.c ------------------------------------------------------------------- */

/* The command: see who is there, and say who is not. */
int bench_peers_open(struct bench_sheet *sheet);
void bench_peers_close(struct bench_sheet *sheet);
/* The command, around a job of ours: jobs of theirs of the same size, which sleep until asked. */
void bench_peers_start(struct bench_sheet *sheet, int rank_count);
void bench_peers_stop(struct bench_sheet *sheet);
const char *bench_peer_name(enum bench_peer peer);
/* Rank 0: one of the MPI jobs' figure for this case. */
int bench_peers_ask(struct bench_run *run, enum bench_peer peer, double *figure);
/* Rank 0: what the peers need for the same as this case; 0 where one cannot tell. */
void bench_peers_measure(struct bench_run *run, struct bench_round *round);
bool bench_ucx_is_there(void);
int bench_ucx_measure(const struct bench_case *which, double *figure);

/* ---- report.c -------------------------------------------------------------------------------- */

struct bench_report {
    const struct bench_sheet *sheet;
    const char *json_path; /* NULL: a table; "-": stdout */
};

int bench_report_write(const struct bench_report *report);

/* ---- curves.c -------------------------------------------------------------------------------- */

void bench_curves_print(const struct bench_sheet *sheet);
