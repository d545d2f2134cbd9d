/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which descriptor numbers of this process are files of the cache, and which write to such files.
 *
 * Descriptor numbers belong to the process, so this is the one place of the project with state of
 * the process. It is a guess: the kernel's table is the truth, and a number that is not here is
 * simply read from the kernel. A number is taken out before the kernel closes it, once more
 * afterwards, and put in only when the kernel has opened it. What is closed where we do not see it
 * (a system call of the program's own, io_uring) leaves a wrong yes; so whoever finds a file here
 * has it checked against the descriptor (cache_file_check) before anything is read or moved.
 *
 * Looking up takes no lock: a thread counts itself in, on a counter that few others share, loads
 * the slot, works, and counts itself out. Descriptions are never freed, and used again only when
 * every counter has been seen at zero since they were taken out. No function here allocates with
 * malloc, waits or fails in a way that its caller must handle, so all may be called in signal
 * handlers.
 */
#pragma once

#include "cache/client/client.h"
#include "cache/client/named.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define TABLE_SIZE 65536 /* higher numbers are not cached */

enum description_kind { DESCRIPTION_READS, DESCRIPTION_WRITES };

/* An open file. Several numbers may lead to it (dup). Its offset is the kernel's. */
struct description {
    _Atomic uint32_t state;      /* table.c */
    _Atomic uint32_t references; /* slots that lead here */
    enum description_kind kind;
    _Atomic uint64_t guess; /* where the kernel's offset is likely to be */
    struct cache_file file; /* of a writer only device and inode */
    /* Of a writer; see writers.h: */
    _Atomic int owner;       /* the process that has begun, and is to tell the end */
    _Atomic bool is_ending;  /* the agent knows: it ends with this process */
    _Atomic bool is_mapped;  /* what is mapped can be written after it is closed */
    _Atomic bool is_for_two; /* a fork is under way, and it has been begun for the child, too */
    /* Of a reader without the kernel's descriptor; see standin.h: */
    _Atomic uint32_t standin;  /* enum standin_state */
    _Atomic uint64_t position; /* its offset */
    int open_flags;
    struct listing_status status; /* as its folder's listing has it */
    char path[CACHE_NAME_PATH_MAX];
};

extern _Atomic(struct description *) table_slots[TABLE_SIZE];

/* Of a number that is a folder: whether anything below it may be the cache's; scope.c finds out. */
enum table_folder { TABLE_FOLDER_UNKNOWN, TABLE_FOLDER_NEAR, TABLE_FOLDER_FAR };
extern _Atomic uint8_t table_folders[TABLE_SIZE];

/* Set while this thread's memory is that of a vfork child, which has descriptors of its own. */
extern _Thread_local int table_is_vfork_child __attribute__((tls_model("initial-exec")));

/* Out of line: count in, look again. */
struct description *table_pin(int fd);
void table_unpin(void);

/* The file of the cache that fd is, until table_unpin(); NULL if it is none. */
static inline struct description *table_reader(int fd)
{
    if ((unsigned)fd >= TABLE_SIZE || !atomic_load_explicit(&table_slots[fd], memory_order_relaxed))
        return NULL;
    return table_pin(fd);
}

/* Whether it is one at this moment, to be read from the cache; checked. */
bool table_is_reader(int fd);

static inline bool table_has(int fd)
{
    return (unsigned)fd < TABLE_SIZE &&
           atomic_load_explicit(&table_slots[fd], memory_order_relaxed) != NULL;
}

/* fd has just been opened; look whether it concerns the cache. flags: as for open. */
void table_adopt(struct cache_client *client, int fd, int flags);

/* fd stands for a file of a declared folder, which the caller has described. */
bool table_adopt_standin(int fd, const struct description *like);

/* What scope.c has found out; see table_folders. */
void table_folder_note(int fd, enum table_folder folder);

/* fd is about to be closed or replaced; and, with what that returned, it has been. */
struct description *table_take(int fd);
void table_taken(struct description *description);

/* Both in one, where nothing is left to be closed. */
void table_forget(int fd);

/* Numbers from here on were never in the table. */
unsigned table_end(void);

/* copy is a new number for what fd is. */
void table_duplicate(int fd, int copy);

/* Look again what fd is, and ask the server: the program has just got a lock on it. */
void table_renew(int fd);

/* Descriptors have become something that one table cannot tell; nothing is cached from now on. */
void table_abandon(void);
