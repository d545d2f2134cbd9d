/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files of the cache that this process writes: the others are told when it begins, and when the
 * kernel has closed the file. A process that ends or becomes another program says only that: its
 * agent tells the end when it is gone.
 *
 * As with table.h, all may be called in signal handlers.
 */
#pragma once

#include "cache/interposer/table.h"

/* fd has just been opened for writing. False: it is not a file of the cache, or nobody could be
 * told. */
bool writer_begins(struct cache_client *client, struct description *description, int fd);

/* A mapping of fd is made that others share. */
void writer_note_mapped(int fd);

/* It has lost its last number. False: it is kept in mind until the process ends. */
bool writer_ends(struct description *description);

/* So many more slots of the table write. */
void writers_count(int change);

/* All end with the process (exec, exit), or go on after all (exec failed). */
void writers_end(void);
void writers_resume(void);

/* Around a fork: before, in the parent, in the child. What is written in both is begun twice. */
void writers_fork_begins(void);
void writers_fork_ends(void);
void writers_forked(void);
