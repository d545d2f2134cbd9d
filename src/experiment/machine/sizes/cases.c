/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every power of two, as a push and as a stream of messages; the smallest first, so that what a
 * machine cannot hold comes last.
 */
#include "experiment/machine/sizes/sizes.h"

#define DRIFT 0.3

#define SIZE(name_, size_)                                                                         \
    {.name = "push-" name_,                                                                        \
     .unit = "MB/s",                                                                               \
     .help = "rh_push of " name_ " bytes into fast memory; raw: memcpy there",                     \
     .rank_count = 2,                                                                              \
     .amount = (size_),                                                                            \
     .memory = 3ull * (size_),                                                                     \
     .drift_max = DRIFT,                                                                           \
     .set_up = sizes_open,                                                                         \
     .tear_down = sizes_close,                                                                     \
     .raw = sizes_copy,                                                                            \
     .measure = sizes_push},                                                                       \
    {                                                                                              \
        .name = "stream-" name_, .unit = "MB/s",                                                   \
        .help = "rh_send to rh_recv of " name_ " bytes, one after the other; raw: a two-copy "     \
                "ring",                                                                            \
        .rank_count = 2, .amount = (size_), .memory = 3ull * (size_), .drift_max = DRIFT,          \
        .has_mpi = true, .set_up = sizes_open_messages, .tear_down = sizes_close_messages,         \
        .raw = sizes_ring, .measure = sizes_stream                                                 \
    }

#define K (1 << 10)
#define M (1 << 20)

const struct bench_case bench_sizes_cases[BENCH_SIZES_CASES] = {
    SIZE("1", 1),          SIZE("2", 2),          SIZE("4", 4),          SIZE("8", 8),
    SIZE("16", 16),        SIZE("32", 32),        SIZE("64", 64),        SIZE("128", 128),
    SIZE("256", 256),      SIZE("512", 512),      SIZE("1K", K),         SIZE("2K", 2 * K),
    SIZE("4K", 4 * K),     SIZE("8K", 8 * K),     SIZE("16K", 16 * K),   SIZE("32K", 32 * K),
    SIZE("64K", 64 * K),   SIZE("128K", 128 * K), SIZE("256K", 256 * K), SIZE("512K", 512 * K),
    SIZE("1M", M),         SIZE("2M", 2 * M),     SIZE("4M", 4 * M),     SIZE("8M", 8 * M),
    SIZE("16M", 16 * M),   SIZE("32M", 32 * M),   SIZE("64M", 64 * M),   SIZE("128M", 128 * M),
    SIZE("256M", 256 * M), SIZE("512M", 512 * M), SIZE("1G", 1024 * M),
};

_Static_assert(BENCH_SIZES_CASES <= BENCH_CASES_MAX, "sheet has room");
