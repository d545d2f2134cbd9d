/* SPDX-License-Identifier: BSD-3-Clause
 *
 * To be preloaded: one place of a program that asks for memory, a mapping, a descriptor or a thread
 * gets none. A place is where our own code asks, and who called it there: the two addresses in the
 * files that they come from, the same in every run.
 *
 *     WITHHOLD_LIST=FILE    append each place that asks, as PLACE@1 when it does so for the first
 *                           time, PLACE@2 for the second, and so on for powers of two
 *     WITHHOLD_FROM=PLACE@N every request of this place fails, from the N-th on
 *
 * Only the first process is meant: what it starts does not inherit the variables.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PLACE_MAX  64
#define OBJECT_MAX 4
#define DEPTH      12
#define SEEN_MAX   65536 /* a power of two */

/* The C library's own, by which a preloaded malloc() is usually made. */
void *__libc_malloc(size_t length);
void *__libc_calloc(size_t count, size_t length);
void *__libc_realloc(void *old, size_t length);
void *__libc_memalign(size_t alignment, size_t length);

static struct object {
    uintptr_t base, begin, end;
} objects[OBJECT_MAX];
static int object_count;
static int list = -1;
static char chosen[PLACE_MAX];
static unsigned long chosen_from; /* this request of it, and later ones */
static _Atomic unsigned long chosen_count;
static bool is_ready;
static _Thread_local bool is_inside; /* unwinding asks for memory, too */
static _Atomic uint64_t seen[SEEN_MAX];
static _Atomic uint32_t seen_count[SEEN_MAX];

static int object_add(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    bool is_ours = info->dlpi_name[0] == '\0' || strstr(info->dlpi_name, "librhinet");
    for (int i = 0; is_ours && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X) || object_count == OBJECT_MAX)
            continue;
        uintptr_t begin = info->dlpi_addr + part->p_vaddr;
        objects[object_count++] = (struct object){info->dlpi_addr, begin, begin + part->p_memsz};
    }
    return 0;
}

static void __attribute__((constructor)) prepare(void)
{
    const char *file = getenv("WITHHOLD_LIST"), *from = getenv("WITHHOLD_FROM");
    is_inside = true;
    dl_iterate_phdr(object_add, NULL);
    void *frames[1];
    backtrace(frames, 1); /* loads what it needs */
    if (file)
        list = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (from) {
        size_t length = strcspn(from, "@");
        snprintf(chosen, sizeof(chosen), "%.*s", (int)length, from);
        chosen_from = from[length] ? strtoul(from + length + 1, NULL, 10) : 1;
    }
    unsetenv("WITHHOLD_LIST");
    unsetenv("WITHHOLD_FROM");
    unsetenv("LD_PRELOAD");
    is_inside = false;
    is_ready = list >= 0 || from;
}

/* Up to two of our own return addresses, the nearest first, as numbers that do not depend on where
 * the files are mapped. False: none of ours asks. */
static bool place_find(uint64_t place[2])
{
    void *frames[DEPTH];
    int count = backtrace(frames, DEPTH), found = 0;
    place[0] = place[1] = 0;
    for (int i = 2; i < count && found < 2; i++) {
        for (int o = 0; o < object_count; o++) {
            uintptr_t at = (uintptr_t)frames[i];
            if (at >= objects[o].begin && at < objects[o].end)
                place[found++] = ((uint64_t)o << 56) + (at - objects[o].base);
        }
    }
    return found > 0;
}

/* How often it has asked, this time included. */
static uint32_t times_asked(const uint64_t place[2])
{
    uint64_t key = (place[0] * 0x9e3779b97f4a7c15u ^ place[1] * 0xc2b2ae3d27d4eb4fu) | 1;
    for (uint64_t i = key >> 40;; i++) {
        uint64_t old = 0;
        if (atomic_compare_exchange_strong(&seen[i % SEEN_MAX], &old, key) || old == key)
            return atomic_fetch_add(&seen_count[i % SEEN_MAX], 1) + 1;
    }
}

static void place_list(const uint64_t place[2], const char *text)
{
    uint32_t times = times_asked(place);
    char line[PLACE_MAX + 16];
    int length = snprintf(line, sizeof(line), "%s@%u\n", text, times);
    if ((times & (times - 1)) == 0 && write(list, line, (size_t)length) < 0)
        _exit(99);
}

/* Whether this request is to fail. */
static bool is_withheld(const char *what)
{
    if (!is_ready || is_inside)
        return false;
    is_inside = true;
    int saved = errno;
    uint64_t place[2];
    char text[PLACE_MAX];
    bool fails = false;
    if (place_find(place)) {
        snprintf(text, sizeof(text), "%s-%llx-%llx", what, (unsigned long long)place[0],
                 (unsigned long long)place[1]);
        fails = strcmp(text, chosen) == 0 && atomic_fetch_add(&chosen_count, 1) + 1 >= chosen_from;
        if (list >= 0)
            place_list(place, text);
    }
    errno = saved;
    is_inside = false;
    return fails;
}

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

void *malloc(size_t length)
{
    return is_withheld("malloc") ? no_memory() : __libc_malloc(length);
}

void *calloc(size_t count, size_t length)
{
    return is_withheld("calloc") ? no_memory() : __libc_calloc(count, length);
}

void *realloc(void *old, size_t length)
{
    return is_withheld("realloc") ? no_memory() : __libc_realloc(old, length);
}

void *aligned_alloc(size_t alignment, size_t length)
{
    return is_withheld("aligned_alloc") ? no_memory() : __libc_memalign(alignment, length);
}

int posix_memalign(void **memory, size_t alignment, size_t length)
{
    void *made = is_withheld("posix_memalign") ? NULL : __libc_memalign(alignment, length);
    if (made)
        *memory = made;
    return made ? 0 : ENOMEM;
}

/* Over memory that is there it is not asked for more. */
void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    if (!(flags & MAP_FIXED) && is_withheld("mmap")) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
}

int memfd_create(const char *name, unsigned flags)
{
    if (!is_withheld("memfd_create"))
        return (int)syscall(SYS_memfd_create, name, flags);
    errno = ENFILE;
    return -1;
}

int eventfd(unsigned value, int flags)
{
    if (!is_withheld("eventfd"))
        return (int)syscall(SYS_eventfd2, value, flags);
    errno = EMFILE;
    return -1;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument)
{
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return is_withheld("pthread_create") ? EAGAIN : real(thread, attributes, start, argument);
}
