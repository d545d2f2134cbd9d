/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See blank.h.
 */
#include "cache/interposer/blank.h"

#include "cache/interposer/real.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define NONE (-1)

static struct {
    _Atomic int kept; /* a number; NONE */
    _Atomic uint64_t device, inode;
    _Atomic bool is_making;
} blank = {.kept = NONE};

static bool is_blank(int fd)
{
    struct stat status;
    return fd >= 0 && real.fstat(fd, &status) == 0 && status.st_ino == atomic_load(&blank.inode) &&
           status.st_dev == atomic_load(&blank.device);
}

/* Where programs do not look for the lowest free number, and below their limit. */
static int move_up(int fd)
{
    static const int places[] = {1000, 200, 50};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        int moved = real.fcntl(fd, F_DUPFD_CLOEXEC, places[i]);
        if (moved < 0)
            continue;
        real.close(fd);
        return moved;
    }
    return fd;
}

static int make(void)
{
    char link[64];
    struct stat status;
    int memory = memfd_create("rhinet-blank", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (memory < 0)
        return NONE;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", memory);
    int made = NONE;
    if (real.fcntl(memory, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_GROW | F_SEAL_WRITE) == 0 &&
        real.fstat(memory, &status) == 0)
        made = real.openat(AT_FDCWD, link, O_PATH | O_CLOEXEC);
    real.close(memory);
    if (made < 0)
        return NONE;
    atomic_store(&blank.device, status.st_dev);
    atomic_store(&blank.inode, status.st_ino);
    return move_up(made);
}

/* One thread does it; the others do without meanwhile. */
static int renew(void)
{
    int cancelling;
    if (atomic_exchange(&blank.is_making, true))
        return NONE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    int made = atomic_load(&blank.kept);
    if (!is_blank(made)) /* what else is there now is the program's */
        made = make();
    atomic_store(&blank.kept, made);
    pthread_setcancelstate(cancelling, NULL);
    atomic_store(&blank.is_making, false);
    return made;
}

int blank_take(int flags)
{
    int kept = atomic_load(&blank.kept);
    if (!is_blank(kept))
        kept = renew();
    return kept < 0 ? -1 : real.fcntl(kept, flags & O_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD, 0);
}

bool blank_spare(void)
{
    int kept = atomic_exchange(&blank.kept, NONE);
    return is_blank(kept) && real.close(kept) == 0;
}
