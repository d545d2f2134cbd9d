/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See scarce.h. The __wrap_ functions stand for those that the program calls; __real_ are the
 * C library's, or a sanitizer's.
 */
#include "scarce.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

static _Thread_local struct {
    uint64_t left; /* until one fails; 0: none does */
    bool for_ever;
    const char *failed;
} scarce;

void scarce_begin(uint64_t n, bool for_ever)
{
    scarce.left = n;
    scarce.for_ever = for_ever;
    scarce.failed = NULL;
}

bool scarce_end(void)
{
    scarce.left = 0;
    return scarce.failed != NULL;
}

bool scarce_has_failed(void)
{
    return scarce.failed != NULL;
}

const char *scarce_what(void)
{
    return scarce.failed ? scarce.failed : "nothing";
}

static bool is_withheld(const char *what)
{
    if (scarce.left == 0 || (--scarce.left > 0))
        return false;
    scarce.failed = what;
    scarce.left = scarce.for_ever;
    return true;
}

void *__real_malloc(size_t length);
void *__real_calloc(size_t count, size_t length);
void *__real_realloc(void *old, size_t length);
void *__real_aligned_alloc(size_t alignment, size_t length);
char *__real_strdup(const char *text);
int __real_posix_memalign(void **memory, size_t alignment, size_t length);
void *__real_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset);
int __real_memfd_create(const char *name, unsigned flags);
int __real_eventfd(unsigned value, int flags);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);

void *__wrap_malloc(size_t length);
void *__wrap_calloc(size_t count, size_t length);
void *__wrap_realloc(void *old, size_t length);
void *__wrap_aligned_alloc(size_t alignment, size_t length);
char *__wrap_strdup(const char *text);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t length);
void *__wrap_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset);
int __wrap_memfd_create(const char *name, unsigned flags);
int __wrap_eventfd(unsigned value, int flags);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

void *__wrap_malloc(size_t length)
{
    return is_withheld("malloc") ? no_memory() : __real_malloc(length);
}

void *__wrap_calloc(size_t count, size_t length)
{
    return is_withheld("calloc") ? no_memory() : __real_calloc(count, length);
}

void *__wrap_realloc(void *old, size_t length)
{
    return is_withheld("realloc") ? no_memory() : __real_realloc(old, length);
}

void *__wrap_aligned_alloc(size_t alignment, size_t length)
{
    return is_withheld("aligned_alloc") ? no_memory() : __real_aligned_alloc(alignment, length);
}

char *__wrap_strdup(const char *text)
{
    return is_withheld("strdup") ? no_memory() : __real_strdup(text);
}

int __wrap_posix_memalign(void **memory, size_t alignment, size_t length)
{
    return is_withheld("posix_memalign") ? ENOMEM
                                         : __real_posix_memalign(memory, alignment, length);
}

/* Over memory that is there it is not asked for more. */
void *__wrap_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    if (!(flags & MAP_FIXED) && is_withheld("mmap")) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return __real_mmap(address, length, protection, flags, fd, offset);
}

int __wrap_memfd_create(const char *name, unsigned flags)
{
    if (!is_withheld("memfd_create"))
        return __real_memfd_create(name, flags);
    errno = ENFILE;
    return -1;
}

int __wrap_eventfd(unsigned value, int flags)
{
    if (!is_withheld("eventfd"))
        return __real_eventfd(value, flags);
    errno = EMFILE;
    return -1;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument)
{
    return is_withheld("pthread_create")
               ? EAGAIN
               : __real_pthread_create(thread, attributes, start, argument);
}
