/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Distributed shared memory (Fagus): memory that all ranks of a job share, kept consistent by entry
 * consistency.
 *
 * Every rank has a heap of the same length, and an object lies at the same offset in all of them.
 * Shared data is bound to a synchronisation variable. Who acquires the variable, for reading or for
 * writing, then has the newest data of all that is bound to it in its own heap, as plain memory,
 * until it releases. Any number of ranks and threads may read at a time; a writer is alone. The
 * last writer owns the variable: it has the newest data, all others have copies, which a write
 * makes invalid and the next read brings up to date. Acquiring what is valid here already costs a
 * few nanoseconds and no communication. Nobody has to serve requests: who needs data takes it from
 * the owner's memory, while the owner computes.
 *
 * Data that is touched without holding its variable is whatever it is; the checker mode
 * (RHINET_DSM_CHECK) finds such accesses. As everywhere, each wait has a deadline, and a death ends
 * it with RH_EDEAD: what only the dead had is lost, and what others have a copy of can be adopted.
 *
 * Any thread may call. A variable is held by a thread only in the sense that each acquire needs one
 * release, by whatever thread.
 */
#ifndef RHINET_DSM_H
#define RHINET_DSM_H

#include <rhinet/msg.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct rh_dsm;

/* Optional wishes for rh_dsm_open(), the same on all ranks. What is 0 has its default. */
struct rh_dsm_options {
    size_t struct_size;      /* sizeof(struct rh_dsm_options), or 0: that of version 0.2 */
    uint64_t heap_length;    /* bytes of shared memory; 0: RHINET_DSM_HEAP */
    uint32_t variable_count; /* 0: RHINET_DSM_VARIABLES */
    struct rh_msg *msg;      /* the program's mailbox, if it has one; NULL: open one */
};

/* Open the shared memory; all ranks do so, and wait for each other. One per job. options may be
 * NULL. Errors: RH_EEXIST, RH_ENOSPACE, RH_EINVALID (not the same on all ranks), RH_EDEAD,
 * RH_ETIMEOUT. */
int rh_dsm_open(struct rh_dsm **dsm, struct rh_job *job, const struct rh_dsm_options *options);

/* Close it; waits until all living ranks have come here, since they may need our copies. Nothing
 * may be held. */
int rh_dsm_close(struct rh_dsm *dsm);

/* The mailbox in use, for programs that want messages too. */
struct rh_msg *rh_dsm_msg(const struct rh_dsm *dsm);

/* ---- Memory --------------------------------------------------------------------------------- */

/* Allocate shared memory; any rank may, at any time, and *offset means the same object on all. The
 * memory is aligned to 64 bytes and not zeroed. Errors: RH_ENOSPACE, RH_EDEAD, RH_ETIMEOUT. */
int rh_dsm_alloc(struct rh_dsm *dsm, uint64_t length, uint64_t *offset);

/* The same under a number that the program chooses: the first to ask allocates, the others get the
 * same object. RH_EINVALID if it was asked for with another length. */
int rh_dsm_alloc_named(struct rh_dsm *dsm, uint32_t name, uint64_t length, uint64_t *offset);

/* Give it back; any rank may. RH_EINVALID if nothing was allocated there. */
int rh_dsm_free(struct rh_dsm *dsm, uint64_t offset);

/* Where an offset is in this process, and back. No check. */
void *rh_dsm_ptr(const struct rh_dsm *dsm, uint64_t offset);
uint64_t rh_dsm_offset(const struct rh_dsm *dsm, const void *pointer);

/* ---- Variables ------------------------------------------------------------------------------ */

/* Variables are known by numbers, 0 to variable_count - 1, and need no creation. Until somebody
 * writes, variable v belongs to rank v mod size. */
typedef uint32_t rh_dsm_variable;

/* A piece of shared memory: block_count blocks of `length` bytes, `stride` bytes apart. One block
 * when block_count is 0 or 1. */
struct rh_dsm_region {
    uint64_t offset;
    uint64_t length;
    uint64_t block_count;
    uint64_t stride;
};
#define RH_DSM_REGIONS_MAX 8 /* per variable */

/* Bind memory to a variable, instead of what was bound to it before. The variable must be held for
 * writing; the binding holds on all ranks from the release on, and the data that is there now is
 * what they get. Errors: RH_EINVALID (not held, too many, outside the heap), RH_ENOSPACE. */
int rh_dsm_bind(struct rh_dsm *dsm, rh_dsm_variable variable, const struct rh_dsm_region *regions,
                size_t count);

/* What is bound: up to `room` regions; returns how many there are. Hold the variable. */
int rh_dsm_bound(struct rh_dsm *dsm, rh_dsm_variable variable, struct rh_dsm_region *regions,
                 size_t room);

/* How new data travels. */
#define RH_DSM_AUTO 0u /* by use: to ranks that have read every time, as push, else as pull */
#define RH_DSM_PULL 1u /* a reader fetches when it acquires */
#define RH_DSM_PUSH 2u /* a writer that releases writes the copies of those who had one */
#define RH_DSM_DIFF                                                                                \
    4u /* besides: only the blocks of 256 bytes that have changed travel; for large
                          regions of which little changes */

/* Choose; the variable must be held for writing, and have its memory bound for RH_DSM_DIFF. */
int rh_dsm_mode(struct rh_dsm *dsm, rh_dsm_variable variable, unsigned mode);

enum rh_dsm_access { RH_DSM_READ = 1, RH_DSM_WRITE = 2 };

/* Acquire: when this returns 0 the data is here, and the newest. timeout_ns as everywhere:
 * RH_TIMEOUT_NONE tries without waiting for other holders (RH_EAGAIN). Errors: RH_ETIMEOUT,
 * RH_EDEAD (the owner is gone: see rh_dsm_adopt), RH_EINVALID. A reader that wants to write
 * releases first. */
int rh_dsm_acquire(struct rh_dsm *dsm, rh_dsm_variable variable, enum rh_dsm_access access,
                   int64_t timeout_ns);

/* Release what was acquired, whichever it was. A peer's death that is noticed here is not an error:
 * what is released is released. RH_EINVALID: not held. */
int rh_dsm_release(struct rh_dsm *dsm, rh_dsm_variable variable);

/* With RH_DSM_DIFF: say what was written since the acquire, so that nobody has to look for it. May
 * be called several times; once it is, nothing else counts as written until the release. */
int rh_dsm_wrote(struct rh_dsm *dsm, rh_dsm_variable variable, const void *start, uint64_t length);

/* Bring copies up to date without holding them: what can be had without waiting for a writer.
 * Returns how many are valid now. */
int rh_dsm_prefetch(struct rh_dsm *dsm, const rh_dsm_variable *variables, size_t count);

/* The rank that owns a variable, as far as is known here, which may be out of date. */
int rh_dsm_owner(struct rh_dsm *dsm, rh_dsm_variable variable);

/* Become the owner of a variable whose owner is gone, with the data of a valid copy, found here or
 * with any living rank; then release as after acquiring for writing. With is_stale_welcome also
 * from a copy that a write had made invalid: the newest of them that is known, and RH_OWNER_DIED is
 * returned for it, with the variable held. Errors: RH_EINVALID (the owner lives), RH_ENOSEG (nobody
 * has a copy), RH_EAGAIN (another rank is at it), RH_ETIMEOUT. */
int rh_dsm_adopt(struct rh_dsm *dsm, rh_dsm_variable variable, bool is_stale_welcome);

/* ---- Acting together ------------------------------------------------------------------------ */

/* Barrier of all ranks that carries data: nobody leaves before all have entered, and the variables
 * named (by any rank, usually those it has written) are up to date at all ranks that ever read
 * them, so that reading them next costs nothing. Nothing named may be held. count may be 0. */
int rh_dsm_barrier(struct rh_dsm *dsm, const rh_dsm_variable *variables, size_t count,
                   int64_t timeout_ns);

/* Condition of a variable, as in monitors: release it, wait for a signal, acquire it again as it
 * was held. May return without a signal, so check in a loop what you wait for. RH_ETIMEOUT: it is
 * held again, but nothing was signalled in time; every other error: not held. */
int rh_dsm_wait(struct rh_dsm *dsm, rh_dsm_variable variable, int64_t timeout_ns);

/* Wake the waiters of one rank, or of all. Best called while holding the variable for writing. */
int rh_dsm_signal(struct rh_dsm *dsm, rh_dsm_variable variable);
int rh_dsm_broadcast(struct rh_dsm *dsm, rh_dsm_variable variable);

/* ---- What happened -------------------------------------------------------------------------- */

/* Counts of this process since the start. */
struct rh_dsm_stat {
    size_t struct_size;     /* set by the caller */
    uint64_t read_hits;     /* acquires for reading that found a valid copy */
    uint64_t read_misses;   /* that had to fetch */
    uint64_t write_hits;    /* acquires for writing by the owner */
    uint64_t write_misses;  /* that made this rank the owner */
    uint64_t waits;         /* acquires that had to wait for other holders */
    uint64_t invalidations; /* copies of others made invalid */
    uint64_t updates;       /* copies of others written (push) */
    uint64_t fetched_bytes; /* data that came */
    uint64_t pushed_bytes;  /* data that went */
    uint64_t bounces;       /* took ownership back from the rank it had just gone to */
};

/* Of one variable, or of all (variable_count or above). */
int rh_dsm_stat(struct rh_dsm *dsm, rh_dsm_variable variable, struct rh_dsm_stat *stat);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
