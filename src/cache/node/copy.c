/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies that other nodes have: what a cell of the directory promises is pulled, and believed only
 * for the ID and the token that stand beside it. Model: tests/model/cache_fetch.pml. See node.h.
 */
#include "cache/node/node.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static struct rh_remote header_at(const struct cache_shape *shape, const struct cell_place *place)
{
    return rh_at(place->rank, CACHE_SID_ARENA,
                 shape->slots_offset + (uint64_t)place->slot * sizeof(struct cache_slot));
}

/* Whether the header, read after the data, proves what the directory promised before it. */
static bool header_proves(struct node *node, const struct cell_place *place,
                          const struct cache_shape *shape, const uint64_t id[2],
                          struct cache_slot *header)
{
    uint64_t words[5];
    if (rh_pull(node->job, header_at(shape, place), words, sizeof(words)) < 0)
        return false;
    header->length = words[3];
    header->checksum = words[4];
    return (words[0] & CELL_TOKEN_MASK) == place->token && words[1] == id[0] && words[2] == id[1];
}

static bool place_makes_sense(struct node *node, const struct cell_place *place,
                              struct cache_shape *shape)
{
    return place->rank < node->directory.size && place->rank != node->directory.rank &&
           directory_is_alive(&node->directory, place->rank) &&
           directory_shape(&node->directory, place->rank, shape) == 0 &&
           place->slot < cache_slot_count(shape);
}

bool node_copy_is_there(struct node *node, uint64_t cell, const uint64_t id[2])
{
    struct cell_place place = cell_place(cell);
    struct cache_shape shape;
    struct cache_slot header;
    return cell_is_loaded(cell) && place_makes_sense(node, &place, &shape) &&
           header_proves(node, &place, &shape, id, &header);
}

/* The token stood in the directory before, and in the slot after: so it stood there all the time,
 * and the data is the block's. */
bool node_copy_pull(struct node *node, uint64_t cell, struct node_copy *copy)
{
    struct cell_place place = cell_place(cell);
    struct cache_shape shape;
    struct cache_slot header;
    if (!place_makes_sense(node, &place, &shape))
        return false;
    if (rh_pull(node->job, rh_at(place.rank, CACHE_SID_ARENA, cache_slot_data(&shape, place.slot)),
                copy->data, copy->length) < 0 ||
        !header_proves(node, &place, &shape, copy->id, &header) || header.length != copy->length)
        return false;
    copy->checksum = header.checksum;
    if (header.checksum != 0 && node->use_checksum &&
        node_checksum(node, copy->data, copy->length) != header.checksum) {
        cache_count(node->control, 0, CACHE_CHECKSUM_ERRORS, 1);
        return false;
    }
    return true;
}

uint64_t node_checksum(const struct node *node, const void *data, uint64_t length)
{
    return node->use_checksum ? XXH3_64bits(data, length) | 1 : 0;
}
