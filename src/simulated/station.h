/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The inside of a world, private to src/simulated. A station acts for one rank: it knows the rank's
 * segments and what is under way, and drives the process of sim/process. All of it runs in fibers.
 *
 *   world.c      making and ending it; ports, deaths
 *   plan.c       networks to choose from
 *   station.c    calls
 *   segment.c    segments, and looking them up
 *   transfer.c   push and pull: pieces, acks, failures
 *   queue.c      append
 *   small.c      stores, inline pushes, atomics, fences
 *   flag.c       places for answers
 *   server.h     the other end of ports that are sockets, in files that it names
 *   compute.c    what computing costs
 *   door.c       where ranks of other launchers find the server
 *   options.c    what RHINET_MARTINI says
 *   network.c    networks from files
 *   simulated.c  a job whose ranks are fibers
 *   launch.c     the server as the launcher starts it
 */
#pragma once

#include "nic/martini/call.h"
#include "sim/cluster/cluster.h"
#include "sim/process/process.h"
#include "sim/usage/histogram.h"
#include "simulated/world.h"

#define STATION_LIBRARY   0x8000u /* | rank: whose the library's own memory is, in name */
#define STATION_PGID      1
#define STATION_FLAGS     1024 /* places for acks */
#define STATION_FLAG_SIZE 16   /* enum chip_answer, and an old value */
#define STATION_FLAGS_AT  PROCESS_DATA
#define STATION_SINK_AT   (STATION_FLAGS_AT + STATION_FLAGS * STATION_FLAG_SIZE) /* for fences */
#define STATION_WAKE_AT   (STATION_SINK_AT + 64)
#define STATION_MEMORY    (STATION_FLAGS_AT + 8 * 4096)
#define STATION_COPY_AT   0xc0000000u /* the program's buffers, as the caches have them */
#define STATION_WINDOWS   4
#define STATION_TRANSFERS 64 /* under way at a time */
#define STATION_PIECES    4  /* of one transfer under way */
#define STATION_PULLS     8  /* pieces of pulls under way: answers are never in each other's way */
#define STATION_PAGES     CHIP_AOTF_PAGES

/* A segment of a rank as the others see it. Stays known when it is removed, so that late users are
 * told so. */
struct station_segment {
    rh_sid sid;
    bool is_open;
    uint64_t generation;
    enum nic_segment_kind kind;
    unsigned rights;
    uint64_t address, length; /* the rank's */
    struct process_segment memory;
    struct rh_queue_shape shape;
    struct martini_queue_cut cut;
    int ring; /* of a short queue */
    struct station_segment *next;
};

/* Whose answer is awaited, and concerning what; segment NULL: the library's own memory. */
struct awaited {
    int rank;
    const struct station_segment *segment;
    uint64_t generation;
    sim_time deadline;
    bool is_target_gone; /* or the segment; the ack may still be on the way, until the deadline */
};

/* A part of a transfer that is under way. */
struct piece {
    bool is_used, is_pull;
    uint32_t flag;
    uint64_t loan; /* virtual address; 0: none */
};

/* A push or pull. */
struct transfer {
    bool is_used, is_pull;
    struct awaited awaited;
    uint64_t offset, address, length, sent;
    struct martini_notice notice;
    bool is_notice_sent;
    uint64_t done;     /* address of the done flag; 0: somebody waits */
    int result;        /* 1: under way */
    bool is_advancing; /* a fiber sends pieces */
    struct piece pieces[STATION_PIECES];
};

enum flag_state { FLAG_FREE, FLAG_USED, FLAG_LOST };

struct station_page {
    int rank;
    rh_sid sid;
    uint64_t number, generation; /* of the page in the segment; generation 0: free */
};

struct station {
    struct martini_world *world;
    int rank;
    struct process *process;
    const struct host_reach *reach; /* to the rank's memory; NULL: it is ours */
    struct martini_port port;
    bool has_left, is_dead;
    struct station_segment *segments;
    struct transfer transfers[STATION_TRANSFERS];
    uint32_t transfer_count, pull_count;
    uint8_t flags[STATION_FLAGS]; /* enum flag_state */
    sim_time lost_at[STATION_FLAGS];
    uint32_t flag_next;
    bool *is_dirty; /* by rank: something is under way that nobody waits for */
    struct station_page pages[STATION_PAGES];
    uint32_t page_next;
    bool is_busy; /* a fiber uses the windows */
    struct sim_condition idle;
};

struct martini_world {
    struct histogram latency[MARTINI_OPERATIONS]; /* of calls, in virtual time */
    struct martini_spec spec;
    struct sim *sim;
    struct cluster *cluster;
    struct network_plan plan; /* own, if none was given */
    bool has_plan;
    struct sim_constants constants;
    struct station *stations;
    uint64_t generation; /* of the youngest segment */
    uint32_t gone_count; /* ranks that have left or died */
    struct sim_condition never;
    void (*hook)(void *context, int rank);
    void *hook_context;
};

/* ---- world.c --------------------------------------------------------------------------------- */

/* Carries out a call, in a fiber. */
void station_serve(struct station *station, struct martini_call *call);

/* Time passes. Both are where a dead rank's fiber ends up and stays. */
void station_sleep(struct station *station, sim_time duration);
int station_wait(struct station *station, sim_time deadline); /* memory changes; -ETIMEDOUT */

/* Waiters of all ranks look again. */
void world_ring(struct martini_world *world);

static inline struct station *station_of(struct martini_world *world, int rank)
{
    return &world->stations[rank];
}

static inline const struct sim_constants *station_constants(const struct station *station)
{
    return cluster_constants(station->world->cluster, (uint32_t)station->rank);
}

static inline bool station_is_gone(const struct station *station)
{
    return station->has_left || station->is_dead;
}

static inline sim_time station_now(const struct station *station)
{
    return sim_now(station->world->sim);
}

static inline sim_time station_deadline(const struct station *station, int64_t timeout_ns)
{
    sim_time now = station_now(station);
    return timeout_ns > (SIM_NEVER - now) / SIM_NS - 1 ? SIM_NEVER : now + timeout_ns * SIM_NS;
}

/* What the library's own copies, and zeroing new memory, take: lines that DMA has just written come
 * from memory, those of the program's buffers as the caches have them. */
sim_time station_memory_cost(struct station *station, const struct martini_call *call);

/* The rank's memory. */
void station_read(struct station *station, uint64_t address, void *target, size_t length);
void station_write(struct station *station, uint64_t address, const void *source, size_t length);

/* RH_EDEAD if the peer is gone. */
int station_peer_check(struct station *station, int rank);

/* ---- segment.c ------------------------------------------------------------------------------- */

int segment_add(struct station *station, struct martini_call *call);
int segment_remove(struct station *station, const struct martini_call *call);
int segment_view(struct station *station, struct martini_call *call);
void segments_free(struct station *station);
/* The controller finds none of them any more. Their memory stays. */
void segments_forget(struct station *station);

/* What an access wants. */
struct access {
    int rank;
    rh_sid sid;
    uint64_t offset, length;
    unsigned rights; /* 0: only a question */
    bool is_queue;   /* it is to be a queue */
};
/* Finds and checks. Codes of the contract; nothing is counted. */
int segment_check(struct station *station, const struct access *access,
                  struct station_segment **segment);

static inline bool segment_is(const struct station_segment *segment, uint64_t generation)
{
    return segment->is_open && segment->generation == generation;
}

int segment_refuse_stale(int rank, rh_sid sid);

/* ---- transfer.c ------------------------------------------------------------------------------ */

int transfer_push(struct station *station, const struct martini_call *call);
int transfer_pull(struct station *station, const struct martini_call *call);
/* Begins a transfer that was checked, and waits for it unless there is a done flag. */
int transfer_run(struct station *station, const struct transfer *wanted);
/* Looks at everything that is under way: ends what has arrived or failed, sends what may be sent.
 * Then: when to look again at the latest. */
void transfers_look(struct station *station);
sim_time transfers_deadline(const struct station *station);
/* Is something under way to this rank (RH_ANY_RANK: to any)? */
bool transfers_are_under_way(const struct station *station, int rank);

/* A request through the windows, by one fiber at a time. */
int station_submit(struct station *station, const struct process_request *request);
/* Waits until the controller has read all that was submitted. */
int station_finish(struct station *station);

/* Ends what process_lend() began. */
void loan_end(struct station *station, uint64_t loan, bool is_lost);

/* A place for an ack. RH_EAGAIN: all are taken. */
int flag_take(struct station *station, uint32_t *flag);
void flag_give(struct station *station, uint32_t flag, bool is_lost);
uint64_t *flag_words(const struct station *station, uint32_t flag);
uint64_t flag_address(uint32_t flag);
/* Waits for an answer: enum chip_answer, or RH_EDEAD, RH_ESTALE, RH_ETIMEOUT. The flag stays the
 * caller's. */
int flag_wait(struct station *station, uint32_t flag, struct awaited *awaited);
/* For an answer from this segment, in this time at most (0: the job's). */
struct awaited awaited_make(const struct station *station, int rank,
                            const struct station_segment *segment, int64_t timeout_ns);
/* What is wrong with it now: 0, or one of these errors. */
int awaited_check(struct station *station, struct awaited *awaited);

/* ---- small.c --------------------------------------------------------------------------------- */

int small_store(struct station *station, const struct martini_call *call);
int small_inline(struct station *station, const struct martini_call *call);
int small_atomic(struct station *station, struct martini_call *call);
int small_flush(struct station *station, const struct martini_call *call);
int small_wake(struct station *station, const struct martini_call *call);
/* Sends an image of up to PROCESS_IMAGE_MAX bytes; flag 0: nobody hears of it. */
struct image {
    int rank;
    rh_sid sid;
    bool to_library; /* instead of a segment */
    uint64_t offset;
    const void *data;
    uint32_t length;
    uint64_t flag;
    uint8_t type; /* 0: a push */
};
int image_send(struct station *station, const struct image *image);
/* Sends one and waits for its answer: enum chip_answer or an error; *old (may be NULL) is what came
 * with it. */
int image_ask(struct station *station, struct image *image, struct awaited *awaited, uint64_t *old);
/* A firmware operation on a word. */
int firmware_ask(struct station *station, const struct access *access,
                 const struct chip_operands *operands, uint64_t *old);

/* ---- queue.c --------------------------------------------------------------------------------- */

int queue_open(struct station *station, struct station_segment *segment);
void queue_close(struct station *station, struct station_segment *segment);
int queue_append(struct station *station, struct martini_call *call);
int queue_release(struct station *station, const struct martini_call *call);
