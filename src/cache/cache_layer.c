/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the file cache has by name. Data only: it is part of src/base.
 */
#include "cache/cache_layer.h"

#include "base/settings.h"

static const struct setting_spec settings[] = {
    TEXT_SETTING(SETTING_CACHE_SIZE, "RHINET_CACHE_SIZE", "auto",
                 "file cache: memory of each node, such as 8G or 20%; auto: an eighth of what is "
                 "free, 8G at most"),
    TEXT_SETTING(SETTING_CACHE_PATH, "RHINET_CACHE_PATH", "",
                 "file cache: folders to cache, with a colon between them; empty: all that nodes "
                 "can share"),
    TEXT_SETTING(SETTING_CACHE_BLOCK, "RHINET_CACHE_BLOCK", "1M",
                 "file cache: length of a block, a power of two from 64K to 64M; an eighth of it "
                 "for small files"),
    NUMBER_SETTING(SETTING_CACHE_GROUPS, "RHINET_CACHE_GROUPS", "0", 0, 15,
                   "file cache: groups of nodes, each with a copy of its own of a hot block; 0: by "
                   "the number of nodes; the same on all"),
    TEXT_SETTING(SETTING_CACHE_SINGLETS, "RHINET_CACHE_SINGLETS", "auto",
                 "file cache: part of the memory that is kept for blocks that no other node has, 0 "
                 "to 0.99; auto: it adapts"),
    NUMBER_SETTING(SETTING_CACHE_AHEAD, "RHINET_CACHE_AHEAD", "8", 0, 256,
                   "file cache: blocks that are read ahead; 0: none"),
    DURATION_SETTING(SETTING_CACHE_SETTLE, "RHINET_CACHE_SETTLE", "1s", 0, 3600000000000,
                     "file cache: a file that changed less than that ago is not cached; must "
                     "exceed the tick of the file system's clock"),
    DURATION_SETTING(SETTING_CACHE_LEASE, "RHINET_CACHE_LEASE", "10s", 100000000, 3600000000000,
                     "file cache: a node that has begun to load a block and says nothing for that "
                     "long is not waited for"),
    DURATION_SETTING(SETTING_CACHE_PATIENCE, "RHINET_CACHE_PATIENCE", "30s", 10000000,
                     3600000000000,
                     "file cache: a read that the cache has not served after that long goes to the "
                     "file system"),
    CHOICE_SETTING(SETTING_CACHE_CHECKSUM, "RHINET_CACHE_CHECKSUM", "off", "off|on",
                   "file cache: on: blocks that come from other nodes are checked by XXH3"),
    CHOICE_SETTING(SETTING_CACHE_DIRECT, "RHINET_CACHE_DIRECT", "auto", "auto|off",
                   "file cache: off: read the file system through the kernel's cache even where "
                   "direct I/O is possible"),
    NUMBER_SETTING(SETTING_CACHE_THREADS, "RHINET_CACHE_THREADS", "8", 1, 32,
                   "file cache: threads of a node's agent, which is how many blocks it gets at a "
                   "time"),
    TEXT_SETTING(SETTING_CACHE_PRETEND, "RHINET_CACHE_PRETEND", "",
                 "file cache, for experiments: pretend that the file system gives all nodes "
                 "together so many bytes a second, such as 100M"),
    TEXT_SETTING(SETTING_CACHE_PRELOAD, "RHINET_CACHE_PRELOAD", "",
                 "file cache: the library that programs are started with; empty: the one that "
                 "belongs to this rhinet"),
    TEXT_SETTING(SETTING_CACHE_SOCKET, "RHINET_CACHE_SOCKET", "",
                 "file cache: where a program finds its node's agent; set by `rhinet cache`, not "
                 "by you"),
    TEXT_SETTING(
        SETTING_CACHE_SERVICE, "RHINET_CACHE_SERVICE", "auto",
        "file cache: where on each host a service has its socket: a folder of yours, and "
        "the service's name, with %u for the user's number and %h for the host's name; auto: "
        "/tmp/rhinet-cache-%u/default"),
    TEXT_SETTING(SETTING_CACHE_IMMUTABLE, "RHINET_CACHE_IMMUTABLE", "",
                 "file cache: folders in which nothing changes, with a colon between them: names "
                 "and status of their files come from the cache as well"),
};

const struct layer cache_layer = {
    LAYER_LIST(setting, settings),
    .sid_first = CACHE_SID_ARENA,
    .sid_last = CACHE_SID_LAST,
    .sid_name = "the file cache",
};
