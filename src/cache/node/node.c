/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See node.h: opening a node's memory to the others, and telling them about writers.
 */
#include "cache/node/node.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/memory_room.h"
#include "rma/inside.h"

#include <string.h>
#include <sys/mman.h>

#define BLOCKS_MIN     4 /* less is no cache */
#define TIMEOUT_PART   3
#define AGREE_PAUSE_NS (5 * NS_PER_MS)

static int default_groups(int size)
{
    return size < 8 ? 1 : size < 16 ? 2 : 4;
}

/* ---- Opening -------------------------------------------------------------------------------- */

int node_shape(const struct node_options *options, struct cache_shape *shape)
{
    const char *limit = "";
    uint64_t room = memory_room(&limit), bytes = options->bytes;
    if (bytes > room / 10 * 9) {
        bytes = room / 10 * 9;
        log_warning("cache: %llu MiB are wanted, but %s leaves %llu MiB; going on with %llu MiB",
                    (unsigned long long)(options->bytes >> 20), limit,
                    (unsigned long long)(room >> 20), (unsigned long long)(bytes >> 20));
    }
    if (bytes / options->block_length >= BLOCKS_MIN &&
        cache_shape_make(shape, bytes, options->block_length))
        return 0;
    return error_fail(
        RH_EINVALID,
        "a cache of %llu bytes in blocks of %u makes no sense: blocks are powers of two "
        "from 64K to 64M, at least %d of them",
        (unsigned long long)bytes, options->block_length, BLOCKS_MIN);
}

static int open_segments(struct node *node, const struct cache_shape *shape, void **arena)
{
    struct rh_segment blocks = {.struct_size = sizeof(blocks),
                                .sid = CACHE_SID_ARENA,
                                .length = shape->arena_length,
                                .rights = RH_READ};
    struct rh_segment watch = {.struct_size = sizeof(watch),
                               .sid = CACHE_SID_WATCH,
                               .length = (shape->watch_count + 1) * sizeof(uint64_t),
                               .rights = RH_ALL};
    int result = rma_segment_create(node->job, &blocks, &node->arena_fd);
    if (result == 0)
        result = rma_segment_create(node->job, &watch, &node->watch_fd);
    *arena = blocks.base;
    node->watch = watch.base;
    return result;
}

/* A peer of the same host is read through a mapping: have that ready, too. */
static void map_peer(struct node *node, int rank)
{
    struct cache_shape shape;
    if (rank == node->directory.rank || directory_shape(&node->directory, rank, &shape) < 0)
        return;
    void *arena = rh_remote_ptr(node->job, rh_at(rank, CACHE_SID_ARENA, 0), shape.arena_length);
    if (arena)
        madvise(arena, shape.arena_length, MADV_POPULATE_READ);
}

/* A peer that never comes is a dead one to us; its share of the directory goes to others. However
 * many these are, they are waited for once. */
static void await_peers(struct node *node)
{
    int64_t deadline_ns = rma_deadline_ns(node->job, RH_TIMEOUT_DEFAULT);
    for (int rank = 0; rank < rh_size(node->job); rank++) {
        int result = rh_segment_wait(node->job, rank, CACHE_SID_DIRECTORY,
                                     rma_left_ns(node->job, deadline_ns));
        if (result < 0)
            log_warning("cache: doing without rank %d: %s", rank, rh_error_text());
        else
            map_peer(node, rank);
    }
}

/* All nodes lay the directory out alike, whatever memory each has: as node 0 would with what it was
 * told to take, which it says in the word behind its watch. A wish that is beyond any cache says
 * nothing: then it is what node 0 has. */
static uint64_t size_to_announce(const struct node_options *options,
                                 const struct cache_shape *shape)
{
    struct cache_shape wished;
    if (cache_shape_make(&wished, options->bytes, options->block_length))
        return options->bytes;
    return cache_data_length(shape);
}

static int agree_on_size(struct node *node, const struct node_options *options, uint64_t *bytes)
{
    const struct cache_shape *shape = &node->control->shape;
    uint64_t at = (uint64_t)shape->watch_count * sizeof(uint64_t);
    struct timespec pause = {.tv_nsec = AGREE_PAUSE_NS};
    *bytes = size_to_announce(options, shape);
    if (options->is_simulated) /* they have the same options */
        return 0;
    if (rh_rank(node->job) == 0) {
        atomic_store(&node->watch[shape->watch_count], *bytes);
        return 0;
    }
    int64_t deadline_ns = rma_deadline_ns(node->job, RH_TIMEOUT_DEFAULT);
    int result = rh_segment_wait(node->job, 0, CACHE_SID_WATCH, RH_TIMEOUT_DEFAULT);
    while (result == 0) {
        result = rh_pull(node->job, rh_at(0, CACHE_SID_WATCH, at), bytes, sizeof(*bytes));
        if (result == 0 && *bytes != 0)
            return 0;
        if (result == 0 && rma_left_ns(node->job, deadline_ns) <= 0)
            return error_set(RH_ETIMEOUT, 0,
                             "node 0 of the cache does not say how large it is; is it stuck?");
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    }
    return result;
}

static int open_parts(struct node *node, void *arena, const struct cache_shape *shape,
                      const struct node_options *options)
{
    struct cache_shape nominal;
    int size = rh_size(node->job);
    uint64_t bytes;
    int result = agree_on_size(node, options, &bytes);
    if (result < 0)
        return result;
    if (!cache_shape_make(&nominal, bytes, options->block_length))
        return error_fail(RH_EINVALID,
                          "node 0 has a cache of %llu bytes, which makes no sense here",
                          (unsigned long long)bytes);
    int group_count = options->group_count ? options->group_count : default_groups(size);
    struct directory_options wishes = {.job = node->job,
                                       .control = node->control,
                                       .shape = &nominal,
                                       .own = shape,
                                       .group_count = group_count < size ? group_count : size,
                                       .lease_ns = options->lease_ns,
                                       .is_simulated = options->is_simulated};
    result = store_open(&node->store, arena, node->control, shape);
    if (result < 0)
        return result;
    loader_open(&node->loader, node->control, &node->store.shape);
    struct policy_options policy = {.ratio = options->singlet_ratio,
                                    .bytes = cache_data_length(shape),
                                    .slot_count = shape->slot_count,
                                    .node_count = (uint32_t)size};
    result = policy_open(&node->policy, &policy);
    if (result == 0)
        result = directory_open(&node->directory, &wishes);
    node->loader.use_direct = options->use_direct;
    node->loader.source = options->source;
    node->loader.mounts = options->mounts;
    node->control->group_count = (uint32_t)wishes.group_count;
    return result;
}

static void open_locks(struct node *node)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&node->pending_end, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&node->pending_lock, NULL);
}

int node_open(struct node *node, struct rh_job *job, struct cache_control *control,
              const struct node_options *options)
{
    const struct cache_shape shape = control->shape;
    void *arena;
    memset(node, 0, sizeof(*node));
    node->job = job;
    node->control = control;
    node->use_checksum = options->use_checksum;
    node->pretended = options->pretended;
    node->patience_ns = options->patience_ns;
    node->chance = (uint64_t)clock_now_ns();
    control->rank = rh_rank(job);
    control->size = rh_size(job);
    control->job_id = rh_job_id(job);
    open_locks(node);
    int result = open_segments(node, &shape, &arena);
    if (result == 0)
        result = open_parts(node, arena, &shape, options);
    if (result < 0)
        return result;
    /* The pages are there, this maps them: a block must not wait for 256 faults. It takes a while,
     * in which the others already find what they wait for. */
    madvise(arena, shape.arena_length, MADV_POPULATE_WRITE);
    await_peers(node);
    /* From here on a peer that does not answer is not worth more than a part of a read's
     * patience. */
    rma_timeout_shorten(job, node->patience_ns / TIMEOUT_PART);
    return 0;
}

void node_close(struct node *node)
{
    directory_close(&node->directory);
    policy_close(&node->policy);
    loader_close(&node->loader);
    store_close(&node->store);
    pthread_mutex_destroy(&node->pending_lock);
    pthread_cond_destroy(&node->pending_end);
}

/* ---- Writers -------------------------------------------------------------------------------- */

int node_watch_tell(struct node *node, uint32_t watch, uint64_t amount)
{
    int result = 0;
    loader_forget(&node->loader, watch);
    for (int rank = 0; rank < node->directory.size; rank++) {
        if (!directory_is_alive(&node->directory, rank))
            continue;
        int told = rh_fetch_add(node->job, rh_at(rank, CACHE_SID_WATCH, (uint64_t)watch * 8),
                                amount, NULL);
        if (told < 0 && directory_is_alive(&node->directory, rank))
            result = told;
    }
    return result;
}
