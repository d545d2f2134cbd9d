/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See host.h: making a host, and waiting for its memory to change.
 */
#include "sim/host/parts.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const char *const event_names[EVENT_COUNT] = {"pci-start", "pci-end", "pci-stored"};

int host_create(struct host **host, struct sim *sim, const struct host_spec *spec)
{
    char name[32];
    struct host *made = calloc(1, sizeof(*made));
    if (!made)
        return error_fail(-ENOMEM, "no memory for simulated host %u", spec->number);
    made->sim = sim;
    made->constants = spec->constants;
    made->changed.name = "a change of memory";
    made->trace = spec->trace;
    made->track = trace_track(spec->trace, "node", spec->number, "PCI");
    snprintf(name, sizeof(name), "host-%u", spec->number);
    int actor = sim_actor_add(sim, &(struct sim_actor){.name = name,
                                                       .handle = pci_event,
                                                       .expect = pci_expect,
                                                       .context = made,
                                                       .kinds = event_names,
                                                       .kind_count = EVENT_COUNT});
    /* pages that nobody touches cost nothing: a thousand hosts may have large memories */
    void *memory = mmap(NULL, spec->memory, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (actor < 0 || memory == MAP_FAILED) {
        free(made);
        return error_fail(-ENOMEM, "no room for %llu bytes of simulated host %u",
                          (unsigned long long)spec->memory, spec->number);
    }
    made->actor = (uint32_t)actor;
    made->memory = memory;
    made->memory_size = spec->memory;
    made->attach_next = ATTACH_FIRST;
    *host = made;
    return 0;
}

void host_destroy(struct host *host)
{
    if (!host)
        return;
    munmap(host->memory, host->memory_size);
    free(host->attached);
    free(host->cache);
    free(host->dirty);
    free(host);
}

struct sim *host_sim(const struct host *host)
{
    return host->sim;
}

uint64_t host_memory_size(const struct host *host)
{
    return host->memory_size;
}

/* A program that waits for one word; lies on its stack. */
struct poller {
    uint64_t physical;
    struct sim_condition changed;
    struct poller *next, *previous;
};

static void poller_add(struct host *host, struct poller *poller)
{
    poller->previous = host->pollers_last;
    *(host->pollers_last ? &host->pollers_last->next : &host->pollers) = poller;
    host->pollers_last = poller;
}

static void poller_remove(struct host *host, struct poller *poller)
{
    *(poller->previous ? &poller->previous->next : &host->pollers) = poller->next;
    *(poller->next ? &poller->next->previous : &host->pollers_last) = poller->previous;
}

void host_memory_written(struct host *host, uint64_t physical, uint64_t length)
{
    for (struct poller *at = host->pollers; at; at = at->next) {
        if (at->physical < physical + length && physical < at->physical + sizeof(uint64_t))
            sim_condition_signal(host->sim, &at->changed);
    }
    if (host->changed.first)
        sim_condition_signal(host->sim, &host->changed);
}

void host_memory_changed(struct host *host)
{
    host_memory_written(host, 0, UINT64_MAX - sizeof(uint64_t));
}

int host_wait(struct host *host, sim_time deadline)
{
    return fiber_wait(host->sim, &host->changed, deadline);
}

int host_poll(struct host *host, uint64_t physical, uint64_t value, bool is_not, sim_time deadline)
{
    const void *place = host_memory(host, physical, sizeof(uint64_t));
    struct poller poller = {.physical = physical, .changed = {.name = "a change of memory"}};
    int result = 0;
    poller_add(host, &poller);
    while (result == 0) {
        uint64_t now;
        memcpy(&now, place, sizeof(now));
        if ((now == value) != is_not)
            break;
        result = fiber_wait(host->sim, &poller.changed, deadline);
    }
    poller_remove(host, &poller);
    return result;
}
