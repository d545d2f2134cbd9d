/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files of declared folders that are open without the kernel's knowledge: the program's number is a
 * descriptor that can do nothing (blank.h), offset and status are here. Whatever this library does
 * not answer by itself first makes it real: the file is opened, and takes the place of the stand-in
 * at all its numbers. What nobody stands in front of fails with EBADF on a stand-in, or finds an
 * empty file of this process's own; it never gets at anything else.
 *
 * A number that was closed behind our back is no O_PATH descriptor any more, or not of our making:
 * every answer begins by looking, with the cheapest of system calls.
 *
 * Making real: whoever wants it opens the file, and waits for nobody. One of them puts it in its
 * place (STANDIN_BUSY), for which it only duplicates; the others wait for that. Whoever closes or
 * replaces a number takes it out of the table first and then waits for a thread that is at it; that
 * thread looks at the table after it has said so. So none of them puts the file at a number that is
 * another's. The offset goes with it: from then on `position` is STANDIN_MOVED.
 */
#pragma once

#include "cache/interposer/table.h"

#include <sys/uio.h>

enum standin_state { STANDIN_NOT, STANDIN_YES, STANDIN_BUSY };

#define STANDIN_MOVED UINT64_MAX

/* The kernel's name for O_LARGEFILE; the C library's is 0 where all files are large. */
#define STANDIN_LARGE 0100000

/* How many numbers may be stand-ins; mostly none. */
extern _Atomic int standin_count;

static inline bool standin_any(void)
{
    return atomic_load_explicit(&standin_count, memory_order_relaxed) > 0;
}

static inline bool standin_is(const struct description *description)
{
    return atomic_load(&description->standin) != STANDIN_NOT;
}

/* open(2) in a declared folder: true if it is answered, by *fd or by errno and -1. */
bool standin_open(int folder, const char *path, int flags, int *fd);

/* The stand-in that fd is, until table_unpin(); NULL: it is none. */
struct description *standin_find(int fd);

/* Make it real. 0 or a negative errno; then it is as before. */
int standin_realise(struct description *description);

/* The same for a number, whatever it is; and for all, or only those that a new program inherits. */
void standin_realise_at(int fd);
void standin_realise_all(bool only_inherited);

/* All, if the path leads to the descriptors of a process. */
void standin_realise_for(const char *path);

/* This process has ways that we do not see: no more of them. */
void standin_end(void);

/* A number has been taken out of the table, and is about to be closed: wait for who is at it. */
void standin_await(struct description *description);

/* copy is a new number for a stand-in, or for what was one a moment ago. False: it is something
 * else. */
bool standin_duplicated(struct description *description, int fd, int copy);

/* In a child: whoever was at it is not there. */
void standin_forked(void);

/* Reading at an offset, or at its own; a negative errno, of which -EAGAIN means that it is real now
 * and nothing has been read. */
ssize_t standin_pread(struct description *description, const struct iovec *parts, int part_count,
                      off_t offset);
ssize_t standin_read(struct description *description, int fd, const struct iovec *parts,
                     int part_count);

/* As lseek(2), with a negative errno; -EAGAIN: it is real now. */
off_t standin_seek(struct description *description, off_t offset, int whence);
