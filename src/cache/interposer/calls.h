/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files that stand in front of the C library's functions offer each other.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* ---- open.c --------------------------------------------------------------------------------- */

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

/* ---- stream.c ------------------------------------------------------------------------------- */

/* Whether it is a stream of ours, which knows bytes only. */
bool stream_is_ours(FILE *stream);
