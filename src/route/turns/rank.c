/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See rank.h.
 */
#include "route/turns/rank.h"

#include "base/error.h"

#include <stdlib.h>

struct keyed {
    int64_t key;
    uint32_t channel;
};

static int key_compare(const void *a, const void *b)
{
    int64_t x = ((const struct keyed *)a)->key, y = ((const struct keyed *)b)->key;
    return x < y ? -1 : x > y;
}

int rank_by_key(int64_t *rank, const int64_t *key, const struct net *net)
{
    int64_t scale = 2 * ((int64_t)net->channel_count + 1), count = net->channel_count;
    struct keyed *keyed = malloc((net->channel_count + 1) * sizeof(*keyed));
    if (!keyed)
        return error_set(-ENOMEM, ERROR_NO_RANK, "no memory to rank %u channels",
                         net->channel_count);
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
