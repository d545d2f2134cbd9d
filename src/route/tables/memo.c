/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See memo.h.
 */
#include "route/tables/memo.h"

#include "base/array.h"
#include "base/error.h"
#include "base/parallel.h"

#include <stdlib.h>
#include <string.h>

#define PARTS 4

int memo_create(struct memo **out, const struct net *net)
{
    struct memo *memo = arena_owner(sizeof(*memo));
    if (memo) {
        memo->net = net;
        ARENA_TAKE(&memo->memory, memo->rank, net->channel_count + 1);
        for (uint32_t k = 0; k < TRAFFIC_CLASSES; k++)
            ARENA_TAKE(&memo->memory, memo->load[k], net->channel_count + 1);
    }
    if (!memo || memo->memory.is_short || turns_create(&memo->used, net) < 0) {
        memo_destroy(memo);
        return error_fail(-ENOMEM, "no memory for a memo of %u channels", net->channel_count);
    }
    *out = memo;
    return 0;
}

void memo_destroy(struct memo *memo)
{
    if (!memo)
        return;
    turns_destroy(memo->used);
    free(memo->gone);
    arena_owner_free(memo);
}

int memo_gone_add(struct memo *memo, struct memo_gone gone)
{
    if (!array_grow(&memo->gone, &memo->gone_room, memo->gone_count + 1))
        return error_fail(-ENOMEM, "no memory for cables that are gone");
    memo->gone[memo->gone_count++] = gone;
    return 0;
}

int memo_of_table(struct memo **out, const struct lft *table, const struct turns *turns,
                  const struct load *load)
{
    size_t channels = table->net->channel_count;
    struct memo *memo = NULL;
    int result = memo_create(&memo, table->net);
    if (result < 0)
        return result;
    memcpy(memo->rank, turns->width, channels * sizeof(*memo->rank));
    memo->class_count = load->traffic->class_count;
    for (uint32_t k = 0; k < memo->class_count; k++)
        memcpy(memo->load[k], load->channel[k], channels * sizeof(float));
    result = memo_turns_collect(memo->used, table);
    if (result < 0)
        memo_destroy(memo);
    else
        *out = memo;
    return result;
}

struct collect {
    const struct lft *table;
    struct turns *parts[PARTS];
};

/* Notes the turns of a share of the targets. */
static void part_run(void *context, uint32_t part)
{
    struct collect *collect = context;
    const struct net *net = collect->table->net;
    struct turns *turns = collect->parts[part];
    for (uint32_t t = part; t < net->target_count; t += PARTS) {
        const uint8_t *next = lft_tree(collect->table, t);
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

int memo_turns_collect(struct turns *turns, const struct lft *table)
{
    struct collect collect = {.table = table};
    int result = 0;
    for (uint32_t p = 0; p < PARTS && result == 0; p++)
        result = turns_create(&collect.parts[p], table->net);
    if (result == 0) {
        parallel_run(PARTS, part_run, &collect);
        parts_join(turns, &collect);
    }
    for (uint32_t p = 0; p < PARTS; p++)
        turns_destroy(collect.parts[p]);
    return result;
}
