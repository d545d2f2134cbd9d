/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Getting a block. The steps are those of the paper, with two differences: who reads the file
 * system is decided for all groups together, by one compare-and-swap on the row's head; and nobody
 * is waited for for ever. Model: tests/model/cache_claim.pml.
 */
#include "base/clock.h"
#include "cache/node/node.h"

#define POLL_FIRST_NS (20 * NS_PER_US)
#define POLL_MAX_NS   (4 * NS_PER_MS) /* a look costs the row's home something on some networks */

/* What came of a step. */
enum step { STEP_DONE = 0, STEP_AGAIN = 1 }; /* or a negative errno */

struct fetch {
    struct node *node;
    struct loader_file *file;
    const struct node_arrival *arrival; /* or NULL */
    uint64_t block, id[2], length;
    uint32_t slot;
    int64_t start_ns, deadline_ns;
    /* The word that we wait to see changed, and since when it is the same. */
    uint64_t watched;
    int64_t watched_ns, pause_ns;
};

/* ---- Waiting for others --------------------------------------------------------------------- */

/* Wait a moment for `rank` to change a word. True: it is dead, or silent for the length of a lease,
 * and may be overruled. */
static bool wait_has_expired(struct fetch *fetch, uint64_t word, int rank)
{
    struct directory *directory = &fetch->node->directory;
    int64_t now = directory_now_ns(directory);
    if (rank >= directory->size || !directory_is_alive(directory, rank))
        return true;
    if (fetch->watched != word) {
        fetch->watched = word;
        fetch->watched_ns = now;
        fetch->pause_ns = POLL_FIRST_NS;
    }
    if (now - fetch->watched_ns > directory->lease_ns)
        return true;
    directory_sleep(directory, fetch->pause_ns);
    if (fetch->pause_ns < POLL_MAX_NS)
        fetch->pause_ns += fetch->pause_ns / 2;
    return false;
}

/* ---- Publishing ----------------------------------------------------------------------------- */

static void count(struct fetch *fetch, bool was_loaded)
{
    struct cache_control *control = fetch->node->control;
    cache_count(control, 0, was_loaded ? CACHE_LOADS : CACHE_REMOTE_HITS, 1);
    cache_count(control, 0, was_loaded ? CACHE_LOAD_BYTES : CACHE_REMOTE_BYTES, fetch->length);
    struct policy_arrival arrival = {.id = fetch->id,
                                     .length = fetch->length,
                                     .time_ns = directory_now_ns(&fetch->node->directory) -
                                                fetch->start_ns,
                                     .was_loaded = was_loaded};
    policy_brought(&fetch->node->policy, &arrival);
    if (fetch->file->stat_index == 0)
        return;
    struct cache_file_stat *stat = &cache_file_stats(
        control, &fetch->node->store.shape)[fetch->file->stat_index - 1];
    atomic_fetch_add_explicit(was_loaded ? &stat->loads : &stat->remote_hits, 1,
                              memory_order_relaxed);
    atomic_fetch_add_explicit(was_loaded ? &stat->load_bytes : &stat->remote_bytes, fetch->length,
                              memory_order_relaxed);
}

/* Let this node's processes find the block. *cell is what others are to be told, 0: nothing. */
static int publish(struct fetch *fetch, bool was_loaded, uint64_t checksum, uint64_t *cell)
{
    struct node *node = fetch->node;
    uint64_t token = store_publish(&node->store, fetch->slot, fetch->id, fetch->length, checksum);
    if (token == 0) {
        fetch->slot = CACHE_NO_SLOT;
        return -ENOSPC;
    }
    *cell = cell_make(node->directory.rank, fetch->slot, token);
    fetch->slot = CACHE_NO_SLOT; /* the store's now */
    count(fetch, was_loaded);
    if (fetch->arrival)
        fetch->arrival->arrived(fetch->arrival->context);
    return 0;
}

/* ---- From the file system ------------------------------------------------------------------- */

static int load(struct fetch *fetch, uint64_t *cell)
{
    struct node *node = fetch->node;
    void *data = store_data(&node->store, fetch->slot);
    int result = loader_read(&node->loader, fetch->file, fetch->block, data);
    if (result < 0) {
        cache_count(node->control, 0, CACHE_LOAD_ERRORS, 1);
        return result;
    }
    if (node->pretended > 0)
        node_pretend(node, fetch->length);
    struct node_copy block = {.id = fetch->id, .data = data, .length = fetch->length};
    return publish(fetch, true, node_checksum(node, &block), cell);
}

/* Without the directory: it cannot be reached, or has no room. */
static int load_alone(struct fetch *fetch)
{
    uint64_t cell;
    int result = load(fetch, &cell);
    if (result == 0)
        directory_alternate_put(&fetch->node->directory, fetch->id, cell);
    return result;
}

/* The row's head names us as the loader. */
static int load_claimed(struct fetch *fetch, struct directory_row *row)
{
    struct node *node = fetch->node;
    uint64_t cell = 0;
    struct directory_lease *lease = directory_lease_keep(&node->directory, row);
    int result = load(fetch, &cell);
    directory_lease_end(&node->directory, lease);
    if (result < 0)
        directory_head_set(&node->directory, row, 0); /* let the next one try */
    else if (directory_publish(&node->directory, row, cell) != 1)
        directory_alternate_put(&node->directory, fetch->id, cell); /* taken over meanwhile */
    return result;
}

/* Become the loader of a row that has no loader any more, or no copy. */
static int take_over(struct fetch *fetch, struct directory_row *row)
{
    struct directory *directory = &fetch->node->directory;
    bool was_loaded = head_stage(row->head) == HEAD_LOADED;
    uint64_t head = head_make(head_tag(fetch->id), HEAD_LOADING, directory->rank,
                              directory_number(directory));
    int result = directory_head_set(directory, row, head);
    if (result < 0)
        return load_alone(fetch);
    if (result == 0)
        return STEP_AGAIN;
    if (!was_loaded)
        cache_count(fetch->node->control, 0, CACHE_TAKEOVERS, 1);
    return load_claimed(fetch, row);
}

/* ---- From another node ---------------------------------------------------------------------- */

/* One of the groups whose cell names a copy, by chance; -1: none does. */
static int choose_copy(struct node *node, const struct directory_row *row)
{
    int found[CACHE_GROUPS_MAX], found_count = 0;
    for (int group = 0; group < node->directory.group_count; group++) {
        if (cell_is_loaded(row->cell[group]))
            found[found_count++] = group;
    }
    if (found_count == 0)
        return -1;
    uint64_t dice = splitmix_mix(atomic_fetch_add_explicit(&node->chance, 1, memory_order_relaxed));
    return found[dice % (unsigned)found_count];
}

/* Fetch from the chosen copy; what does not hold its promise is struck from the row. */
static int fetch_copy(struct fetch *fetch, struct directory_row *row, int from, uint64_t *cell)
{
    struct node *node = fetch->node;
    struct node_copy copy = {
        .id = fetch->id, .data = store_data(&node->store, fetch->slot), .length = fetch->length};
    if (node_copy_pull(node, row->cell[from], &copy))
        return publish(fetch, false, copy.checksum, cell);
    cache_count(node->control, 0, CACHE_STALE_CELLS, 1);
    directory_cell_set(&node->directory, row, from, 0);
    return STEP_AGAIN;
}

/* Our group has no copy yet, others have: get one and say so for the group. */
static int fetch_for_group(struct fetch *fetch, struct directory_row *row, int from)
{
    struct directory *directory = &fetch->node->directory;
    int own = directory->group;
    uint64_t mark = cell_fetching(directory->rank, directory_number(directory));
    if (directory_cell_set(directory, row, own, mark) != 1)
        return STEP_AGAIN;
    uint64_t cell = 0;
    int result = fetch_copy(fetch, row, from, &cell);
    if (directory_cell_set(directory, row, own, cell) != 1 && cell != 0)
        directory_alternate_put(directory, fetch->id, cell);
    return result;
}

static int fetch_loaded(struct fetch *fetch, struct directory_row *row)
{
    struct directory *directory = &fetch->node->directory;
    uint64_t own = row->cell[directory->group];
    int from = choose_copy(fetch->node, row);
    if (from < 0 && !cell_is_fetching(own))
        return take_over(fetch, row); /* all copies are gone */
    if (cell_is_fetching(own)) {
        if (wait_has_expired(fetch, own, cell_rank(own)))
            directory_cell_set(directory, row, directory->group, 0);
        return STEP_AGAIN;
    }
    if (own == 0)
        return fetch_for_group(fetch, row, from);
    uint64_t cell;
    int result = fetch_copy(fetch, row, from, &cell);
    if (result == STEP_DONE)
        directory_alternate_put(directory, fetch->id, cell);
    return result;
}

/* ---- The whole ------------------------------------------------------------------------------ */

static int step(struct fetch *fetch)
{
    struct directory *directory = &fetch->node->directory;
    struct directory_row row;
    if (directory_look(directory, fetch->id, &row) < 0)
        return load_alone(fetch);
    if (row.place < 0) {
        int result = directory_claim(directory, fetch->id, &row);
        if (result < 0)
            return load_alone(fetch);
        return result == 1 ? load_claimed(fetch, &row) : STEP_AGAIN;
    }
    if (head_stage(row.head) == HEAD_LOADED)
        return fetch_loaded(fetch, &row);
    if (wait_has_expired(fetch, row.head, head_rank(row.head)))
        return take_over(fetch, &row);
    return STEP_AGAIN;
}

static int get(struct fetch *fetch)
{
    struct directory *directory = &fetch->node->directory;
    fetch->slot = node_room_make(fetch->node, fetch->length);
    if (fetch->slot == CACHE_NO_SLOT)
        return -ENOSPC;
    int result = STEP_AGAIN;
    while (result == STEP_AGAIN && directory_now_ns(directory) < fetch->deadline_ns)
        result = step(fetch);
    if (fetch->slot != CACHE_NO_SLOT)
        store_cancel(&fetch->node->store, fetch->slot);
    return result == STEP_AGAIN ? -ETIMEDOUT : result;
}

static bool is_here(const struct node *node, const uint64_t id[2])
{
    return cache_index_has(&node->store.arena, id);
}

int node_bring(struct node *node, struct loader_file *file, uint64_t block,
               const struct node_arrival *arrival)
{
    struct fetch fetch = {
        .node = node,
        .file = file,
        .arrival = arrival,
        .block = block,
        .length = loader_length(&node->loader, file, block),
        .slot = CACHE_NO_SLOT,
        .start_ns = directory_now_ns(&node->directory),
        .deadline_ns = deadline_after_ns(directory_now_ns(&node->directory), node->patience_ns)};
    int64_t deadline_ns = clock_deadline_ns(node->patience_ns); /* for threads' waits */
    cache_block_id(file->id, block, fetch.id);
    if (fetch.length == 0)
        return -EINVAL;
    if (is_here(node, fetch.id))
        return 0;
    if (!node_pending_enter(node, fetch.id, deadline_ns))
        return is_here(node, fetch.id) ? 0 : -EAGAIN;
    int result = is_here(node, fetch.id) ? 0 : get(&fetch);
    node_pending_leave(node, fetch.id);
    return result;
}
