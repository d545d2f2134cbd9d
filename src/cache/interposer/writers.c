/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See writers.h.
 */
#include "cache/interposer/writers.h"

#include "base/rest.h"
#include "cache/interposer/pool.h"
#include "cache/interposer/scope.h"

#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAPPED_MAX = 256 };

static struct {
    _Atomic int count;                                /* slots that write, and mappings */
    _Atomic(struct description *) mapped[MAPPED_MAX]; /* closed, and still mapped for writing */
    pthread_mutex_t fork_lock;
} writers = {.fork_lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local bool has_fork_lock __attribute__((tls_model("initial-exec")));

void writers_count(int change)
{
    atomic_fetch_add(&writers.count, change);
}

/* ---- Telling --------------------------------------------------------------------------------- */

static struct stat status_of(const struct description *description)
{
    return cache_writer(description->file.device, description->file.inode);
}

/* The process that has begun tells the end. Another (a child by a way that we do not see) can only
 * say that something has changed. */
static bool is_owner(const struct description *description)
{
    return atomic_load(&description->owner) == getpid();
}

static void tell_begin(struct description *description)
{
    struct stat status = status_of(description);
    if (cache_write_begin(scope_client(), &status) == 0) {
        atomic_store(&description->owner, getpid());
        atomic_store(&description->is_ending, false);
    }
}

static void tell_end(struct description *description)
{
    struct stat status = status_of(description);
    if (atomic_load(&description->is_ending))
        return;
    if (is_owner(description))
        cache_write_end(scope_client(), &status);
    else
        cache_changed(scope_client(), &status);
}

static void tell_last(struct description *description)
{
    struct stat status = status_of(description);
    if (atomic_exchange(&description->is_ending, true))
        return;
    if (is_owner(description))
        cache_write_last(scope_client(), &status);
    else
        cache_changed(scope_client(), &status);
}

/* ---- One of them ----------------------------------------------------------------------------- */

bool writer_begins(struct cache_client *client, struct description *description, int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || cache_write_begin(client, &status) != 0)
        return false;
    description->file.device = status.st_dev;
    description->file.inode = status.st_ino;
    atomic_store(&description->owner, getpid());
    atomic_store(&description->is_ending, false);
    atomic_store(&description->is_mapped, false);
    atomic_store(&description->is_for_two, false);
    return true;
}

void writer_note_mapped(int fd)
{
    if ((unsigned)fd >= TABLE_SIZE || table_is_vfork_child || !table_has(fd))
        return;
    pool_enter();
    struct description *description = atomic_load(&table_slots[fd]);
    if (description && description->kind == DESCRIPTION_WRITES)
        atomic_store(&description->is_mapped, true);
    pool_leave();
}

/* Keep it in mind as long as the process lives. */
static bool keep_mapped(struct description *description)
{
    for (int i = 0; i < MAPPED_MAX; i++) {
        struct description *nobody = NULL;
        if (atomic_compare_exchange_strong(&writers.mapped[i], &nobody, description)) {
            writers_count(1);
            return true;
        }
    }
    return false;
}

bool writer_ends(struct description *description)
{
    if (!atomic_load(&description->is_mapped))
        tell_end(description);
    else if (keep_mapped(description))
        return false;
    else
        tell_last(description);
    return true;
}

/* ---- All of them ----------------------------------------------------------------------------- */

/* Several numbers may lead to it: it is told of once. */
static bool is_first(int fd, const struct description *description)
{
    for (int i = 0; i < fd; i++) {
        if (atomic_load_explicit(&table_slots[i], memory_order_relaxed) == description)
            return false;
    }
    return true;
}

static void for_all_writers(void (*tell)(struct description *))
{
    if (atomic_load(&writers.count) == 0 || table_is_vfork_child)
        return;
    int error = errno, used = (int)table_end();
    for (int fd = 0; fd < used; fd++) {
        pool_enter();
        struct description *description = atomic_load(&table_slots[fd]);
        if (description && description->kind == DESCRIPTION_WRITES && is_first(fd, description))
            tell(description);
        pool_leave();
    }
    for (int i = 0; i < MAPPED_MAX; i++) {
        struct description *description = atomic_load(&writers.mapped[i]);
        if (description)
            tell(description);
    }
    errno = error;
}

void writers_end(void)
{
    for_all_writers(tell_last);
}

void writers_resume(void)
{
    for_all_writers(tell_begin);
}

/* ---- Processes ------------------------------------------------------------------------------- */

static void begin_for_child(struct description *description)
{
    struct stat status = status_of(description);
    if (cache_write_begin(scope_client(), &status) == 0)
        atomic_store(&description->is_for_two, true);
}

static void forget_child(struct description *description)
{
    atomic_store(&description->is_for_two, false);
}

static void become_owner(struct description *description)
{
    if (atomic_exchange(&description->is_for_two, false)) {
        atomic_store(&description->owner, getpid());
        atomic_store(&description->is_ending, false);
    }
}

/* Two forks at a time would take each other's marks for their own. If the fork fails, what was
 * begun for the child never ends, and is not cached any more. */
void writers_fork_begins(void)
{
    enum { TRIES = 2000 }; /* _Fork may be called by a handler, out of a fork */
    if (atomic_load(&writers.count) == 0 || table_is_vfork_child)
        return;
    struct rest rest = {0};
    for (int i = 0; i < TRIES && !has_fork_lock; i++) {
        has_fork_lock = pthread_mutex_trylock(&writers.fork_lock) == 0;
        if (!has_fork_lock)
            rest_once(&rest);
    }
    if (has_fork_lock)
        for_all_writers(begin_for_child);
}

void writers_fork_ends(void)
{
    if (!has_fork_lock)
        return;
    for_all_writers(forget_child);
    has_fork_lock = false;
    pthread_mutex_unlock(&writers.fork_lock);
}

void writers_forked(void)
{
    pool_forked();
    scope_forked();
    if (!has_fork_lock)
        return;
    for_all_writers(become_owner);
    has_fork_lock = false;
    pthread_mutex_unlock(&writers.fork_lock);
}
