/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory of a node's cache, as the agent and its clients map it. Four pieces:
 *
 *   arena     index, slots and the blocks themselves; clients map it for reading, other nodes pull
 *             from it. Only the agent writes.
 *   watch     one word for each file (by hash): is it being written? Agents of all nodes change it
 *             by remote atomics, clients read it.
 *   card      what clients must believe: limits, paths, file systems, whether the agent lives.
 *             Sealed; agent and keeper write by mappings that are older than the seal.
 *   control   what clients write: requests to the agent, counters, marks of use; and copies for
 *             people. Nothing in it can make a read wrong, or do the agent harm: it is looked at as
 *             what a stranger sent, and the agent believes its own copies only.
 *
 * The arena's rules are the paper's: a block is copied in, then its slot gets an ID and a token
 * that this node never uses again; to give it up the token goes first, and only after that the
 * memory is used again. So whoever finds the same token before and after copying has the block
 * whose ID stood beside it. Where its bytes are stands there, too, and is read between the two
 * looks at the token. Model: tests/model/cache_fetch.pml.
 *
 * Blocks take what they need. A whole one has a chunk of its own, that of its slot's number: it
 * lies at a multiple of its length, and whoever knows the slot knows where. All others lie
 * anywhere, the longer ones in whole pages; their slots come after those of the chunks, and say
 * where.
 */
#pragma once

#include "cache/address.h"
#include "cache/cache.h"
#include "cache/key.h"

#include <stdatomic.h>
#include <stdbool.h>

#define CACHE_MAGIC     0x6f636e6174656e31u
#define CACHE_VERSION   8u
#define CACHE_BLOCK_MIN (64u << 10)
#define CACHE_BLOCK_MAX (64u << 20)
#define CACHE_SLOTS_MAX ((1u << 22) - 1) /* a cell of the directory has 22 bits for it */
#define CACHE_UNIT      64u              /* lengths in the arena are multiples of it */
#define CACHE_PAGE      4096u
#define CACHE_PAGED_MIN (32u << 10) /* what is as long as this lies in whole pages */
#define CACHE_MEAN      4096u /* so long are blocks in the mean, or slots run out before memory */

#define CACHE_ENTRIES 8 /* words in a bucket of the index: a cache line */

/* Where things are. Made by the agent, copied and checked by clients. */
struct cache_shape {
    uint32_t block_length;   /* power of two */
    uint32_t chunk_count;    /* as many slots are for whole blocks */
    uint32_t slot_count;     /* all */
    uint32_t bucket_count;   /* power of two */
    uint32_t watch_count;    /* power of two */
    uint32_t request_count;  /* a multiple of 64 */
    uint32_t file_count;     /* power of two */
    uint32_t nothing;        /* 0: shapes are compared byte by byte, and have no gaps */
    uint64_t slots_offset;   /* in the arena; the index is at 0 */
    uint64_t data_offset;    /* in the arena */
    uint64_t arena_length;   /* of the whole */
    uint64_t files_offset;   /* in the control memory */
    uint64_t touched_offset; /* in the control memory */
    uint64_t control_length; /* of the whole */
};
_Static_assert(sizeof(struct cache_shape) == 8 * 4 + 6 * 8, "no gaps");

/* Of the arena's data. */
static inline uint64_t cache_data_length(const struct cache_shape *shape)
{
    return (uint64_t)shape->chunk_count * shape->block_length;
}

/* Whether a block of so many bytes gets a chunk: then no more than a seventh of it is lost. */
static inline bool cache_is_whole(const struct cache_shape *shape, uint64_t length)
{
    return length > shape->block_length - shape->block_length / 8;
}

/* ---- Arena ---------------------------------------------------------------------------------- */

/* In the index: 40 bits of the block's ID, and its slot + 1. 0: empty. */
struct cache_bucket {
    _Alignas(64) _Atomic uint64_t entry[CACHE_ENTRIES];
};

/* A slot of the local cache array: of the chunk with its number, or of what is anywhere. */
struct cache_slot {
    _Alignas(64) _Atomic uint64_t token; /* 0: not valid */
    _Atomic uint64_t id[2];
    _Atomic uint64_t length;
    _Atomic uint64_t checksum; /* 0: none was made */
    _Atomic uint64_t offset;   /* of its bytes in the arena */
};
_Static_assert(sizeof(struct cache_slot) == 64, "one line each");

/* ---- Watch ---------------------------------------------------------------------------------- */

/* High part: how many have the file open for writing. Low part: changes whenever that does. */
#define CACHE_WATCH_WRITER (1ull << 40)
#define CACHE_WATCH_CHANGE 1ull

static inline uint64_t cache_watch_writers(uint64_t word)
{
    return word >> 40;
}

static inline uint32_t cache_watch_index(const struct cache_shape *shape, uint64_t file_system,
                                         uint64_t inode)
{
    return (uint32_t)cache_watch_hash(file_system, inode) & (shape->watch_count - 1);
}

/* ---- Card ----------------------------------------------------------------------------------- */

enum cache_agent_state { CACHE_AGENT_STARTING, CACHE_AGENT_READY, CACHE_AGENT_GONE };

/* When the agent ends. */
enum cache_stop {
    CACHE_STOP_NOT,
    CACHE_STOP_DONE, /* the program has ended: when those of all nodes have */
    CACHE_STOP_ALL,  /* the service is to end, on all nodes */
    CACHE_STOP_NOW   /* this node leaves */
};

#define CACHE_PATHS_MAX   16
#define CACHE_PATH_LENGTH 256
#define CACHE_DEVICES_MAX 128
#define CACHE_STRIPES     16

/* A file system with cached files. */
struct cache_device {
    _Atomic uint64_t device; /* st_dev; 0: no entry */
    _Atomic uint64_t file_system;
    _Atomic uint32_t is_part; /* only what is below the paths; else all of it */
};

struct cache_path {
    uint32_t length;
    char text[CACHE_PATH_LENGTH];
};

struct cache_card {
    uint64_t magic;
    int64_t settle_ns;   /* a file that changed less than that ago is not cached */
    int64_t patience_ns; /* a request is given up after that */
    /* In which the agent's number of a process means that process; 0: not known. Clients of other
     * namespaces, as in containers, have other numbers than the agent knows them by. */
    uint64_t pid_namespace;
    uint32_t ahead_max; /* blocks that are read ahead */
    uint32_t path_count;
    struct cache_path path[CACHE_PATHS_MAX];
    struct cache_device device[CACHE_DEVICES_MAX];
    _Alignas(64) _Atomic uint32_t agent_state; /* a futex */
    _Atomic int32_t agent_pid;
    _Atomic uint32_t stop; /* enum cache_stop */
    _Atomic uint64_t beat; /* changes while the agent is at work */
};

/* ---- Control -------------------------------------------------------------------------------- */

enum cache_request_kind {
    CACHE_FETCH = 1,   /* bring a block; waits */
    CACHE_AHEAD,       /* bring blocks; nobody waits */
    CACHE_WRITE_BEGIN, /* tell all nodes; waits */
    CACHE_WRITE_END,   /* when the file has settled */
    CACHE_WRITE_LAST,  /* when the client's process has ended and the file has settled */
    CACHE_CHANGED
};

/* Stages of a request. The word also has a ticket above them: whoever was stopped for long finds
 * another ticket and knows that the place is no longer its own. */
enum cache_stage {
    CACHE_FREE,
    CACHE_FILLING, /* a client's */
    CACHE_POSTED,
    CACHE_TAKEN,     /* the agent's */
    CACHE_DONE,      /* the client's again */
    CACHE_ABANDONED, /* taken, but the client is gone */
    CACHE_STAGES = 8
};

struct cache_request {
    _Alignas(64) _Atomic uint32_t stage; /* a futex; ticket * CACHE_STAGES + stage */
    _Atomic int32_t pid;                 /* of the client */
    uint32_t kind;
    int32_t result; /* 0, or a negative errno */
    uint64_t file_id[2];
    uint64_t block; /* for writers: the word */
    uint32_t count; /* CACHE_AHEAD: how many blocks */
};

static inline bool cache_request_move(struct cache_request *request, uint32_t from, uint32_t to)
{
    return atomic_compare_exchange_strong(&request->stage, &from, to);
}

/* What is known of a file, for `rhinet cache stat`. */
struct cache_file_stat {
    _Atomic uint64_t id[2]; /* the first word is 0: free */
    _Atomic uint64_t size;
    _Atomic uint64_t hits, hit_bytes;
    _Atomic uint64_t remote_hits, remote_bytes;
    _Atomic uint64_t loads, load_bytes;
    char path[184]; /* its end, if it is longer */
};
_Static_assert(sizeof(struct cache_file_stat) == 256, "four lines each");

struct cache_counters {
    _Alignas(64) _Atomic uint64_t value[40];
};
_Static_assert(CACHE_COUNTER_COUNT <= 40, "the layout has room for all counters");

/* What all nodes did together, for one line at the end. */
enum cache_total {
    CACHE_TOTAL_SERVED, /* bytes that programs got from the cache */
    CACHE_TOTAL_REMOTE, /* of these so many were brought from other nodes, */
    CACHE_TOTAL_LOADED, /* and so many from the file system */
    CACHE_TOTAL_FALLBACK,
    CACHE_TOTAL_CHANGED,
    CACHE_TOTAL_NEW,
    CACHE_TOTAL_WRITTEN,
    CACHE_TOTAL_MAPPED,
    CACHE_TOTAL_MAPPED_BYTES,
    CACHE_TOTAL_COUNT
};

struct cache_control {
    /* For people (`rhinet cache stat`); nobody else looks at it. */
    uint64_t magic;
    uint32_t version;
    int32_t rank, size; /* of this node, and how many there are */
    uint32_t group_count;
    uint64_t job_id;
    int64_t start_ns;
    struct cache_shape shape;
    char program[64];
    char socket_name[CACHE_NAME_MAX];
    _Atomic uint32_t agent_state;
    _Atomic int32_t agent_pid;
    _Atomic uint32_t nodes_alive;               /* as this node sees it */
    _Atomic uint32_t singlet_permille;          /* the ratio in use */
    _Atomic uint64_t used_bytes, singlet_bytes; /* of the arena */
    _Atomic uint64_t content_bytes;             /* of the blocks that are in them */
    _Atomic uint64_t totals[CACHE_TOTAL_COUNT]; /* of all nodes, at the end, on node 0 */
    _Atomic uint32_t has_totals;
    /* For the clients and the agent. */
    _Alignas(64) _Atomic uint32_t bell; /* a futex: requests have come */
    _Atomic uint32_t sleepers;          /* on it */
    _Atomic uint64_t silent_beat;       /* + 1: a client has waited in vain for it to change */
    _Alignas(64) _Atomic uint64_t posted[16]; /* bit: this request is posted */
    struct cache_counters counters[CACHE_STRIPES];
    struct cache_request request[];
};

static inline struct cache_file_stat *cache_file_stats(struct cache_control *control,
                                                       const struct cache_shape *shape)
{
    return (struct cache_file_stat *)((char *)control + shape->files_offset);
}

static inline _Atomic uint8_t *cache_touched(struct cache_control *control,
                                             const struct cache_shape *shape)
{
    return (_Atomic uint8_t *)((char *)control + shape->touched_offset);
}

static inline void cache_count(struct cache_control *control, unsigned stripe,
                               enum cache_counter which, uint64_t amount)
{
    atomic_fetch_add_explicit(&control->counters[stripe % CACHE_STRIPES].value[which], amount,
                              memory_order_relaxed);
}

/* Sums over the stripes. */
void cache_counters_sum(const struct cache_control *control, uint64_t values[CACHE_COUNTER_COUNT]);

/* ---- What is said on the agent's socket ----------------------------------------------------- */

enum cache_call_kind {
    CACHE_CALL_ATTACH = 1, /* answered with the descriptors of arena and control */
    CACHE_CALL_WATCH,      /* answered with those of watch and card */
    CACHE_CALL_FILE,       /* with a descriptor of a file that the agent is to read */
    CACHE_CALL_LAST,       /* CACHE_WRITE_LAST of a client in another pid namespace */
    CACHE_CALL_STOP,       /* to a service: end, on all nodes */
    CACHE_CALL_LOOK        /* as CACHE_CALL_ATTACH, by people: that is no use of it */
};

struct cache_call {
    uint64_t magic;
    uint32_t version;
    uint32_t kind;
    uint64_t watch; /* CACHE_CALL_LAST: the word */
};

struct cache_reply {
    uint64_t magic;
    uint32_t version;
    int32_t result;
    struct cache_shape shape;
};

static inline uint64_t cache_round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static inline uint32_t cache_power_of_two(uint64_t least)
{
    uint32_t value = 1;
    while (value < least)
        value *= 2;
    return value;
}

/* The shape for so much cache. Returns false if it makes no sense. */
bool cache_shape_make(struct cache_shape *shape, uint64_t bytes, uint32_t block_length);

/* Whether a shape that came from elsewhere is one that cache_shape_make() makes. */
bool cache_shape_check(const struct cache_shape *shape);
