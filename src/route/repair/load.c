/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The loads of a table that has dead entries: those it had when it was made, as a memo has them,
 * without what has lost its way.
 */
#include "base/error.h"
#include "route/repair/branch.h"
#include "route/repair/repair.h"

#include <stdlib.h>
#include <string.h>

struct losing {
    struct load *load;
    struct branch *branch;
    const struct lft *lft;
    const uint32_t *ahead; /* switch -> where its dead entry led, for the target at hand */
};

/* Takes off what came to a dead entry, and what it carried on to. */
static void loss_take(const struct losing *losing, const struct dead *dead)
{
    const struct net *net = losing->load->net;
    const uint8_t *next = lft_tree(losing->lft, dead->target);
    uint32_t at = dead->ahead, steps = 0;
    branch_list(losing->branch, next, dead->at);
    branch_load(losing->branch, losing->load, next, dead->target, -1);
    while (at != FABRIC_NONE && next[at] != LFT_HERE && steps++ < net->switch_count) {
        if (next[at] == LFT_NONE) {
            at = losing->ahead[at];
            continue;
        }
        uint32_t out = net->first[at] + next[at];
        for (uint32_t k = 0; k < losing->load->traffic->class_count; k++)
            losing->load->channel[k][out] -= losing->branch->flow[k][dead->at];
        at = net->head[out];
    }
}

static int losses_take(struct load *load, const struct lft *in_use, const struct dead_list *dead)
{
    const struct net *net = load->net;
    uint32_t *ahead = malloc(net->switch_count * sizeof(*ahead));
    struct losing losing = {.load = load, .lft = in_use, .ahead = ahead};
    int result = ahead ? branch_create(&losing.branch, net)
                       : error_fail(-ENOMEM, "no memory for %u switches", net->switch_count);
    if (result < 0) {
        free(ahead);
        return result;
    }
    memset(ahead, 0xff, net->switch_count * sizeof(*ahead));
    for (size_t i = 0, end; i < dead->count; i = end) {
        for (end = i; end < dead->count && dead->items[end].target == dead->items[i].target; end++)
            ahead[dead->items[end].at] = dead->items[end].ahead;
        for (size_t j = i; j < end && dead->items[i].target < net->host_count; j++)
            loss_take(&losing, &dead->items[j]);
        for (size_t j = i; j < end; j++)
            ahead[dead->items[j].at] = FABRIC_NONE;
    }
    free(ahead);
    branch_destroy(losing.branch);
    return 0;
}

int repair_load_find(struct load *load, const struct lft *in_use, const struct memo *memo,
                     const struct dead_list *dead)
{
    if (!memo || !dead->complete || memo->class_count != load->traffic->class_count)
        return load_of_table(load, in_use);
    for (uint32_t k = 0; k < memo->class_count; k++)
        memcpy(load->channel[k], memo->load[k], load->net->channel_count * sizeof(float));
    return losses_take(load, in_use, dead);
}
