/* SPDX-License-Identifier: BSD-3-Clause
 *
 * userfaultfd(2) in SIGBUS mode, with write-protection that raises a fault (sigbus) or is resolved
 * and noted by the kernel (async). A page without access has no entry in the page table although
 * the memory behind it exists, which is a "minor" fault; UFFDIO_CONTINUE makes the entry. Unlike
 * mprotect this splits no mapping, so that pages in a hundred states cost no more than in one.
 */
#include "base/error.h"
#include "dsm/page/faults_mechanism.h"
#include "dsm/page/uffd_kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HARVEST_RUNS 64
#define TRIES_MAX    1000

static int unsupported(const char *what)
{
    return error_fail(RH_EUNSUP, "%s: %s", what, strerror(errno));
}

static uint64_t features(const struct faults *faults)
{
    uint64_t wanted = UFFD_FEATURE_SIGBUS | UFFD_FEATURE_MINOR_SHMEM |
                      UFFD_FEATURE_WP_HUGETLBFS_SHMEM | UFFD_FEATURE_PAGEFAULT_FLAG_WP;
    return faults->mechanism == &faults_async ? wanted | UFFD_FEATURE_WP_ASYNC : wanted;
}

static int start(struct faults *faults)
{
    struct uffdio_api api = {.api = UFFD_API, .features = features(faults)};
    struct uffdio_register watch = {
        .range = {.start = (uintptr_t)faults->range.base, .len = faults->range.length},
        .mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_MINOR | UFFDIO_REGISTER_MODE_WP,
    };
    /* For the user's own accesses no privilege is needed. */
    faults->fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
    if (faults->fd < 0)
        return unsupported("userfaultfd");
    int result = 0;
    if (ioctl(faults->fd, UFFDIO_API, &api) < 0)
        result = unsupported("userfaultfd with SIGBUS, minor faults and write-protection");
    else if (ioctl(faults->fd, UFFDIO_REGISTER, &watch) < 0)
        result = unsupported("userfaultfd on shared memory");
    else if (madvise(faults->range.base, faults->range.length, MADV_DONTNEED) < 0)
        result = unsupported("madvise");
    if (result < 0) {
        close(faults->fd);
        faults->fd = -1;
    }
    return result;
}

static void stop(struct faults *faults)
{
    close(faults->fd); /* which also ends the watch */
}

static int start_async(struct faults *faults)
{
    faults->pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (faults->pagemap < 0)
        return unsupported("/proc/self/pagemap");
    int result = start(faults);
    if (result < 0)
        close(faults->pagemap);
    return result;
}

static void stop_async(struct faults *faults)
{
    stop(faults);
    close(faults->pagemap);
}

/* EAGAIN means that the mappings change just now, by another thread: again, but not for ever. */
static int command(struct faults *faults, unsigned long request, void *argument)
{
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        if (ioctl(faults->fd, request, argument) == 0)
            return 0;
        if (errno != EAGAIN)
            break;
    }
    return -errno;
}

static struct uffdio_range range_of(const struct faults *faults, struct faults_run run)
{
    return (struct uffdio_range){.start = (uintptr_t)faults_address(faults, run.first),
                                 .len = run.count * FAULTS_PAGE};
}

/* Make entries for pages that have none. One that has one already stays as it is. */
static int map_pages(struct faults *faults, struct faults_run run, enum faults_access to)
{
    while (run.count > 0) {
        struct uffdio_continue ask = {.range = range_of(faults, run),
                                      .mode = UFFDIO_CONTINUE_MODE_DONTWAKE |
                                              (to == FAULTS_READ ? CONTINUE_MODE_WP : 0)};
        int result = command(faults, UFFDIO_CONTINUE, &ask);
        size_t done = ask.mapped > 0 ? (size_t)ask.mapped / FAULTS_PAGE : 0;
        if (result < 0 && result != -EEXIST && done == 0)
            return error_fail(RH_EUNSUP, "UFFDIO_CONTINUE of %zu pages: %s", run.count,
                              strerror(-result));
        done += result == -EEXIST;
        run.first += done;
        run.count -= done;
    }
    return 0;
}

static int protect_pages(struct faults *faults, struct faults_run run, enum faults_access to)
{
    struct uffdio_writeprotect ask = {.range = range_of(faults, run),
                                      .mode = to == FAULTS_READ ? UFFDIO_WRITEPROTECT_MODE_WP : 0};
    int result = command(faults, UFFDIO_WRITEPROTECT, &ask);
    if (result < 0)
        return error_fail(RH_EUNSUP, "UFFDIO_WRITEPROTECT of %zu pages: %s", run.count,
                          strerror(-result));
    return 0;
}

static int set(struct faults *faults, struct faults_run run, enum faults_access from,
               enum faults_access to)
{
    if (from == FAULTS_NONE)
        return map_pages(faults, run, to);
    if (to != FAULTS_NONE)
        return protect_pages(faults, run, to);
    if (madvise(faults_address(faults, run.first), run.count * FAULTS_PAGE, MADV_DONTNEED) == 0)
        return 0;
    return error_fail(RH_EUNSUP, "madvise of %zu pages: %s", run.count, strerror(errno));
}

/* Asking for written pages alone makes the kernel count those without an entry, too: so a page
 * whose entry was taken away under memory pressure is not forgotten. */
static int harvest(struct faults *faults, struct faults_run run, struct faults_run *found,
                   size_t room)
{
    struct page_region regions[HARVEST_RUNS];
    uintptr_t base = (uintptr_t)faults->range.base;
    struct pm_scan_arg ask = {
        .size = sizeof(ask),
        .flags = PM_SCAN_WP_MATCHING | PM_SCAN_CHECK_WPASYNC,
        .start = (uintptr_t)faults_address(faults, run.first),
        .end = (uintptr_t)faults_address(faults, run.first + run.count),
        .vec = (uintptr_t)regions,
        .vec_len = room < HARVEST_RUNS ? room : HARVEST_RUNS,
        .category_mask = PAGE_IS_WRITTEN,
        .return_mask = PAGE_IS_WRITTEN,
    };
    size_t count = 0;
    while (count < room && ask.start < ask.end) {
        long got = ioctl(faults->pagemap, PAGEMAP_SCAN, &ask);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return unsupported("PAGEMAP_SCAN");
        for (long i = 0; i < got; i++)
            found[count++] = (struct faults_run){.first = (regions[i].start - base) / FAULTS_PAGE,
                                                 .count = (regions[i].end - regions[i].start) /
                                                          FAULTS_PAGE};
        ask.start = ask.walk_end;
        ask.vec_len = room - count < HARVEST_RUNS ? room - count : HARVEST_RUNS;
    }
    return (int)count;
}

static int harvest_nothing(struct faults *faults, struct faults_run run, struct faults_run *found,
                           size_t room)
{
    (void)faults, (void)run, (void)found, (void)room;
    return 0;
}

const struct faults_mechanism faults_async = {
    .name = "async",
    .signal = SIGBUS,
    .tells_writes = false,
    .start = start_async,
    .stop = stop_async,
    .set = set,
    .harvest = harvest,
};

const struct faults_mechanism faults_sigbus = {
    .name = "sigbus",
    .signal = SIGBUS,
    .tells_writes = true,
    .start = start,
    .stop = stop,
    .set = set,
    .harvest = harvest_nothing,
};
