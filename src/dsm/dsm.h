/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How shared memory works, and what the files of src/dsm share.
 *
 * Each rank has two segments: the heap, where an object has the same offset on all ranks, and the
 * control memory, with one entry per variable. An entry's word (word.h) says what this rank is to
 * the variable. All steps are atomic operations on words, one's own or a peer's, so no program
 * serves requests; where the NIC is shm, no other processor does, either (docs/dsm.md, for each
 * NIC):
 *
 *   - Reading what is valid here: one more reader in the own word.
 *   - Fetching: say so in the own word (FETCHING), put oneself among the copies in the owner's
 *     word. If that word, as it was, let one read, pull the data; the own copy is valid then. From
 *     there on the owner's next writer knows of us and waits for us.
 *   - Writing, as owner: one compare-and-swap in the own word (WRITER), then make the copies
 *     invalid: those being read are waited for.
 *   - Taking: one compare-and-swap on the owner's word makes it a former owner that points at us;
 *     the data is pulled, and the copies are made invalid as above.
 *   - Finding the owner: words of all others point at who owned it when they last heard of it; each
 *     former owner points at its successor. If that leads to the dead, all ranks are looked at.
 *   - Waiting: who finds the owner busy puts itself into the owner's waiters, sets WANTED there and
 *     waits on memory of its own. The holder that releases and sees WANTED serves: it lets all
 *     waiting readers read, then makes the next writer the owner, with the rest of the waiters.
 *     Waiters look for themselves now and then, so what a death swallows is only time.
 *
 * Bits stand for groups of ranks where there are more ranks than bits; who gets a question too many
 * finds that it has nothing to say.
 *
 *   open.c      open, close, layout          acquire.c   the public calls, fast paths
 *   reach.h     a peer's entry, by pointer   read.c      slow path of readers
 *               or by the NIC                write.c     slow path of writers, invalidation
 *   serve.c     release with waiters         wait.c      waiting, finding the owner
 *   update.c    writing others' copies       bulk.h      how bytes move
 *   transfer.c  moving a variable's data     diff.c      and only what has changed
 *   check*.c    the checker mode             together.c  barrier, conditions
 *   adopt.c     after a death                stat.c      counts
 *   step.h      steps without an answer      doubt.h     other operations without one
 *   heap.c      the allocator                bind.c      bindings and modes
 */
#pragma once

#include "base/assert.h"
#include "base/error.h"
#include "base/likely.h"
#include "dsm/dsm_layer.h"
#include "dsm/word.h"
#include "rma/inside.h"

#include <pthread.h>
#include <rhinet/dsm.h>
#include <stdalign.h>
#include <stdatomic.h>

#define DSM_BLOCK 256 /* bytes of data per stamp, see RH_DSM_DIFF */

/* Variables of our own, after those of the program. */
enum { DSM_VARIABLE_HEAP, DSM_INTERNAL_COUNT };

/* ---- Shared memory -------------------------------------------------------------------------- */

/* One rank and variable. Waiters are bits: rank mod 64. */
struct dsm_entry {
    alignas(64) uint64_t word;
    uint64_t waiters_read;
    uint64_t waiters_write;
    uint64_t signal;        /* changed by who wants this rank to look again */
    uint64_t version;       /* RH_DSM_DIFF: of the data here */
    uint64_t event;         /* changed by rh_dsm_signal() of others */
    uint64_t event_waiters; /* at the variable's home: ranks in rh_dsm_wait() */
    uint64_t adopter;       /* rank + 1 of who adopts it, at the lowest living rank */
};
_Static_assert(sizeof(struct dsm_entry) == 64, "shared layout");

/* What is bound, the same on all ranks: the binder writes it everywhere before it releases. */
struct dsm_binding {
    alignas(64) uint32_t region_count;
    uint32_t mode;
    uint64_t length; /* of all regions together */
    uint64_t stamps; /* RH_DSM_DIFF: offset of one uint64_t per block: version of its last change */
    struct rh_dsm_region region[RH_DSM_REGIONS_MAX];
};
_Static_assert(sizeof(struct dsm_binding) == 320, "shared layout");

/* At the beginning of the control memory; entries and bindings follow. */
struct dsm_header {
    alignas(64) uint64_t heap_length;
    uint64_t entry_count;
    uint64_t opened_ns; /* tells this one from a later one of the same rank */
    uint64_t is_closed;
};

/* ---- This process --------------------------------------------------------------------------- */

/* A step on a peer's word of which the end is not known: step.h. */
struct dsm_step {
    int rank;
    struct nic_atomic_operands operands;
    struct nic_ticket ticket;
};

/* What only this process knows of a variable. */
struct dsm_own {
    alignas(64) bool has_begin_work; /* acquiring for writing has more to do, even if alone */
    bool has_end_work;               /* so has releasing it */
    bool was_told;                   /* rh_dsm_wrote() since the acquire */
    uint8_t use_streak;              /* writes in a row that found copies which had been read */
    uint16_t skip_diff;              /* so many writes without looking for differences */
    int last_source;                 /* where ownership came from last, or -1 */
    uint64_t pushed;                 /* groups of ranks (as copies) to be updated at release */
    uint64_t interest;               /* groups of ranks that have ever had a copy */
    bool has_twin, has_map;          /* twin and changed are of the write under way */
    void *twin;                      /* data as it was at the acquire; diff.c */
    uint64_t twin_length;
    uint64_t *changed;     /* bitmap of blocks that were said to be written */
    int event_waits;       /* threads in rh_dsm_wait() */
    _Atomic int step_kind; /* enum dsm_step_kind, of: */
    struct dsm_step step;
    _Atomic int owed_registry; /* rank + 1 where this one may still stand as adopter, though it
                                * adopts no more; 0: nowhere */
    struct rh_dsm_stat stat;
};

struct dsm_peer {
    struct dsm_entry *entries; /* where reachable directly, else NULL */
    char *heap;
    uint64_t opened_ns;
    const _Atomic uint32_t *state; /* enum rh_peer_state, in the roster */
};

struct dsm_bulk_ops;
struct dsm_check;

struct rh_dsm {
    struct dsm_entry *entries;
    struct dsm_own *own;
    uint32_t variable_count; /* of the program */
    int rank, size;
    struct rh_job *job;
    struct counters *counters;
    struct dsm_peer *peers;
    struct dsm_binding *bindings;
    char *heap; /* this rank's heap as the NIC has it */
    char *base; /* the same memory as the program sees it; differs only in checker mode */
    uint64_t heap_length;
    uint32_t entry_count;
    int met_count; /* ranks that have opened theirs, while we open */
    uint64_t entries_offset, bindings_offset;
    struct rh_msg *msg;
    struct rh_set *set;
    bool has_own_msg;
    const struct dsm_bulk_ops *bulk;
    void *bulk_state;
    struct dsm_check *check;
    _Atomic uint64_t signal_count;
    struct dsm_doubts *doubts;   /* doubt.h */
    _Atomic unsigned step_count; /* unfinished steps, and owed_registry that are set */
    pthread_mutex_t adopting;    /* of owed_registry */
    pthread_mutex_t conditions;  /* of own[].event_waits */
};

static inline bool dsm_is_gone(const struct rh_dsm *dsm, int rank)
{
    return atomic_load_explicit(dsm->peers[rank].state, memory_order_acquire) >= RH_PEER_LEFT;
}

static inline uint64_t dsm_bit(int rank)
{
    return 1ULL << (rank & 63);
}

/* Who keeps a variable's initial data and its condition. */
static inline int dsm_home(const struct rh_dsm *dsm, rh_dsm_variable variable)
{
    return (int)(variable % (unsigned)dsm->size);
}

/* Count something of a variable. As counter_add(): threads that collide may lose a count. */
static inline void dsm_stat_add(uint64_t *field, uint64_t amount)
{
    __atomic_store_n(field, __atomic_load_n(field, __ATOMIC_RELAXED) + amount, __ATOMIC_RELAXED);
}

/* The same for what is not a hit: it counts for the whole process, too. */
#define dsm_count(dsm_, variable_, field_, counter_, amount_)                                      \
    do {                                                                                           \
        dsm_stat_add(&(dsm_)->own[variable_].stat.field_, amount_);                                \
        counter_add((dsm_)->counters, counter_, amount_);                                          \
    } while (0)

/* A deadline that is asked for only when it is needed: timeouts are mostly not. */
struct dsm_patience {
    const char *purpose; /* what the time is for, as in "read" */
    int64_t timeout_ns;
    int64_t deadline_ns; /* 0: not asked for yet */
    int naps;            /* taken by one who has no time to wait */
};

/* ---- acquire.c ------------------------------------------------------------------------------ */

/* The public calls without the check of the number, for variables of our own too. */
int dsm_acquire(struct rh_dsm *dsm, rh_dsm_variable variable, enum rh_dsm_access access,
                int64_t timeout_ns);
int dsm_release(struct rh_dsm *dsm, rh_dsm_variable variable);

/* End a write without passing anything on. */
void dsm_write_end(struct rh_dsm *dsm, rh_dsm_variable variable);

/* ---- read.c, write.c ------------------------------------------------------------------------ */

int dsm_read_slow(struct rh_dsm *dsm, rh_dsm_variable variable, int64_t timeout_ns);
int dsm_write_slow(struct rh_dsm *dsm, rh_dsm_variable variable, int64_t timeout_ns);
/* Say in the own word that a thread is on its way to own the variable, once no other is at it; and
 * that it has not become the owner after all. */
int dsm_own_begin(struct rh_dsm *dsm, rh_dsm_variable variable, struct dsm_patience *patience);
void dsm_own_give_up(struct rh_dsm *dsm, rh_dsm_variable variable);
/* The target's word was `taken`, free, and is now that of a former owner: the own word becomes the
 * owner's, held as WRITER or SERVING. 0: not, since the target is gone. */
int dsm_become_owner(struct rh_dsm *dsm, rh_dsm_variable variable, int target, uint64_t taken,
                     uint64_t hold);
/* This rank owns the variable and could not get its data from the source, because of `code`. */
int dsm_disown(struct rh_dsm *dsm, rh_dsm_variable variable, int source, int code);
/* The source has it again, or nobody. */
void dsm_own_drop(struct rh_dsm *dsm, rh_dsm_variable variable, int source);
/* The own word says OWNER and WRITER: see that nobody else has a valid copy. On failure the
 * variable has been released. */
int dsm_write_alone(struct rh_dsm *dsm, rh_dsm_variable variable, struct dsm_patience *patience);

/* ---- update.c ------------------------------------------------------------------------------- */

/* A write begins: had are the groups of ranks whose copies were made invalid for it, used those of
 * them that had been read. */
void dsm_write_begin(struct rh_dsm *dsm, rh_dsm_variable variable, uint64_t had, uint64_t used);
/* It ends: write the copies of those who are to have them. True: it is not known whether one has
 * got it; the variable has been released, and stays as it is until that is known. */
bool dsm_copies_update(struct rh_dsm *dsm, rh_dsm_variable variable);
/* The same for all who have ever read it, by an owner that holds it for reading. */
void dsm_update_interested(struct rh_dsm *dsm, rh_dsm_variable variable);

/* ---- serve.c -------------------------------------------------------------------------------- */

/* End a write, or the last read of an owner, while somebody wants it. The own word is SERVING. */
void dsm_serve(struct rh_dsm *dsm, rh_dsm_variable variable);
/* Another rank owns the variable now; this one is a reader at most. Waiters are not told. Returns
 * the own word as it was. */
uint64_t dsm_step_down(struct rh_dsm *dsm, rh_dsm_variable variable, int successor);
/* Have all who wait at the own entry look again. */
void dsm_waiters_signal(struct rh_dsm *dsm, rh_dsm_variable variable);
/* Add the waiters of an entry that has just lost ownership to us to our own. */
void dsm_waiters_inherit(struct rh_dsm *dsm, rh_dsm_variable variable, int from);
/* To be stored as a signal: never the same twice, whoever signals. */
uint64_t dsm_signal_value(struct rh_dsm *dsm);

/* ---- step.c --------------------------------------------------------------------------------- */

/* Go on with what is unfinished, a moment each. True: some of it has ended. */
bool dsm_settle_some(struct rh_dsm *dsm);

static inline bool dsm_settle(struct rh_dsm *dsm)
{
    return unlikely(atomic_load(&dsm->step_count) > 0) && dsm_settle_some(dsm);
}

/* ---- adopt.c -------------------------------------------------------------------------------- */

/* Take back what this rank has put down as an adopter and could not take back. True: done. */
bool dsm_adopt_settle(struct rh_dsm *dsm, rh_dsm_variable variable);

/* ---- wait.c --------------------------------------------------------------------------------- */

/* When the patience is over, by rh_clock_ns(). */
int64_t dsm_deadline_ns(struct rh_dsm *dsm, struct dsm_patience *patience);

/* Wait while own word & mask is value and the signal is as seen; at most a slice, or until `from`
 * dies. RH_ETIMEOUT (RH_EAGAIN) only when the patience is over. */
struct dsm_await {
    uint64_t mask, value;
    uint64_t seen; /* signal as it was */
    int from;
};
int dsm_await(struct rh_dsm *dsm, rh_dsm_variable variable, const struct dsm_await *await,
              struct dsm_patience *patience);

/* Rest a little between two looks at words that are about to change. */
int dsm_nap(struct rh_dsm *dsm, rh_dsm_variable variable, struct dsm_patience *patience);

/* The way to the owner: where to ask next. */
struct dsm_search {
    int target;
    int hops;
    int circles; /* gone round in vain */
};
/* The target's word, `found`, was not an owner's: follow its hint. */
int dsm_follow(struct rh_dsm *dsm, rh_dsm_variable variable, struct dsm_search *search,
               uint64_t found, struct dsm_patience *patience);
/* The target is gone: look at all others. RH_EDEAD if nobody owns it. */
int dsm_owner_find(struct rh_dsm *dsm, rh_dsm_variable variable, struct dsm_search *search,
                   struct dsm_patience *patience);

/* ---- transfer.c ----------------------------------------------------------------------------- */

/* Bring the data here from a rank that has it and does not change it meanwhile. */
int dsm_data_pull(struct rh_dsm *dsm, rh_dsm_variable variable, int rank,
                  struct dsm_patience *patience);
/* Write it to a rank's heap. */
int dsm_data_push(struct rh_dsm *dsm, rh_dsm_variable variable, int rank,
                  struct dsm_patience *patience);

/* ---- diff.c --------------------------------------------------------------------------------- */

/* Begin and end of a write with RH_DSM_DIFF. */
void dsm_diff_begin(struct rh_dsm *dsm, rh_dsm_variable variable);
void dsm_diff_end(struct rh_dsm *dsm, rh_dsm_variable variable);
/* Mode or binding have changed, and the variable is held for writing. */
int dsm_diff_choose(struct rh_dsm *dsm, rh_dsm_variable variable);

/* ---- heap.c --------------------------------------------------------------------------------- */

uint64_t dsm_heap_min(void);
/* Prepare the allocator; rank 0 fills its own memory. Called by all before anybody uses it. */
int dsm_heap_open(struct rh_dsm *dsm);
