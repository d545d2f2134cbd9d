/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chapter 8: PM/RHiNET is pm-ring, PM/RHiNET-VP is pm-queue on VPUSH by take-over, and what the
 * thesis could only predict: pm-queue with VPUSH in hardware, pm-auto, and many nodes.
 */
#include "experiment/thesis/pm/pm.h"
#include "experiment/thesis/pm/pm_measure.h"

#include <math.h>
#include <string.h>

#define TRIPS    126 /* two laps of a ring */
#define MESSAGES 60
#define SMALLEST 8

/* The ways to send a message. */
enum way { RING, TAKE_OVER, HARDWARE, SOFTWARE, AUTO, WAYS };
static const struct {
    const char *name, *implementation;
    bool is_hardware, is_software;
} ways[WAYS] = {
    [RING] = {"pm-ring", "pm-ring", false, false},
    [TAKE_OVER] = {"pm-queue, take-over", "pm-queue", false, false},
    [HARDWARE] = {"pm-queue, hardware", "pm-queue", true, false},
    [SOFTWARE] = {"pm-queue, all software", "pm-queue", false, true},
    [AUTO] = {"pm-auto", "pm-auto", false, false},
};

typedef int (*measure)(const struct pm_setup *setup, double *value);

/* One measurement of one way. */
struct trial {
    enum way way;
    int ranks;
    uint32_t size, rounds;
};

static int try(const struct sim_constants *constants, const struct trial *trial, measure what,
               double *value)
{
    struct sim_constants own = *constants;
    struct pm_setup setup = {.constants = &own,
                             .implementation = ways[trial->way].implementation,
                             .ranks = trial->ranks,
                             .size = trial->size,
                             .rounds = trial->rounds};
    own.hardware_vpush |= ways[trial->way].is_hardware;
    own.soft_vpush |= ways[trial->way].is_software;
    own.silent_vpush |= trial->way != RING && trial->way != AUTO;
    return what(&setup, value);
}

/* A curve over sizes, at 2 nodes. values[i] belongs to sizes[i]. */
struct sweep {
    const char *group, *unit;
    measure what;
    uint32_t rounds;
    const uint32_t *sizes;
    uint32_t count;
};

static int sweep_run(struct session *session, const struct sweep *sweep, enum way way,
                     double *values)
{
    struct thesis_curve *curve = curve_begin(session, sweep->group, ways[way].name, sweep->unit);
    int result = 0;
    for (uint32_t i = 0; i < sweep->count && result == 0; i++) {
        struct trial trial = {way, 2, sweep->sizes[i], sweep->rounds};
        result = try(&session->constants, &trial, sweep->what, &values[i]);
        curve_add(curve, sweep->sizes[i], values[i]);
    }
    return result;
}

/* ---- Round trips over sizes: figure 8.7 ------------------------------------------------------ */

static int trips(struct session *session)
{
    static const uint32_t sizes[] = {8, 64, 128, 256, 512, 1024, 2048, 4096, 8192};
    enum { AT_512 = 4, AT_1024, AT_2048, COUNT = sizeof(sizes) / sizeof(sizes[0]) };
    const struct sweep sweep = {"pm", "us", pm_round_trip, TRIPS, sizes, COUNT};
    double ring[COUNT], queue[COUNT], hardware[COUNT];
    int result = sweep_run(session, &sweep, RING, ring);
    if (result == 0)
        result = sweep_run(session, &sweep, TAKE_OVER, queue);
    if (result == 0)
        result = sweep_run(session, &sweep, HARDWARE, hardware);
    if (result < 0)
        return result;
    bool is_slower = true;
    for (int i = 0; i <= AT_1024; i++)
        is_slower = is_slower && queue[i] > ring[i];
    double below = (ring[AT_1024] - ring[AT_512]) / 512,
           above = (ring[AT_2048] - ring[AT_1024]) / 1024;
    number_settle(session, "R2", ring[0]);
    number_settle(session, "R7", queue[0]);
    statement_settle(session, "R8", queue[AT_512] < 1.1 * queue[0]); /* "almost constant" */
    statement_settle(session, "R9", is_slower && above > 1.2 * below);
    number_settle(session, "R19", (hardware[0] - ring[0]) / 2);
    return 0;
}

/* ---- The on-chip CPU twice as fast ----------------------------------------------------------- */

static struct sim_constants twice_as_fast(const struct sim_constants *constants)
{
    struct sim_constants fast = *constants;
    for (const struct sim_constant *one = sim_constant_list; one->name; one++) {
        int64_t *value = (int64_t *)(void *)((char *)&fast + one->offset);
        if (strncmp(one->name, "cpu_", 4) == 0 && strcmp(one->unit, "clk") == 0)
            *value = (*value + 1) / 2;
    }
    fast.cpu_percent = 2 * constants->cpu_percent;
    return fast;
}

static int faster(struct session *session)
{
    struct sim_constants fast = twice_as_fast(&session->constants);
    struct trial trial = {TAKE_OVER, 2, SMALLEST, TRIPS};
    double us;
    int result = try(&fast, &trial, pm_round_trip, &us);
    if (result == 0)
        number_settle(session, "R17", us);
    return result;
}

/* ---- Streams: figures 8.6 and 8.8, and MPI's with RMA ---------------------------------------- */

static int streams(struct session *session)
{
    static const uint32_t sizes[] = {64, 128, 256, 512, 1024, 2040};
    enum { AT_1024 = 4, COUNT = sizeof(sizes) / sizeof(sizes[0]) };
    const struct sweep sweep = {"pm-burst", "MB/s", pm_stream, MESSAGES, sizes, COUNT};
    double ring[COUNT], queue[COUNT], wide = 0, rma = 0;
    struct trial sixteen = {RING, 16, 2040, MESSAGES}, write = {RING, 2, 64 << 10, 8};
    int result = sweep_run(session, &sweep, RING, ring);
    if (result == 0)
        result = sweep_run(session, &sweep, TAKE_OVER, queue);
    if (result == 0)
        result = try(&session->constants, &sixteen, pm_stream, &wide);
    if (result == 0)
        result = try(&session->constants, &write, pm_write_stream, &rma);
    if (result < 0)
        return result;
    bool is_near = true; /* in a figure whose axis goes up to what PM/RHiNET has at 2 KB */
    for (int i = 0; i <= AT_1024; i++)
        is_near = is_near && fabs(ring[i] - queue[i]) < 0.05 * ring[COUNT - 1];
    statement_settle(session, "R12", is_near);
    statement_settle(session, "R6", wide < ring[COUNT - 1] && wide > 0.9 * ring[COUNT - 1]);
    number_settle(session, "R14", rma);
    return 0;
}

/* ---- Round trips over nodes: figure 8.4, and what was not measured --------------------------- */

int pm_nodes(struct session *session)
{
    static const int counts[] = {2, 4, 8, 16, 32, 64, 128, 256, 1024};
    enum { AT_2, AT_16 = 3, AT_32, AT_64, AT_256 = 7, AT_1024, COUNT };
    double us[WAYS][COUNT];
    int result = 0;
    for (int way = 0; way < WAYS && result == 0; way++) {
        struct thesis_curve *curve = curve_begin(session, "pm-nodes", ways[way].name, "us");
        curve->x_unit = "nodes";
        for (int i = 0; i < COUNT && result == 0; i++) {
            struct trial trial = {(enum way)way, counts[i], SMALLEST, TRIPS};
            result = try(&session->constants, &trial, pm_round_trip, &us[way][i]);
            curve_add(curve, counts[i], us[way][i]);
        }
    }
    if (result < 0)
        return result;
    bool is_better = us[HARDWARE][AT_2] > us[RING][AT_2];
    for (int i = AT_32; i < COUNT; i++)
        is_better = is_better && us[HARDWARE][i] < us[RING][i];
    static const char *const found[][4] = {
        {"N64-ring", "N64-queue", "N64-hard", "N64-auto"},
        {"N256-ring", "N256-queue", "N256-hard", "N256-auto"},
        {"N1024-ring", "N1024-queue", "N1024-hard", "N1024-auto"}};
    static const enum way shown[] = {RING, TAKE_OVER, HARDWARE, AUTO};
    static const int at[] = {AT_64, AT_256, AT_1024};
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 4; k++)
            number_settle(session, found[i][k], us[shown[k]][at[i]]);
    }
    number_settle(session, "R3", us[RING][AT_16] - us[RING][AT_2]);
    statement_settle(session, "R20", is_better);
    return 0;
}

int pm_rows(struct session *session)
{
    int result = trips(session);
    if (result == 0)
        result = faster(session);
    return result == 0 ? streams(session) : result;
}
