/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies that other nodes have: what a cell of the directory promises is pulled, and believed only
 * for the ID and the token that stand beside it (model: tests/model/cache_fetch.pml), or for its
 * checksum. See node.h.
 */
#include "cache/node/node.h"

#include <stddef.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Never 0. Of the ID, too: another block's data does not have it, even the same bytes. */
static uint64_t block_checksum(const uint64_t id[2], const void *data, uint64_t length)
{
    return XXH3_64bits_withSeed(data, length, id[0] ^ id[1]) | 1;
}

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

static bool data_pull(struct node *node, const struct cell_place *place, uint64_t offset,
                      const struct node_copy *copy)
{
    return rh_pull(node->job, rh_at(place->rank, CACHE_SID_ARENA, offset), copy->data,
                   copy->length) == 0;
}

static bool checksum_proves(const struct node_copy *copy, uint64_t checksum)
{
    return block_checksum(copy->id, copy->data, copy->length) == checksum;
}

/* A whole block is where its slot says. The token stood in the directory before, and in the slot
 * after: so it stood there all the time, and the data is the block's. */
static bool pull_whole(struct node *node, const struct cell_place *place,
                       const struct cache_shape *shape, struct node_copy *copy)
{
    struct header header;
    uint64_t offset = shape->data_offset + (uint64_t)place->slot * shape->block_length;
    if (!data_pull(node, place, offset, copy) || !header_pull(node, place, shape, &header) ||
        !header_proves(&header, place, copy->id) || header.length != copy->length)
        return false;
    copy->checksum = header.checksum;
    if (header.checksum == 0 || !node->use_checksum || checksum_proves(copy, header.checksum))
        return true;
    cache_count(node->control, 0, CACHE_CHECKSUM_ERRORS, 1);
    return false;
}

/* Of any other the header is asked where it is. All of these have a checksum, which only the data
 * of this ID has, whatever became of the slot meanwhile: that spares the second look at the
 * header. */
static bool pull_other(struct node *node, const struct cell_place *place,
                       const struct cache_shape *shape, struct node_copy *copy)
{
    struct header header;
    if (!header_pull(node, place, shape, &header) || !header_proves(&header, place, copy->id) ||
        header.length != copy->length || header.offset > shape->arena_length ||
        copy->length > shape->arena_length - header.offset ||
        !data_pull(node, place, header.offset, copy))
        return false;
    copy->checksum = header.checksum;
    if (checksum_proves(copy, header.checksum))
        return true;
    if (header_pull(node, place, shape, &header) && header_proves(&header, place, copy->id))
        cache_count(node->control, 0, CACHE_CHECKSUM_ERRORS, 1); /* it has not left meanwhile */
    return false;
}

bool node_copy_pull(struct node *node, uint64_t cell, struct node_copy *copy)
{
    struct cell_place place = cell_place(cell);
    struct cache_shape shape;
    if (!place_makes_sense(node, &place, &shape))
        return false;
    return place.slot < shape.chunk_count ? pull_whole(node, &place, &shape, copy)
                                          : pull_other(node, &place, &shape, copy);
}

uint64_t node_checksum(const struct node *node, const struct node_copy *copy)
{
    bool is_wanted = node->use_checksum || !cache_is_whole(&node->store.shape, copy->length);
    return is_wanted ? block_checksum(copy->id, copy->data, copy->length) : 0;
}
