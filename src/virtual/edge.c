/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whose clock counts: the world's for the program, the machine's for the libraries below it. And
 * the meter, which runs while the program does.
 */
#include "virtual/inside.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- What stands behind us ------------------------------------------------------------------- */

void *virtual_next(void **address, const char *name)
{
    void *found = __atomic_load_n(address, __ATOMIC_RELAXED);
    if (found)
        return found;
    found = dlsym(RTLD_NEXT, name);
    if (!found) {
        fprintf(stderr, "rhinet: virtual time: there is no %s to call\n", name);
        _exit(127);
    }
    __atomic_store_n(address, found, __ATOMIC_RELAXED);
    return found;
}

/* ---- The meter ------------------------------------------------------------------------------- */

static bool is_metered;
static int64_t look_ns; /* what looking at the clock takes, which is not the program's */

/* Of each thread: how deep it is in libraries, when it left them last, what it has computed. */
static __thread int depth, outside;
static __thread bool is_running;
static __thread int64_t left_ns;
static __thread struct virtual_computed computed;

/* Not by clock_gettime(), which is ours. */
static int64_t processor_ns(void)
{
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#define LOOKS 101

static int compare(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static void forget(void);

__attribute__((constructor)) static void begin(void)
{
    pthread_atfork(NULL, NULL, forget);
    const char *wanted = getenv(VIRTUAL_VARIABLE);
    is_metered = wanted && strstr(wanted, VIRTUAL_METER);
    int64_t took_ns[LOOKS];
    for (int i = 0; is_metered && i < LOOKS; i++) {
        int64_t before_ns = processor_ns();
        took_ns[i] = processor_ns() - before_ns;
    }
    if (!is_metered)
        return;
    qsort(took_ns, LOOKS, sizeof(took_ns[0]), compare);
    look_ns = took_ns[LOOKS / 2];
}

void virtual_enter(void)
{
    if (depth++ > 0 || !is_metered)
        return;
    int64_t passed_ns = processor_ns() - left_ns - look_ns;
    if (is_running && passed_ns > 0)
        computed.ns += (uint64_t)passed_ns;
}

void virtual_leave(void)
{
    if (--depth > 0)
        return;
    computed.calls++;
    if (!is_metered)
        return;
    is_running = true;
    left_ns = processor_ns();
}

static struct virtual_computed computed_take(void)
{
    struct virtual_computed taken = computed;
    computed.ns = 0;
    return taken;
}

/* ---- Outside of the world -------------------------------------------------------------------- */

static bool is_outside(void)
{
    return outside > 0;
}

void virtual_outside_begin(void)
{
    virtual_enter();
    outside++;
}

/* ---- Whose clock ----------------------------------------------------------------------------- */

static const struct virtual_time *the_time;

static void attach(const struct virtual_time *time)
{
    __atomic_store_n(&the_time, time, __ATOMIC_RELEASE);
}

/* What a rank forks is no rank. */
static void forget(void)
{
    attach(NULL);
}

void virtual_outside_end(void)
{
    const struct virtual_time *time = __atomic_load_n(&the_time, __ATOMIC_ACQUIRE);
    if (time)
        time->gather(time->context);
    outside--;
    virtual_leave();
}

void virtual_nap(void)
{
    const struct virtual_time *time = __atomic_load_n(&the_time, __ATOMIC_ACQUIRE);
    if (time && outside > 0)
        time->park(time->context);
}

/* By the beginning of their file's name: what rhinet and MPI stand on. */
static const char *const libraries[] = {"librhinet", "libmpi",   "libopen-", "libpmix",
                                        "mca_",      "libprrte", "libevent", "libfabric",
                                        "libhwloc",  "libucp",   "libucs",   "libuct"};

static bool is_library(const void *caller)
{
    Dl_info found;
    if (!dladdr(caller, &found) || !found.dli_fname)
        return false;
    const char *slash = strrchr(found.dli_fname, '/');
    const char *name = slash ? slash + 1 : found.dli_fname;
    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
        if (strncmp(name, libraries[i], strlen(libraries[i])) == 0)
            return true;
    }
    return false;
}

/* dladdr() is slow, and callers are few: what it said last, by the caller's address. */
#define CALLERS 256
static uintptr_t known[CALLERS]; /* address * 2, + 1: a library's */

static bool is_known_library(const void *caller)
{
    uintptr_t address = (uintptr_t)caller;
    uintptr_t *place = &known[(address ^ address >> 8) % CALLERS];
    uintptr_t word = __atomic_load_n(place, __ATOMIC_RELAXED);
    if (word >> 1 != address) {
        word = address << 1 | is_library(caller);
        __atomic_store_n(place, word, __ATOMIC_RELAXED);
    }
    return word & 1;
}

const struct virtual_time *virtual_time_for(const void *caller)
{
    const struct virtual_time *time = __atomic_load_n(&the_time, __ATOMIC_ACQUIRE);
    if (!time || depth > 0 || (caller && is_known_library(caller)))
        return NULL;
    return time;
}

SHOWN const struct virtual_program VIRTUAL_SYMBOL = {.attach = attach,
                                                     .computed_take = computed_take,
                                                     .is_outside = is_outside,
                                                     .enter = virtual_enter,
                                                     .leave = virtual_leave};
