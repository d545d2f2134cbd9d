/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See hub.h.
 */
#include "route/trees/hub.h"

#include "base/error.h"

#include <math.h>

#define NEARLY_ALL 0.7f /* of a target's traffic; in the smallest fat tree a top has 3/4 */

int hub_create(struct hub **out, const struct ways *ways, const struct load *load)
{
    uint32_t switches = load->net->switch_count;
    struct hub *hub = arena_owner(sizeof(*hub));
    if (hub) {
        hub->ways = ways;
        hub->load = load;
        ARENA_TAKE(&hub->memory, hub->candidates, switches);
        ARENA_TAKE(&hub->memory, hub->chosen, switches);
        ARENA_TAKE(&hub->memory, hub->potential, switches);
        ARENA_TAKE(&hub->memory, hub->score, switches);
    }
    if (!hub || hub->memory.is_short) {
        hub_destroy(hub);
        return error_fail(-ENOMEM, "no memory for hubs among %u switches", switches);
    }
    *out = hub;
    return 0;
}

void hub_destroy(struct hub *hub)
{
    arena_owner_free(hub);
}

/* What a switch could get is what all that could choose it could get; more than all is all. */
static void potential_pass(struct hub *hub, uint32_t at)
{
    const struct net *net = hub->load->net;
    const uint64_t *choice = ways_choice(hub->ways, at);
    if (hub->potential[at] > hub->total)
        hub->potential[at] = hub->total;
    if (hub->potential[at] == 0)
        return;
    for (uint32_t w = 0; w < hub->ways->turns->words; w++) {
        for (uint64_t bits = choice[w]; bits; bits &= bits - 1) {
            uint32_t slot = w * 64 + (uint32_t)__builtin_ctzll(bits);
            hub->potential[net->head[net->first[at] + slot]] += hub->potential[at];
        }
    }
}

void hub_candidates_find(struct hub *hub, uint32_t target)
{
    const struct ways *ways = hub->ways;
    traffic_sources(hub->load->traffic, target, 0, hub->potential);
    hub->total = 0;
    for (uint32_t s = 0; s < hub->load->net->switch_count; s++)
        hub->total += hub->potential[s];
    for (uint32_t i = ways->order_count; i-- > 1;)
        potential_pass(hub, ways->order[i]);
    hub->count = hub->level = 0;
    for (uint32_t i = 1; i < ways->order_count && hub->total > 0; i++) {
        uint32_t at = ways->order[i];
        if (hub->potential[at] < hub->total * NEARLY_ALL)
            continue;
        hub->candidates[hub->count++] = at;
        hub->level = ways->level[at];
    }
}

/* How full the cables from a switch to the target would be with all its traffic on them. */
static double score_find(const struct hub *hub, uint32_t at, const uint8_t *next)
{
    const struct net *net = hub->load->net;
    if (next[at] >= LFT_HERE)
        return INFINITY;
    uint32_t out = net->first[at] + next[at], to = net->head[out];
    double full = hub->load->channel[0][out] + hub->total;
    double ahead = to == hub->ways->root ? 0 : hub->score[to];
    return full * full * full * full + ahead;
}

void hub_choose(struct hub *hub, const uint8_t *next)
{
    const struct net *net = hub->load->net;
    uint32_t best = UINT32_MAX;
    double least = INFINITY;
    for (uint32_t i = 0; i < hub->count; i++) {
        uint32_t at = hub->candidates[i];
        hub->chosen[at] = 0;
        hub->score[at] = score_find(hub, at, next);
        if (hub->ways->level[at] == hub->level && hub->score[at] < least) {
            least = hub->score[at];
            best = at;
        }
    }
    for (uint32_t at = best; at != UINT32_MAX && at != hub->ways->root;
         at = net->head[net->first[at] + next[at]])
        hub->chosen[at] = 1;
}
