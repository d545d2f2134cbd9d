/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See reach.h.
 */
#include "route/turns/reach.h"

#include "base/error.h"
#include "base/parallel.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_WORDS 8 /* a cache line of targets at a time, so that parts do not share lines */

/* How many turns lead into each channel. */
static void in_counts(const struct turns *turns, uint32_t *count)
{
    for (uint32_t c = 0; c < turns->net->channel_count; c++)
        count[c] = turns_in_count(turns, c);
}

int reach_order(const struct turns *turns, uint32_t *order)
{
    const struct net *net = turns->net;
    uint32_t *waiting = malloc((net->channel_count + 1) * sizeof(*waiting));
    if (!waiting)
        return error_fail(-ENOMEM, "no memory to order %u channels", net->channel_count);
    in_counts(turns, waiting);
    uint32_t count = 0;
    for (uint32_t c = 0; c < net->channel_count; c++) {
        if (waiting[c] == 0)
            order[count++] = c;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t first = net->first[net->head[order[i]]];
        const uint64_t *row = turns_row(turns, net->reverse[order[i]]);
        for (uint32_t w = 0; w < turns->words; w++) {
            for (uint64_t bits = row[w]; bits; bits &= bits - 1) {
                uint32_t next = first + w * 64 + (uint32_t)__builtin_ctzll(bits);
                if (--waiting[next] == 0)
                    order[count++] = next;
            }
        }
    }
    free(waiting);
    if (count != net->channel_count)
        return error_fail(-ELOOP, "the allowed turns close a loop through %u channels",
                          net->channel_count - count);
    return 0;
}

struct job {
    struct reach *reach;
    const struct turns *turns;
    const uint32_t *order;
    uint64_t *here; /* switch -> what its outputs passed so far reach; ranked turns only */
};

/* Where turns go by rank, all outputs of a switch that rank above a channel may follow it. So one
 * pass downwards by rank will do: each channel reaches what the outputs passed so far reach. That
 * counts the way back too where it ranks higher. It adds nothing to what switches reach: whoever
 * turned round there could have taken the next output at once. */
static void block_run_ranked(void *context, uint32_t part)
{
    const struct job *job = context;
    const struct net *net = job->turns->net;
    uint32_t words = job->reach->words, from = part * BLOCK_WORDS;
    uint32_t width = words - from < BLOCK_WORDS ? words - from : BLOCK_WORDS;
    for (uint32_t i = 0; i < net->channel_count; i++) {
        uint32_t channel = job->order[i], at = net->head[channel];
        uint64_t *mine = job->reach->bits + (size_t)channel * words + from;
        const uint64_t *ahead = job->here + (size_t)at * words + from;
        uint64_t *behind = job->here + (size_t)net->tail[channel] * words + from;
        memcpy(mine, ahead, width * sizeof(*mine));
        if (at / 64 >= from && at / 64 < from + width)
            mine[at / 64 - from] |= 1ull << (at % 64);
        for (uint32_t k = 0; k < width; k++)
            behind[k] |= mine[k];
    }
}

/* Fills BLOCK_WORDS words of every channel, last channel in the order first. */
static void block_run(void *context, uint32_t part)
{
    const struct job *job = context;
    const struct net *net = job->turns->net;
    uint32_t words = job->reach->words, from = part * BLOCK_WORDS;
    uint32_t width = words - from < BLOCK_WORDS ? words - from : BLOCK_WORDS;
    for (uint32_t i = net->channel_count; i-- > 0;) {
        uint32_t channel = job->order[i], at = net->head[channel];
        uint64_t *mine = job->reach->bits + (size_t)channel * words + from;
        const uint64_t *row = turns_row(job->turns, net->reverse[channel]);
        for (uint32_t w = 0; w < job->turns->words; w++) {
            for (uint64_t bits = row[w]; bits; bits &= bits - 1) {
                uint32_t next = net->first[at] + w * 64 + (uint32_t)__builtin_ctzll(bits);
                const uint64_t *theirs = job->reach->bits + (size_t)next * words + from;
                for (uint32_t k = 0; k < width; k++)
                    mine[k] |= theirs[k];
            }
        }
        if (at / 64 >= from && at / 64 < from + width)
            mine[at / 64 - from] |= 1ull << (at % 64);
    }
}

/* Highest rank first. */
static void rank_order(const struct turns *turns, uint32_t *order)
{
    const struct net *net = turns->net;
    for (uint32_t c = 0; c < net->channel_count; c++)
        order[net->channel_count - 1 - turns_rank_place(net, turns->width[c])] = c;
}

static int bits_fill(struct reach *reach, const struct turns *turns, uint32_t *order)
{
    struct job job = {.reach = reach, .turns = turns, .order = order};
    uint32_t part_count = (reach->words + BLOCK_WORDS - 1) / BLOCK_WORDS;
    int result = turns->ranked ? 0 : reach_order(turns, order);
    if (result < 0)
        return result;
    if (turns->ranked) {
        rank_order(turns, order);
        job.here = calloc((size_t)reach->net->switch_count, reach->words * sizeof(uint64_t));
        if (!job.here)
            return error_fail(-ENOMEM, "no memory for what %u switches reach",
                              reach->net->switch_count);
    }
    parallel_run(part_count, turns->ranked ? block_run_ranked : block_run, &job);
    free(job.here);
    return 0;
}

int reach_create(struct reach **out, const struct turns *turns)
{
    const struct net *net = turns->net;
    struct reach *reach = calloc(1, sizeof(*reach));
    uint32_t *order = malloc((net->channel_count + 1) * sizeof(*order));
    int result = 0;
    if (reach) {
        reach->net = net;
        reach->words = (net->switch_count + 63) / 64;
        reach->bits = calloc((size_t)net->channel_count + 1, reach->words * sizeof(uint64_t));
    }
    if (!reach || !order || !reach->bits)
        result = error_fail(-ENOMEM, "no memory for what %u channels reach", net->channel_count);
    else
        result = bits_fill(reach, turns, order);
    if (result == 0)
        *out = reach;
    else
        reach_destroy(reach);
    free(order);
    return result;
}

void reach_destroy(struct reach *reach)
{
    if (!reach)
        return;
    free(reach->bits);
    free(reach);
}

/* Switches among 64 that the one at `from` does not reach. */
static uint64_t missing_find(const struct reach *reach, uint32_t from, uint32_t word)
{
    const struct net *net = reach->net;
    uint64_t got = 0, left = net->switch_count - word * 64ull;
    for (uint32_t c = net->first[from]; c < net->first[from + 1]; c++)
        got |= reach->bits[(size_t)c * reach->words + word];
    if (from / 64 == word)
        got |= 1ull << (from % 64);
    return ~got & (left >= 64 ? ~0ull : (1ull << left) - 1);
}

bool reach_complete(const struct reach *reach, uint32_t *from, uint32_t *to)
{
    const struct net *net = reach->net;
    for (uint32_t s = 0; s < net->switch_count; s++) {
        for (uint32_t w = 0; w < reach->words; w++) {
            for (uint64_t missing = missing_find(reach, s, w); missing; missing &= missing - 1) {
                uint32_t target = w * 64 + (uint32_t)__builtin_ctzll(missing);
                if (!net_has_hosts(net, s) && !net_has_hosts(net, target))
                    continue;
                *from = s;
                *to = target;
                return false;
            }
        }
    }
    return true;
}
