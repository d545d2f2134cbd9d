/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The measurements that the rows are made of. Each makes a world of its own. Private to this
 * folder. All return 0 or the error of the simulation.
 */
#pragma once

#include "experiment/thesis/thesis.h"
#include "sim/process/process.h"

enum measure_way { WAY_PUSH, WAY_BOTF, WAY_AOTF, WAY_PULL, WAY_BOTF_PULL, WAY_COUNT };

/* What is simulated: two nodes, back to back or (has_switch) through one switch. */
struct measure_setup {
    const struct sim_constants *constants;
    bool has_switch;
    bool misses; /* each PUSH misses PATLB at its Initiator */
    struct trace *trace;
};

#define MEASURE_MOMENTS 8

/* One transfer of 8 bytes: the moments of tables 6.2 (6 of them) and 6.3 (8), in us. */
int measure_moments(const struct measure_setup *setup, enum measure_way way,
                    double moments[MEASURE_MOMENTS]);

/* Half of a round trip of remote writes of this size, or the time of one read, in us. */
int measure_latency(const struct measure_setup *setup, enum measure_way way, uint32_t size,
                    double *us);

/* PUSH after PUSH of this size (or BOTF after BOTF); MB/s, the sum of both directions if there are
 * two. */
struct measure_stream {
    uint32_t size, windows;
    bool is_two_way;
    bool is_to_self; /* node 0 to itself, through the switch */
    bool is_botf;
};
int measure_throughput(const struct measure_setup *setup, const struct measure_stream *stream,
                       double *mbps);

/* The patterns of figure 7.7, among three nodes on a switch: who sends PUSHes of this size. MB/s of
 * those that arrive. */
enum measure_pattern {
    PATTERN_1_TO_1,
    PATTERN_1_TO_2, /* in turn */
    PATTERN_2_TO_1,
    PATTERN_RFEND_STOPS,    /* as 1 to 1; packets to the sender are dropped by its firmware */
    PATTERN_REQUESTS_END,   /* as 2 to 1; the receiver's own requests are cancelled */
    PATTERN_INITIATOR_LOOPS /* as 2 to 1; the receiver's request misses again and again */
};
int measure_pattern(const struct sim_constants *constants, enum measure_pattern pattern,
                    uint32_t size, double *mbps);

/* A stream of VPUSHes of this size: time for each packet, and of the on-chip CPU for each, in
 * us. */
int measure_vpush(const struct measure_setup *setup, uint32_t size, double *packet_us,
                  double *cpu_us);
/* One of 2048 bytes: how long hardware stands still, in us. */
int measure_vpush_stop(const struct measure_setup *setup, double *us);

/* One of 2048, 512 and 8 bytes, 20 us apart: for a trace. */
int measure_vpush_sizes(const struct measure_setup *setup);
