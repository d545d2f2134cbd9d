/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Items by number: packets, stays, requests, notices.
 */
#include "base/array.h"
#include "base/assert.h"
#include "base/error.h"
#include "sim/switch/network.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define POOL_USED (NONE - 1)

void pool_init(struct pool *pool, size_t size)
{
    memset(pool, 0, sizeof(*pool));
    pool->size = size;
    pool->free = NONE;
}

void pool_free(struct pool *pool)
{
    free(pool->items);
    free(pool->next);
}

static bool pool_grow(struct pool *pool)
{
    size_t needed = (size_t)pool->count + 1;
    return array_room_make(&pool->items, &pool->item_room, needed, pool->size) &&
           array_grow(&pool->next, &pool->next_room, needed);
}

uint32_t pool_take(struct network *network, struct pool *pool)
{
    uint32_t index = pool->free;
    if (index != NONE) {
        pool->free = pool->next[index];
    } else {
        if (!pool_grow(pool)) {
            network->failure = error_fail(-ENOMEM, "no memory for the network");
            return NONE;
        }
        index = pool->count++;
    }
    pool->next[index] = POOL_USED;
    memset(pool->items + (size_t)index * pool->size, 0, pool->size);
    return index;
}

void pool_give(struct pool *pool, uint32_t index)
{
    ASSERT(pool->next[index] == POOL_USED);
    pool->next[index] = pool->free;
    pool->free = index;
}

void packet_give(struct network *network, uint32_t index)
{
    struct packet *packet = packet_at(network, index);
    free(packet->targets);
    packet->targets = NULL;
    packet->is_live = false;
    pool_give(&network->packets, index);
}
