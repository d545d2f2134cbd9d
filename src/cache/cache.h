/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The room of the file cache: the way of one cached read, which names the rooms in order; and what
 * everybody of the cache agrees on. docs/cache.md has the protocols and their reasons.
 *
 * A program reads 4 KiB of a file below a cached path:
 *
 *   interposer/  read.c is the program's pread(); table.h finds the file that the number is. mount/
 *                is another way to the same place, for programs that cannot be preloaded.
 *   client/      client.h, cache_file_read() in read.c: one statx says that the descriptor is the
 *                file and the file what it was; the block's ID (key.h) is looked up in the index
 *                (index.h) of the memory shared with the agent (layout.h), the bytes are copied,
 *                and the slot's token is looked at again. It stands: a hit, and the end of the way.
 *                Not there: ask.c posts a request and sleeps on its answer.
 *   agent/       agent.h: the process of this node that has the memory. pool.c takes the request.
 *   node/        node.h: fetch.c gets the block, one thread for all that want it (pending.c), into
 *                a slot that evict.c makes free if need be.
 *   store/       store.h: the slots, and who leaves first; policy.h: how many last copies are kept.
 *   directory/   directory.h: which node has the block, or who is to load it (rows.c). If one has
 *                it, node/copy.c pulls it from there.
 *   files/       loader.h: else it is read from the file system, of which mounts.h knows the name
 *                that it has on all nodes.
 *
 * Then store_publish() lets all processes of the node find the block, the client is woken and
 * copies it, and the directory is told. Whatever fails, the client reads with pread(2) from the
 * kernel.
 *
 * Lower knows nothing of higher: client < {interposer, mount}; {store, directory, files} < node <
 * agent. Client and agent are different processes and know nothing of each other; what they agree
 * on is in this folder, below all rooms: layout.h (the shared memory), index.h and key.h (finding a
 * block in it), raw.h (system calls that the interposer does not catch).
 */
#pragma once

/* The variable in which a program finds its node's agent: the name of an abstract socket. */
#define CACHE_SOCKET_VARIABLE "RHINET_CACHE_SOCKET"

/* What happened on this node since the agent started, all its processes together. */
enum cache_counter {
    CACHE_LOCAL_HITS,  /* reads (parts of reads, one for each block) served from this node */
    CACHE_LOCAL_BYTES, /* bytes of them */
    CACHE_REMOTE_HITS, /* blocks fetched from other nodes */
    CACHE_REMOTE_BYTES,
    CACHE_LOADS, /* blocks read from the file system */
    CACHE_LOAD_BYTES,
    CACHE_MISSES,         /* reads that had to ask the agent */
    CACHE_READ_AHEADS,    /* blocks asked for ahead */
    CACHE_EVICTIONS,      /* blocks given up */
    CACHE_SINGLETS_KEPT,  /* last copies that were kept longer because of that */
    CACHE_FALLBACKS,      /* reads that went to the kernel though the file is cached */
    CACHE_FALLBACK_BYTES, /* bytes of them */
    CACHE_RETRIES,        /* copies thrown away because the block was given up meanwhile */
    CACHE_STALE_CELLS,    /* places in the directory that did not hold what they promised */
    CACHE_TAKEOVERS,      /* claims of dead or silent loaders that were taken over */
    CACHE_CHECKSUM_ERRORS,
    CACHE_LOAD_ERRORS,
    CACHE_CHANGED_FILES,  /* files found changed while open */
    CACHE_BYPASS_NEW,     /* files opened and left to the kernel: changed a moment ago */
    CACHE_BYPASS_WRITTEN, /* the same: somebody has them open for writing */
    CACHE_BYPASS_MAPPED,  /* mappings of cached files that are the kernel's: too long, programs */
    CACHE_BYPASS_MAPPED_BYTES,
    CACHE_NAMES,        /* opens, stats and listings in declared folders that asked no kernel */
    CACHE_NAMES_PAST,   /* those that did, though the folder is declared */
    CACHE_NAMES_OPENED, /* files opened without the kernel that had to be opened after all */
    CACHE_LISTINGS,     /* folders that this node has listed, for all */
    CACHE_COUNTER_COUNT
};

/* One word for each, as JSON and tables name it. */
const char *cache_counter_name(enum cache_counter which);
