/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host's memory, and what programs lend to it.
 */
#include "sim/host/parts.h"

#include "base/array.h"
#include "base/assert.h"
#include "base/error.h"

#include <errno.h>
#include <string.h>

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
        ASSERT(physical <= host->memory_size);
        ASSERT(length <= host->memory_size - physical);
        return host->memory + physical;
    }
    const struct attached *range = attached_find(host, physical);
    ASSERT(range);
    ASSERT(length <= range->length - (physical - range->physical));
    return range->base + (physical - range->physical);
}

bool host_memory_has(const struct host *host, uint64_t physical, uint64_t length)
{
    if (physical < ATTACH_FIRST)
        return physical <= host->memory_size && length <= host->memory_size - physical;
    const struct attached *range = attached_find(host, physical);
    return range && length <= range->length - (physical - range->physical);
}

static int range_add(struct host *host, const struct attached *range)
{
    if (!array_grow(&host->attached, &host->attached_room, (size_t)host->attached_count + 1))
        return error_fail(-ENOMEM, "no memory for %u attached ranges", host->attached_count + 1);
    host->attached[host->attached_count++] = *range;
    host->attach_next += range->length + (uint64_t)host->constants->page_bytes; /* a page apart */
    return 0;
}

static uint64_t whole_pages(const struct host *host, uint64_t length)
{
    uint64_t page = (uint64_t)host->constants->page_bytes;
    return (length + page - 1) / page * page;
}

int host_memory_attach(struct host *host, void *base, uint64_t length, uint64_t *physical)
{
    uint64_t within = (uintptr_t)base % (uint64_t)host->constants->page_bytes;
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
        return error_fail(-ENOENT, "no memory is attached at %llx", (unsigned long long)physical);
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
