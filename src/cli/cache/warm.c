/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet cache warm`: bring files into the cache before they are wanted. Inside a job it fills
 * this node's share, one block in every N; from outside, the nodes of this host get a share each.
 */
#include "base/array.h"
#include "base/clock.h"
#include "cache/client/client.h"
#include "cli/cache/find.h"
#include "cli/cli.h"
#include "cli/table.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_EACH 4  /* for each node */
#define THREADS_MAX  64 /* for all */
#define UNIT_BLOCKS  16 /* of a file that one thread takes at a time */
#define PROGRESS_NS  (200 * NS_PER_MS)

struct file {
    char *path;
    uint64_t size;
};

struct warm {
    struct cache_client *clients[CACHE_FIND_MAX];
    int client_count;
    int share, share_count; /* ours of all blocks; 0 of 1: all */
    uint64_t block_length;
    struct file *files;
    size_t file_count, file_room;
    pthread_mutex_t lock;
    size_t next_file;
    uint64_t next_block;
    _Atomic uint64_t done_bytes, near_bytes, failed_count;
    _Atomic int running;
    uint64_t total_bytes;
};

/* ---- Files ---------------------------------------------------------------------------------- */

static bool add_file(struct warm *warm, const char *path, uint64_t size)
{
    if (!array_grow(&warm->files, &warm->file_room, warm->file_count + 1))
        return false;
    char *copy = strdup(path);
    if (!copy)
        return false;
    warm->files[warm->file_count++] = (struct file){.path = copy, .size = size};
    warm->total_bytes += size;
    return true;
}

static int list_files(struct warm *warm, char **paths)
{
    int status = 0;
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (!tree) {
        cli_say("cannot look for files: %s", strerror(errno));
        return 1;
    }
    for (FTSENT *entry; (entry = fts_read(tree));) {
        bool is_missing = entry->fts_info == FTS_NS || entry->fts_info == FTS_DNR ||
                          entry->fts_info == FTS_ERR;
        if (is_missing) {
            cli_say("%s: %s", entry->fts_path, strerror(entry->fts_errno));
            status = 1;
        } else if (entry->fts_info == FTS_F && entry->fts_statp->st_size > 0 &&
                   !add_file(warm, entry->fts_path, (uint64_t)entry->fts_statp->st_size)) {
            cli_say("%s: no memory to remember it", entry->fts_path);
            status = 1;
        }
    }
    fts_close(tree);
    return status;
}

/* ---- Work ----------------------------------------------------------------------------------- */

struct unit {
    const struct file *file;
    uint64_t first, end; /* blocks */
};

static bool take_unit(struct warm *warm, struct unit *unit)
{
    pthread_mutex_lock(&warm->lock);
    bool is_there = warm->next_file < warm->file_count;
    if (is_there) {
        unit->file = &warm->files[warm->next_file];
        uint64_t count = (unit->file->size + warm->block_length - 1) / warm->block_length;
        unit->first = warm->next_block;
        unit->end = unit->first + UNIT_BLOCKS < count ? unit->first + UNIT_BLOCKS : count;
        warm->next_block = unit->end;
        if (unit->end == count) {
            warm->next_file++;
            warm->next_block = 0;
        }
    }
    pthread_mutex_unlock(&warm->lock);
    return is_there;
}

/* Who takes a block: files begin at different nodes, so that many small ones are spread too. */
static uint64_t turn_of(const struct unit *unit, const struct warm *warm, uint64_t block)
{
    return block + (uint64_t)(unit->file - warm->files);
}

static void warm_block(struct warm *warm, struct cache_file *file, int fd, uint64_t block)
{
    uint64_t offset = block * warm->block_length;
    uint64_t left = file->size - offset;
    uint64_t length = left < warm->block_length ? left : warm->block_length;
    char byte;
    if (cache_file_is_near(file, (off_t)offset, 1))
        atomic_fetch_add(&warm->near_bytes, length);
    else if (cache_file_read(file, fd, &byte, 1, (off_t)offset) != 1 ||
             !cache_file_is_near(file, (off_t)offset, 1))
        atomic_fetch_add(&warm->failed_count, 1);
    atomic_fetch_add(&warm->done_bytes, length);
}

static void warm_unit(struct warm *warm, const struct unit *unit, int which)
{
    struct cache_file file;
    int fd = open(unit->file->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || cache_file_open(warm->clients[which], &file, fd) < 0) {
        atomic_fetch_add(&warm->failed_count, 1);
        if (fd >= 0)
            close(fd);
        return;
    }
    cache_file_advise(&file, fd, 0, 0, POSIX_FADV_RANDOM);
    for (uint64_t block = unit->first; block < unit->end; block++) {
        uint64_t turn = turn_of(unit, warm, block);
        if (turn % (uint64_t)warm->share_count == (uint64_t)warm->share)
            warm_block(warm, &file, fd, block);
    }
    cache_file_close(&file);
    close(fd);
}

static void *work(void *argument)
{
    struct warm *warm = argument;
    struct unit unit;
    while (take_unit(warm, &unit)) {
        /* Several nodes here: each has its blocks brought by itself. */
        int turn = (int)((uint64_t)(unit.file - warm->files + (long)(unit.first / UNIT_BLOCKS)) %
                         (uint64_t)warm->client_count);
        warm_unit(warm, &unit, turn);
    }
    atomic_fetch_sub(&warm->running, 1);
    return NULL;
}

static void show_progress(struct warm *warm, int64_t start_ns)
{
    char done[UNIT_TEXT_MAX], total[UNIT_TEXT_MAX], speed[UNIT_TEXT_MAX];
    double seconds = (double)(clock_now_ns() - start_ns) / NS_PER_S;
    uint64_t bytes = warm->done_bytes;
    cli_progress("%s of %s, %s/s", unit_bytes(done, (double)bytes),
                 unit_bytes(total, (double)warm->total_bytes / warm->share_count),
                 unit_bytes(speed, (double)bytes / (seconds > 0 ? seconds : 1)));
}

/* As many threads as there can be: fewer take longer. How many they are; 0 after it has said
 * why. */
static int start_threads(struct warm *warm, pthread_t threads[THREADS_MAX])
{
    int wanted = THREADS_EACH * warm->client_count;
    int count = 0, failure = 0;
    if (wanted > THREADS_MAX)
        wanted = THREADS_MAX;
    while (count < wanted && failure == 0) {
        atomic_fetch_add(&warm->running, 1);
        failure = pthread_create(&threads[count], NULL, work, warm);
        if (failure == 0)
            count++;
        else
            atomic_fetch_sub(&warm->running, 1);
    }
    if (count == 0)
        cli_say("cannot start a thread: %s", strerror(failure));
    return count;
}

static int warm_all(struct warm *warm)
{
    pthread_t threads[THREADS_MAX];
    int64_t start_ns = clock_now_ns();
    struct timespec pause = {.tv_nsec = PROGRESS_NS / 10};
    int count = start_threads(warm, threads);
    if (count == 0)
        return 1;
    for (int round = 0; warm->running > 0; round++) {
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        if (round % 10 == 0)
            show_progress(warm, start_ns);
    }
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    cli_progress_end();
    char done[UNIT_TEXT_MAX], near[UNIT_TEXT_MAX];
    printf("%zu files, %s in %.1f s; %s were here already; %llu blocks or files could not be "
           "brought\n",
           warm->file_count, unit_bytes(done, (double)warm->done_bytes),
           (double)(clock_now_ns() - start_ns) / NS_PER_S,
           unit_bytes(near, (double)warm->near_bytes), (unsigned long long)warm->failed_count);
    return warm->failed_count > 0;
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

/* The node that this process belongs to: its rank and size stand in its memory. */
static bool attach_inside(struct warm *warm, struct cache_control **nodes, size_t count)
{
    const char *given = getenv(CACHE_SOCKET_VARIABLE);
    char name[CACHE_NAME_MAX];
    if (!given || cache_client_attach(&warm->clients[0], given) < 0 ||
        !cache_name_expand(given, name, sizeof(name)))
        return false;
    warm->client_count = 1;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(nodes[i]->socket_name, name) != 0)
            continue;
        warm->share = nodes[i]->rank;
        warm->share_count = nodes[i]->size;
        warm->block_length = nodes[i]->shape.block_length;
    }
    return true;
}

static int attach_outside(struct warm *warm, struct cache_control **nodes, size_t *count,
                          const char *job)
{
    int status = cache_find_job(nodes, count, job);
    for (size_t i = 0; i < *count; i++) {
        if (cache_client_attach(&warm->clients[warm->client_count], nodes[i]->socket_name) == 0)
            warm->client_count++;
        warm->block_length = nodes[i]->shape.block_length;
    }
    if (status == 0 && warm->client_count == 0) {
        cli_say("the agents of this job do not answer");
        status = 1;
    }
    return status;
}

static struct {
    bool all;
    const char *job;
} wishes;

static const struct cli_option options[] = {
    CLI_FLAG("all", &wishes.all, "everything into each node, instead of its share"),
    CLI_TEXT("job", "JOB", &wishes.job, "only that job's caches, by its number"),
    CLI_OPTIONS_END,
};

static int warm_run(int word_count, char **words)
{
    struct warm warm = {.share_count = 1, .block_length = 1 << 20};
    struct cache_control *nodes[CACHE_FIND_MAX];
    int status = 0;
    size_t count = cache_find(nodes);
    if (wishes.job || !attach_inside(&warm, nodes, count))
        status = attach_outside(&warm, nodes, &count, wishes.job);
    for (size_t i = 0; i < count; i++)
        free(nodes[i]);
    if (status)
        return status;
    if (wishes.all) {
        warm.share = 0;
        warm.share_count = 1;
    }
    pthread_mutex_init(&warm.lock, NULL);
    status = list_files(&warm, words);
    if (warm_all(&warm) != 0)
        status = 1;
    for (size_t i = 0; i < warm.file_count; i++)
        free(warm.files[i].path);
    free(warm.files);
    return status;
}

const struct cli_command cli_cache_warm = {
    .name = "warm",
    .help = "bring files into the cache, each node its share",
    .operands = "PATH...",
    .options = options,
    .takes_files = true,
    .run = warm_run};
