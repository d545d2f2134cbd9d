/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the file cache has by name. Data only: it is part of src/base.
 */
#include "cache/cache_layer.h"

#include "base/settings.h"

static const struct setting_spec settings[] = {
    [LAYER_AT(SETTING_CACHE_SIZE)] =
        {.name = "RHINET_CACHE_SIZE",
         .kind = SETTING_TEXT,
         .initial = "auto",
         .help = "file cache: memory of each node, such as 8G; auto: an eighth "
                 "of what is free, 8G at most"},
    [LAYER_AT(
        SETTING_CACHE_PATH)] = {.name = "RHINET_CACHE_PATH",
                                .kind = SETTING_TEXT,
                                .initial = "",
                                .help = "file cache: folders to cache, with a colon between them; "
                                        "empty: all that nodes can share"},
    [LAYER_AT(SETTING_CACHE_BLOCK)] =
        {.name = "RHINET_CACHE_BLOCK",
         .kind = SETTING_TEXT,
         .initial = "1M",
         .help = "file cache: length of a block, a power of two from 64K to "
                 "64M; an eighth of it for small files"},
    [LAYER_AT(SETTING_CACHE_GROUPS)] =
        {.name = "RHINET_CACHE_GROUPS",
         .kind = SETTING_NUMBER,
         .initial = "0",
         .most = 15,
         .help = "file cache: groups of nodes, each with a copy of its own of "
                 "a hot block; 0: by the number of nodes; the same on all"},
    [LAYER_AT(SETTING_CACHE_SINGLETS)] =
        {.name = "RHINET_CACHE_SINGLETS",
         .kind = SETTING_TEXT,
         .initial = "auto",
         .help = "file cache: part of the memory that is kept for blocks "
                 "that no other node has, 0 to 0.99; auto: it adapts"},
    [LAYER_AT(SETTING_CACHE_AHEAD)] = {.name = "RHINET_CACHE_AHEAD",
                                       .kind = SETTING_NUMBER,
                                       .initial = "8",
                                       .most = 256,
                                       .help = "file cache: blocks that are read ahead; 0: none"},
    [LAYER_AT(SETTING_CACHE_SETTLE)] =
        {.name = "RHINET_CACHE_SETTLE",
         .kind = SETTING_DURATION,
         .initial = "1s",
         .most = 3600000000000,
         .help = "file cache: a file that changed less than that ago is not "
                 "cached; must exceed the tick of the file system's clock"},
    [LAYER_AT(SETTING_CACHE_LEASE)] =
        {.name = "RHINET_CACHE_LEASE",
         .kind = SETTING_DURATION,
         .initial = "10s",
         .least = 100000000,
         .most = 3600000000000,
         .help = "file cache: a node that has begun to load a block and says "
                 "nothing for that long is not waited for"},
    [LAYER_AT(SETTING_CACHE_PATIENCE)] =
        {.name = "RHINET_CACHE_PATIENCE",
         .kind = SETTING_DURATION,
         .initial = "30s",
         .least = 10000000,
         .most = 3600000000000,
         .help = "file cache: a read that the cache has not served after "
                 "that long goes to the file system"},
    [LAYER_AT(
        SETTING_CACHE_CHECKSUM)] = {.name = "RHINET_CACHE_CHECKSUM",
                                    .kind = SETTING_CHOICE,
                                    .initial = "off",
                                    .choices = "off|on",
                                    .help = "file cache: on: blocks that come from other nodes are "
                                            "checked by XXH3"},
    [LAYER_AT(SETTING_CACHE_DIRECT)] =
        {.name = "RHINET_CACHE_DIRECT",
         .kind = SETTING_CHOICE,
         .initial = "auto",
         .choices = "auto|off",
         .help = "file cache: off: read the file system through the kernel's "
                 "cache even where direct I/O is possible"},
    [LAYER_AT(SETTING_CACHE_THREADS)] =
        {.name = "RHINET_CACHE_THREADS",
         .kind = SETTING_NUMBER,
         .initial = "8",
         .least = 1,
         .most = 32,
         .help = "file cache: threads of a node's agent, which is how many "
                 "blocks it gets at a time"},
    [LAYER_AT(SETTING_CACHE_PRETEND)] =
        {.name = "RHINET_CACHE_PRETEND",
         .kind = SETTING_TEXT,
         .initial = "",
         .help = "file cache, for experiments: pretend that the file system "
                 "gives all nodes together so many bytes a second, such as "
                 "100M"},
    [LAYER_AT(SETTING_CACHE_PRELOAD)] =
        {.name = "RHINET_CACHE_PRELOAD",
         .kind = SETTING_TEXT,
         .initial = "",
         .help = "file cache: the library that programs are started with; "
                 "empty: the one that belongs to this rhinet"},
    [LAYER_AT(SETTING_CACHE_SOCKET)] =
        {.name = "RHINET_CACHE_SOCKET",
         .kind = SETTING_TEXT,
         .initial = "",
         .help = "file cache: where a program finds its node's agent; set by "
                 "`rhinet cache run`, not by you"},
};

const struct layer cache_layer = {
    .name = "cache",
    LAYER_LIST(setting, settings),
    .sid_first = CACHE_SID_ARENA,
    .sid_last = CACHE_SID_LAST,
    .sid_name = "the file cache",
};
