/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files for a simulated network's plan: paths of source routing, speeds and lengths of links.
 */
#include "base/array.h"
#include "base/error.h"
#include "base/lines.h"
#include "base/text.h"
#include "plan/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NOTHING UINT32_MAX

struct paths {
    struct sim_plan *plan;
    const struct net *net;
    size_t capacity;
};

static int step_push(struct paths *paths, struct network_step step)
{
    struct network_plan *plan = &paths->plan->plan;
    if (!array_grow(&paths->plan->steps, &paths->capacity, (size_t)plan->step_count + 1))
        return error_fail(-ENOMEM, "no memory for %u steps", plan->step_count + 1);
    plan->steps = paths->plan->steps;
    paths->plan->steps[plan->step_count++] = step;
    if (step.lane >= plan->lane_count)
        plan->lane_count = step.lane + 1u;
    return 0;
}

static int step_add(struct paths *paths, const struct lines_place *place, char *word)
{
    uint64_t port, lane = 0;
    char *slash = strchr(word, '/');
    if (slash)
        *slash = '\0';
    if (!text_to_u64(word, &port) || port == 0 || port > FABRIC_PORTS_MAX ||
        (slash && (!text_to_u64(slash + 1, &lane) || lane >= NETWORK_LANES_MAX)))
        return lines_wrong(place, "no port, or no port/lane:", word);
    return step_push(paths, (struct network_step){(uint8_t)port, (uint8_t)lane});
}

/* Follows the steps of a path: do they lead to the host? */
static int path_check(const struct paths *paths, const struct lines_place *place, uint32_t at,
                      uint32_t target, uint32_t first)
{
    const struct net *net = paths->net;
    const struct network_plan *plan = &paths->plan->plan;
    for (uint32_t i = first; i + 1 < plan->step_count; i++) {
        uint32_t c = net->first[at];
        while (c < net->first[at + 1] && net->port[c] != plan->steps[i].port)
            c++;
        if (c == net->first[at + 1])
            return lines_wrong(place, "the path leaves the network at", net_name(net, at));
        at = net->head[c];
    }
    if (plan->step_count == first || at != net->target_switch[target] ||
        plan->steps[plan->step_count - 1].port != net->target_port[target])
        return lines_wrong(place, "the path does not end at its host but at", net_name(net, at));
    return 0;
}

static int path_take(void *context, const struct lines_place *place, char *line)
{
    struct paths *paths = context;
    const struct net *net = paths->net;
    char *rest = NULL, *from = strtok_r(line, " \t", &rest), *to = strtok_r(NULL, " \t", &rest);
    uint32_t node = from ? fabric_node_find(net->fabric, from) : FABRIC_NONE;
    if (node == FABRIC_NONE || net->switch_index[node] == FABRIC_NONE)
        return lines_wrong(place, "no switch has the name", from);
    uint32_t host = to ? fabric_node_find(net->fabric, to) : FABRIC_NONE, target = 0;
    while (target < net->host_count && net->target_node[target] != host)
        target++;
    if (target == net->host_count)
        return lines_wrong(place, "no host has the name", to);
    uint32_t at = net->switch_index[node], first = paths->plan->plan.step_count;
    int result = 0;
    for (char *word; result == 0 && (word = strtok_r(NULL, " \t", &rest)) != NULL;)
        result = step_add(paths, place, word);
    if (result == 0)
        result = path_check(paths, place, at, target, first);
    paths->plan->path_to[(size_t)at * net->host_count + target] = first;
    return result;
}

/* Files have no paths inside a switch: nobody needs to be told those. */
static int short_paths_add(struct paths *paths)
{
    const struct net *net = paths->net;
    int result = 0;
    for (uint32_t target = 0; result == 0 && target < net->host_count; target++) {
        size_t pair = (size_t)net->target_switch[target] * net->host_count + target;
        if (paths->plan->path_to[pair] != NOTHING)
            continue;
        paths->plan->path_to[pair] = paths->plan->plan.step_count;
        result = step_push(paths, (struct network_step){net->target_port[target], 0});
    }
    return result;
}

int sim_plan_by_paths(struct sim_plan *plan, const struct net *net, const char *path)
{
    struct paths paths = {plan, net, 0};
    size_t pairs = (size_t)net->switch_count * net->host_count;
    int result = sim_plan_begin(plan, net);
    if (result == 0 && !ARENA_TAKE(&plan->memory, plan->path_to, pairs))
        result = error_fail(-ENOMEM, "no memory for %zu paths", pairs);
    if (result == 0) {
        memset(plan->path_to, 0xff, pairs * sizeof(*plan->path_to));
        plan->plan.path_to = plan->path_to;
        result = lines_read(path, &paths, path_take);
    }
    if (result == 0 && plan->plan.step_count == 0)
        result = error_fail(-EINVAL, "%s has no paths", path);
    if (result == 0)
        result = short_paths_add(&paths);
    if (result < 0)
        sim_plan_free(plan);
    return result;
}

struct wishes {
    struct sim_plan *plan;
    const struct net *net;
};

/* The number in the plan of the node with this name, NOTHING if there is none. */
static uint32_t node_number(const struct net *net, const char *name)
{
    uint32_t node = name ? fabric_node_find(net->fabric, name) : FABRIC_NONE;
    if (node == FABRIC_NONE)
        return NOTHING;
    if (net->switch_index[node] != FABRIC_NONE)
        return net->switch_index[node];
    for (uint32_t i = 0; i < net->host_count; i++) {
        if (net->target_node[i] == node)
            return net->switch_count + i;
    }
    return NOTHING;
}

static int wish_take(void *context, const struct lines_place *place, char *line)
{
    struct wishes *wishes = context;
    char *rest = NULL, *name = strtok_r(line, " \t", &rest);
    uint32_t node = node_number(wishes->net, name);
    uint64_t number[3];
    if (node == NOTHING)
        return lines_wrong(place, "no node has the name", name);
    for (int i = 0; i < 3; i++) {
        const char *word = strtok_r(NULL, " \t", &rest);
        if (!word || !text_to_u64(word, &number[i]) || number[i] > 1000000)
            return lines_wrong(place, "after the node follow port, Mbit/s and metres, not", word);
    }
    for (uint32_t i = 0; i < wishes->plan->plan.link_count; i++) {
        struct network_link *link = &wishes->plan->links[i];
        if ((link->a.node == node && link->a.port == number[0]) ||
            (link->b.node == node && link->b.port == number[0])) {
            link->mbps = (uint32_t)number[1];
            link->metres = (uint32_t)number[2];
            return 0;
        }
    }
    return lines_wrong(place, "there is no cable in that port of", name);
}

int sim_plan_links_read(struct sim_plan *plan, const struct net *net, const char *path)
{
    struct wishes wishes = {plan, net};
    return lines_read(path, &wishes, wish_take);
}
