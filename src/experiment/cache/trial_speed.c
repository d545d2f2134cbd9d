/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How fast a hit is, beside what the machine can do: ours and the other alternate in short rounds,
 * and the median of the rounds counts.
 */
#include "base/clock.h"
#include "experiment/cache/trial.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 31
#define SID    77u

/* The time of this thread on a core: other programs on the machine do not count. */
static int64_t cpu_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof(*values), compare);
    return values[count / 2];
}

/* ---- Local hits ----------------------------------------------------------------------------- */

/* Into the cache, and into the page cache. */
static int prepare_hits(struct trial *trial)
{
    struct trial_file file = {0};
    int result = trial_file_open(trial, trial->path, &file);
    for (uint64_t offset = 0; result == 0 && offset < file.size; offset += trial->length) {
        result = trial_read(trial, &file, offset, trial->length);
        if (pread(file.fd, trial->buffer, trial->length, (off_t)offset) < 0)
            result = -EIO;
    }
    trial_file_close(&file);
    return result;
}

/* ns for each read, going through the file. */
static double time_reads(struct trial *trial, struct trial_file *file, bool is_ours)
{
    uint64_t count = trial->reads;
    static uint64_t place;
    int64_t start = cpu_now_ns();
    for (uint64_t i = 0; i < count; i++) {
        uint64_t offset = place % (file->size / trial->length) * trial->length;
        ssize_t got = is_ours ? cache_file_read(&file->file, file->fd, trial->buffer, trial->length,
                                                (off_t)offset)
                              : pread(file->fd, trial->buffer, trial->length, (off_t)offset);
        if (got != (ssize_t)trial->length)
            return -1;
        place++;
    }
    return (double)(cpu_now_ns() - start) / (double)count;
}

static int run_hits(struct trial *trial)
{
    double ours[ROUNDS], kernels[ROUNDS], ratios[ROUNDS];
    struct trial_file file = {0};
    uint64_t count;
    int result = trial_file_open(trial, trial->path, &file);
    if (result == 0)
        result = trial_pieces(trial, &file, &count);
    if (result < 0)
        return result;
    time_reads(trial, &file, true);
    time_reads(trial, &file, false);
    for (int i = 0; i < ROUNDS; i++) {
        ours[i] = time_reads(trial, &file, true);
        kernels[i] = time_reads(trial, &file, false);
        ratios[i] = kernels[i] / ours[i];
        if (ours[i] <= 0 || kernels[i] <= 0)
            return -EIO;
    }
    trial->bytes = ROUNDS * trial->reads * trial->length;
    trial_figure(trial, "ours_ns", median(ours, ROUNDS));
    trial_figure(trial, "kernel_ns", median(kernels, ROUNDS));
    trial_figure(trial, "ratio", median(ratios, ROUNDS));
    trial_file_close(&file);
    return 0;
}

/* ---- Remote hits ---------------------------------------------------------------------------- */

/* The last rank has the file; rank 0 fetches it, block by block. */
static int prepare_remote(struct trial *trial)
{
    struct trial_file file = {0};
    void *memory;
    int result = trial_file_open(trial, trial->path, &file);
    if (result == 0)
        result = rh_segment_alloc(trial->job, SID, file.size, &memory);
    if (result == 0)
        result = rh_segment_wait(trial->job, trial->size - 1, SID, RH_TIMEOUT_DEFAULT);
    if (result == 0) {
        trial->memory = memory;
        memset(memory, 1, file.size);
        result = rh_push(trial->job, rh_at(trial->size - 1, SID, 0), memory, file.size);
    }
    for (uint64_t offset = 0; trial->rank == trial->size - 1 && result == 0 && offset < file.size;
         offset += trial->length)
        result = trial_read(trial, &file, offset, trial->length);
    trial_file_close(&file);
    return result;
}

static double bandwidth(uint64_t bytes, int64_t start_ns)
{
    return (double)bytes / (1 << 20) / ((double)(clock_now_ns() - start_ns) / NS_PER_S);
}

/* MiB/s of what the agent does for a remote hit (look up, fetch, verify, publish) and of a raw
 * push: each from memory that no core has at hand to memory that none has. */
static int time_block(struct trial *trial, struct loader_file *file, uint64_t block, double *ours,
                      double *raw)
{
    int64_t start = clock_now_ns();
    int result = node_bring(&trial->agent.node, file, block, NULL);
    *ours = bandwidth(trial->length, start);
    if (result < 0)
        return result;
    uint64_t offset = block * trial->length;
    start = clock_now_ns();
    result = rh_push(trial->job, rh_at(trial->size - 1, SID, offset), trial->memory + offset,
                     trial->length);
    *raw = bandwidth(trial->length, start);
    return result;
}

static int time_blocks(struct trial *trial, struct trial_file *file, struct loader_file *held)
{
    uint64_t count;
    int result = trial_pieces(trial, file, &count);
    double *ours = calloc(count, sizeof(double)), *raw = calloc(count, sizeof(double));
    double *ratios = calloc(count, sizeof(double));
    if (result == 0 && !(ours && raw && ratios))
        result = -ENOMEM;
    for (uint64_t block = 0; block < count && result == 0; block++) {
        result = time_block(trial, held, block, &ours[block], &raw[block]);
        if (result == 0)
            ratios[block] = ours[block] / raw[block];
    }
    if (result == 0) {
        trial->bytes = count * trial->length;
        trial_figure(trial, "ours_mib_per_s", median(ours, (int)count));
        trial_figure(trial, "push_mib_per_s", median(raw, (int)count));
        trial_figure(trial, "ratio", median(ratios, (int)count));
    }
    free(ours);
    free(raw);
    free(ratios);
    return result;
}

static int run_remote(struct trial *trial)
{
    struct trial_file file = {0};
    if (trial->rank != 0)
        return 0;
    int result = trial_file_open(trial, trial->path, &file);
    if (result == 0)
        result = loader_introduce(&trial->agent.node.loader, dup(file.fd));
    struct loader_file *held = result == 0 ? loader_hold(&trial->agent.node.loader, file.file.id)
                                           : NULL;
    if (held) {
        result = time_blocks(trial, &file, held);
        loader_release(&trial->agent.node.loader, held);
    }
    trial_file_close(&file);
    return held ? result : -EIO;
}

const struct trial_kind trial_speeds[] = {
    {"hits", prepare_hits, run_hits},
    {"remote", prepare_remote, run_remote},
    {NULL, NULL, NULL},
};
