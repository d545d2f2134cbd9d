/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options that say what a cache is to be like; they become settings for its nodes.
 */
#pragma once

#include "cli/option.h"

struct cache_wishes {
    uint64_t block_bytes; /* 0: as the setting says */
    bool wants_checksum;
    const char *name; /* of a service; NULL: as the setting says */
    int64_t idle_ns;  /* 0: never */
    char *idle_text;  /* as given, or NULL */
};
extern struct cache_wishes cache_wishes;

int cache_take_size(char *text);
int cache_take_path(char *path);
int cache_take_immutable(char *path);
int cache_take_groups(char *text);
int cache_take_singlets(char *text);
int cache_take_idle(char *text);

/* Lines of a command's table. */
#define CACHE_WISHES                                                                               \
    CLI_CALL("cache", "SIZE", cache_take_size,                                                     \
             "memory for it on each node: 8G, or 20% of what is free",                             \
             .allowed = "a size such as 8G, or a part such as 20%"),                               \
        CLI_CALL("path", "FOLDER", cache_take_path, "what to cache; several are possible",         \
                 .takes_file = true),                                                              \
        CLI_CALL("immutable", "FOLDER", cache_take_immutable,                                      \
                 "the same, and nothing changes in it: the file system is not asked",              \
                 .takes_file = true),                                                              \
        CLI_SIZE("block", "SIZE", &cache_wishes.block_bytes, "length of a block, 1M unless given", \
                 .least = 1),                                                                      \
        CLI_CALL("groups", "N", cache_take_groups, "groups of nodes"),                             \
        CLI_CALL("singlets", "PART", cache_take_singlets,                                          \
                 "kept for blocks that no other node has: 0 to 0.99, or auto"),                    \
        CLI_FLAG("checksum", &cache_wishes.wants_checksum,                                         \
                 "check blocks that come from other nodes")
#define CACHE_NAME_OPTION                                                                          \
    CLI_TEXT("name", "NAME", &cache_wishes.name, "which cache of yours; default unless given")
#define CACHE_IDLE_OPTION                                                                          \
    CLI_CALL("idle", "TIME", cache_take_idle, "end when nobody has used it for so long",           \
             .allowed = "a time such as 90s, 30m or 2h; 0: never")

/* The rest of them: when all options are read. 0, or an exit status. */
int cache_wishes_set(void);
