/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chapter 6: latency and throughput of remote writes and reads, two nodes back to back.
 */
#include "experiment/thesis/session.h"

#include <math.h>
#include <stdio.h>

int table_62(struct session *session)
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

int table_63(struct session *session)
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

/* Where the curves cross, between measured sizes. */
static double crossing(const struct thesis_curve *push, const struct thesis_curve *botf)
{
    for (uint32_t i = 1; i < botf->count; i++) {
        double before = push->y[i - 1] - botf->y[i - 1], after = push->y[i] - botf->y[i];
        if (before >= 0 && after < 0)
            return botf->x[i - 1] + (botf->x[i] - botf->x[i - 1]) * before / (before - after);
    }
    return botf->x[botf->count - 1];
}

int fig_61(struct session *session)
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
    number_settle(session, "P2-cross", crossing(push, botf));
    return 0;
}

int fig_62(struct session *session)
{
    struct thesis_curve *pull = curve_begin(session, "fig-6.2", "PULL", "us");
    struct thesis_curve *botf = curve_begin(session, "fig-6.2", "BOTF", "us");
    int result = latency_curve(session, WAY_PULL, 2048, pull);
    if (result == 0)
        result = latency_curve(session, WAY_BOTF_PULL, 2048, botf);
    if (result < 0)
        return result;
    double gain = pull->y[0] - botf->y[0];
    bool holds = gain > 0;
    for (uint32_t i = 0; i < pull->count; i++)
        holds = holds && fabs(pull->y[i] - botf->y[i] - gain) < 0.01;
    statement_settle(session, "T6.3-sizes", holds);
    return 0;
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

int fig_63(struct session *session)
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
    while (half + 1 < one->count && one->y[half] < curve_max(one) / 2)
        half++;
    number_settle(session, "P3", curve_max(one));
    number_settle(session, "P4", curve_max(two));
    number_settle(session, "P5", one->x[half]);
    number_settle(session, "P8-512", curve_at(one, 512));
    statement_settle(session, "P8", curve_at(windows, 512) > 1.05 * curve_at(one, 512));
    return 0;
}

int fig_64(struct session *session)
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
    bool holds = curve_max(sending) > 1.01 * curve_max(plain);
    for (double size = 128; size <= 1024; size *= 2)
        holds = holds && curve_at(sending, size) < 1.02 * curve_at(plain, size);
    statement_settle(session, "P6", holds);
    statement_settle(session, "P7", curve_max(buffers) > 1.01 * curve_max(plain));
    return 0;
}
