/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The suite with ranks as threads of this process, for ThreadSanitizer. Cases that kill a rank are
 * skipped: a thread cannot be killed alone.
 */
#include "harness.h"
#include "threads.h"

#include <getopt.h>
#include <string.h>

static const struct option long_options[] = {
    {"case", required_argument, NULL, 'c'},    {"nic", required_argument, NULL, 'n'},
    {"ranks", required_argument, NULL, 'r'},   {"quick", no_argument, NULL, 'q'},
    {"all-supported", no_argument, NULL, 'a'}, {NULL, 0, NULL, 0},
};

static int rank_main(struct rh_job *job, void *context)
{
    struct suite_options options = *(const struct suite_options *)context;
    options.is_watched = rh_rank(job) == 0;
    return suite_run(job, &options);
}

int main(int argc, char **argv)
{
    struct suite_options options = {.is_thread = true};
    struct threads_options threads = {
        .size = 3, .rank_main = rank_main, .context = &options, .leaves_itself = true};
    int letter;
    while ((letter = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        switch (letter) {
        case 'c':
            options.only = optarg;
            break;
        case 'n':
            threads.nic = optarg;
            break;
        case 'r':
            threads.size = optarg[0] - '0';
            break;
        case 'q':
            options.is_quick = true;
            break;
        case 'a':
            options.all_supported = true;
            break;
        default:
            fprintf(stderr,
                    "usage: %s [--case NAME] [--nic NIC] [--ranks 2..9] [--quick] "
                    "[--all-supported]\n",
                    argv[0]);
            return 2;
        }
    }
    if (threads.size < 2 || threads.size > 9) {
        fprintf(stderr, "%s: --ranks takes a number from 2 to 9\n", argv[0]);
        return 2;
    }
    return threads_run(&threads) != 0;
}
