/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The suite on NIC martini, in virtual time: all ranks are fibers of a simulated job. First the
 * ordinary cases in one job, then each in which a rank dies or leaves in a job of its own.
 */
#include "harness.h"
#include "simulation.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const struct option long_options[] = {
    {"case", required_argument, NULL, 'c'},
    {"ranks", required_argument, NULL, 'r'},
    {"quick", no_argument, NULL, 'q'},
    {"seed", required_argument, NULL, 's'},
    {NULL, 0, NULL, 0},
};

static int rank_main(struct rh_job *job, void *context)
{
    struct suite_options options = *(const struct suite_options *)context;
    options.is_watched = rh_rank(job) == 0;
    return suite_run(job, &options);
}

static char patience[] = "RHINET_TIMEOUT=30s", silence[] = "RHINET_STUCK=0";
static char *const environment[] = {patience, silence, NULL};

static int run(struct simulation_options *simulation, struct suite_options *options,
               const char *only)
{
    struct simulated_report report;
    options->only = only;
    simulation->context = options;
    int result = simulation_run(simulation, &report);
    printf("# %s: %.6f s of virtual time, %llu events, hash %016llx\n", only ? only : "all",
           (double)report.time_ns / 1e9, (unsigned long long)report.events,
           (unsigned long long)report.hash);
    return result != 0;
}

static int run_all(struct simulation_options *simulation, struct suite_options *options)
{
    int failures = run(simulation, options, NULL);
    for (size_t i = 0; suite_case(i); i++) {
        const struct test_case *one = suite_case(i);
        if (one->flags & (CASE_DIES | CASE_LEAVES))
            failures += run(simulation, options, one->name);
    }
    return failures;
}

int main(int argc, char **argv)
{
    struct suite_options options = {0};
    struct simulation_options simulation = {.size = 3,
                                            .seed = 1,
                                            .environment = environment,
                                            .rank_main = rank_main,
                                            .leaves_itself = true};
    const char *only = NULL;
    int letter;
    while ((letter = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (letter == 'c')
            only = optarg;
        else if (letter == 'r')
            simulation.size = (int)strtol(optarg, NULL, 10);
        else if (letter == 'q')
            options.is_quick = true;
        else if (letter == 's')
            simulation.seed = strtoull(optarg, NULL, 0);
        else
            return 2;
    }
    int failures = only ? run(&simulation, &options, only) : run_all(&simulation, &options);
    if (failures > 0)
        fprintf(stderr, "%s: %d jobs failed\n", argv[0], failures);
    return failures > 0;
}
