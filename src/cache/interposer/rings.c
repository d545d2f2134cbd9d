/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See rings.h.
 */
#include "cache/interposer/rings.h"

#include "cache/interposer/scope.h"

#include <link.h>
#include <stdatomic.h>
#include <string.h>

static _Atomic unsigned long long looked_at; /* how many libraries had been loaded by then */
static _Atomic bool is_child;

struct looking {
    unsigned long long count;
    bool is_found;
};

/* Copies that packages bring along have names like libaio-0a1b2c3d.so.1. */
static bool is_ring(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    return strncmp(name, "libaio", 6) == 0 || strncmp(name, "liburing", 8) == 0;
}

static int look(struct dl_phdr_info *library, size_t size, void *context)
{
    struct looking *looking = context;
    (void)size;
    looking->count = library->dlpi_adds;
    if (looking->count == atomic_load_explicit(&looked_at, memory_order_relaxed))
        return 1;
    looking->is_found = library->dlpi_name && is_ring(library->dlpi_name);
    return looking->is_found;
}

bool rings_are_here(void)
{
    struct looking looking = {0};
    if (atomic_load_explicit(&is_child, memory_order_relaxed) ||
        atomic_load_explicit(&scope_declares_nothing, memory_order_relaxed))
        return false;
    dl_iterate_phdr(look, &looking);
    if (!looking.is_found)
        atomic_store_explicit(&looked_at, looking.count, memory_order_relaxed);
    return looking.is_found;
}

/* dl_iterate_phdr has a lock that fork does not reset: a thread that is not in the child may have
 * it. */
void rings_forked(void)
{
    atomic_store_explicit(&is_child, true, memory_order_relaxed);
}
