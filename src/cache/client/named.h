/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Folders that the user has declared unchanging, as the processes of a node see them: what a path
 * is, what a folder has in it, and reading a file, all without asking the kernel. A listing
 * (cache/listing.h) that is not in this node's memory is asked of the agent.
 *
 * As everywhere in the client: no malloc, no lock, errno stays. -EAGAIN always means that the
 * kernel must be asked instead, and is never the answer to a program.
 */
#pragma once

#include "cache/client/client.h"
#include "cache/listing.h"

/* Longer paths are the kernel's. */
#define CACHE_NAME_PATH_MAX 512

/* What a path leads to. */
struct cache_name {
    struct listing_status status;
    uint32_t declared;                   /* in which declared folder */
    uint32_t below;                      /* where in the path it goes on from there */
    uint64_t device;                     /* on this host */
    char path[CACHE_NAME_PATH_MAX];      /* without links; what is there is this file */
    char target[LISTING_TARGET_MAX + 1]; /* of a link that was not followed */
};

/* Whether there are such folders, and they are the same here as where the agent runs. */
bool cache_client_declares(const struct cache_client *client);

/* Their paths, with colons between, as far as there is room. */
void cache_client_declared(const struct cache_client *client, char *text, size_t room);

/* Whether an absolute path, as written, is in a declared folder. No system call. */
bool cache_name_is_declared(const struct cache_client *client, const char *path);

/* Find out what an absolute path leads to. 0; -ENOENT, -ENOTDIR, -ELOOP: that is what the kernel
 * would say; -EAGAIN. May wait for the agent. */
int cache_name_find(struct cache_client *client, const char *path, bool follows,
                    struct cache_name *name);

/* The file that a name is, to be read by cache_named_read(). 0 or -EAGAIN: it is not a plain file,
 * or somebody writes it. */
int cache_named_open(struct cache_client *client, struct cache_file *file,
                     const struct cache_name *name);

/* As pread(2) on the file; its end is where its listing says. path: that of its name, for the agent
 * if it must be read. -EAGAIN: it is written to, or cannot be had. */
ssize_t cache_named_read(struct cache_file *file, const char *path, void *buffer, size_t length,
                         off_t offset);

/* Everything in a folder: `each` is called for each entry until it returns false. room is the
 * caller's, LISTING_PART_MAX long. 0 or -EAGAIN: perhaps some were told before. */
struct cache_names {
    bool (*each)(void *context, const struct listing_entry *entry);
    void *context;
    void *room;
    struct listing_head head; /* filled in, before the first */
};
int cache_names_list(struct cache_client *client, const struct cache_name *folder,
                     struct cache_names *names);

/* Counting: an answer was given without the kernel; it had to be asked; a file that was opened
 * without it was opened after all. */
void cache_name_count(struct cache_client *client, enum cache_counter which);
