/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See compute.h. A recording is text:
 *
 *   rhinet-compute 1 RANKS
 *   RANK CALL NS          behind so many calls, at most, it computed so long
 *   RANK CALLS end        it made so many calls
 */
#include "simulated/compute.h"

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FACTOR_MAX 1e6
#define LINE_ROOM  128

struct entry {
    uint64_t call, ns;
};

struct compute_rank {
    struct entry *entries;
    size_t room, count, next;
    uint64_t calls;    /* so far */
    uint64_t recorded; /* calls that a recording has; 0: it does not say */
};

struct compute {
    struct compute_model model;
    uint32_t size;
    struct compute_rank *ranks;
    bool is_incomplete; /* no memory for an entry */
};

/* ---- The model ------------------------------------------------------------------------------- */

static bool factor_read(const char *text, double *factor)
{
    char *end;
    *factor = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*factor) && *factor >= 0 &&
           *factor <= FACTOR_MAX;
}

static bool file_read(struct compute_model *model, const char *text, enum compute_kind kind)
{
    int length = snprintf(model->file, sizeof(model->file), "%s", text);
    model->kind = kind;
    return length > 0 && (size_t)length < sizeof(model->file);
}

int compute_model_read(struct compute_model *model, const char *text)
{
    uint64_t per_mille;
    bool is_good = true;
    *model = (struct compute_model){.kind = COMPUTE_SCALED, .factor = 1};
    if (strcmp(text, "none") == 0)
        model->kind = COMPUTE_NONE;
    else if (strncmp(text, "scaled:", 7) == 0)
        is_good = factor_read(text + 7, &model->factor);
    else if (strncmp(text, "record:", 7) == 0)
        is_good = file_read(model, text + 7, COMPUTE_RECORD);
    else if (strncmp(text, "replay:", 7) == 0)
        is_good = file_read(model, text + 7, COMPUTE_REPLAY);
    else if (text_to_u64(text, &per_mille) && per_mille <= 1000000)
        model->factor = (double)per_mille / 1000;
    else
        is_good = strcmp(text, "measured") == 0;
    return is_good ? 0 : RH_EINVALID;
}

/* ---- Files ----------------------------------------------------------------------------------- */

static bool entry_add(struct compute_rank *rank, struct entry entry)
{
    if (!array_grow(&rank->entries, &rank->room, rank->count + 1))
        return false;
    rank->entries[rank->count++] = entry;
    return true;
}

/* One line; false: it is not what the format says. */
static bool line_read(struct compute *compute, const char *line)
{
    uint32_t rank;
    struct entry entry;
    int used = 0;
    if (sscanf(line, "%" SCNu32 " %" SCNu64 " %n", &rank, &entry.call, &used) != 2 || used == 0 ||
        rank >= compute->size)
        return false;
    struct compute_rank *at = &compute->ranks[rank];
    if (strcmp(line + used, "end\n") == 0) {
        at->recorded = entry.call;
        return true;
    }
    uint64_t before = at->count > 0 ? at->entries[at->count - 1].call : 0;
    return sscanf(line + used, "%" SCNu64 "\n", &entry.ns) == 1 && entry.call >= before &&
           entry.ns <= INT64_MAX / 1000 && entry_add(at, entry);
}

static int recording_read(struct compute *compute)
{
    const char *path = compute->model.file;
    FILE *in = fopen(path, "r");
    char line[LINE_ROOM];
    uint32_t size = 0;
    int number = 1, result = 0;
    if (!in)
        return error_fail(RH_EINVALID,
                          "cannot read the recording %s: %s; make one by --compute "
                          "record:FILE",
                          path, strerror(errno));
    if (!fgets(line, sizeof(line), in) || sscanf(line, "rhinet-compute 1 %" SCNu32, &size) != 1)
        result = error_fail(RH_ECORRUPT,
                            "%s:1: no recording of computing; make one by --compute "
                            "record:FILE",
                            path);
    else if (size != compute->size)
        result = error_fail(RH_EINVALID, "%s: recorded with %u ranks, and this job has %u", path,
                            size, compute->size);
    while (result == 0 && fgets(line, sizeof(line), in)) {
        number++;
        if (!line_read(compute, line))
            result = error_fail(RH_ECORRUPT, "%s:%d: \"%.*s\" is not RANK CALL NS", path, number,
                                (int)strcspn(line, "\n"), line);
    }
    fclose(in);
    return result;
}

static int recording_write(const struct compute *compute)
{
    const char *path = compute->model.file;
    FILE *out = fopen(path, "w");
    bool is_good = out && fprintf(out, "rhinet-compute 1 %" PRIu32 "\n", compute->size) > 0;
    for (uint32_t i = 0; is_good && i < compute->size; i++) {
        const struct compute_rank *rank = &compute->ranks[i];
        for (size_t j = 0; is_good && j < rank->count; j++)
            is_good = fprintf(out, "%" PRIu32 " %" PRIu64 " %" PRIu64 "\n", i,
                              rank->entries[j].call, rank->entries[j].ns) > 0;
        is_good = is_good && fprintf(out, "%" PRIu32 " %" PRIu64 " end\n", i, rank->calls) > 0;
    }
    int error = errno;
    is_good = (!out || fclose(out) == 0) && is_good;
    if (is_good && !compute->is_incomplete)
        return 0;
    return error_fail(RH_ENOSPACE, "the recording %s is not complete: %s", path,
                      compute->is_incomplete ? "no memory" : strerror(error));
}

/* ---- Ranks ----------------------------------------------------------------------------------- */

int compute_open(struct compute **compute, const struct compute_model *model, uint32_t size)
{
    struct compute *made = calloc(1, sizeof(*made));
    if (!made)
        return error_no_memory("the computing of %u ranks", size);
    made->model = *model;
    made->size = size;
    made->ranks = calloc(size, sizeof(*made->ranks));
    int result = made->ranks ? 0 : error_no_memory("the computing of %u ranks", size);
    if (result == 0 && model->kind == COMPUTE_REPLAY)
        result = recording_read(made);
    if (result < 0) {
        made->model.kind = COMPUTE_NONE;
        (void)compute_close(made);
        return result;
    }
    *compute = made;
    return 0;
}

static uint64_t replayed(struct compute_rank *rank)
{
    uint64_t sum = 0;
    while (rank->next < rank->count && rank->entries[rank->next].call <= rank->calls)
        sum += rank->entries[rank->next++].ns;
    return sum;
}

uint64_t compute_cost_ns(struct compute *compute, int rank, struct computed computed)
{
    struct compute_rank *at = &compute->ranks[rank];
    uint64_t measured_ns = computed.ns;
    at->calls = computed.calls;
    switch (compute->model.kind) {
    case COMPUTE_NONE:
        return 0;
    case COMPUTE_SCALED:
        return (uint64_t)((double)measured_ns * compute->model.factor);
    case COMPUTE_RECORD:
        if (measured_ns > 0 && !entry_add(at, (struct entry){at->calls, measured_ns}))
            compute->is_incomplete = true;
        return measured_ns;
    case COMPUTE_REPLAY:
        return replayed(at);
    }
    return 0;
}

static int replay_check(const struct compute *compute)
{
    for (uint32_t i = 0; i < compute->size; i++) {
        const struct compute_rank *rank = &compute->ranks[i];
        if (rank->calls != rank->recorded)
            return error_set(RH_ECORRUPT, (int)i,
                             "%s does not fit: rank %u made %" PRIu64 " calls, and %" PRIu64
                             " when it was recorded; was it another program, or other settings?",
                             compute->model.file, i, rank->calls, rank->recorded);
    }
    return 0;
}

int compute_close(struct compute *compute)
{
    int result = 0;
    if (!compute)
        return 0;
    if (compute->model.kind == COMPUTE_RECORD)
        result = recording_write(compute);
    else if (compute->model.kind == COMPUTE_REPLAY)
        result = replay_check(compute);
    for (uint32_t i = 0; compute->ranks && i < compute->size; i++)
        free(compute->ranks[i].entries);
    free(compute->ranks);
    free(compute);
    return result;
}
