/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See standin.h.
 */
#include "cache/interposer/standin.h"

#include "base/clock.h"
#include "base/rest.h"
#include "cache/interposer/blank.h"
#include "cache/interposer/named.h"
#include "cache/interposer/position.h"
#include "cache/interposer/real.h"
#include "cache/interposer/rings.h"
#include "cache/interposer/scope.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of open's flags: with others the kernel opens. */
#define FLAGS_KNOWN                                                                                \
    (O_ACCMODE | O_CLOEXEC | O_NOFOLLOW | O_NOATIME | O_NONBLOCK | O_NOCTTY | O_LARGEFILE)
#define TRIES   100 /* of an open that signals interrupt */
#define WAIT_NS (10 * NS_PER_S)

_Atomic int standin_count;
static _Atomic bool is_over;

/* ---- Looking --------------------------------------------------------------------------------- */

static bool holds(int fd)
{
    int flags = real.fcntl(fd, F_GETFL);
    return flags >= 0 && (flags & O_PATH);
}

struct description *standin_find(int fd)
{
    struct description *description = standin_any() ? table_reader(fd) : NULL;
    if (!description)
        return NULL;
    int error = errno;
    bool is_ours = standin_is(description);
    if (is_ours && !holds(fd) && atomic_load(&description->standin) == STANDIN_YES) {
        table_unpin();
        table_forget(fd); /* closed behind our back */
        description = NULL;
    } else if (!is_ours) {
        table_unpin();
        description = NULL;
    }
    errno = error;
    return description;
}

/* ---- Opening --------------------------------------------------------------------------------- */

bool standin_open(int folder, const char *path, int flags, int *fd)
{
    struct cache_name name;
    struct description like;
    if ((flags & O_ACCMODE) != O_RDONLY || (flags & ~(FLAGS_KNOWN | STANDIN_LARGE)) ||
        table_is_vfork_child || atomic_load_explicit(&is_over, memory_order_relaxed) ||
        !named_may_be(folder, path))
        return false;
    int result = named_find(folder, path, !(flags & O_NOFOLLOW), &name);
    if (result == 0 && S_ISLNK(name.status.mode))
        result = -ELOOP; /* that is what O_NOFOLLOW says */
    if (result == 0 && (!S_ISREG(name.status.mode) || !named_may_read(&name.status)))
        result = -EAGAIN;
    if (result == 0)
        result = cache_named_open(scope_client(), &like.file, &name);
    if (named_is_left(result))
        return false;
    if (result < 0) {
        errno = -result;
        *fd = -1;
        return true;
    }
    int error = errno;
    if (rings_are_here()) {
        standin_end();
        return false;
    }
    *fd = blank_take(flags);
    if (*fd < 0)
        return false; /* let the kernel say why */
    like.open_flags = flags;
    like.status = name.status;
    memcpy(like.path, name.path, sizeof(like.path));
    bool is_in = table_adopt_standin(*fd, &like);
    if (!is_in)
        real.close(*fd);
    errno = error;
    return is_in;
}

/* ---- Making it real -------------------------------------------------------------------------- */

/* Whoever is at it has all signals blocked and makes no call that waits, so that this is over at
 * once; but for threads that a debugger has stopped. Not to be cancelled: callers have it
 * pinned. */
static void wait_for_other(struct description *description)
{
    struct rest rest = {0};
    int64_t deadline_ns = clock_deadline_ns(WAIT_NS);
    int cancelling;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    while (atomic_load(&description->standin) == STANDIN_BUSY && clock_now_ns() < deadline_ns)
        rest_once(&rest);
    pthread_setcancelstate(cancelling, NULL);
}

/* At each number that still leads there. */
static void replace(const struct description *description, int opened)
{
    int end = (int)table_end();
    for (int fd = 0; fd < end; fd++) {
        if (atomic_load(&table_slots[fd]) != description || !holds(fd))
            continue;
        int flags = real.fcntl(fd, F_GETFD);
        real.dup3(opened, fd, flags & FD_CLOEXEC ? O_CLOEXEC : 0);
    }
}

/* The file itself; a negative errno. */
static int open_again(const struct description *description)
{
    int flags = (description->open_flags & ~O_NOFOLLOW) | O_CLOEXEC;
    struct stat status;
    int opened = -1;
    for (int i = 0; i < TRIES && opened < 0; i++) {
        opened = real.openat(AT_FDCWD, description->path, flags);
        if (opened < 0 && errno != EINTR && !(errno == EMFILE && blank_spare()))
            return -errno;
    }
    if (opened < 0)
        return -EINTR;
    /* Another file may have the name by now. */
    if (real.fstat(opened, &status) == 0 && status.st_ino == description->status.inode &&
        status.st_dev == description->file.device)
        return opened;
    real.close(opened);
    return -ESTALE;
}

/* Only the one who has made it STANDIN_BUSY. */
static void take_its_place(struct description *description, int opened)
{
    uint64_t position = atomic_load(&description->position);
    do
        atomic_store(&description->guess, position); /* first: standin_forked() wants to know */
    while (!atomic_compare_exchange_weak(&description->position, &position, STANDIN_MOVED));
    real.lseek(opened, (off_t)position, SEEK_SET);
    replace(description, opened);
    uint32_t busy = STANDIN_BUSY; /* unless it has lost its last number meanwhile */
    if (atomic_compare_exchange_strong(&description->standin, &busy, STANDIN_NOT))
        atomic_fetch_sub(&standin_count, 1);
}

static int make_real(struct description *description)
{
    sigset_t all, before;
    uint32_t expected = STANDIN_YES;
    int opened = open_again(description);
    if (opened < 0)
        return standin_is(description) ? opened : 0; /* somebody else has been luckier */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before); /* a handler must not wait for its own thread */
    bool is_ours = atomic_compare_exchange_strong(&description->standin, &expected, STANDIN_BUSY);
    if (is_ours)
        take_its_place(description, opened);
    sigprocmask(SIG_SETMASK, &before, NULL);
    real.close(opened);
    if (is_ours)
        cache_name_count(description->file.client, CACHE_NAMES_OPENED);
    else
        wait_for_other(description);
    return standin_is(description) ? -EIO : 0;
}

int standin_realise(struct description *description)
{
    int error = errno, cancelling;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling); /* nobody else would end it */
    int result = standin_is(description) ? make_real(description) : 0;
    pthread_setcancelstate(cancelling, NULL);
    errno = error;
    return result;
}

void standin_realise_at(int fd)
{
    struct description *description = standin_find(fd);
    if (!description)
        return;
    standin_realise(description);
    table_unpin();
}

void standin_realise_all(bool only_inherited)
{
    if (!standin_any() || table_is_vfork_child)
        return;
    int end = (int)table_end();
    for (int fd = 0; fd < end; fd++) {
        if (!table_has(fd) || (only_inherited && (real.fcntl(fd, F_GETFD) & FD_CLOEXEC)))
            continue;
        standin_realise_at(fd);
    }
}

/* What has the descriptors of this process in it. */
static bool shows_descriptors(const char *path)
{
    if (strncmp(path, "/dev/", 5) == 0)
        return strncmp(path + 5, "fd", 2) == 0 || strncmp(path + 5, "std", 3) == 0;
    return strncmp(path, "/proc/", 6) == 0 && (strstr(path, "/fd") || strstr(path, "/task"));
}

void standin_realise_for(const char *path)
{
    if (standin_any() && path && shows_descriptors(path))
        standin_realise_all(false);
}

void standin_end(void)
{
    atomic_store(&is_over, true);
    standin_realise_all(false);
}

/* ---- Numbers --------------------------------------------------------------------------------- */

void standin_await(struct description *description)
{
    if (atomic_load(&description->standin) == STANDIN_BUSY)
        wait_for_other(description);
}

bool standin_duplicated(struct description *description, int fd, int copy)
{
    wait_for_other(description);
    if (standin_is(description))
        return holds(copy);
    /* It has become real between the two: what we have copied is what it was. */
    if (!holds(copy))
        return true;
    int flags = real.fcntl(copy, F_GETFD);
    return !holds(fd) && real.dup3(fd, copy, flags & FD_CLOEXEC ? O_CLOEXEC : 0) >= 0;
}

/* What was replaced already is the kernel's; at the others it begins anew, where it was. */
void standin_forked(void)
{
    int end = (int)table_end();
    for (int fd = 0; fd < end && standin_any(); fd++) {
        struct description *description = atomic_load(&table_slots[fd]);
        if (!description || atomic_load(&description->standin) != STANDIN_BUSY)
            continue;
        if (atomic_load(&description->position) == STANDIN_MOVED)
            atomic_store(&description->position, atomic_load(&description->guess));
        atomic_store(&description->standin, STANDIN_YES);
    }
}

/* ---- Reading --------------------------------------------------------------------------------- */

static ssize_t make_real_for(struct description *description)
{
    int result = standin_realise(description);
    return result < 0 ? result : -EAGAIN;
}

ssize_t standin_pread(struct description *description, const struct iovec *parts, int part_count,
                      off_t offset)
{
    size_t done = 0;
    for (int i = 0; i < part_count; i++) {
        ssize_t got = cache_named_read(&description->file, description->path, parts[i].iov_base,
                                       parts[i].iov_len, offset + (off_t)done);
        if (got < 0)
            return make_real_for(description);
        done += (size_t)got;
        if ((size_t)got < parts[i].iov_len)
            break;
    }
    return (ssize_t)done;
}

/* [start, start + length) was claimed by us, and the kernel is to read it: the offset that it got
 * lies behind that. */
static ssize_t read_claimed(struct description *description, int fd, const struct iovec *parts,
                            int part_count, uint64_t start, uint64_t length)
{
    struct iovec some[POSITION_PARTS_MAX];
    int count = 0;
    for (uint64_t left = length; left > 0 && count < part_count; count++) {
        some[count] = parts[count];
        if (some[count].iov_len > left)
            some[count].iov_len = left;
        left -= some[count].iov_len;
    }
    ssize_t got = cache_file_readv(&description->file, fd, some, count, (off_t)start);
    off_t excess = (off_t)length - (got > 0 ? got : 0);
    if (excess > 0)
        real.lseek(fd, -excess, SEEK_CUR);
    return got;
}

static void give_back(struct description *description, uint64_t length)
{
    uint64_t position = atomic_load(&description->position);
    while (position != STANDIN_MOVED &&
           !atomic_compare_exchange_weak(&description->position, &position, position - length))
        ;
}

ssize_t standin_read(struct description *description, int fd, const struct iovec *parts,
                     int part_count)
{
    uint64_t wanted = 0, size = description->file.size;
    for (int i = 0; i < part_count; i++)
        wanted += parts[i].iov_len;
    uint64_t start = atomic_load(&description->position), length;
    do {
        if (start == STANDIN_MOVED)
            return make_real_for(description);
        length = start >= size ? 0 : wanted < size - start ? wanted : size - start;
    } while (!atomic_compare_exchange_weak(&description->position, &start, start + length));
    if (length == 0)
        return 0;
    ssize_t got = standin_pread(description, parts, part_count, (off_t)start);
    if (got == -EAGAIN)
        return read_claimed(description, fd, parts, part_count, start, length);
    if (got < 0)
        give_back(description, length);
    return got;
}

off_t standin_seek(struct description *description, off_t offset, int whence)
{
    uint64_t before = atomic_load(&description->position);
    off_t target;
    do {
        off_t base = whence == SEEK_CUR   ? (off_t)before
                     : whence == SEEK_END ? (off_t)description->file.size
                                          : 0;
        if (before == STANDIN_MOVED || whence < SEEK_SET || whence > SEEK_END)
            return make_real_for(description);
        if (__builtin_add_overflow(base, offset, &target))
            return -EOVERFLOW;
        if (target < 0)
            return -EINVAL;
    } while (!atomic_compare_exchange_weak(&description->position, &before, (uint64_t)target));
    return target;
}
