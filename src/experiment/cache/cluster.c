/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See cluster.h.
 */
#include "experiment/cache/cluster.h"

#include "base/clock.h"
#include "base/error.h"
#include "cache/node/node.h"
#include "experiment/cache/fat_tree.h"
#include "experiment/failure.h"
#include "simulated/simulated.h"

#include <stdlib.h>
#include <string.h>

/* The server's speed is about that of one node's network, as in the paper; a node copies from its
 * own memory a few times as fast. */
#define SERVER_BYTES_PER_S 100000000LL
#define SERVER_REQUEST_NS  (50 * NS_PER_US)  /* of the server's time, for each request */
#define SERVER_LATENCY_NS  (500 * NS_PER_US) /* there and back */
#define COPY_BYTES_PER_S   400000000LL
#define HIT_NS             1000 /* a read that finds its block, besides the copy */

#define PATIENCE_NS (3600 * NS_PER_S)
#define MEET_NS     (10 * NS_PER_MS)
#define LIMIT_NS    PATIENCE_NS
#define PAGE        4096u
#define TRIES_MAX   100

/* One for all nodes: first come, first served. */
struct server {
    struct loader_source source; /* first, so that the loader's is this one */
    struct cluster_run *run;
    int64_t busy_until_ns;
};

/* All nodes begin together: the last to come says when. */
struct meeting {
    int count;
    int64_t begin_ns;
};
enum { MEET_FILLED, MEET_READ, MEET_COUNT };

struct cluster_run {
    const struct cache_cluster_trial *trial;
    struct cache_cluster_result *result;
    struct simulated *simulated;
    struct server server;
    struct loader_file file;
    struct meeting meetings[MEET_COUNT];
    int64_t end_ns;
    struct failure failure; /* a node is not there: nobody waits for it */
};

struct reader {
    struct cluster_run *run;
    struct rh_job *job;
    struct node *node;
    struct cache_control *control;
    char *buffer;
    uint64_t bytes;
    int rank;
};

/* ---- The file system ------------------------------------------------------------------------ */

static void server_serve(struct server *server, uint64_t length)
{
    struct simulated *simulated = server->run->simulated;
    int64_t now = simulated_now_ns(simulated);
    int64_t begin = server->busy_until_ns > now ? server->busy_until_ns : now;
    server->busy_until_ns = begin + SERVER_REQUEST_NS +
                            (int64_t)length * NS_PER_S / SERVER_BYTES_PER_S;
    simulated_sleep(simulated, server->busy_until_ns + SERVER_LATENCY_NS - now);
}

/* What stands at an offset of the file: every 8 bytes say where they are. */
static uint64_t word_at(uint64_t offset)
{
    return splitmix_mix(offset + 1);
}

static int server_read(const struct loader_source *source, const struct loader_file *file,
                       uint64_t block, void *target, uint64_t length)
{
    struct server *server = (struct server *)(uintptr_t)source;
    uint64_t *words = target;
    uint64_t offset = block * server->run->trial->block_length;
    server_serve(server, length);
    for (uint64_t i = 0; i < length / 8; i++)
        words[i] = word_at(offset + i * 8);
    return 0;
}

/* ---- A read, as the client does it ---------------------------------------------------------- */

static void copy_time(struct reader *reader, uint64_t length)
{
    simulated_sleep(reader->run->simulated, HIT_NS + (int64_t)length * NS_PER_S / COPY_BYTES_PER_S);
}

/* True: the piece is in the buffer, and was the block's all the time. */
static bool read_hit(struct reader *reader, const uint64_t id[2], uint64_t start, uint64_t length)
{
    struct store *store = &reader->node->store;
    uint64_t token;
    uint32_t slot = cache_index_find(&store->arena, id, &token);
    if (slot == CACHE_NO_SLOT)
        return false;
    atomic_store_explicit(&cache_touched(reader->control, &store->shape)[slot], 1,
                          memory_order_relaxed);
    copy_time(reader, length);
    const char *bytes = cache_slot_bytes(&store->arena, slot, start, length);
    if (!bytes)
        return false;
    memcpy(reader->buffer, bytes, length);
    return cache_slot_stands(&store->arena.slots[slot], token);
}

static int read_piece(struct reader *reader, uint64_t offset, uint64_t length)
{
    struct loader_file *file = &reader->run->file;
    uint32_t block_length = reader->run->trial->block_length;
    uint64_t id[2];
    cache_block_id(file->id, offset / block_length, id);
    for (int i = 0; i < TRIES_MAX; i++) {
        if (read_hit(reader, id, offset % block_length, length)) {
            cache_count(reader->control, 0, CACHE_LOCAL_HITS, i == 0);
            cache_count(reader->control, 0, CACHE_LOCAL_BYTES, i == 0 ? length : 0);
            return 0;
        }
        cache_count(reader->control, 0, CACHE_MISSES, 1);
        int result = node_bring(reader->node, file, offset / block_length, NULL);
        if (result < 0)
            return error_set(result, reader->rank, "block %llu: %s",
                             (unsigned long long)(offset / block_length), strerror(-result));
    }
    return error_set(RH_ETIMEOUT, reader->rank, "block %llu is always given up at once",
                     (unsigned long long)(offset / block_length));
}

static int check_piece(const struct reader *reader, uint64_t offset, uint64_t length)
{
    uint64_t first, last;
    memcpy(&first, reader->buffer, 8);
    memcpy(&last, reader->buffer + length - 8, 8);
    if (first == word_at(offset) && last == word_at(offset + length - 8))
        return 0;
    return error_set(RH_ECORRUPT, reader->rank, "rank %d read something else at %llu", reader->rank,
                     (unsigned long long)offset);
}

static int read_at(struct reader *reader, uint64_t offset)
{
    const struct cache_cluster_trial *trial = reader->run->trial;
    uint64_t end = offset + trial->read_length;
    int result = 0;
    reader->bytes += trial->read_length;
    if (trial->is_plain) {
        server_serve(&reader->run->server, trial->read_length);
        copy_time(reader, trial->read_length);
        return 0;
    }
    while (offset < end && result == 0) {
        uint64_t left = trial->block_length - offset % trial->block_length;
        uint64_t length = left < end - offset ? left : end - offset;
        result = read_piece(reader, offset, length);
        if (result == 0)
            result = check_piece(reader, offset, length);
        offset += length;
    }
    return result;
}

/* ---- What is read --------------------------------------------------------------------------- */

static int read_in_steps(struct reader *reader, uint64_t first, uint64_t step)
{
    int result = 0;
    for (uint64_t at = first; at < reader->run->trial->file_length && result == 0; at += step)
        result = read_at(reader, at);
    return result;
}

static int read_at_random(struct reader *reader, uint64_t phase)
{
    const struct cache_cluster_trial *trial = reader->run->trial;
    uint64_t seed = cache_mix2(cache_mix2(trial->seed, phase), (uint64_t)reader->rank);
    int result = 0;
    for (uint64_t i = 0; i < trial->reads && result == 0; i++) {
        uint64_t place = cache_mix2(seed, i) % (trial->file_length / trial->read_length);
        result = read_at(reader, place * trial->read_length);
    }
    return result;
}

static int read_all(struct reader *reader)
{
    const struct cache_cluster_trial *trial = reader->run->trial;
    uint64_t length = trial->read_length;
    switch (trial->kind) {
    case CACHE_CLUSTER_SEQUENTIAL:
        return read_in_steps(reader, 0, length);
    case CACHE_CLUSTER_STRIDE:
        return read_in_steps(reader, length * (uint64_t)reader->rank,
                             length * (uint64_t)trial->nodes);
    default:
        return read_at_random(reader, 1);
    }
}

/* ---- A node --------------------------------------------------------------------------------- */

static void meet(struct reader *reader, int which)
{
    struct cluster_run *run = reader->run;
    struct meeting *meeting = &run->meetings[which];
    if (++meeting->count == run->trial->nodes)
        meeting->begin_ns = simulated_now_ns(run->simulated) + 2 * MEET_NS;
    while (meeting->begin_ns == 0 && run->failure.code == 0)
        simulated_sleep(run->simulated, MEET_NS);
    int64_t left = meeting->begin_ns - simulated_now_ns(run->simulated);
    if (left > 0)
        simulated_sleep(run->simulated, left);
}

static int measure(struct reader *reader)
{
    struct cluster_run *run = reader->run;
    uint64_t before[CACHE_COUNTER_COUNT], after[CACHE_COUNTER_COUNT];
    int result = 0;
    if (run->trial->kind == CACHE_CLUSTER_RANDOM && !run->trial->is_plain)
        result = read_at_random(reader, 0);
    failure_note(&run->failure, result);
    meet(reader, MEET_FILLED);
    cache_counters_sum(reader->control, before);
    reader->bytes = 0;
    if (result == 0)
        result = read_all(reader);
    failure_note(&run->failure, result);
    int64_t now = simulated_now_ns(run->simulated);
    run->end_ns = now > run->end_ns ? now : run->end_ns;
    run->result->bytes += reader->bytes;
    cache_counters_sum(reader->control, after);
    for (int i = 0; i < CACHE_COUNTER_COUNT; i++)
        run->result->counters[i] += after[i] - before[i];
    meet(reader, MEET_READ); /* others may still want what this node has */
    return result;
}

static int node_life(struct reader *reader)
{
    const struct cache_cluster_trial *trial = reader->run->trial;
    struct node_options options = {.bytes = (uint64_t)trial->cache_blocks * trial->block_length,
                                   .block_length = trial->block_length,
                                   .group_count = trial->groups,
                                   .singlet_ratio = trial->singlets,
                                   .lease_ns = PATIENCE_NS,
                                   .patience_ns = PATIENCE_NS,
                                   .is_simulated = true,
                                   .source = &reader->run->server.source};
    int result = node_open(reader->node, reader->job, reader->control, &options);
    if (result < 0)
        return result;
    reader->node->chance = cache_mix2(trial->seed, (uint64_t)reader->rank);
    result = measure(reader);
    node_close(reader->node);
    return result;
}

static int rank_main(struct rh_job *job, void *context)
{
    struct cluster_run *run = context;
    const struct cache_cluster_trial *trial = run->trial;
    struct cache_shape shape;
    if (!cache_shape_make(&shape, (uint64_t)trial->cache_blocks * trial->block_length,
                          trial->block_length))
        return error_fail(RH_EINVALID, "%u blocks of %u bytes are no cache", trial->cache_blocks,
                          trial->block_length);
    struct reader reader = {.run = run, .job = job, .rank = rh_rank(job)};
    uint64_t control_length = (shape.control_length + PAGE - 1) / PAGE * PAGE;
    reader.node = calloc(1, sizeof(*reader.node));
    reader.control = aligned_alloc(PAGE, control_length);
    reader.buffer = malloc(trial->block_length);
    int result = error_set(RH_ENOSPACE, reader.rank, "no memory for a simulated node");
    if (reader.node && reader.control && reader.buffer) {
        memset(reader.control, 0, control_length);
        reader.control->shape = shape;
        result = node_life(&reader);
    }
    failure_note(&run->failure, result);
    free(reader.buffer);
    free(reader.control);
    free(reader.node);
    return result;
}

/* ---- The whole ------------------------------------------------------------------------------ */

int cache_cluster_run(const struct cache_cluster_trial *trial, struct cache_cluster_result *result)
{
    struct network_plan plan;
    struct cluster_run run = {.trial = trial, .result = result};
    struct simulated_report report;
    struct sim_constants constants = sim_constants_default();
    int status = fat_tree_make(&plan, (uint32_t)trial->nodes, (uint32_t)constants.cluster_mbps);
    if (status < 0)
        return status;
    *result = (struct cache_cluster_result){0};
    run.server = (struct server){.source = {server_read}, .run = &run};
    run.file.key = (struct cache_key){.file_system = 1, .inode = 1, .size = trial->file_length};
    cache_key_id(&run.file.key, run.file.id);
    struct simulated_options options = {.size = trial->nodes,
                                        .spec = {.seed = trial->seed, .plan = &plan},
                                        .rank_main = rank_main,
                                        .context = &run,
                                        .limit_ns = LIMIT_NS,
                                        .handle = &run.simulated};
    status = failure_result(&run.failure, simulated_run(&options, &report));
    result->seconds = (double)(run.end_ns - run.meetings[MEET_FILLED].begin_ns) / NS_PER_S;
    result->hash = report.hash;
    fat_tree_free(&plan);
    return status;
}
