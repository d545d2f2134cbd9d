/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From measurements to rows and curves. Each part of the thesis is one function that measures, and
 * settles the rows that it can.
 */
#include "sim/thesis/thesis.h"

#include "sim/thesis/measure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct session {
    struct thesis_report *report;
    const char *which;
    struct sim_constants constants;
};

static bool is_wanted(const struct session *session, const struct thesis_row *row)
{
    return strcmp(session->which, "all") == 0 || strcmp(session->which, row->group) == 0 ||
           strcmp(session->which, row->id) == 0;
}

static bool group_is_wanted(const struct session *session, const char *group)
{
    for (const struct thesis_row *row = thesis_rows; row->id; row++) {
        if (strcmp(row->group, group) == 0 && is_wanted(session, row))
            return true;
    }
    return false;
}

static struct thesis_result *result_find(struct session *session, const char *id)
{
    for (uint32_t i = 0; i < session->report->result_count; i++) {
        if (strcmp(session->report->results[i].row->id, id) == 0)
            return &session->report->results[i];
    }
    return NULL; /* not wanted */
}

static void number_settle(struct session *session, const char *id, double simulated)
{
    struct thesis_result *result = result_find(session, id);
    if (!result)
        return;
    double limit = result->row->class == 'C' ? THESIS_C_PERCENT : THESIS_V_PERCENT;
    result->is_simulated = true;
    result->simulated = simulated;
    result->error_percent = 100 * (simulated - result->row->thesis) / result->row->thesis;
    result->holds = fabs(result->error_percent) <= limit;
}

static void statement_settle(struct session *session, const char *id, bool holds)
{
    struct thesis_result *result = result_find(session, id);
    if (!result)
        return;
    result->is_simulated = true;
    result->holds = holds;
}

static struct thesis_curve *curve_begin(struct session *session, const char *group,
                                        const char *name, const char *y_unit)
{
    struct thesis_report *report = session->report;
    if (report->curve_count == THESIS_CURVES_MAX)
        report->curve_count--; /* the last one is written over: never so by our own rows */
    struct thesis_curve *curve = &report->curves[report->curve_count++];
    *curve = (struct thesis_curve){.group = group, .name = name, .x_unit = "B", .y_unit = y_unit};
    return curve;
}

static void curve_add(struct thesis_curve *curve, double x, double y)
{
    if (curve->count == THESIS_POINTS_MAX)
        return;
    curve->x[curve->count] = x;
    curve->y[curve->count++] = y;
}

static double curve_at(const struct thesis_curve *curve, double x)
{
    for (uint32_t i = 0; i < curve->count; i++) {
        if (curve->x[i] == x)
            return curve->y[i];
    }
    return NAN;
}

static double curve_most(const struct thesis_curve *curve)
{
    double most = 0;
    for (uint32_t i = 0; i < curve->count; i++)
        most = fmax(most, curve->y[i]);
    return most;
}

static int table_62(struct session *session)
{
    static const char *const names[] = {"PUSH", "BOTF", "AOTF"};
    struct measure_setup setup = {.constants = &session->constants};
    double moments[MEASURE_MOMENTS];
    int result = 0;
    for (int way = WAY_PUSH; way <= WAY_AOTF && result == 0; way++) {
        result = measure_moments(&setup, (enum measure_way)way, moments);
        for (int i = 0; result == 0 && i < 6; i++) {
            char id[32];
            snprintf(id, sizeof(id), "T6.2-%s-%d", names[way], i + 1);
            number_settle(session, id, moments[i]);
        }
    }
    /* of AOTF, the last: from the store in the chip to PCI, without the wire */
    if (result == 0)
        number_settle(session, "T6.2-chip", moments[4] - moments[0] - (moments[2] - moments[1]));
    return result;
}

static int table_63(struct session *session)
{
    static const char *const names[] = {"PULL", "BOTF"};
    struct measure_setup setup = {.constants = &session->constants};
    double moments[2][MEASURE_MOMENTS];
    int result = 0;
    for (int i = 0; i < 2 && result == 0; i++) {
        result = measure_moments(&setup, i ? WAY_BOTF_PULL : WAY_PULL, moments[i]);
        for (int k = 0; result == 0 && k < 8; k++) {
            char id[32];
            snprintf(id, sizeof(id), "T6.3-%s-%d", names[i], k + 1);
            number_settle(session, id, moments[i][k]);
        }
    }
    if (result == 0)
        number_settle(session, "T6.3-gain", moments[0][7] - moments[1][7]);
    return result;
}

static int latency_curve(struct session *session, enum measure_way way, uint32_t most,
                         struct thesis_curve *curve)
{
    struct measure_setup setup = {.constants = &session->constants};
    int result = 0;
    for (uint32_t size = 8; size <= most && result == 0; size *= 2) {
        double us;
        result = measure_latency(&setup, way, size, &us);
        if (result == 0)
            curve_add(curve, size, us);
    }
    return result;
}

static bool p2_holds(const struct thesis_curve *push, const struct thesis_curve *botf,
                     const struct thesis_curve *aotf)
{
    bool holds = curve_at(aotf, 8) < curve_at(botf, 8) && curve_at(aotf, 8) < curve_at(push, 8);
    for (int size = 16; size <= 64; size *= 2)
        holds = holds && curve_at(botf, size) <= curve_at(push, size);
    return holds && curve_at(push, 128) < curve_at(botf, 128);
}

static int fig_61(struct session *session)
{
    struct thesis_curve *push = curve_begin(session, "fig-6.1", "PUSH", "us");
    struct thesis_curve *botf = curve_begin(session, "fig-6.1", "BOTF", "us");
    struct thesis_curve *aotf = curve_begin(session, "fig-6.1", "AOTF", "us");
    int result = latency_curve(session, WAY_PUSH, 2048, push);
    if (result == 0)
        result = latency_curve(session, WAY_BOTF, 256, botf);
    if (result == 0)
        result = latency_curve(session, WAY_AOTF, 8, aotf);
    if (result < 0)
        return result;
    number_settle(session, "P1", curve_at(aotf, 8));
    statement_settle(session, "P2", p2_holds(push, botf, aotf));
    return 0;
}

static int fig_62(struct session *session)
{
    struct thesis_curve *pull = curve_begin(session, "fig-6.2", "PULL", "us");
    struct thesis_curve *botf = curve_begin(session, "fig-6.2", "BOTF", "us");
    int result = latency_curve(session, WAY_PULL, 2048, pull);
    return result < 0 ? result : latency_curve(session, WAY_BOTF_PULL, 2048, botf);
}

/* 128 B to 128 KB. */
static int stream_curve(const struct sim_constants *constants, struct measure_stream stream,
                        struct thesis_curve *curve)
{
    struct measure_setup setup = {.constants = constants};
    int result = 0;
    for (uint32_t size = 128; size <= 128 << 10 && result == 0; size *= 2) {
        double mbps;
        stream.size = size;
        result = measure_throughput(&setup, &stream, &mbps);
        if (result == 0)
            curve_add(curve, size, mbps);
    }
    return result;
}

static int fig_63(struct session *session)
{
    const struct sim_constants *c = &session->constants;
    struct thesis_curve *one = curve_begin(session, "fig-6.3", "one direction", "MB/s");
    struct thesis_curve *two = curve_begin(session, "fig-6.3", "both directions", "MB/s");
    struct thesis_curve *windows = curve_begin(session, "fig-6.3", "four windows", "MB/s");
    int result = stream_curve(c, (struct measure_stream){.windows = 1}, one);
    if (result == 0)
        result = stream_curve(c, (struct measure_stream){.windows = 1, .is_two_way = true}, two);
    if (result == 0)
        result = stream_curve(c, (struct measure_stream){.windows = 4}, windows);
    if (result < 0)
        return result;
    uint32_t half = 0;
    while (half + 1 < one->count && one->y[half] < curve_most(one) / 2)
        half++;
    number_settle(session, "P3", curve_most(one));
    number_settle(session, "P4", curve_most(two));
    number_settle(session, "P5", one->x[half]);
    statement_settle(session, "P8", curve_at(windows, 512) > 1.05 * curve_at(one, 512));
    return 0;
}

static int fig_64(struct session *session)
{
    struct sim_constants dropping = session->constants, doubled = session->constants;
    struct measure_stream stream = {.windows = 1};
    struct thesis_curve *plain = curve_begin(session, "fig-6.4", "PUSH", "MB/s");
    struct thesis_curve *sending = curve_begin(session, "fig-6.4", "Sending", "MB/s");
    struct thesis_curve *buffers = curve_begin(session, "fig-6.4", "double buffer", "MB/s");
    dropping.swi_discard = 1;
    doubled.double_buffer = 1;
    int result = stream_curve(&session->constants, stream, plain);
    if (result == 0)
        result = stream_curve(&dropping, stream, sending);
    if (result == 0)
        result = stream_curve(&doubled, stream, buffers);
    if (result < 0)
        return result;
    bool holds = curve_most(sending) > 1.01 * curve_most(plain);
    for (double size = 128; size <= 1024; size *= 2)
        holds = holds && curve_at(sending, size) < 1.02 * curve_at(plain, size);
    statement_settle(session, "P6", holds);
    statement_settle(session, "P7", curve_most(buffers) > 1.01 * curve_most(plain));
    return 0;
}

/* Round trips through a switch: without exceptions, with a PATLB miss at each Initiator that
 * hardware (HARD) or firmware (SOFT) goes on from. */
static int exception_curve(struct session *session, bool misses, bool is_soft,
                           struct thesis_curve *curve)
{
    struct sim_constants constants = session->constants;
    struct measure_setup setup = {.constants = &constants, .has_switch = true, .misses = misses};
    int result = 0;
    constants.soft_push = is_soft;
    for (uint32_t size = 32; size <= 2048 && result == 0; size *= 2) {
        double us;
        result = measure_latency(&setup, WAY_PUSH, size, &us);
        if (result == 0)
            curve_add(curve, size, 2 * us);
    }
    return result;
}

static int fig_79(struct session *session)
{
    struct thesis_curve *soft = curve_begin(session, "fig-7.9", "SOFT", "us");
    struct thesis_curve *hard = curve_begin(session, "fig-7.9", "HARD", "us");
    struct thesis_curve *plain = curve_begin(session, "fig-7.9", "NOEX", "us");
    int result = exception_curve(session, true, true, soft);
    if (result == 0)
        result = exception_curve(session, true, false, hard);
    if (result == 0)
        result = exception_curve(session, false, false, plain);
    if (result < 0)
        return result;
    double slope[3];
    const struct thesis_curve *curves[] = {soft, hard, plain};
    for (int i = 0; i < 3; i++)
        slope[i] = curve_at(curves[i], 2048) - curve_at(curves[i], 32);
    number_settle(session, "T6-32", curve_at(hard, 32));
    number_settle(session, "T6-2048", curve_at(hard, 2048));
    number_settle(session, "T4", curve_at(soft, 32) - curve_at(hard, 32));
    number_settle(session, "T5-32", 100 * (1 - curve_at(hard, 32) / curve_at(soft, 32)));
    number_settle(session, "T5-2048", 100 * (1 - curve_at(hard, 2048) / curve_at(soft, 2048)));
    statement_settle(session, "T7",
                     fabs(slope[0] / slope[2] - 1) < 0.02 && fabs(slope[1] / slope[2] - 1) < 0.02);
    return 0;
}

static int fig_711(struct session *session)
{
    struct measure_setup setup = {.constants = &session->constants, .has_switch = true};
    struct thesis_curve *curve = curve_begin(session, "fig-7.11", "VPUSH", "MB/s");
    double times[THESIS_POINTS_MAX], cpu = 0, constant_up_to = 0;
    int result = 0;
    for (uint32_t size = 8; size <= 2048 && result == 0; size *= 2) {
        double *time = &times[curve->count];
        result = measure_vpush(&setup, size, time, &cpu);
        if (result == 0)
            curve_add(curve, size, size / *time);
        if (result == 0 && *time <= 1.02 * times[0])
            constant_up_to = size;
    }
    if (result < 0)
        return result;
    number_settle(session, "T8", curve_at(curve, 2048));
    number_settle(session, "T10", cpu);
    number_settle(session, "T11", constant_up_to);
    return 0;
}

/* DIMMnet-1: long PUSHes, and packet images through two windows in turn. */
static int dimm(struct session *session)
{
    struct sim_constants constants = sim_constants_dimm(&session->constants);
    struct measure_setup setup = {.constants = &constants, .has_switch = true};
    struct measure_stream rdma = {.size = 128 << 10, .windows = 1};
    struct measure_stream self = {.size = 128 << 10, .windows = 1, .is_to_self = true};
    struct measure_stream image = {.size = 464, .windows = 2, .is_botf = true};
    double apart, alone, botf, hidden;
    int result = measure_throughput(&setup, &rdma, &apart);
    if (result == 0)
        result = measure_throughput(&setup, &self, &alone);
    if (result == 0)
        result = measure_throughput(&setup, &image, &botf);
    if (result < 0)
        return result;
    double period = image.size / botf * (double)SIM_US / (double)constants.core_ps;
    int64_t unknown = constants.dimm_unknown_cycles;
    constants.double_buffer = 1;
    constants.swi_rx_cycles -= unknown;
    result = measure_throughput(&setup, &image, &hidden);
    if (result < 0)
        return result;
    number_settle(session, "D2", apart);
    number_settle(session, "D3", 100 * (1 - alone / apart));
    number_settle(session, "D5", botf);
    number_settle(session, "D8", 100 * (1 - ((double)unknown + image.size / 8.0) / period));
    number_settle(session, "D9", hidden);
    return 0;
}

static void results_begin(struct session *session)
{
    struct thesis_report *report = session->report;
    for (const struct thesis_row *row = thesis_rows; row->id; row++) {
        if (is_wanted(session, row) && report->result_count < THESIS_ROWS_MAX)
            report->results[report->result_count++] = (struct thesis_result){
                .row = row, .simulated = NAN, .error_percent = NAN};
    }
}

int thesis_run(struct thesis_report *report, const char *which,
               const struct sim_constants *constants)
{
    static const struct {
        const char *group;
        int (*run)(struct session *session);
    } parts[] = {{"table-6.2", table_62}, {"table-6.3", table_63}, {"fig-6.1", fig_61},
                 {"table-6.3", fig_62},   {"fig-6.3", fig_63},     {"fig-6.4", fig_64},
                 {"fig-7.9", fig_79},     {"fig-7.11", fig_711},   {"dimm", dimm}};
    struct session session = {.report = report, .which = which, .constants = *constants};
    int result = 0;
    memset(report, 0, sizeof(*report));
    results_begin(&session);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && result == 0; i++) {
        if (group_is_wanted(&session, parts[i].group))
            result = parts[i].run(&session);
    }
    return result;
}

int thesis_trace(struct trace *trace, const struct sim_constants *constants)
{
    struct measure_setup setup = {.constants = constants, .trace = trace};
    double moments[MEASURE_MOMENTS];
    return measure_moments(&setup, WAY_PULL, moments);
}
