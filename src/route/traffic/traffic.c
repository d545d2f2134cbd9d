/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Traffic models that follow from the fabric alone. See traffic.h; traffic_read.c has the measured
 * ones.
 */
#include "route/traffic/traffic.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* Cables that leave each group. */
static void group_exits_count(const struct traffic *traffic, uint32_t *exits)
{
    const struct net *net = traffic->net;
    for (uint32_t c = 0; c < net->channel_count; c++) {
        uint32_t from = traffic->group_of_switch[net->tail[c]];
        if (traffic->group_of_switch[net->head[c]] != from)
            exits[from]++;
    }
}

static int rates_fill(struct traffic *traffic)
{
    uint32_t groups = traffic->group_count;
    const uint32_t *hosts = traffic->group_hosts;
    uint32_t *exits = calloc(groups, sizeof(*exits));
    if (!exits)
        return error_fail(-ENOMEM, "no memory for %u groups", groups);
    group_exits_count(traffic, exits);
    for (uint32_t g = 0; g < groups; g++) {
        uint32_t others = traffic->net->host_count - hosts[g];
        traffic->inside_rate[g] = hosts[g] > 1 ? 1.0 / (hosts[g] - 1) : 0;
        for (uint32_t h = 0; h < groups; h++) {
            double sent = hosts[g] ? (double)exits[g] / hosts[g] : 0;
            traffic->between_rate[g * groups + h] = h != g && others ? sent / others : 0;
        }
    }
    free(exits);
    return 0;
}

static bool arrays_allocate(struct traffic *traffic)
{
    const struct net *net = traffic->net;
    uint32_t groups = traffic->group_count;
    ARENA_TAKE(&traffic->memory, traffic->group, net->target_count + 1);
    ARENA_TAKE(&traffic->memory, traffic->group_of_switch, net->switch_count);
    ARENA_TAKE(&traffic->memory, traffic->group_hosts, groups);
    ARENA_TAKE(&traffic->memory, traffic->switch_hosts, (size_t)net->switch_count * groups);
    ARENA_TAKE(&traffic->memory, traffic->inside_rate, groups);
    ARENA_TAKE(&traffic->memory, traffic->between_rate, (size_t)groups * groups);
    ARENA_TAKE(&traffic->memory, traffic->group_source,
               (size_t)traffic->class_count * groups * net->switch_count);
    return !traffic->memory.is_short;
}

/* What a switch's hosts send to one host of a group. */
static float group_source(const struct traffic *traffic, uint32_t group, uint32_t class,
                          uint32_t at)
{
    uint32_t groups = traffic->group_count;
    const uint32_t *hosts = traffic->switch_hosts + (size_t)at * groups;
    double sum = class == 0 ? hosts[group] * traffic->inside_rate[group] : 0;
    for (uint32_t g = 0; class == 1 && g < groups; g++)
        sum += hosts[g] * traffic->between_rate[g * groups + group];
    return (float)sum;
}

static void group_sources_fill(struct traffic *traffic)
{
    float *source = traffic->group_source;
    for (uint32_t k = 0; k < traffic->class_count; k++) {
        for (uint32_t g = 0; g < traffic->group_count; g++) {
            for (uint32_t s = 0; s < traffic->net->switch_count; s++)
                *source++ = group_source(traffic, g, k, s);
        }
    }
}

static int traffic_make(struct traffic **out, const struct net *net, uint32_t group_count)
{
    struct traffic *traffic = arena_owner(sizeof(*traffic));
    if (traffic) {
        traffic->net = net;
        traffic->group_count = group_count;
        traffic->class_count = group_count > 1 ? 2 : 1;
        traffic->between_weight = 1;
    }
    if (!traffic || !arrays_allocate(traffic)) {
        traffic_destroy(traffic);
        return error_fail(-ENOMEM, "no memory for the traffic of %u hosts", net->host_count);
    }
    const struct fabric_node *nodes = net->fabric->nodes;
    for (uint32_t s = 0; group_count > 1 && s < net->switch_count; s++)
        traffic->group_of_switch[s] = nodes[net->node[s]].group;
    for (uint32_t t = 0; t < net->host_count; t++) {
        if (group_count > 1)
            traffic->group[t] = nodes[net->target_node[t]].group;
        traffic->group_hosts[traffic->group[t]]++;
        traffic->switch_hosts[net->target_switch[t] * group_count + traffic->group[t]]++;
    }
    int result = rates_fill(traffic);
    if (result < 0) {
        traffic_destroy(traffic);
        return result;
    }
    group_sources_fill(traffic);
    *out = traffic;
    return 0;
}

int traffic_uniform(struct traffic **traffic, const struct net *net)
{
    return traffic_make(traffic, net, 1);
}

int traffic_groups(struct traffic **traffic, const struct net *net, double between_weight)
{
    uint32_t count = net->fabric->group_count;
    int result = traffic_make(traffic, net, count ? count : 1);
    if (result == 0)
        (*traffic)->between_weight = between_weight;
    return result;
}

void traffic_destroy(struct traffic *traffic)
{
    if (!traffic)
        return;
    free(traffic->out_share);
    free(traffic->in_share);
    free(traffic->matrix);
    arena_owner_free(traffic);
}

float traffic_source(const struct traffic *traffic, uint32_t target, uint32_t class, uint32_t at)
{
    if (target >= traffic->net->host_count || class >= traffic->class_count)
        return 0;
    if (traffic->matrix)
        return traffic->matrix[(size_t)target * traffic->net->switch_count + at];
    if (traffic->out_share)
        return (float)(traffic->out_share[at] * traffic->in_share[target]);
    size_t row = class * traffic->group_count + traffic->group[target];
    return traffic->group_source[row * traffic->net->switch_count + at];
}

void traffic_sources(const struct traffic *traffic, uint32_t target, uint32_t class, float *source)
{
    const struct net *net = traffic->net;
    if (target < net->host_count && !traffic->matrix && !traffic->out_share) {
        size_t row = class * traffic->group_count + traffic->group[target];
        memcpy(source, traffic->group_source + row * net->switch_count,
               net->switch_count * sizeof(*source));
        return;
    }
    for (uint32_t s = 0; s < net->switch_count; s++)
        source[s] = traffic_source(traffic, target, class, s);
}

void traffic_weights(const struct traffic *traffic, uint32_t at, double *source)
{
    const struct net *net = traffic->net;
    uint32_t groups = traffic->group_count;
    const uint32_t *here = traffic->switch_hosts + (size_t)at * groups;
    memset(source, 0, net->switch_count * sizeof(*source));
    for (uint32_t t = net->host_first[at]; t < net->host_first[at + 1]; t++) {
        for (uint32_t s = 0; traffic->matrix && s < net->switch_count; s++)
            source[s] += traffic->matrix[(size_t)t * net->switch_count + s];
        for (uint32_t s = 0; traffic->out_share && s < net->switch_count; s++)
            source[s] += traffic->out_share[s] * traffic->in_share[t];
    }
    if (traffic->matrix || traffic->out_share)
        return;
    for (uint32_t s = 0; s < net->switch_count; s++) {
        const uint32_t *there = traffic->switch_hosts + (size_t)s * groups;
        for (uint32_t g = 0; g < groups; g++) {
            for (uint32_t h = 0; h < groups; h++)
                source[s] += (double)there[g] * here[h] * (g == h ? 1 : traffic->between_weight);
        }
    }
}

double traffic_host_load(const struct traffic *traffic, uint32_t class)
{
    double most = 0;
    if (traffic->matrix || traffic->out_share)
        return class == 0; /* scaled to that when it was read */
    uint32_t groups = traffic->group_count;
    const uint32_t *hosts = traffic->group_hosts;
    for (uint32_t g = 0; g < groups; g++) {
        double out = class == 0 ? traffic->inside_rate[g] * (hosts[g] - 1.0) : 0;
        for (uint32_t h = 0; class == 1 && h < groups; h++)
            out += traffic->between_rate[g * groups + h] * hosts[h];
        if (out > most)
            most = out;
    }
    return most;
}
