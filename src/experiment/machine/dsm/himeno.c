/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Himeno: MFLOPS of a version on shared memory, and as raw those of another with the same kernel.
 * The versions are those of examples/himeno.h. All must end with the same residual, to the bit.
 */
#include "examples/himeno.h"

#include "base/clock.h"
#include "base/error.h"
#include "experiment/machine/dsm/dsm.h"

#define LARGEST      2     /* size M */
#define BUDGET_FLOPS 1.2e9 /* per figure: about a tenth of a second */

struct bench_himeno {
    struct himeno version[4];
    bool is_open[4];
    const struct himeno_size *size;
    int iterations;
};

/* ---- Running -------------------------------------------------------------------------------- */

static int run_version(struct bench_run *run, enum himeno_version version, double *figure)
{
    struct bench_himeno *bench = run->himeno;
    struct himeno *himeno = &bench->version[version];
    int64_t start_ns = clock_now_ns();
    int result = himeno_iterate(himeno, bench->iterations);
    double took_ns = (double)(clock_now_ns() - start_ns);
    *figure = himeno_flops(&himeno->slab.grid) * bench->iterations * 1e3 / took_ns;
    return result;
}

int himeno_run_messages(struct bench_run *run, double *figure)
{
    return run_version(run, HIMENO_MESSAGES, figure);
}

int himeno_run_entry(struct bench_run *run, double *figure)
{
    return run_version(run, HIMENO_ENTRY, figure);
}

int himeno_run_pages(struct bench_run *run, double *figure)
{
    return run_version(run, HIMENO_PAGES, figure);
}

/* Rank 0 alone; the others idle. */
int himeno_run_sequential(struct bench_run *run, double *figure)
{
    return run->rank > 0 ? 0 : run_version(run, HIMENO_SEQUENTIAL, figure);
}

/* ---- Set up --------------------------------------------------------------------------------- */

/* After as many iterations each, all versions have the same residual. */
static int compare(struct bench_run *run)
{
    struct bench_himeno *bench = run->himeno;
    float residual[4];
    int result = 0;
    for (int i = 0; i < 4 && result == 0; i++) {
        result = himeno_iterate(&bench->version[i], 3);
        if (result == 0)
            result = himeno_residual(&bench->version[i], &residual[i]);
        if (result == 0 && memcmp(&residual[i], &residual[0], sizeof(float)) != 0)
            result = error_set(RH_ECORRUPT, run->rank, "residual of %s is %.9g, not %.9g",
                               himeno_version_names[i], (double)residual[i], (double)residual[0]);
    }
    return result;
}

void himeno_tear_down(struct bench_run *run)
{
    struct bench_himeno *bench = run->himeno;
    for (int i = 0; i < 4; i++)
        if (bench->is_open[i])
            himeno_close(&bench->version[i]);
    free(bench);
    run->himeno = NULL;
}

/* Shared memory is opened once for all cases, and closed by leaving the job. */
int himeno_dsm(struct bench_run *run)
{
    struct rh_dsm_options options = {.struct_size = sizeof(options),
                                     .heap_length = himeno_heap(&himeno_sizes[LARGEST]),
                                     .variable_count = himeno_variables(run->size)};
    return run->dsm ? 0 : rh_dsm_open(&run->dsm, run->job, &options);
}

int himeno_set_up(struct bench_run *run)
{
    struct bench_himeno *bench = calloc(1, sizeof(*bench));
    if (!bench)
        return error_fail(RH_ENOSPACE, "no memory");
    run->himeno = bench;
    bench->size = &himeno_sizes[run->bench_case->amount];
    struct himeno_grid grid = himeno_grid(bench->size);
    bench->iterations = (int)(BUDGET_FLOPS / himeno_flops(&grid)) + 2;
    int result = himeno_dsm(run);
    for (int i = 0; i < 4 && result == 0; i++) {
        result = himeno_open(&bench->version[i], (enum himeno_version)i, bench->size, run->dsm,
                             run->job);
        bench->is_open[i] = result == 0;
    }
    return result < 0 ? result : compare(run);
}
