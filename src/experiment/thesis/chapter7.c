/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chapter 7: take-over. Three nodes on a switch, exceptions, VPUSH.
 */
#include "experiment/thesis/session.h"

#include <math.h>

#define PATTERNS 6

/* Curves that the thesis calls equal: to 2 %, and where the one is more it is so by that. */
static bool is_equal(const struct thesis_curve *a, const struct thesis_curve *b)
{
    for (uint32_t i = 0; i < a->count; i++) {
        if (fabs(a->y[i] / b->y[i] - 1) > 0.02)
            return false;
    }
    return true;
}

/* From this size on by at least 2 %, and never faster. */
static bool is_slower(const struct thesis_curve *a, const struct thesis_curve *b, double from)
{
    for (uint32_t i = 0; i < a->count; i++) {
        if (a->y[i] > (a->x[i] < from ? 1.01 : 0.98) * b->y[i])
            return false;
    }
    return true;
}

/* Hardly more than at 2 KB. */
static bool is_flat_from_2k(const struct thesis_curve *curve)
{
    for (uint32_t i = 0; i < curve->count; i++) {
        if (curve->x[i] > 2048 && curve->y[i] > 1.05 * curve_at(curve, 2048))
            return false;
    }
    return true;
}

int fig_78(struct session *session)
{
    static const char *const names[PATTERNS] = {"(1)", "(2)", "(3)", "(4)", "(5)", "(5')"};
    struct thesis_curve *curves[PATTERNS];
    int result = 0;
    for (int i = 0; i < PATTERNS; i++) {
        curves[i] = curve_begin(session, "fig-7.8", names[i], "MB/s");
        for (uint32_t size = 128; size <= 128 << 10 && result == 0; size *= 4) {
            double mbps;
            result = measure_pattern(&session->constants, (enum measure_pattern)i, size, &mbps);
            if (result == 0)
                curve_add(curves[i], size, mbps);
        }
    }
    if (result < 0)
        return result;
    statement_settle(session, "T1",
                     is_equal(curves[0], curves[1]) && is_slower(curves[0], curves[2], 0));
    statement_settle(session, "T2", is_equal(curves[3], curves[0]));
    statement_settle(session, "T3",
                     is_slower(curves[4], curves[2], 2048) && is_flat_from_2k(curves[4]) &&
                         is_equal(curves[5], curves[2]));
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

int fig_79(struct session *session)
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

static int vpush_curve(const struct sim_constants *constants, struct thesis_curve *curve,
                       double *cpu)
{
    struct measure_setup setup = {.constants = constants, .has_switch = true};
    int result = 0;
    for (uint32_t size = 8; size <= 2048 && result == 0; size *= 2) {
        double us;
        result = measure_vpush(&setup, size, &us, cpu);
        if (result == 0)
            curve_add(curve, size, size / us);
    }
    return result;
}

/* The largest size with the time that the smallest has, to 2 %. */
static double constant_up_to(const struct thesis_curve *curve)
{
    uint32_t i = 0;
    while (i + 1 < curve->count && curve->y[i + 1] <= 1.02 * curve->y[0])
        i++;
    return curve->x[i];
}

int fig_711(struct session *session)
{
    struct sim_constants soft = session->constants, hard = session->constants;
    struct thesis_curve *vpush = curve_begin(session, "fig-7.11", "VPUSH", "MB/s");
    struct thesis_curve *software = curve_begin(session, "fig-7.11", "VPUSH/Software", "MB/s");
    struct thesis_curve *hardware = curve_begin(session, "fig-7.11", "in hardware", "MB/s");
    double cpu;
    soft.soft_vpush = 1;
    hard.hardware_vpush = 1;
    int result = vpush_curve(&session->constants, vpush, &cpu);
    if (result == 0)
        result = vpush_curve(&soft, software, &cpu);
    if (result == 0)
        result = vpush_curve(&hard, hardware, &cpu);
    if (result < 0)
        return result;
    number_settle(session, "T8", curve_at(vpush, 2048));
    number_settle(session, "T9", curve_at(software, 2048));
    return 0;
}

/* From RBend's request for a DMA until a program sees the data. */
static int visible_settle(struct session *session, const struct measure_setup *setup)
{
    const struct sim_constants *c = &session->constants;
    double moments[MEASURE_MOMENTS];
    int result = measure_moments(setup, WAY_AOTF, moments);
    if (result < 0)
        return result;
    double request = (double)(c->dma_cycles * c->core_ps + c->pci_arbitrate_cycles * c->pci_ps);
    number_settle(session, "R18", moments[5] - moments[4] + request / (double)SIM_US);
    return 0;
}

/* Where the time of a VPUSH goes. */
int fig_712(struct session *session)
{
    struct measure_setup setup = {.constants = &session->constants, .has_switch = true};
    struct thesis_curve *packet = curve_begin(session, "fig-7.12", "packet", "us");
    struct thesis_curve *share = curve_begin(session, "fig-7.12", "on-chip CPU", "us");
    double stop, us, cpu = 0;
    int result = measure_vpush_stop(&setup, &stop);
    for (uint32_t size = 8; size <= 2048 && result == 0; size *= 2) {
        result = measure_vpush(&setup, size, &us, &cpu);
        curve_add(packet, size, us);
        curve_add(share, size, cpu);
    }
    if (result < 0)
        return result;
    number_settle(session, "R16", stop);
    number_settle(session, "T10", cpu);
    number_settle(session, "T11", constant_up_to(packet));
    return visible_settle(session, &setup);
}
