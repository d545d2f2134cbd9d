/* SPDX-License-Identifier: BSD-3-Clause
 *
 * RH_DSM_DIFF: only what has changed travels.
 *
 * The data of a variable is cut into blocks of 256 bytes, each with a stamp: the version in which
 * it changed last. Every copy knows its version, so who fetches takes the stamps and then the
 * blocks that are newer than what it has, however many writes it has missed. A writer finds out
 * what it has changed by a twin, a copy made at the acquire, unless rh_dsm_wrote() says it. Where
 * most blocks change every time, that is not worth it: for a while all count as changed then.
 */
#include "dsm/transfer.h"

#include <stdlib.h>
#include <string.h>

#define SKIPS 16 /* writes without a twin after one that changed more than half */

/* ---- Blocks --------------------------------------------------------------------------------- */

/* A walk over all blocks of a binding. */
struct walk {
    const struct dsm_binding *binding;
    uint32_t region;
    uint64_t row;    /* which of the region's blocks (rh_dsm_region) */
    uint64_t within; /* bytes of it */
    uint64_t index;  /* of the block in the stamps */
    uint64_t offset, length;
};

static bool walk_next(struct walk *walk)
{
    while (walk->region < walk->binding->region_count) {
        const struct rh_dsm_region *region = &walk->binding->region[walk->region];
        uint64_t rows = region->block_count > 1 ? region->block_count : 1;
        if (walk->row < rows && walk->within < region->length) {
            uint64_t left = region->length - walk->within;
            walk->offset = region->offset + walk->row * region->stride + walk->within;
            walk->length = left < DSM_BLOCK ? left : DSM_BLOCK;
            walk->within += walk->length;
            walk->index++;
            return true;
        }
        walk->within = 0;
        if (++walk->row >= rows) {
            walk->row = 0;
            walk->region++;
        }
    }
    return false;
}

#define WALK(binding_)                                                                             \
    {                                                                                              \
        .binding = (binding_), .index = UINT64_MAX                                                 \
    }

static uint64_t count_blocks(const struct dsm_binding *binding)
{
    struct walk walk = WALK(binding);
    while (walk_next(&walk))
        ;
    return walk.index + 1;
}

static uint64_t *stamps_of(const struct rh_dsm *dsm, rh_dsm_variable variable)
{
    return (uint64_t *)(void *)(dsm->heap + dsm->bindings[variable].stamps);
}

static bool bit_is_set(const uint64_t *map, uint64_t index)
{
    return map[index / 64] >> (index % 64) & 1;
}

/* ---- Writing -------------------------------------------------------------------------------- */

static void copy_to_twin(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    struct dsm_own *own = &dsm->own[variable];
    struct walk walk = WALK(&dsm->bindings[variable]);
    char *twin = own->twin;
    while (walk_next(&walk)) {
        memcpy(twin, dsm->heap + walk.offset, walk.length);
        twin += walk.length;
    }
}

/* Room for a twin and a bitmap of blocks; without it all counts as changed. */
static bool make_room(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    struct dsm_own *own = &dsm->own[variable];
    const struct dsm_binding *binding = &dsm->bindings[variable];
    uint64_t words = (count_blocks(binding) + 63) / 64;
    if (own->twin_length < binding->length || !own->changed) {
        free(own->twin);
        free(own->changed);
        own->twin = malloc(binding->length);
        own->changed = malloc(binding->length / 8 + 64); /* enough for any cut of as many bytes */
        own->twin_length = own->twin && own->changed ? binding->length : 0;
    }
    if (own->twin_length == 0)
        return false;
    memset(own->changed, 0, words * sizeof(*own->changed));
    return true;
}

void dsm_diff_begin(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    struct dsm_own *own = &dsm->own[variable];
    own->was_told = false;
    own->has_twin = false;
    own->has_map = make_room(dsm, variable);
    if (own->skip_diff > 0) {
        own->skip_diff--;
    } else if (own->has_map) {
        copy_to_twin(dsm, variable);
        own->has_twin = true;
    }
}

int rh_dsm_wrote(struct rh_dsm *dsm, rh_dsm_variable variable, const void *start, uint64_t length)
{
    if (variable >= dsm->variable_count || !(dsm_own_word(dsm, variable) & WORD_WRITER))
        return error_fail(RH_EINVALID, "variable %u is not held for writing", variable);
    struct dsm_own *own = &dsm->own[variable];
    struct walk walk = WALK(&dsm->bindings[variable]);
    uint64_t first = rh_dsm_offset(dsm, start);
    if (first > dsm->heap_length || length > dsm->heap_length - first)
        return error_fail(RH_EINVALID, "variable %u: %llu bytes at %p do not lie in shared memory",
                          variable, (unsigned long long)length, start);
    if (dsm->bindings[variable].stamps == 0 || !own->has_map)
        return 0; /* all travels anyway */
    while (walk_next(&walk)) {
        if (walk.offset < first + length && first < walk.offset + walk.length)
            own->changed[walk.index / 64] |= 1ULL << (walk.index % 64);
    }
    own->was_told = true;
    return 0;
}

void dsm_diff_end(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    struct dsm_own *own = &dsm->own[variable];
    struct walk walk = WALK(&dsm->bindings[variable]);
    uint64_t *stamps = stamps_of(dsm, variable);
    uint64_t version = dsm->entries[variable].version + 1; /* never ends: see docs/counters.md */
    const char *twin = own->twin;
    uint64_t changed_count = 0;
    while (walk_next(&walk)) {
        bool is_changed = true;
        if (own->was_told)
            is_changed = bit_is_set(own->changed, walk.index);
        else if (own->has_twin)
            is_changed = memcmp(twin, dsm->heap + walk.offset, walk.length) != 0;
        if (twin)
            twin += walk.length;
        if (is_changed)
            stamps[walk.index] = version;
        changed_count += is_changed;
    }
    __atomic_store_n(&dsm->entries[variable].version, version, __ATOMIC_SEQ_CST);
    if (own->has_twin && !own->was_told && changed_count > (walk.index + 1) / 2)
        own->skip_diff = SKIPS;
}

/* ---- Moving --------------------------------------------------------------------------------- */

static int move_stamps(struct dsm_batch *batch, const struct dsm_binding *binding)
{
    int result = dsm_batch_add(batch, binding->stamps, count_blocks(binding) * sizeof(uint64_t));
    return result < 0 ? result : dsm_batch_flush(batch);
}

/* All blocks that are newer than a version; after each other they are one piece. */
static int move_newer(struct dsm_batch *batch, rh_dsm_variable variable, uint64_t version)
{
    struct walk walk = WALK(&batch->dsm->bindings[variable]);
    const uint64_t *stamps = stamps_of(batch->dsm, variable);
    int result = 0;
    while (result == 0 && walk_next(&walk)) {
        if (stamps[walk.index] > version)
            result = dsm_batch_add(batch, walk.offset, walk.length);
    }
    return result < 0 ? result : dsm_batch_flush(batch);
}

int dsm_diff_pull(struct dsm_batch *batch, rh_dsm_variable variable)
{
    struct rh_dsm *dsm = batch->dsm;
    uint64_t *own_version = &dsm->entries[variable].version, version = *own_version, newest;
    int result = dsm_load(dsm, batch->rank, variable, DSM_VERSION, &newest);
    *own_version = 0; /* until all is here */
    if (result == 0)
        result = move_stamps(batch, &dsm->bindings[variable]);
    if (result == 0)
        result = move_newer(batch, variable, version);
    if (result == 0)
        __atomic_store_n(own_version, newest, __ATOMIC_SEQ_CST);
    return result;
}

int dsm_diff_push(struct dsm_batch *batch, rh_dsm_variable variable)
{
    struct rh_dsm *dsm = batch->dsm;
    uint64_t version = 0;
    int result = dsm_load(dsm, batch->rank, variable, DSM_VERSION, &version);
    if (result == 0)
        result = dsm_post(dsm, batch->rank, variable, DSM_VERSION, 0);
    if (result == 0)
        result = move_newer(batch, variable, version);
    if (result == 0)
        result = move_stamps(batch, &dsm->bindings[variable]);
    if (result == 0)
        result = dsm_post(dsm, batch->rank, variable, DSM_VERSION, dsm->entries[variable].version);
    return result;
}

/* ---- Choosing ------------------------------------------------------------------------------- */

/* Nobody's version counts any more; ours is the first. */
static int begin_anew(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    const struct dsm_binding *binding = &dsm->bindings[variable];
    uint64_t *stamps = stamps_of(dsm, variable);
    for (uint64_t i = 0, count = count_blocks(binding); i < count; i++)
        stamps[i] = 1;
    for (int rank = 0; rank < dsm->size; rank++) {
        int result = 0;
        if (!dsm_is_gone(dsm, rank))
            result = dsm_post(dsm, rank, variable, DSM_VERSION, rank == dsm->rank);
        if (result < 0 && result != RH_EDEAD)
            return result;
    }
    return 0;
}

int dsm_diff_choose(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    struct dsm_binding *binding = &dsm->bindings[variable];
    struct dsm_own *own = &dsm->own[variable];
    bool is_wanted = (binding->mode & RH_DSM_DIFF) && binding->length > 0;
    if (binding->stamps != 0) {
        rh_dsm_free(dsm, binding->stamps);
        binding->stamps = 0;
    }
    own->has_begin_work = own->has_end_work = is_wanted;
    own->was_told = own->has_twin = own->has_map = false; /* all counts as changed */
    if (!is_wanted)
        return 0;
    int result = rh_dsm_alloc(dsm, count_blocks(binding) * sizeof(uint64_t), &binding->stamps);
    if (result < 0)
        binding->stamps = 0;
    return result < 0 ? result : begin_anew(dsm, variable);
}
