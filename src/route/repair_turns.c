/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the turns that may be used beside a table in use. See repair.h.
 *
 * Turn addition once more, with the turns that the table uses, and their reverses, allowed before
 * all others. A table that does not treat turns in pairs may have a loop with its reverses; then it
 * is refused, and must be replaced as a whole.
 */
#include "route/repair.h"

#include "base/log.h"
#include "route/parallel.h"
#include "route/turn_addition.h"

#define PARTS 4

struct collect {
    const struct lft *lft;
    struct turns *parts[PARTS];
};

/* Notes the turns of a share of the targets. */
static void part_run(void *context, uint32_t part)
{
    struct collect *collect = context;
    const struct net *net = collect->lft->net;
    struct turns *turns = collect->parts[part];
    for (uint32_t t = part; t < net->target_count; t += PARTS) {
        const uint8_t *next = lft_tree(collect->lft, t);
        for (uint32_t s = 0; s < net->switch_count; s++) {
            if (next[s] >= LFT_HERE)
                continue;
            uint32_t in = net->first[s] + next[s], at = net->head[in];
            if (next[at] >= LFT_HERE)
                continue;
            uint32_t i = net->reverse[in] - net->first[at], j = next[at];
            if (i != j)
                turns_row(turns, net->first[at] + j)[i / 64] |= 1ull << (i % 64);
        }
    }
}

/* Adds up the parts and makes the matrix symmetric. */
static void parts_join(struct turns *turns, const struct collect *collect)
{
    const struct net *net = turns->net;
    size_t words = (size_t)net->channel_count * turns->words;
    for (uint32_t p = 0; p < PARTS; p++) {
        for (size_t i = 0; i < words; i++)
            turns->rows[i] |= collect->parts[p]->rows[i];
    }
    for (uint32_t out = 0; out < net->channel_count; out++) {
        uint32_t first = net->first[net->tail[out]];
        for (uint32_t w = 0; w < turns->words; w++) {
            for (uint64_t bits = turns_row(turns, out)[w]; bits; bits &= bits - 1) {
                uint32_t in_slot = w * 64 + (uint32_t)__builtin_ctzll(bits);
                turns_allow(turns, net->reverse[first + in_slot], out);
            }
        }
    }
}

static int used_collect(struct turns *turns, const struct lft *lft)
{
    struct collect collect = {.lft = lft};
    int result = 0;
    for (uint32_t p = 0; p < PARTS && result == 0; p++)
        result = turns_create(&collect.parts[p], lft->net);
    if (result == 0) {
        parallel_run(PARTS, part_run, &collect);
        parts_join(turns, &collect);
    }
    for (uint32_t p = 0; p < PARTS; p++)
        turns_destroy(collect.parts[p]);
    return result;
}

/* Do all turns in use follow the ranks, and do these still lead from everywhere to everywhere? */
static int rank_try(struct turns *turns, const struct turns *used, const int64_t *rank, bool *fits)
{
    const struct net *net = turns->net;
    size_t words = (size_t)net->channel_count * turns->words;
    struct reach *reach = NULL;
    uint32_t from, to;
    turns_from_rank(turns, rank);
    for (size_t i = 0; i < words; i++) {
        if (used->rows[i] & ~turns->rows[i])
            return 0;
    }
    int result = reach_create(&reach, turns);
    if (result == 0)
        *fits = reach_complete(reach, &from, &to);
    reach_destroy(reach);
    return result;
}

/* Turn addition beside what is in use. */
static int addition_try(struct turns *turns, const struct turns *used,
                        const struct traffic *traffic)
{
    struct demand *demand = NULL;
    int result = demand_create(&demand, traffic);
    if (result == 0)
        result = turn_addition_beside(turns, demand, used);
    demand_destroy(demand);
    return result;
}

int repair_turns(struct turns **out, const struct lft *in_use, const struct traffic *traffic,
                 const int64_t *rank)
{
    struct turns *turns = NULL, *used = NULL;
    bool fits = false;
    int result = turns_create(&turns, in_use->net);
    if (result == 0)
        result = turns_create(&used, in_use->net);
    if (result == 0)
        result = used_collect(used, in_use);
    if (result == 0 && rank)
        result = rank_try(turns, used, rank, &fits);
    if (result == 0 && rank)
        log_debug("repair: the ranks %s", fits ? "still fit" : "do not fit any more");
    if (result == 0 && !fits)
        result = addition_try(turns, used, traffic);
    turns_destroy(used);
    if (result < 0) {
        turns_destroy(turns);
        return result;
    }
    *out = turns;
    return 0;
}
