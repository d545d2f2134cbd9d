/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who sends how much to whom.
 *
 * Traffic has one or two classes, each scaled so that 1.0 on a link is what the link carries. With
 * one group of hosts there is one class: every host sends 1.0 in all. With several groups class 0
 * is the traffic inside groups (every host sends 1.0 to its own group) and class 1 the traffic
 * between them (every host sends p/n, p cables leaving a group of n hosts). The classes are judged
 * separately, as the paper does. For deciding which turn matters more they are added up, with the
 * weight the user gives to traffic between groups.
 */
#pragma once

#include "base/arena.h"
#include "route/fabric/net.h"
#include "route/formats/source.h"

#define TRAFFIC_CLASSES 2

struct traffic {
    struct arena memory; /* of the arrays */
    const struct net *net;
    uint32_t class_count;
    uint32_t group_count;
    double between_weight; /* of one pair between groups; a pair inside one weighs 1 */
    uint32_t *group;       /* target -> group; hosts only */
    uint32_t *group_of_switch;
    uint32_t *group_hosts;  /* [group]: its hosts */
    uint32_t *switch_hosts; /* [switch * group_count + group]: hosts of that group there */
    double *inside_rate;    /* [group]: from one host to one host inside */
    double *between_rate;   /* [source group * group_count + target group] */
    float *group_source;    /* [(class * group_count + target group) * switch_count + switch] */
    double *out_share;      /* [switch] sum over hosts of measured output; NULL: all alike */
    double *in_share;       /* [target] measured input */
    float *matrix;          /* [target * switch_count + source switch]; NULL: none */
};

int traffic_uniform(struct traffic **traffic, const struct net *net);

/* Groups as the fabric's nodes carry them; with fewer than two this is uniform traffic. */
int traffic_groups(struct traffic **traffic, const struct net *net, double between_weight);

/* Lines "SOURCE TARGET AMOUNT" with host names; amounts are scaled so that the busiest host sends
 * or receives 1.0. */
int traffic_matrix_parse(struct traffic **traffic, const struct net *net, struct lines *source);

/* Lines "HOST SENT RECEIVED" from port counters: each host's output is spread over the others in
 * proportion to what they receive. */
int traffic_counters_parse(struct traffic **traffic, const struct net *net, struct lines *source);

void traffic_destroy(struct traffic *traffic);

/* source[switch] = what the hosts of each switch send to this target in a class. Switches as
 * targets receive nothing. */
void traffic_sources(const struct traffic *traffic, uint32_t target, uint32_t class, float *source);

/* The same for one switch only. */
float traffic_source(const struct traffic *traffic, uint32_t target, uint32_t class, uint32_t at);

/* source[switch] = weight of what each switch's hosts send to all hosts of a switch. */
void traffic_weights(const struct traffic *traffic, uint32_t at, double *source);

/* The class that matters where a switch chooses its way to a target. */
static inline uint32_t traffic_class(const struct traffic *traffic, uint32_t at, uint32_t target)
{
    if (traffic->class_count < 2 || target >= traffic->net->host_count)
        return 0;
    return traffic->group_of_switch[at] != traffic->group[target];
}

/* The load that the busiest host cable carries in a class, whatever the routing. */
double traffic_host_load(const struct traffic *traffic, uint32_t class);
