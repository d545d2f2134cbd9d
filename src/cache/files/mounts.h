/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which file systems are cached, and by which number each is known on all nodes.
 *
 * A file is known by the number of its file system, its inode and its times. So nodes may share
 * what they have of a file system only if its inodes are kept by the server and are the same for
 * every client; that is so of a known list of kinds, which go by kind and source
 * ("server:/volume"). Others with a server, and all of FUSE, may count inodes anew with each mount
 * or bind them to names: such files are not cached at all. What is local belongs to its host, and
 * goes by that and its device: only nodes of the same host share what they have of it.
 *
 * A device's number means a file system only while that is mounted, and may be another's
 * afterwards. So each file system in the table is held open, and cannot be unmounted (except
 * lazily) until the agent ends.
 */
#pragma once

#include "cache/layout.h"

/* A line of /proc/self/mountinfo. */
struct mounts_line {
    char root[4096]; /* what part of the file system */
    char point[4096];
    char kind[64];
    char source[4096];
    char options[4096]; /* of the file system */
};

bool mounts_parse(const char *text, struct mounts_line *line);

/* The number of a file system; line may be NULL: nothing is known. 0: not to be cached. */
uint64_t mounts_number(const struct mounts_line *line, uint64_t device);

struct mounts_device {
    uint64_t device;
    uint64_t number; /* 0: it is not cached */
    int hold_fd;
};

/* The agent's own; what clients are to know is copied to their memory. */
struct mounts {
    struct cache_path path[CACHE_PATHS_MAX];
    uint32_t path_count;
    struct mounts_device device[CACHE_DEVICES_MAX];
    uint32_t device_count;
};

/* Add a path below which files are cached. It is resolved first. Errors: RH_EINVALID. */
int mounts_path_add(struct mounts *mounts, const char *path);

/* Without a path: all file systems that nodes can share. RH_EINVALID if there are none. */
int mounts_network_add(struct mounts *mounts);

/* Fill the table of devices from the paths, or add those that were mounted since, and show it to
 * the clients. */
void mounts_refresh(struct mounts *mounts, struct cache_card *card);

/* The number of a device that is cached; false: it is not. For the thread that refreshes. */
bool mounts_find(const struct mounts *mounts, uint64_t device, uint64_t *file_system);

void mounts_close(struct mounts *mounts);
