/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See load.h.
 */
#include "route/tables/load.h"

#include "base/error.h"
#include "base/parallel.h"

#define LOAD_PARTS 8 /* fixed, so that rounding does not depend on the number of threads */

int load_create(struct load **out, const struct traffic *traffic)
{
    const struct net *net = traffic->net;
    struct load *load = arena_owner(sizeof(*load));
    for (uint32_t k = 0; load && k < traffic->class_count; k++)
        ARENA_TAKE(&load->memory, load->channel[k], net->channel_count + 1);
    if (!load || load->memory.is_short) {
        load_destroy(load);
        return error_fail(-ENOMEM, "no memory for the loads of %u channels", net->channel_count);
    }
    load->net = net;
    load->traffic = traffic;
    *out = load;
    return 0;
}

void load_destroy(struct load *load)
{
    arena_owner_free(load);
}

void load_tree_add(struct load *load, const struct load_tree *tree, float *flow)
{
    const struct net *net = load->net;
    if (tree->target >= net->host_count)
        return;
    for (uint32_t k = 0; k < load->traffic->class_count; k++) {
        traffic_sources(load->traffic, tree->target, k, flow);
        /* farthest first: when a switch's turn comes, all that flows through it is known */
        for (uint32_t i = tree->order_count; i-- > 1;) {
            uint32_t at = tree->order[i];
            uint32_t channel = net->first[at] + tree->next[at];
            load->channel[k][channel] += tree->sign * flow[at];
            flow[net->head[channel]] += flow[at];
        }
    }
}

struct table_load {
    const struct lft *table;
    struct load *part[LOAD_PARTS];
    _Atomic bool failed;
};

static void table_part(void *context, uint32_t part)
{
    struct table_load *job = context;
    const struct net *net = job->table->net;
    struct arena memory = {0};
    uint32_t *order = ARENA_TAKE(&memory, order, net->switch_count);
    uint32_t *scratch = ARENA_TAKE(&memory, scratch, LFT_SCRATCH(net));
    float *flow = ARENA_TAKE(&memory, flow, net->switch_count);
    if (memory.is_short)
        job->failed = true;
    for (uint32_t t = part; !memory.is_short && t < net->host_count; t += LOAD_PARTS) {
        uint32_t count = lft_tree_order(job->table, t, order, scratch);
        struct load_tree tree = {.next = lft_tree(job->table, t),
                                 .order = order,
                                 .order_count = count,
                                 .target = t,
                                 .sign = 1};
        load_tree_add(job->part[part], &tree, flow);
    }
    arena_free(&memory);
}

int load_of_table(struct load *load, const struct lft *table)
{
    struct table_load job = {.table = table};
    int result = 0;
    for (uint32_t i = 0; i < LOAD_PARTS && result == 0; i++)
        result = load_create(&job.part[i], load->traffic);
    if (result == 0) {
        parallel_run(LOAD_PARTS, table_part, &job);
        if (job.failed)
            result = error_fail(-ENOMEM, "no memory to add up the loads");
    }
    for (uint32_t i = 0; i < LOAD_PARTS; i++) {
        for (uint32_t k = 0; result == 0 && k < load->traffic->class_count; k++) {
            for (uint32_t c = 0; c < load->net->channel_count; c++)
                load->channel[k][c] += job.part[i]->channel[k][c];
        }
        load_destroy(job.part[i]);
    }
    return result;
}

double load_max(const struct load *load, uint32_t class)
{
    double most = traffic_host_load(load->traffic, class);
    for (uint32_t c = 0; c < load->net->channel_count; c++) {
        if (load->channel[class][c] > most)
            most = load->channel[class][c];
    }
    return most;
}

double load_throughput(const struct load *load, uint32_t class)
{
    double most = load_max(load, class);
    return most > 0 ? 1.0 / most : 1.0;
}
