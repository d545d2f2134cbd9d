/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Page mode: the second face of the distributed shared memory, for programs that were written for
 * threads. Shared pages are plain memory: reads and writes are found by page faults, and what was
 * written becomes visible to others when they lock what the writer has unlocked, or after a barrier
 * (lazy release consistency). A program without data races behaves as it did with threads.
 *
 * Every page has a home, a rank whose memory is always up to date at the moment of a release. A
 * fault fetches the page from there, without the home's help. At a release the bytes that have
 * changed go to the homes, and a note of the pages that have; who acquires learns these notes and
 * drops or updates its copies. Several ranks may write different bytes of one page at the same
 * time. Locks are the variables of rhinet/dsm.h.
 *
 * What to know: a system call on a page that is not here fails with EFAULT (rh_dsm_pages_touch()
 * brings it), and so must what is passed to other calls of rhinet be touched first. While pages
 * exist, SIGSEGV and SIGBUS have a handler, which passes on what it does not know. Threads must not
 * block these signals: the kernel would end the process without a word. A fault that
 * cannot be satisfied, since the page's home has died, says so on stderr and ends the process by
 * that signal: there is no call that could return an error.
 */
#ifndef RHINET_DSM_PAGES_H
#define RHINET_DSM_PAGES_H

#include <rhinet/dsm.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct rh_dsm_pages;

/* Where pages have their home. */
enum rh_dsm_home {
    RH_DSM_HOME_TOUCH = 0, /* with the rank that touches them first */
    RH_DSM_HOME_BLOCK = 1, /* an equal part of the length with each rank, in order */
    RH_DSM_HOME_GIVEN = 2  /* where home_of says */
};

/* Set the length; what else is 0 has its default. The same on all ranks. */
struct rh_dsm_pages_options {
    size_t struct_size; /* sizeof(struct rh_dsm_pages_options), or 0: that of version 0.2 */
    uint64_t length;    /* bytes, rounded up to pages; every rank has room for all of them */
    enum rh_dsm_home home;
    int (*home_of)(void *context, uint64_t page); /* a rank; asked once for every page */
    void *context;
    bool is_settled; /* pages keep their home even if another rank alone writes */
    rh_dsm_variable
        first_variable;  /* variables first_variable to first_variable + lock_count - 1 */
    uint32_t lock_count; /* of dsm become locks 0 to lock_count - 1 of these pages */
};

/* Open shared pages; all ranks do, and wait for each other. The memory is zero, and lies at the
 * same address on all ranks if that can be had (rh_dsm_pages_same_address()). RHINET_DSM_FAULTS
 * chooses how accesses are noticed. Errors: RH_ENOSPACE, RH_EINVALID, RH_EUNSUP, RH_EDEAD,
 * RH_ETIMEOUT. */
int rh_dsm_pages_open(struct rh_dsm_pages **pages, struct rh_dsm *dsm,
                      const struct rh_dsm_pages_options *options);

/* Close them; waits for all living ranks. No thread may use the memory any more. */
int rh_dsm_pages_close(struct rh_dsm_pages *pages);

/* Where the pages start in this process, and whether that is so on all ranks: then pointers may be
 * kept in shared memory. */
void *rh_dsm_pages_base(const struct rh_dsm_pages *pages);
bool rh_dsm_pages_same_address(const struct rh_dsm_pages *pages);

/* The way in which accesses are noticed: "async", "sigbus" or "mprotect". */
const char *rh_dsm_pages_faults(const struct rh_dsm_pages *pages);

/* Lock, for writing or with RH_DSM_READ together with other readers: what others wrote before they
 * unlocked it is visible. Errors as rh_dsm_acquire(). */
int rh_dsm_pages_lock(struct rh_dsm_pages *pages, uint32_t lock, enum rh_dsm_access access,
                      int64_t timeout_ns);

/* Unlock: what this process has written is visible to whoever locks next. Errors: RH_EINVALID, or
 * RH_EDEAD and RH_ETIMEOUT when a home could not be reached; the lock is open then, too. What is
 * written to pages of other homes is visible all the same; the rest is sent again by the next
 * unlock or barrier, which returns the same error if it is in vain. */
int rh_dsm_pages_unlock(struct rh_dsm_pages *pages, uint32_t lock);

/* Unlock, wait for a signal, lock again; as rh_dsm_wait(). Only for locks held for writing. */
int rh_dsm_pages_wait(struct rh_dsm_pages *pages, uint32_t lock, int64_t timeout_ns);
int rh_dsm_pages_signal(struct rh_dsm_pages *pages, uint32_t lock);
int rh_dsm_pages_broadcast(struct rh_dsm_pages *pages, uint32_t lock);

/* Barrier of all ranks: what any of them wrote before is visible to all after it. One thread of
 * each process takes part; others may lock and unlock meanwhile. After RH_ETIMEOUT the next call
 * waits on for the same barrier, which passes on what was written before the first call. Errors:
 * RH_EDEAD, RH_ETIMEOUT. */
int rh_dsm_pages_barrier(struct rh_dsm_pages *pages, int64_t timeout_ns);

/* Bring a range here now, for reading (RH_DSM_READ) or reading and writing, as if it had been
 * touched: before system calls, and to save faults. Unlike a fault this returns errors: RH_EDEAD,
 * RH_ETIMEOUT, RH_EBOUNDS. */
int rh_dsm_pages_touch(struct rh_dsm_pages *pages, void *start, uint64_t length,
                       enum rh_dsm_access access);

/* The rank that is the page's home now, as far as is known here; -1: nobody has touched it. */
int rh_dsm_pages_home(const struct rh_dsm_pages *pages, const void *address);

/* Counts of this process since the start. */
struct rh_dsm_pages_stat {
    size_t struct_size;     /* set by the caller */
    uint64_t read_faults;   /* that fetched, or claimed a page that nobody had */
    uint64_t write_faults;  /* on pages that could be read */
    uint64_t fetched_pages; /* by faults, with those fetched ahead */
    uint64_t updated_pages; /* brought up to date by an acquire, without a fault */
    uint64_t dropped_pages; /* copies made invalid by an acquire */
    uint64_t pushed_bytes;  /* changes that went to homes */
    uint64_t noted_pages;   /* that others were told of */
    uint64_t moved_pages;   /* whose home has come here */
    uint64_t shared_writes; /* pages written here and elsewhere between two barriers: false sharing,
                                if the program has no races */
};
int rh_dsm_pages_stat(const struct rh_dsm_pages *pages, struct rh_dsm_pages_stat *stat);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
