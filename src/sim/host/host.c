/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See host.h.
 */
#include "sim/host/host.h"

#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum host_event { EVENT_START, EVENT_END, EVENT_STORED, EVENT_COUNT };
static const char *const event_names[EVENT_COUNT] = {"pci-start", "pci-end", "pci-stored"};
/* Physical addresses of attached memory begin here: no simulated host has so much of its own. */
#define ATTACH_FIRST (1ULL << 40)

static const char *const kind_names[] = {"DMA read", "DMA write", "PIO", "PIO combined"};

/* Memory that a program brought. */
struct attached {
    uint64_t physical, length;
    char *base;                     /* or, with reach, an address there */
    const struct host_reach *reach; /* NULL: our own address space */
};

struct host {
    struct sim *sim;
    uint32_t actor;
    struct sim_constants constants;
    char *memory;
    uint64_t memory_size;
    struct attached *attached; /* by physical address, which are never used again */
    uint32_t attached_count, attached_capacity;
    uint64_t attach_next;
    struct sim_condition changed;
    struct pci_request *first, *last; /* waiting for the bus */
    struct pci_request *current;
    struct pci_request *inside, *inside_last; /* stores that cut into it */
    sim_time free_at;                         /* the bus rests until then */
    sim_time posted; /* until then DMA writes are on their way through the bridge */
    struct trace *trace;
    uint32_t track;
};

static sim_time cycles(const struct host *host, int64_t count)
{
    return count * host->constants.core_ps;
}

static void post(struct host *host, sim_time when, enum host_event event)
{
    sim_post(host->sim, when, (struct sim_event){host->actor, event, 0});
}

/* Gives the bus to the next one, not before `when`. */
static void bus_next(struct host *host, sim_time when)
{
    if (host->current || !host->first)
        return;
    if (when < host->free_at)
        when = host->free_at;
    host->current = host->first;
    host->first = host->first->next;
    if (!host->first)
        host->last = NULL;
    post(host, when, EVENT_START);
}

/* A read must not pass what was posted before it (the standard's rule for bridges): the bridge
 * fetches only when that is in memory. */
static sim_time posted_wait(const struct host *host, sim_time fetch)
{
    return host->posted > fetch ? host->posted - fetch : 0;
}

/* The time on the bus, from the address to the last word. */
static sim_time duration(const struct host *host, const struct pci_request *request)
{
    const struct sim_constants *c = &host->constants;
    int64_t words = (request->bytes + c->pci_word_bytes - 1) / c->pci_word_bytes;
    if (request->kind == PCI_PIO)
        return words * c->pio_word_ps;
    if (request->kind == PCI_COMBINED) {
        int64_t lines = (request->bytes + c->combine_bytes - 1) / c->combine_bytes;
        int64_t each = c->pci_address_cycles + c->pci_write_cycles + c->pci_turn_cycles;
        return cycles(host, lines * each + words);
    }
    sim_time address = cycles(host, c->pci_address_cycles), data = cycles(host, words ? words : 1);
    if (request->kind == PCI_WRITE)
        return address + cycles(host, c->pci_write_cycles) + data;
    int64_t lines = (request->bytes - 1) / c->combine_bytes;
    return address + posted_wait(host, request->start + address) +
           cycles(host, c->pci_read_cycles + lines * c->pci_line_cycles) + data;
}

static bool is_store(const struct pci_request *request)
{
    return request->kind == PCI_PIO || request->kind == PCI_COMBINED;
}

/* A transfer that has had the bus for as long as its latency timer says gives way to stores of the
 * CPU, and goes on with a new address. (Who was told when it ends is not told again.) */
static bool store_cuts_in(struct host *host, struct pci_request *store)
{
    const struct sim_constants *c = &host->constants;
    struct pci_request *dma = host->current;
    if (!dma || is_store(dma) || dma->end == 0)
        return false;
    sim_time begin = dma->start + cycles(host, c->pci_latency_cycles), now = sim_now(host->sim);
    begin = begin > now ? begin : now;
    if (host->inside && host->inside_last->end > begin)
        begin = host->inside_last->end;
    if (begin >= dma->end)
        return false;
    int64_t again = dma->kind == PCI_READ ? c->pci_read_cycles : c->pci_write_cycles;
    store->start = begin + cycles(host, c->pci_turn_cycles);
    store->end = store->start + duration(host, store);
    dma->end += store->end - begin +
                cycles(host, c->pci_turn_cycles + c->pci_address_cycles + again);
    store->next = NULL;
    *(host->inside ? &host->inside_last->next : &host->inside) = store;
    host->inside_last = store;
    post(host, store->end, EVENT_STORED);
    return true;
}

void pci_ask(struct host *host, struct pci_request *request)
{
    /* While the bus is busy the next one is chosen meanwhile, so only an idle bus costs time. */
    sim_time wait = is_store(request) ? 0 : host->constants.pci_arbitrate_cycles;
    request->next = NULL;
    request->end = 0;
    if (is_store(request) && store_cuts_in(host, request))
        return;
    *(host->last ? &host->last->next : &host->first) = request;
    host->last = request;
    bus_next(host, sim_now(host->sim) + cycles(host, wait));
}

static void bus_start(struct host *host)
{
    struct pci_request *request = host->current;
    request->start = sim_now(host->sim);
    request->end = request->start + duration(host, request);
    if (request->end < request->data_ready)
        request->end = request->data_ready;
    if (request->started)
        request->started(request->context, request);
    post(host, request->end, EVENT_END);
}

static void bus_end(struct host *host)
{
    struct pci_request *request = host->current;
    if (request->end > sim_now(host->sim)) { /* a store has cut in */
        post(host, request->end, EVENT_END);
        return;
    }
    trace_span(host->trace, host->track, kind_names[request->kind], request->start, request->end);
    host->current = NULL;
    host->free_at = request->end + cycles(host, host->constants.pci_turn_cycles);
    if (request->kind == PCI_WRITE)
        host->posted = request->end + cycles(host, host->constants.post_cycles);
    bus_next(host, host->free_at);
    request->ended(request->context, request);
}

static void store_end(struct host *host)
{
    struct pci_request *store = host->inside;
    trace_span(host->trace, host->track, kind_names[store->kind], store->start, store->end);
    host->inside = store->next;
    store->ended(store->context, store);
}

static void host_event(void *context, uint32_t kind, uint64_t argument)
{
    struct host *host = context;
    (void)argument;
    if (kind == EVENT_START)
        bus_start(host);
    else if (kind == EVENT_END)
        bus_end(host);
    else
        store_end(host);
}

int host_create(struct host **host, struct sim *sim, const struct host_spec *spec)
{
    char name[32];
    struct host *made = calloc(1, sizeof(*made));
    if (!made)
        return error_set(-ENOMEM, ERROR_NO_RANK, "no memory for simulated host %u", spec->number);
    made->sim = sim;
    made->constants = *spec->constants;
    made->changed.name = "a change of memory";
    made->trace = spec->trace;
    made->track = trace_track(spec->trace, "node", spec->number, "PCI");
    snprintf(name, sizeof(name), "host-%u", spec->number);
    int actor = sim_actor_add(sim, &(struct sim_actor){.name = name,
                                                       .handle = host_event,
                                                       .context = made,
                                                       .kinds = event_names,
                                                       .kind_count = EVENT_COUNT});
    /* pages that nobody touches cost nothing: a thousand hosts may have large memories */
    void *memory = mmap(NULL, spec->memory, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (actor < 0 || memory == MAP_FAILED) {
        free(made);
        return error_set(-ENOMEM, ERROR_NO_RANK, "no room for %llu bytes of simulated host %u",
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

/* The attached range with this address in it; NULL if there is none. */
static struct attached *attached_find(const struct host *host, uint64_t physical)
{
    uint32_t low = 0, high = host->attached_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (host->attached[middle].physical <= physical)
            low = middle + 1;
        else
            high = middle;
    }
    struct attached *found = low > 0 ? &host->attached[low - 1] : NULL;
    return found && physical - found->physical < found->length ? found : NULL;
}

void *host_memory(const struct host *host, uint64_t physical, uint64_t length)
{
    if (physical < ATTACH_FIRST) {
        assert(physical <= host->memory_size);
        assert(length <= host->memory_size - physical);
        return host->memory + physical;
    }
    const struct attached *range = attached_find(host, physical);
    assert(range);
    assert(length <= range->length - (physical - range->physical));
    return range->base + (physical - range->physical);
}

static int range_add(struct host *host, const struct attached *range)
{
    if (host->attached_count == host->attached_capacity) {
        uint32_t capacity = host->attached_capacity ? host->attached_capacity * 2 : 8;
        struct attached *attached = realloc(host->attached, capacity * sizeof(*attached));
        if (!attached)
            return error_set(-ENOMEM, ERROR_NO_RANK, "no memory for %u attached ranges", capacity);
        host->attached = attached;
        host->attached_capacity = capacity;
    }
    host->attached[host->attached_count++] = *range;
    host->attach_next += range->length + (uint64_t)host->constants.page_bytes; /* a page apart */
    return 0;
}

static uint64_t whole_pages(const struct host *host, uint64_t length)
{
    uint64_t page = (uint64_t)host->constants.page_bytes;
    return (length + page - 1) / page * page;
}

int host_memory_attach(struct host *host, void *base, uint64_t length, uint64_t *physical)
{
    uint64_t within = (uintptr_t)base % (uint64_t)host->constants.page_bytes;
    /* Protection is by pages, as on the real card: a stray write inside the page reaches it. */
    struct attached range = {.physical = host->attach_next,
                             .length = whole_pages(host, within + length),
                             .base = (char *)base - within};
    int result = range_add(host, &range);
    if (result == 0)
        *physical = range.physical + within;
    return result;
}

int host_memory_lend(struct host *host, const struct host_loan *loan, uint64_t *physical)
{
    struct attached range = {.physical = host->attach_next,
                             .length = whole_pages(host, loan->length),
                             .base = (char *)(uintptr_t)loan->address,
                             .reach = loan->reach};
    int result = range_add(host, &range);
    if (result == 0)
        *physical = range.physical;
    return result;
}

int host_memory_detach(struct host *host, uint64_t physical)
{
    struct attached *range = attached_find(host, physical);
    if (!range)
        return error_set(-ENOENT, ERROR_NO_RANK, "no memory is attached at %llx",
                         (unsigned long long)physical);
    host->attached_count--;
    memmove(range, range + 1,
            (size_t)(host->attached + host->attached_count - range) * sizeof(*range));
    return 0;
}

void host_memory_read(const struct host *host, uint64_t physical, void *target, uint64_t length)
{
    const struct attached *range = physical < ATTACH_FIRST ? NULL : attached_find(host, physical);
    if (!range || !range->reach) {
        memcpy(target, host_memory(host, physical, length), length);
        return;
    }
    uint64_t address = (uintptr_t)range->base + (physical - range->physical);
    if (range->reach->read(range->reach->context, address, target, length) < 0)
        memset(target, 0, length);
}

void host_memory_write(struct host *host, uint64_t physical, const void *source, uint64_t length)
{
    const struct attached *range = physical < ATTACH_FIRST ? NULL : attached_find(host, physical);
    if (!range || !range->reach) {
        memcpy(host_memory(host, physical, length), source, length);
        return;
    }
    uint64_t address = (uintptr_t)range->base + (physical - range->physical);
    (void)range->reach->write(range->reach->context, address, source, length);
}

struct pio_wait {
    struct pci_request request;
    struct sim *sim;
    struct sim_condition done;
    bool is_done;
};

static void pio_ended(void *context, struct pci_request *request)
{
    struct pio_wait *wait = context;
    (void)request;
    wait->is_done = true;
    sim_condition_signal(wait->sim, &wait->done);
}

void host_pio(struct host *host, uint32_t words, bool is_combining)
{
    struct pio_wait wait = {
        .request = {.kind = is_combining ? PCI_COMBINED : PCI_PIO,
                    .bytes = words * 8,
                    .ended = pio_ended,
                    .context = &wait},
        .sim = host->sim,
        .done = {.name = "a store to the card"},
    };
    fiber_sleep(host->sim, host->constants.pio_ps);
    pci_ask(host, &wait.request);
    while (!wait.is_done)
        fiber_wait(host->sim, &wait.done, SIM_NEVER);
}

void host_memory_changed(struct host *host)
{
    sim_condition_signal(host->sim, &host->changed);
}

int host_wait(struct host *host, sim_time deadline)
{
    return fiber_wait(host->sim, &host->changed, deadline);
}

int host_poll(struct host *host, uint64_t physical, uint64_t value, bool is_not, sim_time deadline)
{
    const void *place = host_memory(host, physical, sizeof(uint64_t));
    for (;;) {
        uint64_t now;
        memcpy(&now, place, sizeof(now));
        if ((now == value) != is_not)
            return 0;
        int result = fiber_wait(host->sim, &host->changed, deadline);
        if (result < 0)
            return result;
    }
}
