/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Figure 8.5: what it costs a host to look at many receive rings.
 */
#include "experiment/thesis/session.h"

#include <math.h>

#define RING_BYTES (128u << 10)
#define SLOT_BYTES 2048u
#define ROUNDS     8
#define PLACES     16

/* The last round of several: what fits into the caches is there then. */
static double scan(struct sim *sim, struct host *host, uint64_t base, uint32_t rings,
                   bool is_random)
{
    uint64_t slots[512];
    double ps = 0;
    for (uint32_t i = 0; i < rings; i++)
        slots[i] = is_random ? sim_random_below(sim, RING_BYTES / SLOT_BYTES) : 0;
    host_cache_forget(host);
    for (int round = 0; round < ROUNDS; round++) {
        ps = 0;
        for (uint32_t i = 0; i < rings; i++)
            ps += (double)host_read_cost(host,
                                         base + (uint64_t)i * RING_BYTES + slots[i] * SLOT_BYTES);
    }
    return ps / (double)SIM_US;
}

/* Reading a word of each of so many receive rings of 128 KB, again and again: at their heads or at
 * any slot of each; us for all of them, the mean of several places in memory. */
static int measure_scan(const struct sim_constants *constants, uint32_t rings, bool is_random,
                        double *us)
{
    struct sim *sim;
    struct host *host = NULL;
    struct host_spec spec = {.memory = 4096, .constants = constants};
    int result = sim_create(&sim, 1);
    if (result < 0)
        return result;
    result = host_create(&host, sim, &spec);
    *us = 0;
    for (uint64_t i = 0; result == 0 && i < PLACES; i++)
        *us += scan(sim, host, i * 512 * RING_BYTES, rings, is_random) / PLACES;
    host_destroy(host);
    sim_destroy(sim);
    return result;
}

/* More than with half as many rings, by more than twice that. */
static bool jumps_at(const struct thesis_curve *curve, double rings)
{
    return curve_at(curve, rings) > 4 * curve_at(curve, rings / 2);
}

/* The number of rings from which on a read costs more than half of what it costs with the most of
 * them: their lines drive each other out of the second cache. */
static double crowded_from(const struct thesis_curve *curve)
{
    uint32_t last = curve->count - 1;
    for (uint32_t i = 0; i < last; i++) {
        if (curve->y[i] / curve->x[i] > curve->y[last] / curve->x[last] / 2)
            return curve->x[i];
    }
    return curve->x[last];
}

int fig_85(struct session *session)
{
    struct thesis_curve *head = curve_begin(session, "fig-8.5", "Head", "us");
    struct thesis_curve *random = curve_begin(session, "fig-8.5", "Random", "us");
    int result = 0;
    head->x_unit = random->x_unit = "receive buffers";
    for (uint32_t rings = 2; rings <= 512 && result == 0; rings *= 2) {
        double us;
        result = measure_scan(&session->constants, rings, false, &us);
        curve_add(head, rings, us);
        if (result == 0)
            result = measure_scan(&session->constants, rings, true, &us);
        curve_add(random, rings, us);
    }
    if (result < 0)
        return result;
    double growth = curve_at(head, 512) / curve_at(head, 256);
    number_settle(session, "R4", curve_at(head, 128));
    number_settle(session, "R5", crowded_from(random) / crowded_from(head));
    statement_settle(session, "R4-shape",
                     curve_at(head, 16) < 0.05 * curve_at(head, 128) && jumps_at(head, 64) &&
                         !jumps_at(random, 64) && jumps_at(random, 128) && fabs(growth - 2) < 0.1);
    return 0;
}
