/* SPDX-License-Identifier: BSD-3-Clause
 *
 * mmap of a file of the cache: the kernel maps it, so all errors are its own and pages beyond the
 * end fault as ever; then a copy in memory, filled from the cache, is put over the pages that hold
 * data. Only for mappings that cannot write to the file, and not for programs' code. A mapping
 * longer than the limit stays the kernel's: all of it would be read, and kept once more.
 *
 * The copy is a file in memory rather than bare memory, so that MADV_DONTNEED brings back the
 * data and not zeros.
 */
#include "cache/interposer/real.h"
#include "cache/interposer/standin.h"
#include "cache/interposer/table.h"
#include "cache/interposer/writers.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

/* What is copied at most. */
#define LENGTH_MAX (64ul << 20)

static bool is_for_us(size_t length, int protection, int flags, off_t offset)
{
    int sharing = flags & MAP_TYPE;
    bool only_reads = sharing == MAP_PRIVATE || !(protection & PROT_WRITE);
    return only_reads && length > 0 && length <= LENGTH_MAX && offset >= 0 &&
           !(protection & PROT_EXEC) && !(flags & (MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_HUGETLB));
}

/* A descriptor of memory with these bytes of the file, or -1. */
static int copy_make(struct description *description, int fd, size_t length, off_t offset)
{
    int copy = memfd_create("rhinet-cache-map", MFD_CLOEXEC);
    if (copy < 0 || ftruncate(copy, (off_t)length) != 0)
        goto fail;
    void *room = real.mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, copy, 0);
    if (room == MAP_FAILED)
        goto fail;
    ssize_t got = standin_is(description)
                      ? cache_named_read(&description->file, description->path, room, length,
                                         offset)
                      : cache_file_read_checked(&description->file, fd, room, length, offset);
    munmap(room, length);
    if (got == (ssize_t)length)
        return copy;
fail:
    if (copy >= 0)
        real.close(copy);
    return -1;
}

/* Puts the copy over the kernel's mapping. If that fails the mapping is as the kernel made it. */
static void cover(struct description *description, int fd, void *place, size_t length,
                  int protection, int flags, off_t offset)
{
    uint64_t size = description->file.size;
    if ((uint64_t)offset >= size || cache_file_check(&description->file, fd) != CACHE_FILE_SAME)
        return;
    if (length > size - (uint64_t)offset)
        length = size - (uint64_t)offset;
    int copy = copy_make(description, fd, length, offset);
    if (copy < 0)
        return;
    int kept = flags & (MAP_TYPE | MAP_NORESERVE | MAP_LOCKED);
    real.mmap(place, length, protection, kept | MAP_FIXED, copy, 0);
    real.close(copy);
}

/* Of a file that the kernel has not opened the copy alone is mapped; what lies beyond its end
 * faults as it would there. MAP_FAILED: the kernel is to open and map it. */
static void *map_standin(void *address, size_t length, int protection, int flags, int fd,
                         off_t offset)
{
    struct description *description = standin_find(fd);
    void *place = MAP_FAILED;
    if (!description)
        return place;
    int error = errno;
    uint64_t size = description->file.size;
    uint64_t left = offset >= 0 && (uint64_t)offset < size ? size - (uint64_t)offset : 0;
    int copy = left > 0 && offset % 4096 == 0 && is_for_us(length, protection, flags, offset)
                   ? copy_make(description, fd, length < left ? length : left, offset)
                   : -1;
    if (copy >= 0) {
        place = real.mmap(address, length, protection, flags & ~MAP_POPULATE, copy, 0);
        real.close(copy);
    }
    table_unpin();
    errno = error;
    return place;
}

/* A mapping that the kernel serves is no secret. */
static void count_past(int fd, size_t length, off_t offset)
{
    struct description *description = table_reader(fd);
    if (!description)
        return;
    uint64_t left = offset >= 0 && (uint64_t)offset < description->file.size
                        ? description->file.size - (uint64_t)offset
                        : 0;
    cache_file_mapped_past(&description->file, length < left ? length : left);
    table_unpin();
}

ENTRY void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    void *mapped = standin_any() ? map_standin(address, length, protection, flags, fd, offset)
                                 : MAP_FAILED;
    if (mapped != MAP_FAILED)
        return mapped;
    standin_realise_at(fd);
    struct description *description = fd >= 0 && is_for_us(length, protection, flags, offset)
                                          ? table_reader(fd)
                                          : NULL;
    if (!description) {
        void *place = real.mmap(address, length, protection, flags, fd, offset);
        if (place != MAP_FAILED && fd >= 0 && !(flags & MAP_ANONYMOUS))
            count_past(fd, length, offset);
        if (place != MAP_FAILED && fd >= 0 && (flags & MAP_SHARED))
            writer_note_mapped(fd);
        return place;
    }
    int error = errno;
    void *place = real.mmap(address, length, protection, flags & ~MAP_POPULATE, fd, offset);
    if (place != MAP_FAILED) {
        cover(description, fd, place, length, protection, flags, offset);
        errno = error;
    }
    table_unpin();
    return place;
}

void *mmap64(void *address, size_t length, int protection, int flags, int fd, off_t offset)
    __attribute__((alias("mmap"), visibility("default")));
