/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See turns.h.
 */
#include "route/turns/turns.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

int turns_create(struct turns **out, const struct net *net)
{
    struct turns *turns = arena_owner(sizeof(*turns));
    if (turns) {
        turns->net = net;
        turns->words = net->degree_max ? (net->degree_max + 63) / 64 : 1;
        ARENA_TAKE(&turns->memory, turns->rows, ((size_t)net->channel_count + 1) * turns->words);
        ARENA_TAKE(&turns->memory, turns->width, net->channel_count + 1);
    }
    if (!turns || turns->memory.is_short) {
        turns_destroy(turns);
        return error_fail(-ENOMEM, "no memory for the turns of %u channels", net->channel_count);
    }
    *out = turns;
    return 0;
}

void turns_destroy(struct turns *turns)
{
    arena_owner_free(turns);
}

static void slots_allow(struct turns *turns, uint32_t first, uint32_t i, uint32_t j)
{
    turns_row(turns, first + i)[j / 64] |= 1ull << (j % 64);
    turns_row(turns, first + j)[i / 64] |= 1ull << (i % 64);
}

void turns_allow(struct turns *turns, uint32_t in, uint32_t out)
{
    const struct net *net = turns->net;
    slots_allow(turns, net->first[net->tail[out]], net_slot_in(net, in), net_slot_out(net, out));
}

void turns_prohibit(struct turns *turns, uint32_t in, uint32_t out)
{
    const struct net *net = turns->net;
    uint32_t i = net_slot_in(net, in), j = net_slot_out(net, out);
    turns_row(turns, out)[i / 64] &= ~(1ull << (i % 64));
    turns_row(turns, net->reverse[in])[j / 64] &= ~(1ull << (j % 64));
}

void turns_allow_all(struct turns *turns)
{
    const struct net *net = turns->net;
    for (uint32_t s = 0; s < net->switch_count; s++) {
        for (uint32_t i = 0; i < net_degree(net, s); i++) {
            for (uint32_t j = 0; j < i; j++)
                slots_allow(turns, net->first[s], i, j);
        }
    }
}

void turns_from_rank(struct turns *turns, const int64_t *rank)
{
    const struct net *net = turns->net;
    turns->ranked = true;
    memcpy(turns->width, rank, net->channel_count * sizeof(*rank));
    memset(turns->rows, 0, (size_t)net->channel_count * turns->words * sizeof(uint64_t));
    for (uint32_t s = 0; s < net->switch_count; s++) {
        const int64_t *out = rank + net->first[s];
        /* the channel that comes in by slot i is the reverse of out-channel i, its rank -out[i] */
        for (uint32_t i = 0; i < net_degree(net, s); i++) {
            for (uint32_t j = 0; j < i; j++) {
                if (-out[i] < out[j])
                    slots_allow(turns, net->first[s], i, j);
            }
        }
    }
}

uint32_t turns_in_count(const struct turns *turns, uint32_t channel)
{
    const uint64_t *row = turns_row(turns, channel);
    uint32_t count = 0;
    for (uint32_t w = 0; w < turns->words; w++)
        count += (uint32_t)__builtin_popcountll(row[w]);
    return count;
}

uint32_t turns_prohibited(const struct turns *turns, uint32_t at, uint32_t *total)
{
    const struct net *net = turns->net;
    uint32_t degree = net_degree(net, at), allowed = 0;
    for (uint32_t c = net->first[at]; c < net->first[at + 1]; c++)
        allowed += turns_in_count(turns, c);
    *total = degree * (degree - (degree > 0)) / 2;
    return *total - allowed / 2;
}

struct keyed {
    int64_t key;
    uint32_t channel;
};

static int key_compare(const void *a, const void *b)
{
    int64_t x = ((const struct keyed *)a)->key, y = ((const struct keyed *)b)->key;
    return x < y ? -1 : x > y;
}

int turns_rank_by_key(int64_t *rank, const int64_t *key, const struct net *net)
{
    int64_t scale = 2 * ((int64_t)net->channel_count + 1), count = net->channel_count;
    struct keyed *keyed = malloc((net->channel_count + 1) * sizeof(*keyed));
    if (!keyed)
        return error_fail(-ENOMEM, "no memory to rank %u channels", net->channel_count);
    for (uint32_t c = 0; c < net->channel_count; c++) {
        uint32_t back = net->reverse[c];
        int64_t tie = c < back ? 1 + (int64_t)c : -1 - (int64_t)back;
        keyed[c] = (struct keyed){.key = key[c] * scale + tie, .channel = c};
    }
    qsort(keyed, net->channel_count, sizeof(*keyed), key_compare);
    for (int64_t i = 0; i < count; i++)
        rank[keyed[i].channel] = 2 * i - (count - 1);
    free(keyed);
    return 0;
}
