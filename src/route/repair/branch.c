/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See branch.h.
 */
#include "route/repair/branch.h"

#include "base/error.h"

int branch_create(struct branch **out, const struct net *net)
{
    struct branch *branch = arena_owner(sizeof(*branch));
    if (branch) {
        branch->net = net;
        ARENA_TAKE(&branch->memory, branch->peer_slot, net->channel_count + 1);
        ARENA_TAKE(&branch->memory, branch->at, net->switch_count);
        ARENA_TAKE(&branch->memory, branch->scratch, LFT_SCRATCH(net));
        for (uint32_t k = 0; k < TRAFFIC_CLASSES; k++)
            ARENA_TAKE(&branch->memory, branch->flow[k], net->switch_count);
    }
    if (!branch || branch->memory.is_short) {
        branch_destroy(branch);
        return error_fail(-ENOMEM, "no memory for a branch of %u switches", net->switch_count);
    }
    for (uint32_t c = 0; c < net->channel_count; c++)
        branch->peer_slot[c] = (uint8_t)net_slot_in(net, c);
    *out = branch;
    return 0;
}

void branch_destroy(struct branch *branch)
{
    arena_owner_free(branch);
}

void branch_list(struct branch *branch, const uint8_t *next, uint32_t from)
{
    const struct net *net = branch->net;
    branch->count = 1;
    branch->at[0] = from;
    for (uint32_t i = 0; i < branch->count; i++) {
        uint32_t at = branch->at[i];
        for (uint32_t c = net->first[at]; c < net->first[at + 1]; c++) {
            if (branch_is_behind(branch, next, c) && branch->count < net->switch_count)
                branch->at[branch->count++] = net->head[c];
        }
    }
}

void branch_list_all(struct branch *branch, const uint8_t *next, uint32_t root)
{
    branch->count = lft_order_find(branch->net, next, root, branch->at, branch->scratch);
}

void branch_load(struct branch *branch, struct load *load, const uint8_t *next, uint32_t target,
                 float sign)
{
    const struct net *net = branch->net;
    uint32_t classes = load->traffic->class_count;
    for (uint32_t k = 0; k < classes; k++) {
        for (uint32_t i = 0; i < branch->count; i++) {
            uint32_t at = branch->at[i];
            branch->flow[k][at] = net_has_hosts(net, at)
                                      ? traffic_source(load->traffic, target, k, at)
                                      : 0;
        }
        /* farthest first: when a switch's turn comes, all that flows through it is known */
        for (uint32_t i = branch->count; i-- > 1;) {
            uint32_t at = branch->at[i], out = net->first[at] + next[at];
            load->channel[k][out] += sign * branch->flow[k][at];
            branch->flow[k][net->head[out]] += branch->flow[k][at];
        }
    }
}
