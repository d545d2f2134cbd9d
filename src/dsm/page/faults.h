/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How accesses to pages are noticed.
 *
 * A watched range is a second mapping of memory that is also mapped elsewhere without any
 * protection (the backing). What a page of it may be used for is set with faults_set(); an access
 * beyond that runs on_fault in the thread that made it, as if it were a function called at that
 * instruction, and is tried again afterwards. Three mechanisms, probed at run time:
 *
 *   async     userfaultfd in SIGBUS mode for pages that are not there; writes raise nothing: the
 *             kernel notes them, and faults_harvest() asks which pages were written (PAGEMAP_SCAN)
 *   sigbus    userfaultfd in SIGBUS mode for both, pages write-protected by userfaultfd
 *   mprotect  SIGSEGV, with mprotect(2): works everywhere
 *
 * No thread waits for faults: waking one costs ten times what the fault itself does. This is the
 * one place where the library installs signal handlers (SIGSEGV or SIGBUS), while a range is
 * watched; faults elsewhere are passed on to the handler that was there before.
 *
 * Safety: a fault is no asynchronous signal. The handler may do whatever could be called at the
 * faulting instruction, so it takes locks and makes calls of remote memory; all other signals are
 * blocked meanwhile, and it runs on a stack of its own. What must not happen is that code which
 * holds one of those locks touches a watched page: the library itself works on the backing only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAULTS_PAGE 4096u

/* The order of preference, best first, as measured by `rhinet dsm bench faults`. */
enum faults_kind { FAULTS_ASYNC, FAULTS_SIGBUS, FAULTS_MPROTECT, FAULTS_KINDS };

/* What a page may be used for without a fault. */
enum faults_access { FAULTS_NONE, FAULTS_READ, FAULTS_WRITE };

/* What the access was; the kernel tells on some processors only. */
enum faults_cause { FAULTS_BY_READ, FAULTS_BY_WRITE, FAULTS_BY_EITHER };

struct faults;
struct faults_mechanism;

struct faults_range {
    char *base; /* of the watched mapping, a multiple of FAULTS_PAGE as is length */
    size_t length;
    /* Make page `page` (counted from base) accessible, in the faulting thread. False: it cannot be
     * done, has been said on stderr, and the process dies by the signal. */
    bool (*on_fault)(void *context, size_t page, enum faults_cause cause);
    void *context;
};

/* A run of neighbouring pages. */
struct faults_run {
    size_t first;
    size_t count;
};

const char *faults_name(enum faults_kind kind);

/* 0 if this kernel has the mechanism and lets us use it, else RH_EUNSUP with the reason. */
int faults_probe(enum faults_kind kind);

/* The best mechanism that works here. */
enum faults_kind faults_best(void);

/* Watch a range; its pages start as FAULTS_NONE. Errors: RH_EUNSUP, RH_ENOSPACE (too many ranges).
 */
int faults_open(struct faults **faults, enum faults_kind kind, const struct faults_range *range);

/* No thread may be inside the range any more; it is left accessible or not as it was. */
void faults_close(struct faults *faults);

/* Change what a run of pages may be used for; all have had the access `from`. */
int faults_set(struct faults *faults, struct faults_run run, enum faults_access from,
               enum faults_access to);

/* Whether the calling thread has the signal blocked by which faults come: then the kernel ends the
 * process at the first one, and nobody is asked. */
bool faults_are_blocked(const struct faults *faults);

/* Whether the first write to a page of FAULTS_READ calls on_fault; else ask faults_harvest(). */
bool faults_writes_tell(const struct faults *faults);

/* Pages of a run, in ascending order, that may have been written since they became FAULTS_READ; all
 * are FAULTS_READ again. Pages that are FAULTS_NONE may be among them. Returns how many runs were
 * put into `found`; if that is `room`, ask again from the end of the last. */
int faults_harvest(struct faults *faults, struct faults_run run, struct faults_run *found,
                   size_t room);
