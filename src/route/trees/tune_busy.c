/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which channels tuning looks at.
 */
#include "route/trees/tune_parts.h"

#include <math.h>

#define OUTLYING     1.08 /* so much busier than the rest stands out */
#define FEW_OF       2048 /* one channel in so many may stand out */
#define FEW_MIN      8
#define LOAD_BUCKETS 1024

/* The load that only a few channels exceed, so that what stands out can be told from the rest. */
static double common_load(const struct tune *tune, uint32_t class, double most)
{
    uint32_t count[LOAD_BUCKETS] = {0}, channels = tune->net->channel_count, above = 0;
    uint32_t few = channels / FEW_OF > FEW_MIN ? channels / FEW_OF : FEW_MIN;
    const float *load = tune->load->channel[class];
    for (uint32_t c = 0; c < channels; c++)
        count[load[c] > 0 ? (uint32_t)(load[c] / most * (LOAD_BUCKETS - 1)) : 0]++; /* rounding */
    uint32_t bucket = LOAD_BUCKETS;
    while (bucket > 0 && above + count[bucket - 1] <= few)
        above += count[--bucket];
    return most * bucket / (LOAD_BUCKETS - 1);
}

/* Which channels are worth a look: those near the busiest. Where a few stand out from the rest,
 * as after a failure, these come first, by themselves, and are brought down quickly. */
void tune_limits_set(struct tune *tune, float share)
{
    bool outlying[TRAFFIC_CLASSES] = {false}, any = false;
    for (uint32_t k = 0; k < tune->classes; k++) {
        double most = 0, host = traffic_host_load(tune->load->traffic, k);
        for (uint32_t c = 0; c < tune->net->channel_count; c++)
            most = fmax(most, tune->load->channel[k][c]);
        double common = most > 0 ? common_load(tune, k, most) : 0;
        outlying[k] = tune->gaining && most > fmax(common, host) * OUTLYING;
        any = any || outlying[k];
        tune->most[k] = most;
        tune->unit[k] = most > 0 ? (float)(1 / most) : 1;
        /* below the load of host cables nothing is gained any more */
        double limit = outlying[k] ? common + (most - common) / 4 : most * share;
        tune->busy[k] = (float)fmax(limit, host * 1.0001);
    }
    for (uint32_t k = 0; k < tune->classes; k++) {
        if (tune->goal && tune->goal[k] > 0)
            tune->busy[k] = tune->goal[k];
        else if (any && !outlying[k])
            tune->busy[k] = INFINITY;
    }
}

void tune_busy_list(struct tune *tune)
{
    tune->busy_count = 0;
    for (uint32_t c = 0; c < tune->net->channel_count; c++) {
        bool inside = tune->load->channel[0][c] > tune->busy[0];
        bool between = tune->classes > 1 && tune->load->channel[1][c] > tune->busy[1];
        if (inside || between)
            tune->busy_list[tune->busy_count++] = (struct busy){c, !between};
    }
}

bool tune_uses_busy(const struct tune *tune, const struct lft *table, uint32_t target)
{
    const struct net *net = tune->net;
    const uint8_t *next = lft_tree(table, target);
    for (uint32_t i = 0; i < tune->busy_count; i++) {
        struct busy busy = tune->busy_list[i];
        uint32_t at = net->tail[busy.channel];
        if (net->first[at] + next[at] == busy.channel &&
            (!busy.inside || traffic_class(tune->load->traffic, at, target) == 0))
            return true;
    }
    return false;
}
