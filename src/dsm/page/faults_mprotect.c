/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SIGSEGV and mprotect(2): the mechanism that every kernel has.
 */
#include "base/error.h"
#include "dsm/page/faults_mechanism.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

static const int protection[] = {
    [FAULTS_NONE] = PROT_NONE,
    [FAULTS_READ] = PROT_READ,
    [FAULTS_WRITE] = PROT_READ | PROT_WRITE,
};

static int set(struct faults *faults, struct faults_run run, enum faults_access from,
               enum faults_access to)
{
    if (mprotect(faults_address(faults, run.first), run.count * FAULTS_PAGE, protection[to]) == 0)
        return 0;
    return error_fail(
        RH_ENOSPACE,
        "cannot protect %zu pages: %s; many separate pieces need a larger vm.max_map_count",
        run.count, strerror(errno));
}

static int start(struct faults *faults)
{
    struct faults_run all = {.first = 0, .count = faults->range.length / FAULTS_PAGE};
    return set(faults, all, FAULTS_WRITE, FAULTS_NONE);
}

static void stop(struct faults *faults) {}

/* Never asked: writes raise a fault. */
static int harvest(struct faults *faults, struct faults_run run, struct faults_run *found,
                   size_t room)
{
    (void)faults, (void)run, (void)found, (void)room;
    return 0;
}

const struct faults_mechanism faults_mprotect = {
    .name = "mprotect",
    .signal = SIGSEGV,
    .tells_writes = true,
    .start = start,
    .stop = stop,
    .set = set,
    .harvest = harvest,
};
