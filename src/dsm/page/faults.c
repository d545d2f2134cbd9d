/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Choosing a mechanism, and watching a range with it.
 */
#include "dsm/page/faults.h"

#include "base/error.h"
#include "dsm/page/faults_mechanism.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const struct faults_mechanism *const mechanisms[FAULTS_KINDS] = {
    [FAULTS_ASYNC] = &faults_async,
    [FAULTS_SIGBUS] = &faults_sigbus,
    [FAULTS_MPROTECT] = &faults_mprotect,
};

const char *faults_name(enum faults_kind kind)
{
    return mechanisms[kind]->name;
}

/* The whole way of a page, without a fault: what a kernel lacks, or a sandbox forbids, shows. */
static int try_page(struct faults *faults)
{
    static const struct faults_run page = {.first = 0, .count = 1};
    struct faults_run found;
    const struct faults_mechanism *mechanism = faults->mechanism;
    int result = mechanism->set(faults, page, FAULTS_NONE, FAULTS_READ);
    if (result == 0 && mechanism->tells_writes)
        result = mechanism->set(faults, page, FAULTS_READ, FAULTS_WRITE);
    if (result == 0 && !mechanism->tells_writes) {
        *(volatile char *)faults->range.base = 1;
        int runs = mechanism->harvest(faults, page, &found, 1);
        result = runs < 0 ? runs : 0;
        if (runs == 0)
            result = error_fail(RH_EUNSUP, "this kernel does not tell written pages");
    }
    return result < 0 ? result : mechanism->set(faults, page, FAULTS_WRITE, FAULTS_NONE);
}

int faults_probe(enum faults_kind kind)
{
    struct faults faults = {.mechanism = mechanisms[kind], .fd = -1, .pagemap = -1};
    char *backing = mmap(NULL, FAULTS_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                         0);
    if (backing == MAP_FAILED)
        return error_fail(RH_ENOSPACE, "no memory to try page faults with");
    *(volatile char *)backing = 0;
    faults.range.length = FAULTS_PAGE;
    faults.range.base = mremap(backing, 0, FAULTS_PAGE, MREMAP_MAYMOVE);
    int result = faults.range.base == MAP_FAILED
                     ? error_fail(RH_EUNSUP, "cannot map memory twice: %s", strerror(errno))
                     : faults.mechanism->start(&faults);
    if (result == 0) {
        result = try_page(&faults);
        faults.mechanism->stop(&faults);
    }
    if (faults.range.base != MAP_FAILED)
        munmap(faults.range.base, FAULTS_PAGE);
    munmap(backing, FAULTS_PAGE);
    return result;
}

enum faults_kind faults_best(void)
{
    for (int kind = 0; kind < FAULTS_MPROTECT; kind++)
        if (faults_probe((enum faults_kind)kind) == 0)
            return (enum faults_kind)kind;
    return FAULTS_MPROTECT;
}

int faults_open(struct faults **faults, enum faults_kind kind, const struct faults_range *range)
{
    struct faults *made = malloc(sizeof(*made));
    if (!made)
        return error_fail(RH_ENOSPACE, "no memory to watch a range with");
    *made = (struct faults){
        .mechanism = mechanisms[kind], .range = *range, .fd = -1, .pagemap = -1};
    int result = made->mechanism->start(made);
    if (result < 0)
        goto free_made;
    result = faults_signal_watch(made);
    if (result < 0)
        goto stop_made;
    *faults = made;
    return 0;
stop_made:
    made->mechanism->stop(made);
free_made:
    free(made);
    return result;
}

void faults_close(struct faults *faults)
{
    faults_signal_forget(faults);
    faults->mechanism->stop(faults);
    free(faults);
}

int faults_set(struct faults *faults, struct faults_run run, enum faults_access from,
               enum faults_access to)
{
    if (from == to || run.count == 0)
        return 0;
    return faults->mechanism->set(faults, run, from, to);
}

bool faults_writes_tell(const struct faults *faults)
{
    return faults->mechanism->tells_writes;
}

int faults_harvest(struct faults *faults, struct faults_run run, struct faults_run *found,
                   size_t room)
{
    return run.count == 0 ? 0 : faults->mechanism->harvest(faults, run, found, room);
}
