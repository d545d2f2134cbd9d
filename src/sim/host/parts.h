/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a host consists of. Private to sim/host.
 */
#pragma once

#include "sim/host/host.h"

/* Physical addresses of attached memory begin here: no simulated host has so much of its own. */
#define ATTACH_FIRST (1ULL << 40)

enum host_event { EVENT_START, EVENT_END, EVENT_STORED, EVENT_COUNT };

/* Memory that a program brought. */
struct attached {
    uint64_t physical, length;
    char *base;                     /* or, with reach, an address there */
    const struct host_reach *reach; /* NULL: our own address space */
};

struct host {
    struct sim *sim;
    uint32_t actor;
    const struct sim_constants *constants;
    char *memory;
    uint64_t memory_size;
    struct attached *attached; /* by physical address, which are never used again */
    uint32_t attached_count;
    size_t attached_room;
    uint64_t attach_next;
    struct sim_condition changed;          /* any of it */
    struct poller *pollers, *pollers_last; /* of single words */
    struct cache *cache;                   /* NULL: no program has asked what reading costs */
    uint32_t *dirty; /* by place: line + 1 that only the cache has; NULL: there are none */
    struct pci_request *first, *last; /* waiting for the bus */
    struct pci_request *current;
    struct pci_request *inside, *inside_last; /* stores that cut into it */
    sim_time free_at;                         /* the bus rests until then */
    sim_time inside_time;                     /* of stores that have cut into `current` */
    struct host_usage usage;
    sim_time posted; /* until then DMA writes are on their way through the bridge */
    struct trace *trace;
    uint32_t track;
};

static inline sim_time host_cycles(const struct host *host, int64_t count)
{
    return count * host->constants->pci_ps;
}

/* cache.c: so many lines of this only the cache had; it gives them to memory. */
uint32_t host_dirty_take(struct host *host, uint64_t physical, uint64_t length);

/* pci.c */
void pci_event(void *context, uint32_t kind, uint64_t argument);
void pci_expect(void *context, uint32_t kind, uint64_t argument);
