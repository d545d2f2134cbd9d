/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A limit of a control group is looked up before reserving, because the kernel answers an
 * allocation beyond it by killing a process, not with an error.
 */
#include "base/memory_room.h"

#include "base/control_group.h"
#include "base/error.h"
#include "base/small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define HUGE_PAGE_LENGTH (2ULL << 20)
#define SEALS            (F_SEAL_SHRINK | F_SEAL_GROW)

static bool read_number(const struct control_group *group, const char *file, uint64_t *value)
{
    char text[64];
    if (!control_group_text(group, file, text, sizeof(text)))
        return false;
    char *end;
    *value = strtoull(text, &end, 10);
    return end != text; /* "max" is no number: no limit */
}

/* Number after a key at the start of a line, as in /proc/meminfo and memory.stat. */
static uint64_t keyed_number(const char *path, const char *key)
{
    char text[8192];
    if (!small_file_read(AT_FDCWD, path, text, sizeof(text)))
        return 0;
    size_t length = strlen(key);
    for (char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0)
            return strtoull(line + length, NULL, 10);
    }
    return 0;
}

/* Where one version of control groups keeps what we need. */
struct group_files {
    const char *limit;
    const char *usage;
    const char *cache_key;
    const char *name;
};

static const struct group_files group_v1 = {
    .limit = "memory.limit_in_bytes",
    .usage = "memory.usage_in_bytes",
    .cache_key = "total_inactive_file",
    .name = "the memory control group (memory.limit_in_bytes)",
};
static const struct group_files group_v2 = {
    .limit = "memory.max",
    .usage = "memory.current",
    .cache_key = "inactive_file",
    .name = "the memory control group (memory.max)",
};

struct room {
    uint64_t bytes;
    const char *limit;
};

static void shrink_to_group(void *context, const struct control_group *group)
{
    struct room *room = context;
    const struct group_files *files = group->is_v2 ? &group_v2 : &group_v1;
    char stat_path[512];
    uint64_t limit, usage;
    if (!read_number(group, files->limit, &limit) || !read_number(group, files->usage, &usage))
        return;
    snprintf(stat_path, sizeof(stat_path), "%s/memory.stat", group->folder);
    uint64_t cache = keyed_number(stat_path, files->cache_key); /* the kernel can drop it */
    uint64_t used = usage > cache ? usage - cache : 0;
    uint64_t left = limit > used ? limit - used : 0;
    if (left < room->bytes)
        *room = (struct room){left, files->name};
}

uint64_t memory_room(const char **limit)
{
    struct room room = {.limit = "this machine's available memory"};
    room.bytes = 1024 * (keyed_number("/proc/meminfo", "MemAvailable:") +
                         keyed_number("/proc/meminfo", "SwapFree:"));
    if (room.bytes == 0)
        room.bytes = UINT64_MAX; /* nobody tells us: the kernel will */
    control_group_walk(&control_group_tree, "memory", shrink_to_group, &room);
    *limit = room.limit;
    return room.bytes;
}

static int no_room(const struct memory_shape *shape, uint64_t room, const char *limit)
{
    return error_fail(
        RH_ENOSPACE,
        "%s needs %llu KiB of memory, but %s leaves %llu KiB; free some or ask for less",
        shape->name, (unsigned long long)shape->length / 1024, limit,
        (unsigned long long)room / 1024);
}

static int take_pages(int fd, uint64_t offset, uint64_t length)
{
    int result;
    do
        result = fallocate(fd, 0, (off_t)offset, (off_t)length);
    while (result < 0 && errno == EINTR);
    return result;
}

int memory_reserve(int fd, uint64_t offset, uint64_t length)
{
    const char *limit;
    uint64_t room = memory_room(&limit);
    if (length > room - room / 32)
        return error_fail(RH_ENOSPACE, "%llu KiB of memory are needed, but %s leaves %llu KiB",
                          (unsigned long long)length / 1024, limit,
                          (unsigned long long)room / 1024);
    if (take_pages(fd, offset, length) == 0)
        return 0;
    return error_fail(RH_ENOSPACE, "cannot reserve %llu KiB of memory: %s",
                      (unsigned long long)length / 1024, strerror(errno));
}

static int reserve(int fd, const struct memory_shape *shape)
{
    const char *limit;
    uint64_t room = memory_room(&limit);
    uint64_t page = shape->huge_pages ? HUGE_PAGE_LENGTH : 4096;
    uint64_t length = (shape->length + page - 1) & ~(page - 1);
    bool is_taken = !shape->huge_pages && !shape->is_sparse;
    if (is_taken && length > room - room / 32) /* leave the system some air */
        return no_room(shape, room, limit);
    if (ftruncate(fd, (off_t)length) < 0)
        return error_fail(RH_ENOSPACE, "%s: cannot size memory to %llu bytes: %s", shape->name,
                          (unsigned long long)length, strerror(errno));
    int result = shape->is_sparse ? 0 : take_pages(fd, 0, length);
    if (result < 0 && errno == ENOSPC && shape->huge_pages)
        return error_fail(RH_ENOSPACE,
                          "%s: not enough free huge pages for %llu bytes; raise vm.nr_hugepages",
                          shape->name, (unsigned long long)length);
    if (result < 0)
        return error_fail(RH_ENOSPACE,
                          "%s: cannot reserve %llu KiB of memory: %s; free some or ask for less",
                          shape->name, (unsigned long long)length / 1024, strerror(errno));
    return 0;
}

int memory_create(const struct memory_shape *shape)
{
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING | (shape->huge_pages ? MFD_HUGETLB : 0);
    int fd = memfd_create(shape->name, flags);
    if (fd < 0)
        return error_fail(errno == EMFILE || errno == ENFILE ? RH_ENOSPACE : RH_EREFUSED,
                          "%s: cannot make shared memory: %s", shape->name, strerror(errno));
    int result = shape->length > INT64_MAX / 2 ? no_room(shape, 0, "the address space")
                                               : reserve(fd, shape);
    if (result == 0 && fcntl(fd, F_ADD_SEALS, SEALS) < 0)
        result = error_fail(RH_EREFUSED, "%s: cannot seal shared memory: %s", shape->name,
                            strerror(errno));
    if (result < 0) {
        close(fd);
        return result;
    }
    return fd;
}

void memory_seal_read_only(int fd)
{
    fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE);
}

bool memory_is_sealed(int fd, uint64_t *length)
{
    struct stat status;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &status) < 0)
        return false;
    if (!S_ISREG(status.st_mode) || status.st_size <= 0)
        return false;
    *length = (uint64_t)status.st_size;
    return true;
}
