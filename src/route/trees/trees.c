/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See trees.h.
 *
 * Large networks are built in two strands, each with one half of the hosts and a load of its own;
 * now and then both add what the other has done. The halves follow the switch numbers, so the pods
 * and trees of a regular network stay together. Small networks are built in one strand, which
 * balances best. Threads change the time and nothing else.
 */
#include "route/trees/trees.h"

#include "base/parallel.h"
#include "route/trees/grow.h"

#define STRANDS_MAX 2
#define BATCHES     32
#define SMALL_WORK  (1ull << 26) /* targets x channels below which one strand is quick enough */

struct strand {
    struct grow *grow;
    struct load *load;       /* its own, or the sum if there is one strand only */
    uint32_t root, root_end; /* switches whose hosts are still to do */
    uint32_t batch_end;
};

struct trees {
    struct lft *lft;
    const struct net *net;
    const struct turns *turns;
    const struct reach *reach;
    struct strand strands[STRANDS_MAX];
    uint32_t strand_count;
    struct load *sum; /* of all strands, at the last exchange */
};

static void target_build(struct trees *build, struct strand *strand, uint32_t target)
{
    uint8_t *next = lft_tree(build->lft, target);
    grow_tree(strand->grow, target, next);
    grow_tree_load(strand->grow, target, next);
}

/* The hosts of some switches, and these switches themselves. */
static void strand_run(void *context, uint32_t part)
{
    struct trees *build = context;
    const struct net *net = build->net;
    struct strand *strand = &build->strands[part];
    for (; strand->root < strand->batch_end; strand->root++) {
        uint32_t root = strand->root;
        if (!net_has_hosts(net, root))
            continue;
        for (uint32_t t = net->host_first[root]; t < net->host_first[root + 1]; t++)
            target_build(build, strand, t);
        target_build(build, strand, net->host_count + root);
    }
}

/* Trees of switches without hosts carry no load: they can be shared out freely. */
static void bare_run(void *context, uint32_t part)
{
    struct trees *build = context;
    const struct net *net = build->net;
    for (uint32_t root = part; root < net->switch_count; root += build->strand_count) {
        if (!net_has_hosts(net, root))
            target_build(build, &build->strands[part], net->host_count + root);
    }
}

/* Everybody's load becomes the last common one plus what each strand has added since. */
static void loads_exchange(struct trees *build)
{
    const struct net *net = build->net;
    for (uint32_t k = 0; k < build->sum->traffic->class_count; k++) {
        for (uint32_t c = 0; c < net->channel_count; c++) {
            float before = build->sum->channel[k][c], sum = before;
            for (uint32_t i = 0; i < build->strand_count; i++)
                sum += build->strands[i].load->channel[k][c] - before;
            build->sum->channel[k][c] = sum;
            for (uint32_t i = 0; i < build->strand_count; i++)
                build->strands[i].load->channel[k][c] = sum;
        }
    }
    for (uint32_t i = 0; i < build->strand_count; i++)
        price_fill(build->strands[i].grow->price);
}

/* The first switch whose hosts have at least this number. */
static uint32_t switch_of(const struct net *net, uint32_t host)
{
    return host >= net->host_count ? net->switch_count : net->target_switch[host];
}

static void hosts_build(struct trees *build, struct trees_progress progress)
{
    const struct net *net = build->net;
    uint64_t hosts = net->host_count, strands = build->strand_count;
    for (uint32_t i = 0; i < strands; i++) {
        build->strands[i].root = switch_of(net, (uint32_t)(hosts * i / strands));
        build->strands[i].root_end = switch_of(net, (uint32_t)(hosts * (i + 1) / strands));
    }
    for (uint32_t batch = 1; batch <= BATCHES; batch++) {
        for (uint32_t i = 0; i < strands; i++) {
            uint64_t from = hosts * i / strands, to = hosts * (i + 1) / strands;
            uint64_t end = from + (to - from) * batch / BATCHES;
            build->strands[i].batch_end = batch == BATCHES ? build->strands[i].root_end
                                                           : switch_of(net, (uint32_t)end);
        }
        parallel_run((uint32_t)strands, strand_run, build);
        if (strands > 1)
            loads_exchange(build);
        if (progress.tell)
            progress.tell(progress.context, (double)batch / (BATCHES + 1));
    }
}

static int build_prepare(struct trees *build)
{
    uint64_t work = (uint64_t)build->net->target_count * build->net->channel_count;
    build->strand_count = work > SMALL_WORK ? STRANDS_MAX : 1;
    int result = 0;
    for (uint32_t i = 0; i < build->strand_count && result == 0; i++) {
        struct strand *strand = &build->strands[i];
        if (build->strand_count == 1)
            strand->load = build->sum;
        else
            result = load_create(&strand->load, build->sum->traffic);
        if (result == 0)
            result = grow_create(&strand->grow, build->turns, build->reach, strand->load);
    }
    return result;
}

int trees_build(struct lft *lft, struct load *load, const struct turns *turns,
                const struct reach *reach, struct trees_progress progress)
{
    struct trees build = {.lft = lft, .net = lft->net, .turns = turns, .reach = reach, .sum = load};
    int result = build_prepare(&build);
    if (result == 0) {
        hosts_build(&build, progress);
        parallel_run(build.strand_count, bare_run, &build);
    }
    for (uint32_t i = 0; i < build.strand_count; i++) {
        grow_destroy(build.strands[i].grow);
        if (build.strands[i].load != load)
            load_destroy(build.strands[i].load);
    }
    return result;
}
