/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies that other nodes have: what a cell of the directory promises is pulled, and believed only
 * for the ID and the token that stand beside it. Model: tests/model/cache_fetch.pml. See node.h.
 */
#include "cache/node/node.h"

#include <stddef.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static struct rh_remote header_at(const struct cache_shape *shape, const struct cell_place *place)
{
    return rh_at(place->rank, CACHE_SID_ARENA,
                 shape->slots_offset + (uint64_t)place->slot * sizeof(struct cache_slot));
}

/* A slot as it was read, word by word: only what was there all the time fits together. */
struct header {
    uint64_t token, id[2], length, checksum, offset;
};
_Static_assert(offsetof(struct cache_slot, offset) == offsetof(struct header, offset), "alike");

static bool header_pull(struct node *node, const struct cell_place *place,
                        const struct cache_shape *shape, struct header *header)
{
    return rh_pull(node->job, header_at(shape, place), header, sizeof(*header)) == 0;
}

/* Whether the header, read after the data, proves what the directory promised before it. */
static bool header_proves(const struct header *header, const struct cell_place *place,
                          const uint64_t id[2])
{
    return (header->token & CELL_TOKEN_MASK) == place->token && header->id[0] == id[0] &&
           header->id[1] == id[1];
}

static bool place_makes_sense(struct node *node, const struct cell_place *place,
                              struct cache_shape *shape)
{
    return place->rank < node->directory.size && place->rank != node->directory.rank &&
           directory_is_alive(&node->directory, place->rank) &&
           directory_shape(&node->directory, place->rank, shape) == 0 &&
           place->slot < shape->slot_count;
}

bool node_copy_is_there(struct node *node, uint64_t cell, const uint64_t id[2])
{
    struct cell_place place = cell_place(cell);
    struct cache_shape shape;
    struct header header;
    return cell_is_loaded(cell) && place_makes_sense(node, &place, &shape) &&
           header_pull(node, &place, &shape, &header) && header_proves(&header, &place, id);
}

/* Where the data should be: a whole block's slot says it; of others the header is asked. */
static bool guess_offset(struct node *node, const struct cell_place *place,
                         const struct cache_shape *shape, const struct node_copy *copy,
                         uint64_t *offset)
{
    struct header header;
    *offset = shape->data_offset + (uint64_t)place->slot * shape->block_length;
    if (place->slot < shape->chunk_count)
        return true;
    if (!header_pull(node, place, shape, &header) || !header_proves(&header, place, copy->id))
        return false;
    *offset = header.offset;
    return header.offset <= shape->arena_length &&
           copy->length <= shape->arena_length - header.offset;
}

/* The token stood in the directory before, and in the slot after: so it stood there all the time,
 * also when the slot said where the data is, and the data is the block's. */
bool node_copy_pull(struct node *node, uint64_t cell, struct node_copy *copy)
{
    struct cell_place place = cell_place(cell);
    struct cache_shape shape;
    struct header header;
    uint64_t offset;
    if (!place_makes_sense(node, &place, &shape) ||
        !guess_offset(node, &place, &shape, copy, &offset))
        return false;
    if (rh_pull(node->job, rh_at(place.rank, CACHE_SID_ARENA, offset), copy->data, copy->length) <
            0 ||
        !header_pull(node, &place, &shape, &header) || !header_proves(&header, &place, copy->id) ||
        header.length != copy->length)
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
