/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names and sums of the cache's counters; see cache.h.
 */
#include "cache/layout.h"

#include <string.h>

const char *cache_counter_name(enum cache_counter which)
{
    static const char *const names[CACHE_COUNTER_COUNT] = {
        [CACHE_LOCAL_HITS] = "local_hits",
        [CACHE_LOCAL_BYTES] = "local_bytes",
        [CACHE_REMOTE_HITS] = "remote_hits",
        [CACHE_REMOTE_BYTES] = "remote_bytes",
        [CACHE_LOADS] = "loads",
        [CACHE_LOAD_BYTES] = "load_bytes",
        [CACHE_MISSES] = "misses",
        [CACHE_READ_AHEADS] = "read_aheads",
        [CACHE_EVICTIONS] = "evictions",
        [CACHE_SINGLETS_KEPT] = "singlets_kept",
        [CACHE_FALLBACKS] = "fallbacks",
        [CACHE_FALLBACK_BYTES] = "fallback_bytes",
        [CACHE_RETRIES] = "retries",
        [CACHE_STALE_CELLS] = "stale_cells",
        [CACHE_TAKEOVERS] = "takeovers",
        [CACHE_CHECKSUM_ERRORS] = "checksum_errors",
        [CACHE_LOAD_ERRORS] = "load_errors",
        [CACHE_CHANGED_FILES] = "changed_files",
        [CACHE_BYPASS_NEW] = "bypassed_new",
        [CACHE_BYPASS_WRITTEN] = "bypassed_written",
        [CACHE_BYPASS_MAPPED] = "bypassed_mapped",
        [CACHE_BYPASS_MAPPED_BYTES] = "bypassed_mapped_bytes",
        [CACHE_NAMES] = "names",
        [CACHE_NAMES_PAST] = "names_past",
        [CACHE_NAMES_OPENED] = "names_opened",
        [CACHE_LISTINGS] = "listings",
    };
    return names[which];
}

void cache_counters_sum(const struct cache_control *control, uint64_t values[CACHE_COUNTER_COUNT])
{
    memset(values, 0, CACHE_COUNTER_COUNT * sizeof(values[0]));
    for (unsigned stripe = 0; stripe < CACHE_STRIPES; stripe++) {
        for (unsigned i = 0; i < CACHE_COUNTER_COUNT; i++)
            values[i] += atomic_load_explicit(&control->counters[stripe].value[i],
                                              memory_order_relaxed);
    }
}
