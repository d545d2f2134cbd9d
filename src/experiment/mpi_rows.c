/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chapter 8's MPI and applications, as far as messages make them: PMB's Sendrecv (R13) and the
 * exchange of NPB's IS (R21), by PM and the copies that MPI adds. Computing takes no time here.
 */
#include "experiment/mpi_measure.h"
#include "experiment/rows.h"

#include <math.h>

/* PM/RHiNET and PM/RHiNET-VP. */
enum { RING, QUEUE, BOTH };
static const char *const implementations[BOTH] = {"pm-ring", "pm-queue"};
static const char *const names[BOTH] = {"PM/RHiNET", "PM/RHiNET-VP"};

/* ---- Figure 8.9 ------------------------------------------------------------------------------ */

/* Both directions together, as PMB counts. */
static int sendrecv(const struct sim_constants *constants, int which, uint32_t size, double *mbps)
{
    struct pm_setup setup = {.constants = constants,
                             .implementation = implementations[which],
                             .ranks = 2,
                             .size = size,
                             .rounds = 20};
    double us;
    int result = mpi_exchange(&setup, &us);
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

static int throughput(struct thesis_report *report, const struct sim_constants *constants)
{
    static const uint32_t sizes[] = {255,       510,       1020,     2040,     4080,
                                     8160,      16 << 10,  32 << 10, 64 << 10, 128 << 10,
                                     256 << 10, 512 << 10, 1 << 20};
    enum { AT_1K = 2, AT_2K, AT_4K, AT_16K = 6, COUNT = sizeof(sizes) / sizeof(sizes[0]) };
    double mbps[BOTH][COUNT];
    for (int which = 0; which < BOTH; which++) {
        struct thesis_curve begin = {
            .group = "mpi", .name = names[which], .x_unit = "B", .y_unit = "MB/s"};
        struct thesis_curve *curve = thesis_curve(report, &begin);
        for (int i = 0; i < COUNT; i++) {
            int result = sendrecv(constants, which, sizes[i], &mbps[which][i]);
            if (result < 0)
                return result;
            thesis_point(curve, sizes[i], mbps[which][i]);
        }
    }
    const double *ring = mbps[RING];
    thesis_statement(report, "R13", ring[AT_4K] / ring[AT_2K] < 0.9 * ring[AT_2K] / ring[AT_1K]);
    thesis_statement(report, "R13-peak",
                     has_peak(ring, AT_16K, COUNT) && has_peak(mbps[QUEUE], AT_16K, COUNT));
    return 0;
}

/* ---- Figure 8.15 ----------------------------------------------------------------------------- */

#define KEY_BYTES 4

/* How much longer PM/RHiNET takes than VP to exchange 2^keys keys that are evenly spread: each of n
 * ranks has an n-th, and sends an n-th of that to each. */
static int is_gap(const struct sim_constants *constants, uint32_t keys, int ranks, double *gap)
{
    struct pm_setup setup = {.constants = constants,
                             .ranks = ranks,
                             .size = (KEY_BYTES << keys) / (uint32_t)(ranks * ranks),
                             .rounds = 1};
    double us[BOTH];
    for (int which = 0; which < BOTH; which++) {
        setup.implementation = implementations[which];
        int result = mpi_exchange(&setup, &us[which]);
        if (result < 0)
            return result;
    }
    *gap = us[RING] / us[QUEUE];
    return 0;
}

static int integer_sort(struct thesis_report *report, const struct sim_constants *constants)
{
    enum { KEYS_S = 16, KEYS_A = 23, COUNTS = 3 };
    static const int ranks[COUNTS] = {4, 8, 16};
    double small[COUNTS], large[COUNTS];
    bool is_slower = true, is_faster = true;
    for (int i = 0; i < COUNTS; i++) {
        int result = is_gap(constants, KEYS_S, ranks[i], &small[i]);
        if (result == 0)
            result = is_gap(constants, KEYS_A, ranks[i], &large[i]);
        if (result < 0)
            return result;
        is_slower = is_slower && small[i] < 1;
        is_faster = is_faster && large[i] >= 1 && (i == 0 || large[i] > large[i - 1]);
    }
    thesis_statement(report, "R21-S", is_slower);
    thesis_statement(report, "R21-A", is_faster);
    return 0;
}

int mpi_rows(struct thesis_report *report, const struct sim_constants *constants)
{
    int result = throughput(report, constants);
    return result == 0 ? integer_sort(report, constants) : result;
}
