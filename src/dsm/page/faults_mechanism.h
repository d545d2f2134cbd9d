/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What faults.c asks of a mechanism, and the part that all of them share: the table of watched
 * ranges and the signal handlers (faults_signal.c).
 */
#pragma once

#include "dsm/page/faults.h"

struct faults {
    const struct faults_mechanism *mechanism;
    struct faults_range range;
    int place;   /* in the table of watched ranges */
    int fd;      /* userfaultfd, or -1 */
    int pagemap; /* /proc/self/pagemap, or -1 */
};

struct faults_mechanism {
    const char *name;
    int signal;
    bool tells_writes;
    /* Prepare the range, with no access. RH_EUNSUP with the reason. */
    int (*start)(struct faults *faults);
    void (*stop)(struct faults *faults);
    int (*set)(struct faults *faults, struct faults_run run, enum faults_access from,
               enum faults_access to);
    int (*harvest)(struct faults *faults, struct faults_run run, struct faults_run *found,
                   size_t room);
};

extern const struct faults_mechanism faults_async, faults_sigbus, faults_mprotect;

/* Have the faults of a range delivered from now on, until forgotten. */
int faults_signal_watch(struct faults *faults);
void faults_signal_forget(struct faults *faults);

/* Call a function on a stack of our own, large enough for it. */
void faults_stack_call(void (*work)(void *), void *argument);

/* Give the stacks back that nobody uses. */
void faults_stack_free_all(void);

static inline char *faults_address(const struct faults *faults, size_t page)
{
    return faults->range.base + page * FAULTS_PAGE;
}
