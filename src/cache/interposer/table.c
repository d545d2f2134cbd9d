/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See table.h.
 */
#include "cache/interposer/table.h"

#include "cache/interposer/pool.h"
#include "cache/interposer/scope.h"
#include "cache/interposer/standin.h"
#include "cache/interposer/writers.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

_Atomic(struct description *) table_slots[TABLE_SIZE];
_Atomic uint8_t table_folders[TABLE_SIZE];
_Thread_local int table_is_vfork_child __attribute__((tls_model("initial-exec")));

static struct {
    _Atomic bool is_abandoned;
    _Atomic int used; /* slots from here on were never used */
} table;

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
    struct description *description = standin_find(fd);
    if (description) {
        table_unpin();
        return true;
    }
    description = table_reader(fd);
    if (!description)
        return false;
    enum cache_file_state state = cache_file_check(&description->file, fd);
    table_unpin();
    if (state == CACHE_FILE_OTHER)
        table_forget(fd); /* closed behind our back */
    return state == CACHE_FILE_SAME;
}

/* ---- Changing -------------------------------------------------------------------------------- */

static void release(struct description *description)
{
    if (atomic_fetch_sub(&description->references, 1) != 1)
        return;
    if (atomic_exchange(&description->standin, STANDIN_NOT) != STANDIN_NOT)
        atomic_fetch_sub(&standin_count, 1);
    if (description->kind == DESCRIPTION_READS || writer_ends(description))
        pool_retire(description);
}

static struct description *take_out(int fd)
{
    struct description *description = atomic_exchange(&table_slots[fd], NULL);
    if (description && description->kind == DESCRIPTION_WRITES)
        writers_count(-1);
    if (description)
        standin_await(description);
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
        writers_count(1);
    struct description *before = atomic_exchange(&table_slots[fd], description);
    if (!before)
        return;
    if (before->kind == DESCRIPTION_WRITES) /* the number was closed behind our back */
        writers_count(-1);
    release(before);
}

void table_folder_note(int fd, enum table_folder folder)
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
    description->kind = DESCRIPTION_WRITES;
    return writer_begins(client, description, fd);
}

void table_adopt(struct cache_client *client, int fd, int flags)
{
    if ((unsigned)fd >= TABLE_SIZE || table_is_vfork_child || (flags & (O_PATH | O_DIRECTORY)) ||
        atomic_load(&table.is_abandoned))
        return;
    int error = errno;
    struct description *description = pool_take();
    if (description) {
        atomic_store(&description->references, 1);
        atomic_store(&description->guess, 0);
        atomic_store(&description->standin, STANDIN_NOT);
        atomic_store(&description->position, 0);
        if (look_at(client, description, fd, flags))
            put_in(fd, description);
        else
            pool_give_back(description);
    }
    errno = error;
}

bool table_adopt_standin(int fd, const struct description *like)
{
    if ((unsigned)fd >= TABLE_SIZE || atomic_load(&table.is_abandoned))
        return false;
    table_forget(fd); /* if it was closed behind our back */
    struct description *description = pool_take();
    if (!description)
        return false;
    atomic_store(&description->references, 1);
    atomic_store(&description->guess, 0);
    atomic_store(&description->position, 0);
    description->kind = DESCRIPTION_READS;
    description->file = like->file;
    description->open_flags = like->open_flags;
    description->status = like->status;
    memcpy(description->path, like->path, sizeof(description->path));
    atomic_fetch_add(&standin_count, 1);
    atomic_store(&description->standin, STANDIN_YES);
    put_in(fd, description);
    return true;
}

/* Whether fd still is the file; another thread may have closed or replaced it meanwhile. */
static bool is_same_file(int fd, const struct description *description)
{
    struct stat status;
    return fstat(fd, &status) == 0 && description->file.device == status.st_dev &&
           description->file.inode == status.st_ino;
}

/* The copy has no place in the table: it must be the kernel's. */
static void duplicate_beyond(int fd, int copy)
{
    struct description *description = table_reader(fd);
    if (!description)
        return;
    int error = errno;
    standin_realise(description);
    standin_duplicated(description, fd, copy);
    table_unpin();
    errno = error;
}

void table_duplicate(int fd, int copy)
{
    if ((unsigned)fd >= TABLE_SIZE || fd == copy || table_is_vfork_child)
        return;
    if ((unsigned)copy >= TABLE_SIZE) {
        duplicate_beyond(fd, copy);
        return;
    }
    uint8_t folder = atomic_load_explicit(&table_folders[fd], memory_order_relaxed);
    if (folder != TABLE_FOLDER_UNKNOWN)
        table_folder_note(copy, folder);
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
        bool was_standin = standin_is(description) ||
                           atomic_load(&description->position) == STANDIN_MOVED;
        put_in(copy, description);
        if (was_standin ? !standin_duplicated(description, fd, copy)
                        : !is_same_file(copy, description))
            table_forget(copy);
    }
    pool_leave();
    errno = error;
}

void table_renew(int fd)
{
    standin_realise_at(fd);
    if (!table_reader(fd))
        return;
    table_unpin();
    cache_file_ask_server(fd);
    table_adopt(scope_client(), fd, O_RDONLY);
}

void table_abandon(void)
{
    if (table_is_vfork_child)
        return;
    standin_end();
    atomic_store(&table.is_abandoned, true);
    writers_end(); /* they go on, unseen */
    for (unsigned fd = 0; fd < table_end(); fd++)
        table_forget((int)fd);
}
