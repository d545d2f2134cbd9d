/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs the suite: as a rank under `rhinet run -n N msg-send`, or, with --threads N, with all ranks
 * as threads of this process, for ThreadSanitizer; or, with --fibers N, on a simulated cluster.
 */
#include "moment.h"
#include "send_suite.h"
#include "simulation.h"
#include "threads.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const struct option long_options[] = {
    {"list", no_argument, NULL, 'l'},
    {"case", required_argument, NULL, 'c'},
    {"quick", no_argument, NULL, 'q'},
    {"threads", required_argument, NULL, 't'},
    {"nic", required_argument, NULL, 'n'},
    {"fibers", required_argument, NULL, 'f'},
    {NULL, 0, NULL, 0},
};

static int rank_main(struct rh_job *job, void *context)
{
    return mail_suite_run(job, context);
}

static int simulate(int size, struct mail_options *options, const char *timeout)
{
    struct simulated_report report;
    setenv("RHINET_TIMEOUT", timeout, 1);
    setenv("RHINET_STUCK", "0", 0); /* before the environment is looked at: it may move */
    struct simulation_options simulation = {.size = size,
                                            .seed = 1,
                                            .environment = environ,
                                            .rank_main = rank_main,
                                            .context = options,
                                            .leaves_itself = true};
    return simulation_run(&simulation, &report) != 0;
}

/* The usual cases in one job, those that end a rank or need less patience in one each. */
static int simulate_all(int size, struct mail_options *options)
{
    if (options->only)
        return simulate(size, options, "60s");
    int failures = simulate(size, options, "60s");
    for (size_t i = 0; mail_suite_case(i); i++) {
        const struct mail_case *one = mail_suite_case(i);
        options->only = one->name;
        if (one->flags & (CASE_ALONE | CASE_SHORT_TIMEOUT) && one->least_size <= size)
            failures += simulate(size, options, one->flags & CASE_SHORT_TIMEOUT ? "500ms" : "60s");
    }
    return failures;
}

int main(int argc, char **argv)
{
    int fibers = 0;
    struct mail_options options = {0};
    struct threads_options threads = {
        .rank_main = rank_main, .context = &options, .leaves_itself = true};
    int letter;
    while ((letter = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (letter == 'l') {
            mail_suite_list();
            return 0;
        }
        if (letter == 'c')
            options.only = optarg;
        else if (letter == 'q')
            options.is_quick = true;
        else if (letter == 't')
            threads.size = (int)strtol(optarg, NULL, 10);
        else if (letter == 'n')
            threads.nic = optarg;
        else if (letter == 'f')
            fibers = (int)strtol(optarg, NULL, 10);
        else
            return 2;
    }
    if (fibers > 0)
        return simulate_all(fibers, &options) > 0;
    if (threads.size > 0) {
        options.is_thread = true;
        return threads_run(&threads) != 0;
    }
    struct rh_job *job;
    if (rh_join(&job, NULL) < 0) {
        fprintf(stderr, "msg-send: %s\n", rh_error_text());
        return 1;
    }
    moment_of_job(job);
    return mail_suite_run(job, &options);
}
