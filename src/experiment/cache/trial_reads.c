/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The paper's ways of reading, and many small files.
 */
#include "cache/key.h"
#include "experiment/cache/trial.h"

#include <fcntl.h>
#include <stdio.h>

/* All nodes read the whole file from its start. */
static int run_sequential(struct trial *trial)
{
    struct trial_file file = {0};
    int result = trial_file_open(trial, trial->path, &file);
    for (uint64_t offset = 0; result == 0 && offset < file.size; offset += trial->length)
        result = trial_read(trial, &file, offset, trial->length);
    trial_file_close(&file);
    return result;
}

/* As IOR does it: the nodes take turns, piece by piece; together they read the file once. */
static int run_stride(struct trial *trial)
{
    struct trial_file file = {0};
    int result = trial_file_open(trial, trial->path, &file);
    uint64_t step = trial->length * (uint64_t)trial->size;
    for (uint64_t offset = trial->length * (uint64_t)trial->rank; result == 0 && offset < file.size;
         offset += step)
        result = trial_read(trial, &file, offset, trial->length);
    trial_file_close(&file);
    return result;
}

static int read_at_random(struct trial *trial, uint64_t seed)
{
    struct trial_file file = {0};
    uint64_t count = 0;
    int result = trial_file_open(trial, trial->path, &file);
    if (result == 0)
        result = trial_pieces(trial, &file, &count);
    if (result == 0)
        cache_file_advise(&file.file, file.fd, 0, 0, POSIX_FADV_RANDOM);
    for (uint64_t i = 0; result == 0 && i < trial->reads; i++) {
        uint64_t dice = cache_mix2(seed + (uint64_t)trial->rank, i);
        result = trial_read(trial, &file, dice % count * trial->length, trial->length);
    }
    trial_file_close(&file);
    return result;
}

/* The caches fill before it is measured, as far as as many reads again fill them. */
static int prepare_random(struct trial *trial)
{
    return trial->is_plain ? 0 : read_at_random(trial, 1000);
}

static int run_random(struct trial *trial)
{
    return read_at_random(trial, 5000);
}

/* A folder with `reads` files, named by numbers; every node reads them all. */
static int run_files(struct trial *trial)
{
    char path[1100];
    int result = 0;
    for (uint64_t i = 0; result == 0 && i < trial->reads; i++) {
        struct trial_file file = {0};
        snprintf(path, sizeof(path), "%s/%llu", trial->path, (unsigned long long)i);
        result = trial_file_open(trial, path, &file);
        for (uint64_t offset = 0; result == 0 && offset < file.size; offset += trial->length)
            result = trial_read(trial, &file, offset, trial->length);
        trial_file_close(&file);
    }
    return result;
}

const struct trial_kind trial_reads[] = {
    {"sequential", NULL, run_sequential},
    {"stride", NULL, run_stride},
    {"random", prepare_random, run_random},
    {"files", NULL, run_files},
    {NULL, NULL, NULL},
};
