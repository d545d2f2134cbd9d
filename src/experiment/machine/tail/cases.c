/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of the slow ones. Nothing to reach but in company of oneself.
 */
#include "experiment/machine/msg/msg.h"
#include "experiment/machine/tail/tail.h"

#define DRIFT         0.2
#define DRIFT_CROWDED 0.5

#define PAIR(name_, help_, measure_)                                                               \
    .name = name_, .unit = "ns", .help = help_, .rank_count = 2, .amount = 1, .has_tail = true,    \
    .drift_max = DRIFT, .raw = tail_trip, .measure = measure_

#define CROWD(count_)                                                                              \
    .name = "send-8x" #count_, .unit = "ns",                                                       \
    .help = "the same, " #count_ " ranks in pairs on 2 cores; raw: sleepers that wake each other", \
    .rank_count = count_, .amount = count_, .has_tail = true, .place = BENCH_CROWDED,              \
    .drift_max = DRIFT_CROWDED, .set_up = msg_open, .tear_down = msg_close, .raw = tail_hand_on,   \
    .measure = tail_messages

const struct bench_case bench_tail_cases[BENCH_TAIL_CASES] = {
    {PAIR("push-8", "rh_push of 8 bytes, one way; raw: a cache line's trip", tail_push)},
    {PAIR("send-8", "rh_send to rh_recv of 8 bytes, one way; raw: a cache line's trip",
          tail_messages),
     .set_up = msg_open, .tear_down = msg_close},
    {CROWD(4)},
    {CROWD(8)},
};

_Static_assert(BENCH_TAIL_CASES <= BENCH_CASES_MAX, "sheet has room");
