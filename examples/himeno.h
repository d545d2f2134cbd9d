/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The Himeno benchmark in four versions with one kernel (himeno_kernel.h). Each rank computes a
 * slab of planes and needs one plane of each neighbour; after every iteration all know the sum of
 * the ranks' residuals. How planes and sums get around is all that differs:
 *
 *   sequential  not at all
 *   messages    each rank sends its outer planes to its neighbours, and sums are reduced
 *   entry       outer planes and sums are bound to variables, which a barrier brings up to date
 *   pages       the pressure is shared memory, as it would be between threads, and there is a
 *               barrier
 *
 * Two pressure arrays take turns as the old and the new one.
 */
#pragma once

#include "himeno_kernel.h"

#include <rhinet/dsm_pages.h>

#define HIMENO_RANKS_MAX 64
#define HIMENO_NAME      0x48494d45u /* of the arrays in the shared heap */
#define HIMENO_PAGE      4096u

enum himeno_version { HIMENO_SEQUENTIAL, HIMENO_MESSAGES, HIMENO_ENTRY, HIMENO_PAGES };

static const char *const himeno_version_names[] = {"sequential", "messages", "entry", "pages"};

struct himeno {
    enum himeno_version version;
    struct himeno_slab slab;
    int rank, size;
    float *p[2];   /* whole arrays; only some planes are filled or brought up to date */
    int now;       /* which of them is the old pressure */
    float *sums;   /* of each own plane, in the last iteration */
    double total;  /* of all ranks, in the last iteration */
    void *memory;  /* where p is, if it is our own */
    uint64_t heap; /* where it is in the shared heap */
    double *shared_totals;
    struct rh_dsm *dsm;
    struct rh_set *set;
    struct rh_dsm_pages *pages;
};

/* Shared heap that version `entry` needs. */
static inline uint64_t himeno_heap(const struct himeno_size *size)
{
    struct himeno_grid grid = himeno_grid(size);
    return 2 * himeno_length(&grid) + 3 * 64 * HIMENO_RANKS_MAX + (1 << 20);
}

/* Variables that it needs: two outer planes of two arrays, and the sum, of every rank. */
static inline uint32_t himeno_variables(int ranks)
{
    return 5 * (uint32_t)ranks;
}

static inline size_t himeno_plane_length(const struct himeno *himeno)
{
    return himeno->slab.grid.plane * sizeof(float);
}

static inline float *himeno_plane_at(const struct himeno *himeno, int which, int plane)
{
    return himeno->p[which] + (size_t)plane * himeno->slab.grid.plane;
}

/* ---- Messages ------------------------------------------------------------------------------- */

static inline int himeno_messages_open(struct himeno *himeno)
{
    size_t length = himeno_length(&himeno->slab.grid);
    himeno->memory = aligned_alloc(HIMENO_PAGE, 2 * length);
    if (!himeno->memory)
        return RH_ENOSPACE;
    himeno->p[0] = (float *)himeno->memory;
    himeno->p[1] = himeno->p[0] + length / sizeof(float);
    return 0;
}

static inline int himeno_messages_share(struct himeno *himeno, double total)
{
    struct rh_msg *msg = rh_dsm_msg(himeno->dsm);
    struct rh_request *requests[4] = {NULL, NULL, NULL, NULL};
    struct rh_reduction sum = {RH_DOUBLE, RH_SUM, 1};
    size_t length = himeno_plane_length(himeno);
    int out = !himeno->now, first = himeno->slab.first, end = himeno->slab.end, result = 0;
    int up = himeno->rank + 1, down = himeno->rank - 1;
    if (up < himeno->size) {
        result |= rh_irecv(msg, up, 1, himeno_plane_at(himeno, out, end), length, &requests[0]);
        result |= rh_isend(msg, up, 0, himeno_plane_at(himeno, out, end - 1), length, &requests[1]);
    }
    if (down >= 0) {
        result |= rh_irecv(msg, down, 0, himeno_plane_at(himeno, out, first - 1), length,
                           &requests[2]);
        result |= rh_isend(msg, down, 1, himeno_plane_at(himeno, out, first), length, &requests[3]);
    }
    if (himeno->size > 1)
        result |= rh_wait_all(requests, 4, RH_TIMEOUT_DEFAULT);
    return result != 0 ? result : rh_allreduce(himeno->set, &total, &himeno->total, &sum);
}

/* ---- Entry mode ----------------------------------------------------------------------------- */

/* The variable of a rank's outer plane in one of the arrays, and of its sum. */
static inline rh_dsm_variable himeno_outer(const struct himeno *himeno, int which, int rank,
                                           int is_upper)
{
    return (rh_dsm_variable)((which * himeno->size + rank) * 2 + is_upper);
}

static inline rh_dsm_variable himeno_sum(const struct himeno *himeno, int rank)
{
    return (rh_dsm_variable)(4 * himeno->size + rank);
}

static inline int himeno_bind(struct himeno *himeno, rh_dsm_variable variable, void *start,
                              size_t length)
{
    struct rh_dsm_region region = {rh_dsm_offset(himeno->dsm, start), length, 0, 0};
    int result = rh_dsm_acquire(himeno->dsm, variable, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT);
    if (result != 0)
        return result;
    result = rh_dsm_bind(himeno->dsm, variable, &region, 1);
    return result < 0 ? result : rh_dsm_release(himeno->dsm, variable);
}

static inline int himeno_entry_open(struct himeno *himeno)
{
    size_t length = himeno_length(&himeno->slab.grid), plane = himeno_plane_length(himeno);
    int result = rh_dsm_alloc_named(himeno->dsm, HIMENO_NAME,
                                    2 * length + HIMENO_PAGE + 64 * (size_t)himeno->size,
                                    &himeno->heap);
    if (result < 0)
        return result;
    himeno->shared_totals = (double *)rh_dsm_ptr(himeno->dsm, himeno->heap);
    uint64_t arrays = himeno->heap + 64 * (uint64_t)himeno->size + HIMENO_PAGE - 1;
    himeno->p[0] = (float *)rh_dsm_ptr(himeno->dsm, arrays / HIMENO_PAGE * HIMENO_PAGE);
    himeno->p[1] = himeno->p[0] + length / sizeof(float);
    for (int which = 0; which < 2 && result == 0; which++) {
        result = himeno_bind(himeno, himeno_outer(himeno, which, himeno->rank, 0),
                             himeno_plane_at(himeno, which, himeno->slab.first), plane);
        if (result == 0 && himeno->slab.end - 1 > himeno->slab.first)
            result = himeno_bind(himeno, himeno_outer(himeno, which, himeno->rank, 1),
                                 himeno_plane_at(himeno, which, himeno->slab.end - 1), plane);
    }
    if (result == 0)
        result = himeno_bind(himeno, himeno_sum(himeno, himeno->rank),
                             himeno->shared_totals + 8 * himeno->rank, sizeof(double));
    /* What binding brings to others comes before the pressure is set, which all do alike. */
    return result < 0 ? result : rh_barrier(himeno->set, RH_TIMEOUT_DEFAULT);
}

/* A slab of one plane has one variable for it. */
static inline int himeno_upper(const struct himeno *himeno, int rank)
{
    struct himeno_slab slab = himeno->slab;
    himeno_share(&slab, rank, himeno->size);
    return slab.end - 1 > slab.first;
}

/* The neighbours' planes that are read, and the own ones that are written. */
static inline int himeno_entry_held(const struct himeno *himeno, rh_dsm_variable *variables,
                                    int *reads)
{
    int count = 0, up = himeno->rank + 1, down = himeno->rank - 1;
    if (up < himeno->size)
        variables[count++] = himeno_outer(himeno, himeno->now, up, 0);
    if (down >= 0)
        variables[count++] = himeno_outer(himeno, himeno->now, down, himeno_upper(himeno, down));
    *reads = count;
    variables[count++] = himeno_outer(himeno, !himeno->now, himeno->rank, 0);
    if (himeno_upper(himeno, himeno->rank))
        variables[count++] = himeno_outer(himeno, !himeno->now, himeno->rank, 1);
    return count;
}

static inline int himeno_entry_begin(struct himeno *himeno)
{
    rh_dsm_variable held[4];
    int reads, count = himeno_entry_held(himeno, held, &reads), result = 0;
    for (int i = 0; i < count && result == 0; i++)
        result = rh_dsm_acquire(himeno->dsm, held[i], i < reads ? RH_DSM_READ : RH_DSM_WRITE,
                                RH_TIMEOUT_DEFAULT);
    return result;
}

static inline int himeno_entry_share(struct himeno *himeno, double total)
{
    rh_dsm_variable held[5];
    int reads, count = himeno_entry_held(himeno, held, &reads), result;
    rh_dsm_variable mine = himeno_sum(himeno, himeno->rank);
    result = rh_dsm_acquire(himeno->dsm, mine, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT);
    if (result != 0)
        return result;
    himeno->shared_totals[8 * himeno->rank] = total;
    held[count++] = mine;
    for (int i = 0; i < count && result == 0; i++)
        result = rh_dsm_release(himeno->dsm, held[i]);
    if (result == 0)
        result = rh_dsm_barrier(himeno->dsm, held + reads, (size_t)(count - reads),
                                RH_TIMEOUT_DEFAULT);
    himeno->total = 0;
    for (int rank = 0; rank < himeno->size && result == 0; rank++) {
        rh_dsm_variable sum = himeno_sum(himeno, rank);
        result = rh_dsm_acquire(himeno->dsm, sum, RH_DSM_READ, RH_TIMEOUT_DEFAULT);
        himeno->total += himeno->shared_totals[8 * rank];
        if (result == 0)
            result = rh_dsm_release(himeno->dsm, sum);
    }
    return result;
}

/* ---- Page mode ------------------------------------------------------------------------------ */

/* A plane's home is the rank that computes it. */
static inline int himeno_home(void *context, uint64_t page)
{
    const struct himeno *himeno = (const struct himeno *)context;
    uint64_t pages = himeno_length(&himeno->slab.grid) / HIMENO_PAGE;
    if (page >= 2 * pages)
        return 0;
    int plane = (int)(page % pages * HIMENO_PAGE / himeno_plane_length(himeno));
    int rank = 0;
    for (struct himeno_slab slab = himeno->slab; rank < himeno->size - 1; rank++) {
        himeno_share(&slab, rank, himeno->size);
        if (plane < slab.end)
            break;
    }
    return rank;
}

static inline int himeno_pages_open(struct himeno *himeno)
{
    size_t length = himeno_length(&himeno->slab.grid);
    struct rh_dsm_pages_options options;
    memset(&options, 0, sizeof(options));
    options.struct_size = sizeof(options);
    options.length = 2 * length + HIMENO_PAGE;
    options.home = RH_DSM_HOME_GIVEN;
    options.home_of = himeno_home;
    options.context = himeno;
    int result = rh_dsm_pages_open(&himeno->pages, himeno->dsm, &options);
    if (result < 0)
        return result;
    himeno->p[0] = (float *)rh_dsm_pages_base(himeno->pages);
    himeno->p[1] = himeno->p[0] + length / sizeof(float);
    himeno->shared_totals = (double *)(himeno->p[1] + length / sizeof(float));
    return 0;
}

/* The sums take turns with the arrays, so that a rank that is ahead does not overwrite them. */
static inline int himeno_pages_share(struct himeno *himeno, double total)
{
    double *totals = himeno->shared_totals + himeno->now * HIMENO_RANKS_MAX;
    totals[himeno->rank] = total;
    int result = rh_dsm_pages_barrier(himeno->pages, RH_TIMEOUT_DEFAULT);
    himeno->total = 0;
    for (int rank = 0; rank < himeno->size && result == 0; rank++)
        himeno->total += totals[rank];
    return result;
}

/* ---- All of them ---------------------------------------------------------------------------- */

static inline void himeno_close(struct himeno *himeno)
{
    if (himeno->pages)
        rh_dsm_pages_close(himeno->pages);
    if (himeno->set)
        rh_barrier(himeno->set, RH_TIMEOUT_DEFAULT); /* nobody uses the heap any more */
    if (himeno->version == HIMENO_ENTRY && himeno->p[0] && himeno->rank == 0)
        rh_dsm_free(himeno->dsm, himeno->heap);
    if (himeno->set)
        rh_barrier(himeno->set, RH_TIMEOUT_DEFAULT); /* nor finds it before it is free */
    if (himeno->set)
        rh_set_destroy(himeno->set);
    himeno_slab_close(&himeno->slab);
    free(himeno->memory);
    free(himeno->sums);
}

/* What this rank computes and reads is set; page mode shares the rest. */
static inline int himeno_start(struct himeno *himeno)
{
    int first = himeno->slab.first - 1, end = himeno->slab.end + 1;
    if (himeno->version == HIMENO_PAGES && himeno->rank > 0)
        first++;
    if (himeno->version == HIMENO_PAGES && himeno->rank < himeno->size - 1)
        end--;
    for (int plane = first; plane < end; plane++)
        for (int which = 0; which < 2; which++)
            himeno_start_plane(&himeno->slab.grid, himeno->p[which], plane);
    if (himeno->version == HIMENO_PAGES)
        return rh_dsm_pages_barrier(himeno->pages, RH_TIMEOUT_DEFAULT);
    return himeno->set ? rh_barrier(himeno->set, RH_TIMEOUT_DEFAULT) : 0;
}

/* Set up a version; dsm may be NULL for HIMENO_SEQUENTIAL, which each rank does alone. On failure
 * nothing is left. */
static inline int himeno_open(struct himeno *himeno, enum himeno_version version,
                              const struct himeno_size *size, struct rh_dsm *dsm,
                              struct rh_job *job)
{
    static int (*const open[])(struct himeno *) = {himeno_messages_open, himeno_messages_open,
                                                   himeno_entry_open, himeno_pages_open};
    bool is_alone = version == HIMENO_SEQUENTIAL;
    struct rh_set_spec all;
    memset(himeno, 0, sizeof(*himeno));
    memset(&all, 0, sizeof(all));
    all.struct_size = sizeof(all);
    all.id = 1000 + (uint32_t)version;
    himeno->version = version;
    himeno->dsm = dsm;
    himeno->rank = is_alone ? 0 : rh_rank(job);
    himeno->size = is_alone ? 1 : rh_size(job);
    himeno->slab.grid = himeno_grid(size);
    himeno_share(&himeno->slab, himeno->rank, himeno->size);
    himeno->sums = (float *)calloc((size_t)size->planes, sizeof(float));
    int result = himeno->sums && himeno_slab_open(&himeno->slab) ? 0 : RH_ENOSPACE;
    if (result == 0 && !is_alone)
        result = rh_set_create(rh_dsm_msg(dsm), &all, &himeno->set);
    if (result == 0)
        result = open[version](himeno);
    if (result == 0)
        result = himeno_start(himeno);
    if (result < 0)
        himeno_close(himeno);
    return result;
}

static inline int himeno_iterate(struct himeno *himeno, int count)
{
    static int (*const share[])(struct himeno *, double) = {NULL, himeno_messages_share,
                                                            himeno_entry_share, himeno_pages_share};
    int result = 0;
    for (int i = 0; i < count && result == 0; i++) {
        double total = 0;
        if (himeno->version == HIMENO_ENTRY)
            result = himeno_entry_begin(himeno);
        for (int plane = himeno->slab.first; plane < himeno->slab.end && result == 0; plane++) {
            himeno->sums[plane] = himeno_plane(&himeno->slab, himeno->p[himeno->now],
                                               himeno->p[!himeno->now], plane);
            total += himeno->sums[plane];
        }
        himeno->total = total;
        if (result == 0 && himeno->version != HIMENO_SEQUENTIAL)
            result = share[himeno->version](himeno, total);
        himeno->now = !himeno->now;
    }
    return result;
}

/* The residual of the last iteration, the same to the bit in all versions. */
static inline int himeno_residual(struct himeno *himeno, float *residual)
{
    struct rh_reduction sum = {RH_FLOAT, RH_SUM, (size_t)himeno->slab.grid.planes};
    float *sums = (float *)calloc(sum.count, sizeof(float));
    if (!sums)
        return RH_ENOSPACE;
    int result = 0;
    if (himeno->set) /* every plane has one sum and zeroes: nothing is rounded */
        result = rh_allreduce(himeno->set, himeno->sums, sums, &sum);
    else
        memcpy(sums, himeno->sums, sum.count * sizeof(float));
    *residual = 0;
    for (size_t i = 0; i < sum.count; i++)
        *residual += sums[i];
    free(sums);
    return result;
}
