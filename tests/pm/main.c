/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The suite with ranks as processes (`rhinet run -n 3 pm-suite`) or, with --threads N, as threads
 * of this one, for ThreadSanitizer. The options are those that tests/conformance/launch.py gives.
 */
#include "suite.h"
#include "threads.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static const struct option long_options[] = {
    {"list", no_argument, NULL, 'l'},          {"case", required_argument, NULL, 'c'},
    {"quick", no_argument, NULL, 'q'},         {"threads", required_argument, NULL, 't'},
    {"all-supported", no_argument, NULL, 'q'}, {NULL, 0, NULL, 0},
};

static int rank_main(struct rh_job *job, void *context)
{
    return suite_run(job, context);
}

int main(int argc, char **argv)
{
    struct suite_options options = {0};
    struct threads_options threads = {.rank_main = rank_main, .context = &options};
    int letter;
    while ((letter = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        switch (letter) {
        case 'l':
            suite_list();
            return 0;
        case 'c':
            options.only = optarg;
            break;
        case 't':
            threads.size = (int)strtol(optarg, NULL, 10);
            break;
        case 'q':
            break;
        default:
            return 2;
        }
    }
    if (threads.size > 0) {
        options.is_thread = true;
        return threads_run(&threads) != 0;
    }
    struct rh_job *job;
    int result = rh_join(&job, NULL);
    if (result < 0) {
        fprintf(stderr, "pm-suite: join: %s\n", rh_error_text());
        return 1;
    }
    result = suite_run(job, &options);
    rh_leave(job);
    return result;
}
