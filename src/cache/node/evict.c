/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Giving up blocks. First the directory is told where else the block is, or that it is nowhere;
 * only then the slot is emptied. Everything in the directory is changed by compare-and-swap from
 * what was seen, so that a row that has become another's is left alone.
 */
#include "base/clock.h"
#include "cache/node/node.h"

#define TRIES_MAX      64
#define RECHECKS_MAX   3 /* last copies that are looked at again when one must go */
#define SPARING_ROUNDS 8 /* in which what was used is not given up for being in the way */
#define FULL_WAIT_NS   (200 * NS_PER_MS)

/* What the cluster knows about a block of ours. */
struct standing {
    uint32_t slot;
    uint64_t id[2];
    uint64_t own; /* the cell that names our copy */
    bool has_row;
    struct directory_row row;
    uint64_t alternate; /* a copy elsewhere in our group, or 0 */
    bool is_singlet;    /* nobody else is known to have it */
};

static bool others_have_it(const struct node *node, const struct standing *standing)
{
    for (int group = 0; group < node->directory.group_count; group++) {
        uint64_t cell = standing->row.cell[group];
        if (cell_is_loaded(cell) && cell != standing->own &&
            directory_is_alive(&node->directory, cell_rank(cell)))
            return true;
    }
    return standing->alternate != 0;
}

static void examine(struct node *node, uint32_t slot, struct standing *standing)
{
    *standing = (struct standing){.slot = slot};
    store_id(&node->store, slot, standing->id);
    uint64_t token = atomic_load_explicit(&node->store.arena.slots[slot].token,
                                          memory_order_relaxed);
    standing->own = cell_make(node->directory.rank, slot, token);
    if (directory_look(&node->directory, standing->id, &standing->row) < 0 ||
        standing->row.place < 0)
        return; /* nobody could find it here: of no use to others */
    standing->has_row = true;
    uint64_t cell = 0;
    if (directory_alternate_get(&node->directory, standing->id, &cell) == 0 &&
        cell != standing->own && node_copy_is_there(node, cell, standing->id))
        standing->alternate = cell;
    standing->is_singlet = !others_have_it(node, standing);
}

static bool row_is_empty(const struct node *node, const struct directory_row *row)
{
    for (int group = 0; group < node->directory.group_count; group++) {
        if (row->cell[group] != 0)
            return false;
    }
    return true;
}

static void leave_directory(struct node *node, struct standing *standing)
{
    struct directory *directory = &node->directory;
    struct directory_row *row = &standing->row;
    for (int group = 0; standing->has_row && group < directory->group_count; group++) {
        if (row->cell[group] == standing->own)
            directory_cell_set(directory, row, group, standing->alternate);
    }
    if (standing->has_row && row_is_empty(node, row) && head_stage(row->head) == HEAD_LOADED)
        directory_head_set(directory, row, 0);
    directory_alternate_drop(directory, standing->id, standing->own);
}

static void give_up(struct node *node, struct standing *standing)
{
    leave_directory(node, standing);
    policy_gave_up(&node->policy, standing->id, standing->is_singlet);
    store_release(&node->store, standing->slot);
    cache_count(node->control, 0, CACHE_EVICTIONS, 1);
}

/* Blocks take what they need, so that the place of one may be too short for the next: those beside
 * it go with it. */
static void give_up_with_neighbours(struct node *node, struct standing *standing,
                                    const struct store_room *room)
{
    uint32_t beside;
    while ((beside = store_neighbour(&node->store, standing->slot, room)) != CACHE_NO_SLOT) {
        struct standing other;
        examine(node, beside, &other);
        give_up(node, &other);
    }
    give_up(node, standing);
}

/* A last copy must go: rather one that has been copied since it was put aside. */
static void give_up_singlet(struct node *node, struct standing *standing,
                            const struct store_room *room)
{
    uint32_t passed[RECHECKS_MAX];
    int passed_count = 0;
    while (standing->is_singlet && passed_count < RECHECKS_MAX) {
        bool is_singlet = false;
        uint32_t next = store_victim(&node->store, 0, &is_singlet);
        if (next == CACHE_NO_SLOT)
            break;
        struct standing other;
        examine(node, next, &other);
        if (is_singlet && other.is_singlet) {
            passed[passed_count++] = next;
            continue;
        }
        passed[passed_count++] = standing->slot;
        *standing = other;
        break;
    }
    while (passed_count > 0)
        store_singlet_return(&node->store, passed[--passed_count]);
    give_up_with_neighbours(node, standing, room);
}

/* Make room for so many bytes where one block was, or put last copies aside until one is found that
 * is none. False: nothing can leave now. */
static bool give_up_one(struct node *node, const struct store_room *room)
{
    for (int i = 0; i < TRIES_MAX; i++) {
        uint64_t most = policy_singlets_max(&node->policy);
        struct standing standing;
        bool from_singlets = false;
        uint32_t slot = store_victim(&node->store, most, &from_singlets);
        if (slot == CACHE_NO_SLOT)
            return false;
        examine(node, slot, &standing);
        if (from_singlets) {
            give_up_singlet(node, &standing, room);
            return true;
        }
        if (!standing.is_singlet || most == 0) {
            give_up_with_neighbours(node, &standing, room);
            return true;
        }
        store_singlet_keep(&node->store, slot);
        cache_count(node->control, 0, CACHE_SINGLETS_KEPT, 1);
    }
    return false;
}

uint32_t node_room_make(struct node *node, uint64_t length)
{
    int64_t deadline_ns = deadline_after_ns(directory_now_ns(&node->directory), FULL_WAIT_NS);
    for (int round = 0;; round++) {
        struct store_room room = {.length = length, .is_urgent = round >= SPARING_ROUNDS};
        uint32_t slot = store_reserve(&node->store, length);
        if (slot != CACHE_NO_SLOT)
            return slot;
        if (give_up_one(node, &room))
            continue;
        if (directory_now_ns(&node->directory) > deadline_ns)
            return CACHE_NO_SLOT; /* every slot is being filled */
        directory_sleep(&node->directory, NS_PER_MS);
    }
}
