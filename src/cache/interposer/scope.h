/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which files may be the cache's: a quick no for all others, and the client, attached when the
 * first one that may be is opened.
 */
#pragma once

#include "cache/client/client.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>

/* False in programs that no agent was named to, or that gained rights at exec. */
extern _Atomic bool scope_is_on;

/* Reads the environment, once, when the library is loaded. */
void scope_begin(void);

/* Whether a file opened by this path, seen from this folder (AT_FDCWD: the current one), may be the
 * cache's. Yes where it cannot be told without a system call: cache_file_open() decides. */
bool scope_may_cover(int folder, const char *path);

/* True where it is known that no folder is declared unchanging: the quickest no. */
extern _Atomic bool scope_declares_nothing;

/* This process is about to see other files by the same paths, or with other rights: what is open is
 * opened by the kernel now, and names are the kernel's from here on. */
void scope_declares_no_more(void);

/* A path seen from a folder, absolute, in room for PATH_MAX; false: it does not fit, or cannot be
 * told. Costs a system call that asks no server if it is relative. */
bool scope_absolute(int folder, const char *path, char *text);

/* In a child, whose one thread may not be the one that was attaching. */
void scope_forked(void);

/* Whether fd, opened by a path that is not covered, is a file of the cache all the same: by a
 * symbolic link, as a writer also by a hard link. Not by a bind mount, where only a part of the
 * file system is cached: there the kernel's name for it decides. Costs a statx that asks no server,
 * and the client is attached if it is a regular file. */
bool scope_leads_here(int fd, int flags);

/* fd is a folder in this folder, from which nothing of the cache is reached; so it is with fd. */
void scope_pass_on(int fd, int folder);

/* The client, or NULL: do without. */
struct cache_client *scope_client(void);

/* The current folder is another one now. */
void scope_moved(void);

/* The status of a path that is about to be changed, if it may be the cache's. */
bool scope_status(int folder, const char *path, int flags, struct stat *status);
