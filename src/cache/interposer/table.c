/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See table.h.
 */
#include "cache/interposer/table.h"

#include "base/rest.h"
#include "cache/interposer/pool.h"
#include "cache/interposer/real.h"
#include "cache/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

_Atomic(struct description *) table_slots[TABLE_SIZE];
_Atomic uint8_t table_folders[TABLE_SIZE];
_Thread_local int table_is_vfork_child __attribute__((tls_model("initial-exec")));

enum { MAPPED_MOST = 256 };

static struct {
    _Atomic bool is_abandoned;
    _Atomic int used;                                  /* slots from here on were never used */
    _Atomic int writer_count;                          /* slots that write, and mappings */
    _Atomic(struct description *) mapped[MAPPED_MOST]; /* closed, and still mapped for writing */
    _Atomic(struct cache_client *) client;
    pthread_mutex_t fork_lock;
} table = {.fork_lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local bool has_fork_lock __attribute__((tls_model("initial-exec")));

/* ---- Looking up ------------------------------------------------------------------------------ */

struct description *table_pin(int fd)
{
    if (table_is_vfork_child)
        return NULL;
    pool_enter();
    /* After counting in: pairs with the exchange in take_out(), which comes before the counters are
     * looked at. */
    struct description *description = atomic_load(&table_slots[fd]);
    if (description && description->kind == DESCRIPTION_READS)
        return description;
    pool_leave();
    return NULL;
}

void table_unpin(void)
{
    pool_leave();
}

bool table_is_reader(int fd)
{
    struct description *description = table_reader(fd);
    if (!description)
        return false;
    enum cache_file_state state = cache_file_check(&description->file, fd);
    table_unpin();
    if (state == CACHE_FILE_OTHER)
        table_forget(fd); /* closed behind our back */
    return state == CACHE_FILE_SAME;
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
    if (cache_write_begin(atomic_load(&table.client), &status) == 0) {
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
        cache_write_end(atomic_load(&table.client), &status);
    else
        cache_changed(atomic_load(&table.client), &status);
}

static void tell_last(struct description *description)
{
    struct stat status = status_of(description);
    if (atomic_exchange(&description->is_ending, true))
        return;
    if (is_owner(description))
        cache_write_last(atomic_load(&table.client), &status);
    else
        cache_changed(atomic_load(&table.client), &status);
}

/* ---- Changing -------------------------------------------------------------------------------- */

/* Keep it in mind as long as the process lives. */
static bool keep_mapped(struct description *description)
{
    for (int i = 0; i < MAPPED_MOST; i++) {
        struct description *nobody = NULL;
        if (atomic_compare_exchange_strong(&table.mapped[i], &nobody, description)) {
            atomic_fetch_add(&table.writer_count, 1);
            return true;
        }
    }
    return false;
}

static void release(struct description *description)
{
    if (atomic_fetch_sub(&description->references, 1) != 1)
        return;
    if (description->kind == DESCRIPTION_WRITES) {
        if (!atomic_load(&description->is_mapped))
            tell_end(description);
        else if (keep_mapped(description))
            return;
        else
            tell_last(description);
    }
    pool_retire(description);
}

static struct description *take_out(int fd)
{
    struct description *description = atomic_exchange(&table_slots[fd], NULL);
    if (description && description->kind == DESCRIPTION_WRITES)
        atomic_fetch_sub(&table.writer_count, 1);
    return description;
}

static void note_used(int fd)
{
    int used = atomic_load(&table.used);
    while (used <= fd && !atomic_compare_exchange_weak(&table.used, &used, fd + 1))
        ;
}

static void put_in(int fd, struct description *description)
{
    note_used(fd);
    if (description->kind == DESCRIPTION_WRITES)
        atomic_fetch_add(&table.writer_count, 1);
    struct description *before = atomic_exchange(&table_slots[fd], description);
    if (!before)
        return;
    if (before->kind == DESCRIPTION_WRITES) /* the number was closed behind our back */
        atomic_fetch_sub(&table.writer_count, 1);
    release(before);
}

void table_note_folder(int fd, enum table_folder folder)
{
    note_used(fd);
    atomic_store_explicit(&table_folders[fd], (uint8_t)folder, memory_order_relaxed);
}

struct description *table_take(int fd)
{
    if ((unsigned)fd >= TABLE_SIZE || table_is_vfork_child)
        return NULL;
    if (atomic_load_explicit(&table_folders[fd], memory_order_relaxed) != TABLE_FOLDER_UNKNOWN)
        atomic_store_explicit(&table_folders[fd], TABLE_FOLDER_UNKNOWN, memory_order_relaxed);
    return table_has(fd) ? take_out(fd) : NULL;
}

void table_taken(struct description *description)
{
    if (!description)
        return;
    int error = errno;
    release(description);
    errno = error;
}

void table_forget(int fd)
{
    table_taken(table_take(fd));
}

unsigned table_end(void)
{
    return (unsigned)atomic_load(&table.used);
}

void table_note_mapped(int fd)
{
    if ((unsigned)fd >= TABLE_SIZE || table_is_vfork_child || !table_has(fd))
        return;
    pool_enter();
    struct description *description = atomic_load(&table_slots[fd]);
    if (description && description->kind == DESCRIPTION_WRITES)
        atomic_store(&description->is_mapped, true);
    pool_leave();
}

/* ---- Opening --------------------------------------------------------------------------------- */

static bool only_reads(int flags)
{
    return (flags & O_ACCMODE) == O_RDONLY && !(flags & (O_DIRECT | O_TRUNC));
}

static bool look_at(struct cache_client *client, struct description *description, int fd, int flags)
{
    cache_file_close(&description->file); /* not before: others were looking at it */
    if (only_reads(flags)) {
        description->kind = DESCRIPTION_READS;
        return cache_file_open(client, &description->file, fd) == 0;
    }
    struct stat status;
    if (fstat(fd, &status) != 0 || cache_write_begin(client, &status) != 0)
        return false;
    description->kind = DESCRIPTION_WRITES;
    description->file.device = status.st_dev;
    description->file.inode = status.st_ino;
    atomic_store(&description->owner, getpid());
    atomic_store(&description->is_ending, false);
    atomic_store(&description->is_mapped, false);
    atomic_store(&description->is_for_two, false);
    return true;
}

void table_adopt(struct cache_client *client, int fd, int flags)
{
    if ((unsigned)fd >= TABLE_SIZE || table_is_vfork_child || (flags & (O_PATH | O_DIRECTORY)) ||
        atomic_load(&table.is_abandoned))
        return;
    int error = errno;
    struct description *description = pool_take();
    if (description) {
        atomic_store(&table.client, client);
        atomic_store(&description->references, 1);
        atomic_store(&description->guess, 0);
        if (look_at(client, description, fd, flags))
            put_in(fd, description);
        else
            pool_give_back(description);
    }
    errno = error;
}

/* Whether fd still is the file; another thread may have closed or replaced it meanwhile. */
static bool is_same_file(int fd, const struct description *description)
{
    struct stat status;
    return fstat(fd, &status) == 0 && description->file.device == status.st_dev &&
           description->file.inode == status.st_ino;
}

void table_duplicate(int fd, int copy)
{
    if ((unsigned)copy >= TABLE_SIZE || (unsigned)fd >= TABLE_SIZE || fd == copy ||
        table_is_vfork_child)
        return;
    uint8_t folder = atomic_load_explicit(&table_folders[fd], memory_order_relaxed);
    if (folder != TABLE_FOLDER_UNKNOWN)
        table_note_folder(copy, folder);
    if (!table_has(fd))
        return;
    int error = errno;
    pool_enter();
    struct description *description = atomic_load(&table_slots[fd]);
    uint32_t references = description ? atomic_load(&description->references) : 0;
    /* Not if it has just lost its last number. */
    while (references > 0 &&
           !atomic_compare_exchange_weak(&description->references, &references, references + 1))
        ;
    if (references > 0) {
        put_in(copy, description);
        if (!is_same_file(copy, description))
            table_forget(copy);
    }
    pool_leave();
    errno = error;
}

void table_renew(int fd)
{
    struct stat status;
    if (!table_reader(fd))
        return;
    table_unpin();
    (void)raw_fstat_now(fd, &status); /* so this host knows */
    table_adopt(atomic_load(&table.client), fd, O_RDONLY);
}

/* ---- Writers --------------------------------------------------------------------------------- */

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
    if (atomic_load(&table.writer_count) == 0 || table_is_vfork_child)
        return;
    int error = errno, used = atomic_load(&table.used);
    for (int fd = 0; fd < used; fd++) {
        pool_enter();
        struct description *description = atomic_load(&table_slots[fd]);
        if (description && description->kind == DESCRIPTION_WRITES && is_first(fd, description))
            tell(description);
        pool_leave();
    }
    for (int i = 0; i < MAPPED_MOST; i++) {
        struct description *description = atomic_load(&table.mapped[i]);
        if (description)
            tell(description);
    }
    errno = error;
}

void table_end_writers(void)
{
    for_all_writers(tell_last);
}

void table_resume_writers(void)
{
    for_all_writers(tell_begin);
}

/* ---- Processes ------------------------------------------------------------------------------- */

static void begin_for_child(struct description *description)
{
    struct stat status = status_of(description);
    if (cache_write_begin(atomic_load(&table.client), &status) == 0)
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
void table_fork_begins(void)
{
    enum { TRIES = 2000 }; /* _Fork may be called by a handler, out of a fork */
    if (atomic_load(&table.writer_count) == 0 || table_is_vfork_child)
        return;
    struct rest rest = {0};
    for (int i = 0; i < TRIES && !has_fork_lock; i++) {
        has_fork_lock = pthread_mutex_trylock(&table.fork_lock) == 0;
        if (!has_fork_lock)
            rest_once(&rest);
    }
    if (has_fork_lock)
        for_all_writers(begin_for_child);
}

void table_fork_ends(void)
{
    if (!has_fork_lock)
        return;
    for_all_writers(forget_child);
    has_fork_lock = false;
    pthread_mutex_unlock(&table.fork_lock);
}

void table_forked(void)
{
    pool_forked();
    if (!has_fork_lock)
        return;
    for_all_writers(become_owner);
    has_fork_lock = false;
    pthread_mutex_unlock(&table.fork_lock);
}

void table_abandon(void)
{
    if (table_is_vfork_child)
        return;
    atomic_store(&table.is_abandoned, true);
    table_end_writers(); /* they go on, unseen */
    for (unsigned fd = 0; fd < table_end(); fd++)
        table_forget((int)fd);
}
