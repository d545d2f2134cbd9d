/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of messages, with what each must reach against raw programs and against Open MPI.
 */
#include "experiment/machine/msg/msg.h"

#define DRIFT         0.2
#define DRIFT_CROWDED 0.5 /* a scheduler's day is never twice the same */

#define PAIR(name_, unit_, help_, raw_, measure_)                                                  \
    .name = name_, .unit = unit_, .help = help_, .rank_count = 2, .amount = 1, .drift_max = DRIFT, \
    .has_mpi = true, .raw = raw_, .measure = measure_

#define MESSAGES .set_up = msg_open, .tear_down = msg_close

#define SET(name_, count_, help_, raw_, measure_)                                                  \
    .name = name_, .unit = "ns", .help = help_, .rank_count = count_, .amount = count_,            \
    .has_mpi = true, .versus = BENCH_RATIO_AT_MOST, .raw = raw_, .measure = measure_,              \
    .set_up = msg_set_open, .tear_down = msg_set_close

#define CROWD .place = BENCH_CROWDED, .drift_max = DRIFT_CROWDED, .versus_value = 0.5

#define BARRIER(count_)                                                                            \
    SET("barrier-" #count_, count_,                                                                \
        "rh_barrier of " #count_ " ranks on 2 cores; raw: a counter and a word, yielding",         \
        raw_barrier, msg_barrier)

#define RECEIVE(senders_)                                                                          \
    .name = "pm-recv-" #senders_, .unit = "ns",                                                    \
    .help = "pm-auto, receiver's cost per message of " #senders_ " senders; raw: of two",          \
    .rank_count = (senders_) + 1, .amount = senders_, .drift_max = DRIFT,                          \
    .bound = BENCH_RATIO_AT_MOST, .bound_value = 1.1, .set_up = msg_pm_open,                       \
    .tear_down = msg_pm_close, .raw = msg_pm_take_two, .measure = msg_pm_take_all

const struct bench_case bench_msg_cases[BENCH_MSG_CASES] = {
    {PAIR("send-8", "ns", "rh_send to rh_recv of 8 bytes, one way; raw: a cache line's trip",
          raw_trip, msg_send_8),
     MESSAGES, .bound = BENCH_RATIO_AT_MOST, .bound_value = 1.5,
     .ucx = "-t tag_lat -s 8 -n 20000 -w 2000"},
    {PAIR("send-1M", "GB/s", "rh_send to rh_recv of 1 MiB; raw: a two-copy ring of 16 x 32 KiB",
          raw_ring_block, msg_send_block),
     MESSAGES, .bound = BENCH_RATIO_AT_LEAST, .bound_value = 0.9, .versus = BENCH_RATIO_AT_LEAST,
     .versus_value = 2, .ucx = "-t tag_bw -s 1048576 -n 200 -w 20"},
    {PAIR("rate-8", "M/s", "messages of 8 bytes per second; raw: a stream of cache lines",
          raw_stream_lines, msg_rate),
     MESSAGES, .versus = BENCH_RATIO_AT_LEAST, .versus_value = 2,
     .ucx = "-t tag_bw -s 8 -n 100000 -w 2000"},
    {PAIR("lock", "ns", "rh_lock and rh_unlock of a lock that lives at the peer; raw: two atomics",
          raw_two_atomics, msg_lock),
     MESSAGES, .bound = BENCH_RATIO_AT_MOST, .bound_value = 1.2},
    {PAIR("lock-contended", "ns", "hand-over of a lock that both want; raw: of a bare queue lock",
          raw_hand_over, msg_lock_contended),
     MESSAGES, .bound = BENCH_RATIO_AT_MOST, .bound_value = 1.3},
    {BARRIER(2), .drift_max = DRIFT, .versus_value = 1},
    {BARRIER(4), CROWD},
    {BARRIER(8), CROWD},
    {BARRIER(16), CROWD},
    {BARRIER(64), CROWD},
    {SET("allreduce-8", 8, "rh_allreduce of 8 bytes, 8 ranks on 2 cores; raw: on the raw barrier",
         raw_allreduce, msg_allreduce),
     CROWD},
    {.name = "many-8",
     .unit = "M/s",
     .help = "messages of 8 bytes, 7 ranks to one, on 2 cores; raw: lines of each, yielding",
     .rank_count = 8,
     .amount = 8,
     .has_mpi = true,
     .place = BENCH_CROWDED,
     .drift_max = DRIFT_CROWDED,
     .set_up = msg_many_open,
     .tear_down = msg_close,
     .raw = raw_many,
     .measure = msg_many},
    {.name = "all-8",
     .unit = "ns",
     .help = "a message of 8 bytes from each of 8 ranks to each, on 2 cores; raw: the raw barrier",
     .rank_count = 8,
     .amount = 8,
     .has_mpi = true,
     .place = BENCH_CROWDED,
     .drift_max = DRIFT_CROWDED,
     .set_up = msg_open,
     .tear_down = msg_close,
     .raw = raw_barrier,
     .measure = msg_all},
    {RECEIVE(2)},
    {RECEIVE(8)},
    {RECEIVE(32)},
    {RECEIVE(128)},
    {RECEIVE(256)},
};

_Static_assert(BENCH_MSG_CASES <= BENCH_CASES_MAX, "sheet has room");
