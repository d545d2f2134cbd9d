/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See paths.h.
 *
 * For each switch with hosts a search backwards over turns gives every channel its distance. Then
 * the sources choose their paths one after the other, each channel knowing what the cheapest way on
 * from it costs. After a path is chosen only the channels on it are priced anew: what others
 * believe about them is a few paths out of date at most, which evens out.
 */
#include "route/routing/paths.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/parallel.h"
#include "route/tables/lanes.h"
#include "route/trees/price.h"

#include <string.h>

#define STRANDS  2
#define HOPS_MAX 4096

struct strand {
    struct arena memory; /* of the arrays */
    const struct routing *routing;
    struct load *load;
    struct price *price;
    uint32_t *distance; /* channel -> channels up to and including the last one */
    uint32_t *order;    /* channels by distance */
    uint32_t order_count;
    uint64_t *seen;                  /* switch -> in-slots met by the search */
    uint64_t *cost[TRAFFIC_CLASSES]; /* channel -> cost from here to the root */
    uint32_t *path;
    float *source[TRAFFIC_CLASSES];
    uint32_t switch_from, switch_end;
    FILE *out;
    uint32_t lost_from, lost_to;
    bool lost, failed;
};

static void strand_free(struct strand *strand)
{
    arena_free(&strand->memory);
    price_destroy(strand->price);
    load_destroy(strand->load);
}

static int strand_prepare(struct strand *strand)
{
    const struct net *net = strand->routing->net;
    size_t channels = net->channel_count + 1u;
    int result = load_create(&strand->load, strand->routing->traffic);
    if (result == 0)
        result = price_create(&strand->price, strand->load, strand->routing->turns);
    if (result == 0)
        strand->price->sharp = true;
    ARENA_TAKE(&strand->memory, strand->distance, channels);
    ARENA_TAKE(&strand->memory, strand->order, channels);
    ARENA_TAKE(&strand->memory, strand->path, HOPS_MAX);
    ARENA_TAKE(&strand->memory, strand->seen,
               (size_t)net->switch_count * strand->routing->turns->words);
    for (uint32_t k = 0; k < TRAFFIC_CLASSES; k++) {
        ARENA_TAKE(&strand->memory, strand->cost[k], channels);
        ARENA_TAKE(&strand->memory, strand->source[k], net->switch_count);
    }
    if (result == 0 && strand->memory.is_short)
        result = error_fail(-ENOMEM, "no memory for paths over %u channels", net->channel_count);
    return result;
}

/* Distances of all channels to a switch, over allowed turns, nearest first. */
static void search(struct strand *strand, uint32_t root)
{
    const struct net *net = strand->routing->net;
    const struct turns *turns = strand->routing->turns;
    uint32_t words = turns->words;
    memset(strand->distance, 0xff, net->channel_count * sizeof(uint32_t));
    memset(strand->seen, 0, (size_t)net->switch_count * words * sizeof(uint64_t));
    strand->order_count = 0;
    for (uint32_t c = net->first[root]; c < net->first[root + 1]; c++) {
        strand->distance[net->reverse[c]] = 1;
        strand->order[strand->order_count++] = net->reverse[c];
    }
    for (uint32_t i = 0; i < strand->order_count; i++) {
        uint32_t channel = strand->order[i], at = net->tail[channel];
        const uint64_t *row = turns_row(turns, channel);
        uint64_t *seen = strand->seen + (size_t)at * words;
        for (uint32_t w = 0; w < words && at != root; w++) {
            uint64_t fresh = row[w] & ~seen[w];
            seen[w] |= fresh;
            for (; fresh; fresh &= fresh - 1) {
                uint32_t slot = w * 64 + (uint32_t)__builtin_ctzll(fresh);
                uint32_t before = net->reverse[net->first[at] + slot];
                if (strand->distance[before] != UINT32_MAX)
                    continue;
                strand->distance[before] = strand->distance[channel] + 1;
                strand->order[strand->order_count++] = before;
            }
        }
    }
}

/* The cheapest channel to go on with. */
static uint32_t next_find(const struct strand *strand, uint32_t channel, uint32_t class)
{
    const struct net *net = strand->routing->net;
    uint32_t first = net->first[net->head[channel]], best = UINT32_MAX;
    uint32_t distance = strand->distance[channel] - 1;
    const uint64_t *row = turns_row(strand->routing->turns, net->reverse[channel]);
    for (uint32_t w = 0; w < strand->routing->turns->words; w++) {
        for (uint64_t bits = row[w]; bits; bits &= bits - 1) {
            uint32_t next = first + w * 64 + (uint32_t)__builtin_ctzll(bits);
            if (strand->distance[next] == distance &&
                (best == UINT32_MAX || strand->cost[class][next] < strand->cost[class][best]))
                best = next;
        }
    }
    return best;
}

static void cost_fill(struct strand *strand, uint32_t channel, uint32_t class)
{
    uint64_t cost = strand->price->of[class][channel];
    if (strand->distance[channel] > 1)
        cost += strand->cost[class][next_find(strand, channel, class)];
    strand->cost[class][channel] = cost;
}

/* All costs anew. Traffic inside a group spreads by itself, as every switch has its own cables up;
 * for traffic between groups many compete for few cables, so it needs this before every target. */
static void costs_fill(struct strand *strand, uint32_t class)
{
    for (uint32_t i = 0; i < strand->order_count; i++)
        cost_fill(strand, strand->order[i], class);
}

/* The way from a switch: among the nearest first channels the cheapest. Returns its length. */
static uint32_t path_find(struct strand *strand, uint32_t from, uint32_t class)
{
    const struct net *net = strand->routing->net;
    uint32_t at = UINT32_MAX, count = 0;
    for (uint32_t c = net->first[from]; c < net->first[from + 1]; c++) {
        if (strand->distance[c] == UINT32_MAX)
            continue;
        if (at == UINT32_MAX || strand->distance[c] < strand->distance[at] ||
            (strand->distance[c] == strand->distance[at] &&
             strand->cost[class][c] < strand->cost[class][at]))
            at = c;
    }
    while (at != UINT32_MAX && count < HOPS_MAX) {
        strand->path[count++] = at;
        at = strand->distance[at] > 1 ? next_find(strand, at, class) : UINT32_MAX;
    }
    return count;
}

static void path_write(const struct strand *strand, uint32_t from, uint32_t target, uint32_t count)
{
    const struct routing *routing = strand->routing;
    const struct net *net = routing->net;
    uint32_t lane = 0;
    fprintf(strand->out, "%s %s", net_name(net, from),
            net->fabric->nodes[net->target_node[target]].name);
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0)
            lane += lanes_raise(net, routing->algorithm->lanes, net->tail[strand->path[i]]);
        fprintf(strand->out, " %u", net->port[strand->path[i]]);
        if (routing->lane_count > 1)
            fprintf(strand->out, "/%u", lane);
    }
    fprintf(strand->out, " %u\n", net->target_port[target]);
}

static bool crosses_groups(const struct strand *strand, uint32_t channel)
{
    const struct net *net = strand->routing->net;
    const uint32_t *group = strand->routing->traffic->group_of_switch;
    return group[net->tail[channel]] != group[net->head[channel]];
}

/* Tells the channels before one what it costs now. */
static void news_spread(struct strand *strand, uint32_t channel, uint32_t class)
{
    const struct net *net = strand->routing->net;
    uint32_t first = net->first[net->tail[channel]];
    const uint64_t *row = turns_row(strand->routing->turns, channel);
    for (uint32_t w = 0; w < strand->routing->turns->words; w++) {
        for (uint64_t bits = row[w]; bits; bits &= bits - 1) {
            uint32_t before = net->reverse[first + w * 64 + (uint32_t)__builtin_ctzll(bits)];
            if (strand->distance[before] == strand->distance[channel] + 1)
                cost_fill(strand, before, class);
        }
    }
}

/* Chooses the path of one source and target, adds its load, and tells the channels on it. */
static void pair_route(struct strand *strand, uint32_t from, uint32_t target)
{
    const struct traffic *traffic = strand->routing->traffic;
    uint32_t class = traffic_class(traffic, from, target);
    uint32_t count = path_find(strand, from, class);
    if (count == 0) {
        strand->lost = true;
        strand->lost_from = from;
        strand->lost_to = target;
        return;
    }
    for (uint32_t i = count; i-- > 0;) {
        for (uint32_t k = 0; k < traffic->class_count; k++)
            strand->load->channel[k][strand->path[i]] += strand->source[k][from];
        price_update(strand->price, strand->path[i]);
        cost_fill(strand, strand->path[i], class);
        /* cables between groups are what all compete for: their price must be known at once */
        if (class > 0 && crosses_groups(strand, strand->path[i]))
            news_spread(strand, strand->path[i], class);
    }
    if (strand->out)
        path_write(strand, from, target, count);
}

static void strand_run(void *context, uint32_t part)
{
    struct strand *strand = &((struct strand *)context)[part];
    const struct net *net = strand->routing->net;
    const struct traffic *traffic = strand->routing->traffic;
    for (uint32_t root = strand->switch_from; root < strand->switch_end && !strand->lost; root++) {
        if (!net_has_hosts(net, root))
            continue;
        search(strand, root);
        for (uint32_t t = net->host_first[root]; t < net->host_first[root + 1]; t++) {
            for (uint32_t k = 0; k < traffic->class_count; k++) {
                traffic_sources(traffic, t, k, strand->source[k]);
                if (k > 0 || t == net->host_first[root])
                    costs_fill(strand, k);
            }
            for (uint32_t s = 0; s < net->switch_count; s++) {
                if (s != root && net_has_hosts(net, s))
                    pair_route(strand, s, t);
            }
        }
        price_settle(strand->price);
    }
}

int paths_route(const struct routing *routing, struct load *load, FILE *out)
{
    struct strand strands[STRANDS] = {0};
    const struct net *net = routing->net;
    uint32_t count = !out && net->channel_count > 20000 ? STRANDS : 1;
    int result = 0;
    for (uint32_t i = 0; i < count && result == 0; i++) {
        strands[i].routing = routing;
        strands[i].out = out;
        strands[i].switch_from = (uint32_t)((uint64_t)net->switch_count * i / count);
        strands[i].switch_end = (uint32_t)((uint64_t)net->switch_count * (i + 1) / count);
        result = strand_prepare(&strands[i]);
    }
    if (result == 0)
        parallel_run(count, strand_run, strands);
    for (uint32_t i = 0; i < count; i++) {
        struct strand *strand = &strands[i];
        if (result == 0 && strand->lost)
            result = error_fail(-ENETUNREACH, "no allowed path leads from '%s' to '%s'",
                                net_name(net, strand->lost_from),
                                net->fabric->nodes[net->target_node[strand->lost_to]].name);
        for (uint32_t k = 0; result == 0 && k < routing->traffic->class_count; k++) {
            for (uint32_t c = 0; c < net->channel_count; c++)
                load->channel[k][c] += strand->load->channel[k][c];
        }
        strand_free(strand);
    }
    return result;
}
