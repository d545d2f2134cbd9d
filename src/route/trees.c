/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See trees.h.
 *
 * Large networks are built in two strands, each with one half of the targets and a load of its own;
 * now and then both add what the other has done. The halves are halves of the switch numbers, so
 * the pods and trees of a regular network stay together. Small networks are built in one strand,
 * which balances best. Threads change the time and nothing else.
 */
#include "route/trees.h"

#include "base/error.h"
#include "route/grow.h"
#include "route/parallel.h"
#include "route/tune.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define STRANDS_MAX     2
#define BATCHES         32
#define SMALL_WORK      (1ull << 26) /* targets x channels below which one strand is quick enough */
#define TUNE_WORK_LARGE 50000000ull  /* table entries looked at while tuning */
#define TUNE_ROUNDS     100

struct strand {
    struct grow *grow;
    struct load *load;
    uint32_t target, target_end; /* still to do */
    uint32_t batch_end;
};

struct trees {
    struct routing *routing;
    struct reach *reach;
    struct strand strands[STRANDS_MAX];
    uint32_t strand_count;
    struct load *before; /* at the last exchange */
};

static void strand_run(void *context, uint32_t part)
{
    struct trees *build = context;
    struct strand *strand = &build->strands[part];
    for (; strand->target < strand->batch_end; strand->target++) {
        uint8_t *next = lft_tree(build->routing->lft, strand->target);
        grow_tree(strand->grow, strand->target, next);
        grow_tree_load(strand->grow, strand->target, next, 1);
    }
}

/* Everybody's load becomes the last common one plus what each strand has added since. */
static void loads_exchange(struct trees *build)
{
    const struct net *net = build->routing->net;
    for (uint32_t k = 0; k < build->routing->traffic->class_count; k++) {
        for (uint32_t c = 0; c < net->channel_count; c++) {
            float base = build->before->channel[k][c], sum = base;
            for (uint32_t i = 0; i < build->strand_count; i++)
                sum += build->strands[i].load->channel[k][c] - base;
            build->before->channel[k][c] = sum;
            for (uint32_t i = 0; i < build->strand_count; i++)
                build->strands[i].load->channel[k][c] = sum;
        }
    }
    for (uint32_t i = 0; i < build->strand_count; i++)
        price_fill(build->strands[i].grow->price);
}

static void hosts_build(struct trees *build, const struct routing_options *options)
{
    uint32_t host_count = build->routing->net->host_count, strands = build->strand_count;
    for (uint32_t i = 0; i < strands; i++) {
        build->strands[i].target = (uint32_t)((uint64_t)host_count * i / strands);
        build->strands[i].target_end = (uint32_t)((uint64_t)host_count * (i + 1) / strands);
    }
    uint32_t step = host_count / strands / BATCHES + 1;
    for (uint32_t done = 0; done < host_count; done += step * strands) {
        for (uint32_t i = 0; i < strands; i++) {
            struct strand *strand = &build->strands[i];
            uint32_t left = strand->target_end - strand->target;
            strand->batch_end = strand->target + (left < step ? left : step);
        }
        parallel_run(strands, strand_run, build);
        if (strands > 1)
            loads_exchange(build);
        if (options && options->progress)
            options->progress(options->progress_context, (double)done / host_count);
    }
    /* the last batch may leave a remainder when the halves are uneven */
    for (uint32_t i = 0; i < strands; i++)
        build->strands[i].batch_end = build->strands[i].target_end;
    parallel_run(strands, strand_run, build);
}

/* Trees of the switches themselves carry no load: they can be shared out freely. */
static void switches_build(struct trees *build)
{
    const struct net *net = build->routing->net;
    for (uint32_t i = 0; i < build->strand_count; i++) {
        build->strands[i].target = net->host_count + (uint32_t)((uint64_t)net->switch_count * i /
                                                                build->strand_count);
        build->strands[i].batch_end = net->host_count + (uint32_t)((uint64_t)net->switch_count *
                                                                   (i + 1) / build->strand_count);
    }
    parallel_run(build->strand_count, strand_run, build);
}

static int build_prepare(struct trees *build)
{
    struct routing *routing = build->routing;
    const struct net *net = routing->net;
    uint64_t work = (uint64_t)net->target_count * net->channel_count;
    build->strand_count = work > SMALL_WORK ? STRANDS_MAX : 1;
    int result = 0;
    if (routing->algorithm->loop_free)
        result = reach_create(&build->reach, routing->turns);
    if (result == 0)
        result = load_create(&build->before, routing->traffic);
    for (uint32_t i = 0; i < build->strand_count && result == 0; i++) {
        result = load_create(&build->strands[i].load, routing->traffic);
        if (result == 0)
            result = grow_create(&build->strands[i].grow, routing->turns, build->reach,
                                 build->strands[i].load);
    }
    return result;
}

static int tune(struct routing *routing)
{
    uint64_t entries = (uint64_t)routing->net->host_count * routing->net->switch_count;
    uint64_t work = TUNE_ROUNDS * entries;
    struct tune_options options = {.work_max = work < TUNE_WORK_LARGE ? work : TUNE_WORK_LARGE,
                                   .longer = routing->algorithm->lanes == ALGORITHM_ONE_LANE &&
                                             routing->algorithm->loop_free};
    return tune_table(routing->lft, routing->turns, routing->load, &options);
}

int trees_build(struct routing *routing, const struct routing_options *options)
{
    struct trees build = {.routing = routing};
    int result = build_prepare(&build);
    if (result == 0) {
        hosts_build(&build, options);
        if (build.strand_count > 1)
            loads_exchange(&build);
        switches_build(&build);
        const struct load *sum = build.strand_count > 1 ? build.before : build.strands[0].load;
        for (uint32_t k = 0; k < routing->traffic->class_count; k++)
            memcpy(routing->load->channel[k], sum->channel[k],
                   routing->net->channel_count * sizeof(float));
        result = tune(routing);
    }
    for (uint32_t i = 0; i < build.strand_count; i++) {
        grow_destroy(build.strands[i].grow);
        load_destroy(build.strands[i].load);
    }
    load_destroy(build.before);
    reach_destroy(build.reach);
    return result;
}
