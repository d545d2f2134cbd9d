/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chapter 8's MPI and applications, as far as messages make them: PMB's Sendrecv (R13) and the
 * exchange of NPB's IS (R21), by PM and the copies that MPI adds. Computing takes no time here.
 */
#include "experiment/thesis/pm/mpi_measure.h"
#include "experiment/thesis/pm/pm.h"

#include <math.h>

/* PM/RHiNET and PM/RHiNET-VP. */
enum { RING, QUEUE, BOTH };
static const char *const implementations[BOTH] = {"pm-ring", "pm-queue"};
static const char *const names[BOTH] = {"PM/RHiNET", "PM/RHiNET-VP"};

/* PM/RHiNET-VP has no acks. */
static int measure(int (*what)(const struct pm_setup *, double *), struct pm_setup setup, int which,
                   double *us)
{
    struct sim_constants own = *setup.constants;
    own.silent_vpush |= which == QUEUE;
    setup.constants = &own;
    setup.implementation = implementations[which];
    return what(&setup, us);
}

/* ---- Figure 8.9 ------------------------------------------------------------------------------ */

/* Both directions together, as PMB counts. */
static int sendrecv(const struct sim_constants *constants, int which, uint32_t size, double *mbps)
{
    struct pm_setup setup = {.constants = constants, .ranks = 2, .size = size, .rounds = 20};
    double us;
    int result = measure(mpi_exchange, setup, which, &us);
    *mbps = 2.0 * size / us;
    return result;
}

/* The most is at 16 to 64 KB; the last two sizes are the same, and less. */
static bool has_peak(const double *mbps, int at_16k, int count)
{
    int most = 0;
    for (int i = 0; i < count; i++)
        most = mbps[i] > mbps[most] ? i : most;
    double last = mbps[count - 1];
    return most >= at_16k && most <= at_16k + 2 && last < 0.98 * mbps[most] &&
           fabs(mbps[count - 2] / last - 1) < 0.05;
}

static int throughput(struct session *session)
{
    static const uint32_t sizes[] = {255,       510,       1020,     2040,     4080,
                                     8160,      16 << 10,  32 << 10, 64 << 10, 128 << 10,
                                     256 << 10, 512 << 10, 1 << 20};
    enum { AT_1K = 2, AT_2K, AT_4K, AT_16K = 6, COUNT = sizeof(sizes) / sizeof(sizes[0]) };
    double mbps[BOTH][COUNT];
    for (int which = 0; which < BOTH; which++) {
        struct thesis_curve *curve = curve_begin(session, "mpi", names[which], "MB/s");
        for (int i = 0; i < COUNT; i++) {
            int result = sendrecv(&session->constants, which, sizes[i], &mbps[which][i]);
            if (result < 0)
                return result;
            curve_add(curve, sizes[i], mbps[which][i]);
        }
    }
    const double *ring = mbps[RING];
    statement_settle(session, "R13", ring[AT_4K] / ring[AT_2K] < 0.9 * ring[AT_2K] / ring[AT_1K]);
    statement_settle(session, "R13-peak",
                     has_peak(ring, AT_16K, COUNT) && has_peak(mbps[QUEUE], AT_16K, COUNT));
    return 0;
}

/* ---- Figure 8.10 ----------------------------------------------------------------------------- */

/* PingPong: PM/RHiNET is the lower one up to 1 KB, VP from 4 KB on. */
static int latency(struct session *session)
{
    static const uint32_t sizes[] = {8, 1020, 4080, 8160, 16 << 10};
    enum { AT_1K = 1, COUNT = sizeof(sizes) / sizeof(sizes[0]) };
    struct thesis_curve *curves[BOTH];
    bool holds = true;
    for (int which = 0; which < BOTH; which++)
        curves[which] = curve_begin(session, "mpi-latency", names[which], "us");
    for (int i = 0; i < COUNT; i++) {
        struct pm_setup setup = {
            .constants = &session->constants, .ranks = 2, .size = sizes[i], .rounds = 20};
        double us[BOTH];
        for (int which = 0; which < BOTH; which++) {
            int result = measure(mpi_round_trip, setup, which, &us[which]);
            if (result < 0)
                return result;
            curve_add(curves[which], sizes[i], us[which] / 2);
        }
        holds = holds && (i <= AT_1K ? us[RING] < us[QUEUE] : us[QUEUE] < us[RING]);
    }
    statement_settle(session, "R15", holds);
    return 0;
}

/* ---- Figure 8.15 ----------------------------------------------------------------------------- */

#define KEY_BYTES    4
#define BUCKET_BYTES 4096 /* 1024 counts */

/* What IS sends in one iteration: the buckets' sizes are added up and given to all, along a tree;
 * each rank tells each how many keys come; the keys. These are 2^keys, evenly spread: each of n
 * ranks has an n-th, and sends an n-th of that to each. */
static int iteration(struct pm_setup setup, uint32_t keys, int which, double *us)
{
    uint32_t pairs = (uint32_t)(setup.ranks * setup.ranks);
    double counts = 0, moved = 0, there_and_back = 0;
    setup.size = KEY_BYTES;
    setup.rounds = 8;
    int result = measure(mpi_exchange, setup, which, &counts);
    setup.size = (KEY_BYTES << keys) / pairs;
    setup.rounds = 1;
    if (result == 0)
        result = measure(mpi_exchange, setup, which, &moved);
    setup.size = BUCKET_BYTES;
    setup.rounds = 16;
    if (result == 0)
        result = measure(pm_round_trip, setup, which, &there_and_back);
    *us = counts + moved + there_and_back * log2(setup.ranks);
    return result;
}

/* How many times as long PM/RHiNET takes as VP. */
static int is_gap(const struct sim_constants *constants, uint32_t keys, int ranks, double *gap)
{
    double us[BOTH];
    for (int which = 0; which < BOTH; which++) {
        struct pm_setup setup = {.constants = constants, .ranks = ranks};
        int result = iteration(setup, keys, which, &us[which]);
        if (result < 0)
            return result;
    }
    *gap = us[RING] / us[QUEUE];
    return 0;
}

static int integer_sort(struct session *session)
{
    enum { KEYS_S = 16, KEYS_A = 23, COUNTS = 3 };
    static const int ranks[COUNTS] = {4, 8, 16};
    double small[COUNTS], large[COUNTS];
    bool is_slower = true, is_faster = true, grows = true;
    for (int i = 0; i < COUNTS; i++) {
        int result = is_gap(&session->constants, KEYS_S, ranks[i], &small[i]);
        if (result == 0)
            result = is_gap(&session->constants, KEYS_A, ranks[i], &large[i]);
        if (result < 0)
            return result;
        is_slower = is_slower && small[i] < 1;
        is_faster = is_faster && large[i] >= 1;
        grows = grows && (i == 0 || large[i] > large[i - 1]);
    }
    statement_settle(session, "R21-S", is_slower);
    statement_settle(session, "R21-A", is_faster);
    statement_settle(session, "R21-gap", grows);
    return 0;
}

int mpi_rows(struct session *session)
{
    int result = throughput(session);
    if (result == 0)
        result = latency(session);
    return result == 0 ? integer_sort(session) : result;
}
