/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs the suite: as a rank under `rhinet run -n N msg-send`, or, with --threads N, with all ranks
 * as threads of this process, for ThreadSanitizer.
 */
#include "send_suite.h"
#include "threads.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static const struct option long_options[] = {
    {"list", no_argument, NULL, 'l'},      {"case", required_argument, NULL, 'c'},
    {"quick", no_argument, NULL, 'q'},     {"threads", required_argument, NULL, 't'},
    {"nic", required_argument, NULL, 'n'}, {NULL, 0, NULL, 0},
};

static int rank_main(struct rh_job *job, void *context)
{
    return mail_suite_run(job, context);
}

int main(int argc, char **argv)
{
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
        else
            return 2;
    }
    if (threads.size > 0) {
        options.is_thread = true;
        return threads_run(&threads) != 0;
    }
    struct rh_job *job;
    if (rh_join(&job, NULL) < 0) {
        fprintf(stderr, "msg-send: %s\n", rh_error_text());
        return 1;
    }
    return mail_suite_run(job, &options);
}
