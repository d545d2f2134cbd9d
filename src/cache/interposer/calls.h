/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files that stand in front of the C library's functions offer each other.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* ---- open.c --------------------------------------------------------------------------------- */

/* As openat(2), from the cache where it can be. */
int open_at(int folder, const char *path, int flags, mode_t mode);

/* fd was just opened by this path and these flags: is it the cache's? */
void open_noticed(int fd, int folder, const char *path, int flags);

/* Descriptors that the program was started with. */
void open_inherited(void);

/* ---- read.c: as the functions of the C library, from the cache where it can be -------------- */

ssize_t read_here(int fd, void *buffer, size_t length);
ssize_t read_there(int fd, void *buffer, size_t length, off_t offset);

/* ---- descriptor.c --------------------------------------------------------------------------- */

int descriptor_close(int fd);
off_t descriptor_seek(int fd, off_t offset, int whence);

/* ---- process.c ------------------------------------------------------------------------------ */

/* Before a fork; and in the child. The parent goes on with writers_fork_ends(). */
void process_fork_begins(void);
void process_forked(void);

/* ---- stream.c ------------------------------------------------------------------------------- */

/* Whether it is a stream of ours, which knows bytes only. */
bool stream_is_ours(FILE *stream);
