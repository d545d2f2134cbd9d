/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See tune.h.
 */
#include "base/error.h"
#include "base/log.h"
#include "route/trees/tune_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TUNE_ROUNDS 100
#define ANY_GAIN    0.9999f /* a gain, not noise */
#define TUNE_IDLE   4       /* rounds without a gain after which it is enough */

static int tune_allocate(struct tune *tune)
{
    uint32_t switches = tune->net->switch_count;
    for (uint32_t k = 0; k < tune->classes; k++) {
        ARENA_TAKE(&tune->memory, tune->source[k], switches);
        ARENA_TAKE(&tune->memory, tune->flow[k], switches);
    }
    ARENA_TAKE(&tune->memory, tune->joined, (size_t)switches * tune->turns->words);
    ARENA_TAKE(&tune->memory, tune->hops, switches);
    ARENA_TAKE(&tune->memory, tune->path, switches);
    ARENA_TAKE(&tune->memory, tune->marked, switches);
    ARENA_TAKE(&tune->memory, tune->offenders, switches);
    ARENA_TAKE(&tune->memory, tune->busy_list, tune->net->channel_count + 1);
    if (!tune->memory.is_short)
        return 0;
    arena_free(&tune->memory);
    return error_fail(-ENOMEM, "no memory to tune the table");
}

static uint32_t output_of(const struct tune *tune, uint32_t at)
{
    return tune->net->first[at] + tune->next[at];
}

static uint64_t *joined_row(const struct tune *tune, uint32_t at)
{
    return tune->joined + (size_t)at * tune->turns->words;
}

static void joined_fill(struct tune *tune)
{
    const struct net *net = tune->net;
    memset(tune->joined, 0, (size_t)net->switch_count * tune->turns->words * sizeof(uint64_t));
    for (uint32_t s = 0; s < net->switch_count; s++) {
        if (tune->next[s] >= LFT_HERE)
            continue;
        uint32_t out = output_of(tune, s), slot = net_slot_in(net, out);
        joined_row(tune, net->head[out])[slot / 64] |= 1ull << (slot % 64);
    }
}

/* Sends a source's traffic down its way. Ways are short: this beats sorting the whole tree. */
static void source_send(struct tune *tune, uint32_t from, float amount, uint32_t class)
{
    uint32_t at = from;
    while (tune->next[at] < LFT_HERE) {
        tune->flow[class][at] += amount;
        at = tune->net->head[output_of(tune, at)];
    }
}

/* Loads a target's tree into flow, joined and hops. */
static void target_take(struct tune *tune, const struct lft *table, uint32_t target)
{
    const struct net *net = tune->net;
    tune->next = lft_tree(table, target);
    tune->root = net->target_switch[target];
    joined_fill(tune);
    for (uint32_t k = 0; k < tune->classes; k++) {
        traffic_sources(tune->load->traffic, target, k, tune->source[k]);
        memset(tune->flow[k], 0, net->switch_count * sizeof(float));
        for (uint32_t s = 0; s < net->switch_count; s++) {
            if (tune->source[k][s] > 0)
                source_send(tune, s, tune->source[k][s], k);
        }
    }
    if (tune->longer)
        return;
    for (uint32_t s = 0; s < net->switch_count; s++)
        tune->hops[s] = LFT_UNKNOWN;
    tune->hops[tune->root] = 0;
    for (uint32_t s = 0; s < net->switch_count; s++)
        lft_hops(net, tune->next, s, tune->hops);
}

/* Adds the flow of a switch to all that lies behind it on its way, or takes it away. */
static void way_add(struct tune *tune, uint32_t at, const float *flow, float sign)
{
    const struct net *net = tune->net;
    while (at != tune->root) {
        uint32_t out = output_of(tune, at);
        at = net->head[out];
        for (uint32_t k = 0; k < tune->classes; k++) {
            tune->load->channel[k][out] += sign * flow[k];
            tune->flow[k][at] += sign * flow[k];
        }
    }
}

static inline float power(float x)
{
    float x2 = x * x, x4 = x2 * x2;
    return x4 * x4 * x4;
}

static float channel_cost(const struct tune *tune, uint32_t channel, const float *flow)
{
    float cost = 0;
    for (uint32_t k = 0; k < tune->classes; k++) {
        float load = tune->load->channel[k][channel];
        if (flow[k] > 0)
            cost += power((load + flow[k]) * tune->unit[k]) - power(load * tune->unit[k]);
    }
    return cost;
}

/* What it would cost to send the flow over `out` and on from there; stops when it gets too dear. */
static float way_cost(const struct tune *tune, uint32_t out, const float *flow, float limit)
{
    const struct net *net = tune->net;
    float cost = channel_cost(tune, out, flow);
    for (uint32_t at = net->head[out]; at != tune->root && cost < limit;) {
        out = output_of(tune, at);
        cost += channel_cost(tune, out, flow);
        at = net->head[out];
    }
    return cost;
}

/* Could `at` use this output: may all that have joined it turn to it, and does it lead on? */
static bool output_fits(const struct tune *tune, uint32_t at, uint32_t out)
{
    const struct net *net = tune->net;
    uint32_t to = net->head[out];
    const uint64_t *row = turns_row(tune->turns, out), *joined = joined_row(tune, at);
    for (uint32_t w = 0; w < tune->turns->words; w++) {
        if (joined[w] & ~row[w])
            return false;
    }
    if (to == tune->root)
        return true;
    if (tune->next[to] >= LFT_HERE || !turns_allowed(tune->turns, out, output_of(tune, to)))
        return false;
    return tune->longer || tune->hops[to] < tune->hops[at];
}

static void output_change(struct tune *tune, uint32_t at, uint32_t out)
{
    const struct net *net = tune->net;
    uint32_t old = output_of(tune, at), old_slot = net_slot_in(net, old);
    uint32_t slot = net_slot_in(net, out);
    joined_row(tune, net->head[old])[old_slot / 64] &= ~(1ull << (old_slot % 64));
    joined_row(tune, net->head[out])[slot / 64] |= 1ull << (slot % 64);
    tune->next[at] = (uint8_t)(out - net->first[at]);
    tune->hops[at] = tune->hops[net->head[out]] + 1;
    tune->moves++;
}

/* Looks for a better output for one switch. */
static void switch_improve(struct tune *tune, uint32_t at)
{
    const struct net *net = tune->net;
    uint32_t best = output_of(tune, at), old = best;
    float flow[TRAFFIC_CLASSES] = {0};
    for (uint32_t k = 0; k < tune->classes; k++)
        flow[k] = tune->flow[k][at];
    way_add(tune, at, flow, -1);
    float least = way_cost(tune, best, flow, INFINITY) * tune->worth;
    for (uint32_t out = net->first[at]; out < net->first[at + 1]; out++) {
        if (out == old || !output_fits(tune, at, out))
            continue;
        float cost = way_cost(tune, out, flow, least);
        if (cost < least) {
            least = cost;
            best = out;
        }
    }
    if (best != old)
        output_change(tune, at, best);
    way_add(tune, at, flow, 1);
}

/* Does this switch send something over a busy channel? */
static bool is_busy(const struct tune *tune, uint32_t at)
{
    uint32_t out = output_of(tune, at);
    for (uint32_t k = 0; k < tune->classes; k++) {
        if (tune->flow[k][at] > 0 && tune->load->channel[k][out] > tune->busy[k])
            return true;
    }
    return false;
}

/* What a switch sends on, in parts of the busiest channels. */
static float bulk_of(const struct tune *tune, uint32_t at)
{
    float bulk = 0;
    for (uint32_t k = 0; k < tune->classes; k++)
        bulk += tune->flow[k][at] * tune->unit[k];
    return bulk;
}

enum { UNMARKED, HARMLESS, OFFENDING };

/* Follows the way of one source, and lists the switches on it whose way leads over a busy channel.
 * Improving the busiest switch alone may fail where those before it could turn off earlier. */
static void way_judge(struct tune *tune, uint32_t from)
{
    uint32_t count = 0, at = from;
    while (tune->next[at] < LFT_HERE && tune->marked[at] == UNMARKED) {
        tune->path[count++] = at;
        at = tune->net->head[output_of(tune, at)];
    }
    bool offending = tune->marked[at] == OFFENDING;
    uint32_t depth = at == tune->root ? 0 : tune->hops[at];
    while (count-- > 0) {
        at = tune->path[count];
        offending = offending || is_busy(tune, at);
        tune->marked[at] = offending ? OFFENDING : HARMLESS;
        tune->hops[at] = ++depth;
        if (offending)
            tune->offenders[tune->offender_count++] = (struct offender){
                tune->bulky ? bulk_of(tune, at) : 0, depth, at};
    }
}

static int nearer_first(const void *a, const void *b)
{
    const struct offender *x = a, *y = b;
    if (x->flow != y->flow)
        return x->flow > y->flow ? -1 : 1;
    if (x->depth != y->depth)
        return x->depth < y->depth ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void offenders_find(struct tune *tune)
{
    memset(tune->marked, UNMARKED, tune->net->switch_count);
    tune->offender_count = 0;
    for (uint32_t s = 0; s < tune->net->switch_count; s++) {
        bool sends = false;
        for (uint32_t k = 0; k < tune->classes; k++)
            sends = sends || tune->source[k][s] > 0;
        if (sends)
            way_judge(tune, s);
    }
    qsort(tune->offenders, tune->offender_count, sizeof(*tune->offenders), nearer_first);
}

static bool is_spent(const struct tune *tune)
{
    return tune->moves >= tune->moves_max || tune->looks >= tune->looks_max ||
           tune->idle > tune->idle_max;
}

/* Looks at the trees that use busy channels. */
static void pass(struct tune *tune, const struct lft *table, float share)
{
    const struct net *net = tune->net;
    tune_limits_set(tune, share);
    tune_busy_list(tune);
    for (uint32_t t = 0; t < net->host_count && !is_spent(tune); t++) {
        if (!tune_uses_busy(tune, table, t))
            continue;
        uint64_t moves = tune->moves;
        tune->looks++;
        target_take(tune, table, t);
        offenders_find(tune);
        for (uint32_t i = 0; i < tune->offender_count && tune->moves < tune->moves_max; i++)
            switch_improve(tune, tune->offenders[i].at);
        tune->idle = tune->moves == moves ? tune->idle + 1 : 0;
    }
}

int tune_table(struct lft *table, const struct turns *turns, struct load *load,
               struct tune_options *options)
{
    const struct net *net = table->net;
    struct tune tune = {.net = net,
                        .turns = turns,
                        .load = load,
                        .longer = options->longer,
                        .bulky = options->bulky,
                        .goal = options->goal,
                        .worth = options->worth > 0 ? options->worth : ANY_GAIN,
                        .moves_max = options->moves_max ? options->moves_max : UINT64_MAX,
                        .idle_max = options->idle_max ? options->idle_max : UINT32_MAX,
                        .looks_max = options->looks_max ? options->looks_max : UINT64_MAX,
                        .classes = load->traffic->class_count};
    int result = tune_allocate(&tune);
    if (result < 0)
        return result;
    uint32_t idle = 0, rounds_max = options->rounds_max ? options->rounds_max : TUNE_ROUNDS;
    double best = INFINITY; /* the product of the busiest loads of the classes */
    for (uint32_t round = 0; round < rounds_max && idle < TUNE_IDLE && !is_spent(&tune); round++) {
        uint64_t before = tune.moves;
        tune.gaining = idle == 0;
        pass(&tune, table, idle ? 0.8f : 0.95f);
        if (tune.busy_count == 0)
            break;
        double product = tune.most[0] * (tune.classes > 1 ? tune.most[1] : 1);
        bool gained = product < best * 0.999;
        best = gained ? product : best;
        idle = gained ? 0 : idle + 1;
        log_debug("tuning round %u: %llu moves, %llu looks, busiest was %.4f %.4f", round,
                  (unsigned long long)(tune.moves - before), (unsigned long long)tune.looks,
                  tune.most[0], tune.most[1]);
    }
    options->moves = tune.moves;
    arena_free(&tune.memory);
    return 0;
}

int tune_entries(struct lft *table, const struct turns *turns, struct load *load,
                 const struct tune_entry *entries, size_t entry_count, uint32_t rounds)
{
    struct tune tune = {.net = table->net,
                        .turns = turns,
                        .load = load,
                        .worth = ANY_GAIN,
                        .classes = load->traffic->class_count};
    int result = tune_allocate(&tune);
    if (result < 0)
        return result;
    for (uint32_t round = 0; round < rounds; round++) {
        tune_limits_set(&tune, 0);
        for (size_t i = 0; i < entry_count; i++) {
            if (entries[i].target >= table->net->host_count)
                continue;
            if (i == 0 || entries[i].target != entries[i - 1].target)
                target_take(&tune, table, entries[i].target);
            if (tune.next[entries[i].at] < LFT_HERE)
                switch_improve(&tune, entries[i].at);
        }
    }
    arena_free(&tune.memory);
    return 0;
}
