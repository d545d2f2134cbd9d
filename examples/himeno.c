/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Himeno benchmark: himeno [SIZE [ITERATIONS [VERSION]]], where SIZE is XS, S, M or L and VERSION
 * is sequential, messages, entry or pages; all of them unless given. Prints the speed of each, and
 * fails if their residuals differ.
 *
 *   rhinet run -n 2 examples/himeno S 100
 */
#include "himeno.h"

#include "check.h"

#include <time.h>

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static float solve(enum himeno_version version, const struct himeno_size *size, int iterations,
                   struct rh_dsm *dsm, struct rh_job *job)
{
    struct himeno himeno;
    float residual;
    check(himeno_open(&himeno, version, size, dsm, job));
    check(himeno_iterate(&himeno, 2)); /* bring everything here */
    double start = seconds();
    check(himeno_iterate(&himeno, iterations));
    double took = seconds() - start;
    check(himeno_residual(&himeno, &residual));
    if (rh_rank(job) == 0)
        printf("%-11s %d ranks, size %s: %8.0f MFLOPS, residual %.9g\n",
               himeno_version_names[version], himeno.size, size->name,
               himeno_flops(&himeno.slab.grid) * iterations / took / 1e6, (double)residual);
    himeno_close(&himeno);
    return residual;
}

static int find(const char *name, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    fprintf(stderr, "himeno: there is no %s\n", name);
    exit(2);
}

int main(int count, char **arguments)
{
    static const char *const sizes[] = {"XS", "S", "M", "L"};
    const struct himeno_size *size = &himeno_sizes[find(count > 1 ? arguments[1] : "XS", sizes, 4)];
    int iterations = count > 2 ? (int)strtol(arguments[2], NULL, 10) : 20;
    int only = count > 3 ? find(arguments[3], himeno_version_names, 4) : -1;
    struct rh_job *job;
    struct rh_dsm *dsm;
    check(rh_join(&job, NULL));
    struct rh_dsm_options options = {.struct_size = sizeof(options),
                                     .heap_length = himeno_heap(size),
                                     .variable_count = himeno_variables(rh_size(job))};
    check(rh_dsm_open(&dsm, job, &options));
    float residual[4];
    bool is_same = true;
    for (int version = 0, first = -1; version < 4; version++) {
        if (only >= 0 && only != version)
            continue;
        residual[version] = solve((enum himeno_version)version, size, iterations, dsm, job);
        first = first < 0 ? version : first;
        is_same &= memcmp(&residual[version], &residual[first], sizeof(float)) == 0;
    }
    check(rh_dsm_close(dsm));
    check(rh_leave(job));
    if (!is_same)
        fprintf(stderr, "himeno: the residuals differ\n");
    return is_same ? 0 : 1;
}
