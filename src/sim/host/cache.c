/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What reading memory costs: caches and TLB, each a set of ways in order of use.
 */
#include "sim/host/parts.h"

#include <stdlib.h>
#include <string.h>

#define LINE_SHIFT 5 /* 32 bytes */
#define PAGE_SHIFT 12
#define L1_SETS    128 /* 16 KB */
#define L1_WAYS    4
#define L2_SETS    1024 /* 256 KB */
#define L2_WAYS    8
#define TLB_SETS   16 /* 64 entries */
#define TLB_WAYS   4

/* Tags plus one; 0: empty. The first way is the one used last. */
struct cache {
    uint32_t l1[L1_SETS][L1_WAYS];
    uint32_t l2[L2_SETS][L2_WAYS];
    uint32_t tlb[TLB_SETS][TLB_WAYS];
};

/* Was it there? It is the first of its set now. */
static bool ways_use(uint32_t *ways, uint32_t count, uint32_t tag)
{
    uint32_t at = 0;
    while (at + 1 < count && ways[at] != tag)
        at++;
    bool is_there = ways[at] == tag;
    memmove(ways + 1, ways, at * sizeof(*ways));
    ways[0] = tag;
    return is_there;
}

/* Which part of the second cache a page is in is the operating system's choice, which is as good as
 * chance; the same page always has the same. */
static uint32_t page_colour(uint64_t page)
{
    uint64_t mixed = (page ^ page >> 16) * 0x9e3779b97f4a7c15ULL;
    mixed = (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9ULL;
    return (uint32_t)(mixed >> 61); /* of eight: a way of the second cache is as large */
}

sim_time host_read_cost(struct host *host, uint64_t physical)
{
    const struct sim_constants *c = host->constants;
    struct cache *cache = host->cache ? host->cache : calloc(1, sizeof(*cache));
    if (!cache) {
        sim_starve(host->sim);
        return c->memory_ps;
    }
    host->cache = cache;
    uint64_t page = physical >> PAGE_SHIFT;
    uint32_t line = (uint32_t)(physical >> LINE_SHIFT), tag = line + 1;
    uint32_t in_page = line % (1u << (PAGE_SHIFT - LINE_SHIFT));
    uint32_t place = page_colour(page) << (PAGE_SHIFT - LINE_SHIFT) | in_page;
    sim_time cost = ways_use(cache->tlb[page % TLB_SETS], TLB_WAYS, (uint32_t)page + 1)
                        ? 0
                        : c->walk_ps;
    if (ways_use(cache->l1[line % L1_SETS], L1_WAYS, tag))
        return cost + c->l1_ps;
    return cost + (ways_use(cache->l2[place % L2_SETS], L2_WAYS, tag) ? c->l2_ps : c->memory_ps);
}

#define DIRTY_LINES (L2_SETS * L2_WAYS)

void host_dirty(struct host *host, uint64_t physical, uint64_t length)
{
    if (!host->dirty)
        host->dirty = calloc(DIRTY_LINES, sizeof(host->dirty[0]));
    if (!host->dirty) {
        sim_starve(host->sim);
        return;
    }
    for (uint64_t line = physical >> LINE_SHIFT; line << LINE_SHIFT < physical + length; line++)
        host->dirty[line % DIRTY_LINES] = (uint32_t)line + 1;
}

uint32_t host_dirty_take(struct host *host, uint64_t physical, uint64_t length)
{
    uint32_t count = 0;
    if (!host->dirty)
        return 0;
    for (uint64_t line = physical >> LINE_SHIFT; line << LINE_SHIFT < physical + length; line++) {
        uint32_t *place = &host->dirty[line % DIRTY_LINES];
        count += *place == (uint32_t)line + 1;
        if (*place == (uint32_t)line + 1)
            *place = 0;
    }
    return count;
}

void host_cache_forget(struct host *host)
{
    if (host->cache)
        memset(host->cache, 0, sizeof(*host->cache));
}
