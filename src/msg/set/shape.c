/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From the description of a set to its shape: members, tree, how they meet, where what lies in
 * their memory. All members come to the same.
 */
#include "base/struct_size.h"
#include "msg/set/set.h"

#include <stdlib.h>

#define STAGE_LENGTH     (64u << 10)
#define STAGE_PER_MEMBER 64u /* a block has at least that for each */
#define TREE_WIDTH       4

static int refuse(uint32_t id, const char *why, int value)
{
    return error_fail(RH_EINVALID, "set %u: %s (%d)", id, why, value);
}

int set_spec_check(const struct rh_msg *msg, const struct rh_set_spec *spec)
{
    if (!struct_size_is_sound(spec->struct_size, sizeof(*spec)))
        return error_fail(RH_EINVALID, "set spec.struct_size to sizeof(struct rh_set_spec)");
    if (spec->id >= SET_ID_COUNT)
        return refuse(spec->id, "numbers of sets are below", (int)SET_ID_COUNT);
    if (spec->ranks && (spec->rank_count == 0 || spec->rank_count > (size_t)rh_size(msg->job)))
        return refuse(spec->id, "a set has 1 to size members", (int)spec->rank_count);
    return 0;
}

static int copy_ranks(struct rh_set *set, const struct rh_set_spec *spec)
{
    int own = rh_rank(set->job), all = rh_size(set->job);
    bool *is_there = calloc((size_t)all, sizeof(*is_there));
    int result = is_there ? 0 : error_no_memory("a set");
    set->me = -1;
    for (int i = 0; i < set->size && result == 0; i++) {
        int rank = spec->ranks ? spec->ranks[i] : i;
        if (rank < 0 || rank >= all)
            result = refuse(set->id, "a member is outside the job", rank);
        else if (is_there[rank])
            result = refuse(set->id, "a rank is there twice", rank);
        else
            is_there[rank] = true;
        set->ranks[i] = rank;
        if (rank == own)
            set->me = i;
    }
    free(is_there);
    if (result == 0 && set->me < 0)
        result = refuse(set->id, "this rank is not in it", own);
    return result;
}

/* One root, and from everybody a way to it. */
static int check_tree(const struct rh_set *set)
{
    int root_count = 0;
    for (int i = 0; i < set->size; i++) {
        int at = i, steps = 0;
        if (set->parents[i] < -1 || set->parents[i] >= set->size)
            return refuse(set->id, "a parent is no member's place", set->parents[i]);
        root_count += set->parents[i] < 0;
        while (set->parents[at] >= 0 && set->parents[at] < set->size && steps++ < set->size)
            at = set->parents[at];
        if (steps > set->size)
            return refuse(set->id, "the tree has a circle, through member", i);
    }
    return root_count == 1 ? 0 : refuse(set->id, "a tree has one root, this has", root_count);
}

static int make_tree(struct rh_set *set, const int *parents)
{
    for (int i = 0; i < set->size; i++)
        set->parents[i] = parents ? parents[i] : i == 0 ? -1 : (i - 1) / TREE_WIDTH;
    int result = check_tree(set);
    if (result < 0)
        return result;
    for (int i = 0; i < set->size; i++) {
        if (set->parents[i] < 0)
            set->center = i;
        if (set->parents[i] == set->me)
            set->children[set->child_count++] = i;
    }
    return 0;
}

/* All members must choose the same, so only what all know the same counts. */
static enum set_way choose_way(const struct rh_set *set, const struct rh_set_spec *spec)
{
    if (set->size == 1)
        return SET_ALONE;
    if (spec->parents)
        return SET_TREE;
    if (set->size == 2)
        return SET_PAIR;
    for (int i = 1; i < set->size; i++) {
        if (rh_node(set->job, set->ranks[i]) != rh_node(set->job, set->ranks[0]))
            return SET_TREE;
    }
    return SET_COUNTER;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * 0x100000001b3ULL; /* FNV-1a, a word at a time */
}

static uint64_t hash_of(const struct rh_set *set)
{
    uint64_t hash = mix(0xcbf29ce484222325ULL, set->id);
    for (int i = 0; i < set->size; i++)
        hash = mix(mix(hash, (uint64_t)set->ranks[i] + 1), (uint64_t)(set->parents[i] + 2));
    return mix(hash, set->way);
}

int set_shape(struct rh_set *set, const struct rh_set_spec *spec)
{
    int result = copy_ranks(set, spec);
    if (result == 0)
        result = make_tree(set, spec->parents);
    if (result < 0)
        return result;
    set->way = choose_way(set, spec);
    set->hash = hash_of(set);
    return 0;
}

void set_lay_out(struct rh_set *set)
{
    size_t size = (size_t)set->size;
    size_t needed = size * STAGE_PER_MEMBER;
    set->stage_length = needed > STAGE_LENGTH ? needed : STAGE_LENGTH;
    set->seats_offset = sizeof(struct set_front);
    set->gifts_offset = set->seats_offset + size * sizeof(struct set_seat);
    set->stage_offset = (set->gifts_offset + size * sizeof(struct set_slot) + 4095) & ~4095ULL;
    set->result_offset = set->stage_offset + 2 * set->stage_length;
    set->length = set->result_offset + set->stage_length;
}
