/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of shared memory, with what each must reach.
 */
#include "experiment/machine/dsm/dsm.h"
#include "experiment/machine/msg/msg.h"

#define DRIFT 0.3

#define DSM(name_, help_, count_, raw_, measure_)                                                  \
    .name = name_, .unit = "ns", .help = help_, .rank_count = count_, .amount = count_,            \
    .drift_max = DRIFT, .raw = raw_, .measure = measure_, .tear_down = dsm_close

/* The paper's figures 5 and 6: one writes, the others read. */
#define INVALIDATE(count_)                                                                         \
    {                                                                                              \
        DSM("invalidate-" #count_,                                                                 \
            "acquire for writing while all others have copies; raw: a cache line's trip", count_,  \
            raw_trip, dsm_invalidate),                                                             \
            .set_up = dsm_open_block                                                               \
    }
#define UPDATE(count_)                                                                             \
    {                                                                                              \
        DSM("update-" #count_,                                                                     \
            "release that writes the 4 KiB copies of all others; raw: a cache line's trip",        \
            count_, raw_trip, dsm_update),                                                         \
            .set_up = dsm_open_pushed                                                              \
    }

const struct bench_case bench_dsm_cases[BENCH_DSM_CASES] = {
    {DSM("read-hit", "acquire for reading and release, valid here; raw: a cache line's trip", 2,
         raw_trip, dsm_read_hit),
     .set_up = dsm_open_word, .bound = BENCH_VALUE_AT_MOST, .bound_value = 40},
    {DSM("read-acquire",
         "the acquire alone: a thousand readers in one another; raw: a cache line's trip", 2,
         raw_trip, dsm_read_acquire),
     .set_up = dsm_open_word, .bound = BENCH_VALUE_AT_MOST, .bound_value = 20},
    {DSM("write-hit", "acquire for writing and release, owned here; raw: a cache line's trip", 2,
         raw_trip, dsm_write_hit),
     .set_up = dsm_open_word, .bound = BENCH_VALUE_AT_MOST, .bound_value = 100},
    {DSM("own",
         "acquire for writing what the peer owns, 8 bytes, and release; raw: a cache line's "
         "trip",
         2, raw_trip, dsm_hand_over),
     .set_up = dsm_open_word, .bound = BENCH_RATIO_AT_MOST, .bound_value = 3},
    {DSM("contended", "the same while both want it, per hand-over; raw: of a queue lock", 2,
         raw_hand_over, dsm_contended),
     .set_up = dsm_open_word},
    {DSM("fetch-4K",
         "acquire for reading what the peer has written, 4 KiB; raw: 1.5 pushes of it "
         "and a trip",
         2, dsm_raw_fetch, dsm_fetch),
     .set_up = dsm_open_block, .bound = BENCH_RATIO_AT_MOST, .bound_value = 1},
    {DSM("barrier", "rh_dsm_barrier of two ranks; raw: one counter", 2, raw_barrier, dsm_barrier),
     .set_up = dsm_open_word},
    INVALIDATE(2),
    INVALIDATE(3),
    INVALIDATE(4),
    INVALIDATE(5),
    INVALIDATE(6),
    INVALIDATE(7),
    INVALIDATE(8),
    UPDATE(2),
    UPDATE(3),
    UPDATE(4),
    UPDATE(5),
    UPDATE(6),
    UPDATE(7),
    UPDATE(8),
};
