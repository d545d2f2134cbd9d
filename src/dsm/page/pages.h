/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How page mode works, and what its files share.
 *
 * Every rank has room for all pages, mapped twice: the backing, which is an ordinary segment and
 * which remote memory reads and writes, and the view, which the program uses and faults.h watches.
 * A page is NONE (not here), READ, or WRITE. Its home's backing is where everybody fetches it from
 * and sends changes to; so a home never loses access to its own pages.
 *
 * What was written is found against a twin, byte by byte, and written to the home's memory without
 * the home's help. Where writes raise faults, the twin is made by the first write; where the kernel
 * notes them (async), by the fetch.
 *
 * A copy whose `written` bit is set has a twin that is older than what its home has not got yet;
 * the bit goes when the home has it. A home that cannot be reached keeps nobody from reaching
 * others.
 *
 * Write notices: every rank has a log, a ring of runs of pages that it has changed, in a segment of
 * its own. A position in all logs, a `vector` of one number per rank, says what has been learnt. A
 * lock carries the vector of its last holder, as the data that is bound to its variable; a barrier
 * exchanges them. Who acquires reads what the logs have gained, and drops or updates its copies of
 * those pages. Who is so late that a log has been overwritten drops everything, which is always
 * right.
 *
 * Sharers: a home notes its own writes only to pages that somebody has fetched. Whoever fetches a
 * page for the first time sets its bit in the home's `shared` map, then moves the home's
 * generation, then fetches. A home that releases has a fence between its writes and its look at the
 * generation: either it sees the new sharer, and notes the page to be safe, or the sharer's fetch
 * comes after the writes.
 *
 *   pages.c     open and close               fetch.c    faults: fetching, first touch, twins
 *   change.c    twins, and what differs      interval.c releases: finding changes, sending them
 *   notices.c   logs and vectors             drop.c     acquires: dropping and updating copies
 *   meeting.c   barrier                      move.c     homes that move
 *   lock.c      locks, conditions            sync.c     one release or acquire at a time
 *
 * Locks, in this order: `sync` (one release or acquire of a process at a time), then pages (`busy`,
 * a bit each, several only in ascending order or without waiting). The fault handler takes pages
 * only. A page's home changes only while the page is entered. Nobody waits for another rank's
 * program with either of them, except that a barrier keeps `sync` while homes move, when all ranks
 * are in it. Nothing here touches the view. The model is tests/model/pages.pml.
 */
#pragma once

#include "base/arena.h"
#include "base/assert.h"
#include "base/error.h"
#include "dsm/page/faults.h"
#include "rma/inside.h"

#include <pthread.h>
#include <rhinet/dsm_pages.h>
#include <stdatomic.h>

#define PAGES_HOME_UNKNOWN (-1)
#define PAGES_TRIES        8   /* of what a lossy network may drop */
#define PAGES_BATCH        32  /* pages that are fetched, or lose access, at a time */
#define PAGES_CLOSE_MAX    256 /* pages that a release sends at a time */

struct page {
    _Atomic uint8_t busy;
    uint8_t access;       /* enum faults_access */
    uint8_t heat;         /* times it was fetched again after having been dropped */
    uint8_t credit;       /* updates until it is dropped, to see whether it is still used */
    _Atomic int32_t home; /* rank */
    /* At the home: a remote rank that alone has written the page before the last `streak`
     * barriers at which it was written, and the number of the last of these. */
    int32_t writer;
    uint32_t streak;
    uint32_t meeting;
};

/* ---- What peers see: the control segment, the same layout on all ranks ---------------------- */

#define PAGES_LOG_ENTRIES 8192u
#define PAGES_MOVES_MAX   512u

#define PAGES_RUN_MAX 4095u

/* A run of pages in a log, and where it stands in it: that tells who reads it whether it has been
 * overwritten. Each word has a part of the place, for a reader may get an old one and a new one. */
struct pages_entry {
    _Atomic uint64_t first; /* page, 32 bits; the place's low 32 bits */
    _Atomic uint64_t count; /* 12 bits; the place */
};

struct pages_layout {
    uint64_t generation; /* offset of the count of new sharers */
    uint64_t log;
    uint64_t shared;    /* bit per page: somebody has fetched it from here */
    uint64_t directory; /* first touch: home + 1 of every page that this rank looks after */
    uint64_t moves;     /* pages whose home this rank gives away: page, new home */
    uint64_t blocks;    /* what the ranks bring to this barrier, and what to the last */
    uint64_t length;
};

struct pages_move {
    uint64_t page;
    uint64_t home;
};

/* ---- A process's own ------------------------------------------------------------------------ */

/* How far the barrier under way has got: after a time-out it is gone on with from there. */
enum meeting_stage {
    MEETING_APART,    /* none is under way */
    MEETING_ARRIVED,  /* the others have what we bring */
    MEETING_MET,      /* we have what they bring */
    MEETING_PARTED,   /* we have let go of the pages that we give away; from here on with `sync` */
    MEETING_FOLLOWED, /* we have those that we are given */
};

struct pages_sync {
    pthread_mutex_t gate; /* of what follows; nobody waits inside */
    pthread_cond_t changed;
    unsigned waiters;
    bool is_open, is_taken;
    bool is_lost; /* a rank died while homes moved */
    int dead;     /* that rank */
};

struct rh_dsm_pages {
    struct rh_dsm *dsm;
    struct rh_job *job;
    struct rh_set *set;
    int rank, size;
    rh_sid data_sid, control_sid;
    struct pages_layout layout;
    struct rh_dsm_pages_options options;

    struct arena memory; /* of the tables */
    size_t count;        /* of pages */
    char *backing, *view, *twins;
    bool is_same_address;
    struct page *pages;
    enum faults_kind kind;
    struct faults *faults;
    bool tells_writes; /* else writes are harvested */
    char **direct;     /* by rank: its backing, where it can be written to directly, else NULL */

    /* Bit maps, one bit per page. */
    _Atomic uint64_t *written;   /* a fault or a harvest says that it has been */
    _Atomic uint64_t *owed;      /* has changed, and others have to be told */
    _Atomic uint64_t *watched;   /* writes of this process are to be found */
    _Atomic uint64_t *announced; /* the home knows that we fetch it */
    _Atomic uint64_t *noted;     /* others have been told since the last barrier */
    _Atomic uint64_t *adopted;   /* at the home: it is known here that others fetch it */
    _Atomic uint64_t *moving;    /* between two homes: faults wait */

    char *control;            /* own control segment */
    struct pages_entry *log;  /* in it */
    uint64_t *vector;         /* what has been learnt of each rank's log; our own log's end */
    uint64_t generation_seen; /* of sharers */
    uint32_t meeting;         /* number of the last barrier at which all have met */
    enum meeting_stage stage; /* of the next one */
    struct pages_move *moves; /* to be told at the next barrier, in control */
    size_t move_count;

    struct pages_sync sync;
    char *scratch;         /* PAGES_CLOSE_MAX pages, of whoever holds sync */
    int *reached;          /* by rank, of a release: 0, 1: something was sent there, or an error */
    uint64_t locks_offset; /* of the locks' vectors in dsm's heap */
    bool *is_writer;       /* by lock: held for writing here */

    _Atomic size_t stream_next; /* the page at which a fault would go on with the last ones */
    _Atomic unsigned stream_window;
    struct rh_dsm_pages_stat stat; /* by pages_count() */
};

/* ---- Small helpers -------------------------------------------------------------------------- */

static inline bool pages_bit(const _Atomic uint64_t *map, size_t page)
{
    return atomic_load_explicit(&map[page / 64], memory_order_relaxed) >> (page % 64) & 1;
}

static inline void pages_bit_set(_Atomic uint64_t *map, size_t page)
{
    uint64_t bit = (uint64_t)1 << (page % 64);
    if (!(atomic_load_explicit(&map[page / 64], memory_order_relaxed) & bit))
        atomic_fetch_or_explicit(&map[page / 64], bit, memory_order_relaxed);
}

static inline void pages_bit_clear(_Atomic uint64_t *map, size_t page)
{
    uint64_t bit = (uint64_t)1 << (page % 64);
    if (atomic_load_explicit(&map[page / 64], memory_order_relaxed) & bit)
        atomic_fetch_and_explicit(&map[page / 64], ~bit, memory_order_relaxed);
}

/* Next run of set bits at or after `from`, of at most `most` pages. False: there is none. */
bool pages_next_run(const _Atomic uint64_t *map, size_t count, size_t from, size_t most,
                    struct faults_run *run);

/* Threads that collide may lose a count. */
static inline void pages_count(uint64_t *counter, uint64_t amount)
{
    uint64_t now = __atomic_load_n(counter, __ATOMIC_RELAXED);
    __atomic_store_n(counter, now + amount, __ATOMIC_RELAXED);
}

static inline char *pages_backing(const struct rh_dsm_pages *pages, size_t page)
{
    return pages->backing + page * FAULTS_PAGE;
}

static inline char *pages_twin(const struct rh_dsm_pages *pages, size_t page)
{
    return pages->twins + page * FAULTS_PAGE;
}

static inline int pages_home_of(const struct rh_dsm_pages *pages, size_t page)
{
    return atomic_load_explicit(&pages->pages[page].home, memory_order_acquire);
}

static inline bool pages_is_mine(const struct rh_dsm_pages *pages, size_t page)
{
    return pages_home_of(pages, page) == pages->rank;
}

static inline struct rh_remote pages_data_at(const struct rh_dsm_pages *pages, int rank,
                                             size_t page)
{
    return rh_at(rank, pages->data_sid, page * FAULTS_PAGE);
}

/* Enter and leave a page. Whoever is inside does not wait for another process's program. */
void pages_enter(struct rh_dsm_pages *pages, size_t page);
bool pages_try_enter(struct rh_dsm_pages *pages, size_t page);
void pages_leave(struct rh_dsm_pages *pages, size_t page);

/* Set the access of a run that is entered; all have had the same. */
int pages_access_set(struct rh_dsm_pages *pages, struct faults_run run, enum faults_access to);

/* Tries of what a lossy network may drop. Enough is when there were PAGES_TRIES, or when they have
 * taken so long that the peer itself does not answer. */
struct pages_patience {
    int tries;
    int64_t since_ns;
};

static inline struct pages_patience pages_patience(const struct rh_dsm_pages *pages)
{
    return (struct pages_patience){.since_ns = rh_clock_ns(pages->job)};
}

/* Whether a call that returned this should be made again. */
bool pages_try_again(const struct rh_dsm_pages *pages, struct pages_patience *patience, int result);

/* Pull that tries again when the network has dropped something. */
int pages_pull(struct rh_dsm_pages *pages, struct rh_remote source, void *target, size_t length);

/* ---- fetch.c -------------------------------------------------------------------------------- */

/* What faults.h calls. */
bool pages_on_fault(void *context, size_t page, enum faults_cause cause);

/* Make a page accessible, as a fault does. `ahead` more may be fetched with it. */
int pages_provide(struct rh_dsm_pages *pages, size_t page, enum faults_cause cause, size_t ahead);

/* ---- change.c ------------------------------------------------------------------------------- */

/* Write those bytes of `now` that differ from `before` to the same place of `to`, and no others.
 * length is a multiple of 64. Returns how many. */
size_t change_copy(char *to, const char *now, const char *before, size_t length);

/* Send what differs to the page's home. Does not wait for it: see change_complete(). Returns the
 * number of bytes. */
int64_t change_send(struct rh_dsm_pages *pages, size_t page, const char *now, const char *before);

/* What was sent to a home has arrived, and it lives. */
int change_complete(struct rh_dsm_pages *pages, int home);

/* ---- interval.c ----------------------------------------------------------------------------- */

/* Send all changes home and note them in the log. What a home could not be given is kept for the
 * next time; everything else is done all the same. With `sync` held. */
int interval_close(struct rh_dsm_pages *pages);

/* ---- notices.c ------------------------------------------------------------------------------ */

/* Add a run to our log. With `sync` held. */
void notices_add(struct rh_dsm_pages *pages, struct faults_run run);

/* The run that stands in our own log at a place, packed. */
uint64_t notices_own(const struct rh_dsm_pages *pages, uint64_t place);

/* Learn what rank's log has gained up to `end` and act on it; `given`, if not NULL, has its last
 * given_count runs, packed. With `sync` held. */
struct notices_news {
    int rank;
    uint64_t end;
    const uint64_t *given;
    uint64_t given_count;
    bool is_meeting; /* a barrier: all notices of all ranks are seen, homes may judge writers */
};
int notices_learn(struct rh_dsm_pages *pages, const struct notices_news *news);

/* Learn everything that a vector says. */
int notices_vector_learn(struct rh_dsm_pages *pages, const uint64_t *vector);

/* ---- drop.c --------------------------------------------------------------------------------- */

/* Others have written these pages: drop or update our copies. With `sync` held. */
int drop_run(struct rh_dsm_pages *pages, struct faults_run run);

/* The kernel does not let us have pages in any more pieces of different access (mprotect): take
 * access from all of them, our own too, in one piece. What was written is sent and owed. With
 * `sync` held; drop_room_make() takes it. */
int drop_everything(struct rh_dsm_pages *pages);
int drop_room_make(struct rh_dsm_pages *pages);

/* Drop at most PAGES_BATCH accessible copies, all entered. */
int drop_entered(struct rh_dsm_pages *pages, struct faults_run run);

/* ---- meeting.c ------------------------------------------------------------------------------ */

/* Room in the control segment that barriers need. */
size_t meeting_length(int ranks);

/* ---- move.c --------------------------------------------------------------------------------- */

/* A remote rank has written one of our pages; perhaps it should be its home. */
void move_writer_note(struct rh_dsm_pages *pages, size_t page, int writer);

/* After a barrier: decide which of our pages get another home at the next one. */
void move_choose(struct rh_dsm_pages *pages);

/* The steps of a move, with `sync` held; all ranks have done one before any does the next. Each may
 * be called again after a time-out. */
int move_part(struct rh_dsm_pages *pages);
int move_follow(struct rh_dsm_pages *pages, int from, size_t count);

/* ---- sync.c --------------------------------------------------------------------------------- */

int sync_open(struct rh_dsm_pages *pages);
void sync_close(struct rh_dsm_pages *pages);

/* Warn if the calling thread of the program has the signal of faults blocked. */
void sync_thread_check(const struct rh_dsm_pages *pages);

/* RH_ETIMEOUT, or RH_EDEAD after sync_lose(). */
int sync_take(struct rh_dsm_pages *pages);
void sync_give(struct rh_dsm_pages *pages);

/* A rank died while homes moved: `sync` is not to be had any more. */
void sync_lose(struct rh_dsm_pages *pages, int dead);

/* No page moves any more. */
void sync_settle(struct rh_dsm_pages *pages);

/* Wait until a page, not entered, does not move any more. */
int sync_await_settled(struct rh_dsm_pages *pages, size_t page);

/* ---- lock.c --------------------------------------------------------------------------------- */

/* Make the locks of the options, under the name that all ranks have chosen for them in dsm. */
int lock_open(struct rh_dsm_pages *pages, uint32_t name);

/* Give their variables and memory back. All ranks take part, after the last use of the locks. */
int lock_close(struct rh_dsm_pages *pages);
