/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The PCI bus: who has it when, and how long.
 */
#include "sim/host/parts.h"

static const char *const kind_names[] = {"DMA read", "DMA write", "PIO", "PIO combined"};

const char *pci_kind_name(enum pci_kind kind)
{
    return kind_names[kind];
}

const struct host_usage *host_usage(const struct host *host)
{
    return &host->usage;
}

/* Others have used the bus for `less` of the time from start to end. */
static void usage_add(struct host *host, const struct pci_request *request, sim_time less)
{
    host->usage.time[request->kind] += request->end - request->start - less;
    host->usage.transactions[request->kind]++;
    host->usage.bytes[request->kind] += request->bytes;
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
static sim_time duration(struct host *host, const struct pci_request *request)
{
    const struct sim_constants *c = host->constants;
    int64_t words = (request->bytes + c->pci_word_bytes - 1) / c->pci_word_bytes;
    if (request->kind == PCI_PIO)
        return words * c->pio_word_ps;
    if (request->kind == PCI_COMBINED) {
        int64_t lines = (request->bytes + c->combine_bytes - 1) / c->combine_bytes;
        int64_t each = c->pci_address_cycles + c->pci_write_cycles + c->pci_turn_cycles;
        return host_cycles(host, lines * each + words);
    }
    sim_time address = host_cycles(host, c->pci_address_cycles),
             data = host_cycles(host, words ? words : 1);
    if (request->kind == PCI_WRITE)
        return address + host_cycles(host, c->pci_write_cycles) + data;
    int64_t lines = (request->bytes - 1) / c->combine_bytes;
    /* one that the cache gives is as usual: a message's last word has just been written */
    int64_t given = host_dirty_take(host, request->physical, request->bytes);
    data += host_cycles(host, given > 1 ? (given - 1) * c->pci_snoop_cycles : 0);
    return address + posted_wait(host, request->start + address) +
           host_cycles(host, c->pci_read_cycles + lines * c->pci_line_cycles) + data;
}

static bool is_store(const struct pci_request *request)
{
    return request->kind == PCI_PIO || request->kind == PCI_COMBINED;
}

/* A transfer that has had the bus for as long as its latency timer says gives way to stores of the
 * CPU, and goes on with a new address. (Who was told when it ends is not told again.) */
static bool store_cuts_in(struct host *host, struct pci_request *store)
{
    const struct sim_constants *c = host->constants;
    struct pci_request *dma = host->current;
    if (!dma || is_store(dma) || dma->end == 0)
        return false;
    sim_time begin = dma->start + host_cycles(host, c->pci_latency_cycles),
             now = sim_now(host->sim);
    begin = begin > now ? begin : now;
    if (host->inside && host->inside_last->end > begin)
        begin = host->inside_last->end;
    if (begin >= dma->end)
        return false;
    int64_t again = dma->kind == PCI_READ ? c->pci_read_cycles : c->pci_write_cycles;
    store->start = begin + host_cycles(host, c->pci_turn_cycles);
    store->end = store->start + duration(host, store);
    dma->end += store->end - begin +
                host_cycles(host, c->pci_turn_cycles + c->pci_address_cycles + again);
    store->next = NULL;
    *(host->inside ? &host->inside_last->next : &host->inside) = store;
    host->inside_last = store;
    post(host, store->end, EVENT_STORED);
    return true;
}

void pci_ask(struct host *host, struct pci_request *request)
{
    /* While the bus is busy the next one is chosen meanwhile, so only an idle bus costs time. */
    sim_time wait = is_store(request) ? 0 : host->constants->pci_arbitrate_cycles;
    request->next = NULL;
    request->end = 0;
    if (is_store(request) && store_cuts_in(host, request))
        return;
    *(host->last ? &host->last->next : &host->first) = request;
    host->last = request;
    bus_next(host, sim_now(host->sim) + host_cycles(host, wait));
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
    usage_add(host, request, host->inside_time);
    host->inside_time = 0;
    host->current = NULL;
    host->free_at = request->end + host_cycles(host, host->constants->pci_turn_cycles);
    if (request->kind == PCI_WRITE)
        host->posted = request->end + host_cycles(host, host->constants->post_cycles);
    bus_next(host, host->free_at);
    request->ended(request->context, request);
}

static void store_end(struct host *host)
{
    struct pci_request *store = host->inside;
    trace_span(host->trace, host->track, kind_names[store->kind], store->start, store->end);
    usage_add(host, store, 0);
    host->inside_time += store->end - store->start;
    host->inside = store->next;
    store->ended(store->context, store);
}

void pci_expect(void *context, uint32_t kind, uint64_t argument)
{
    const struct host *host = context;
    __builtin_prefetch(host);
    __builtin_prefetch(&host->current);
}

void pci_event(void *context, uint32_t kind, uint64_t argument)
{
    struct host *host = context;
    if (kind == EVENT_START)
        bus_start(host);
    else if (kind == EVENT_END)
        bus_end(host);
    else
        store_end(host);
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
    fiber_sleep(host->sim, host->constants->pio_ps);
    pci_ask(host, &wait.request);
    while (!wait.is_done)
        fiber_wait(host->sim, &wait.done, SIM_NEVER);
}
