/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The suite with ranks as processes: `rhinet run -n 3 conformance`.
 */
#include "harness.h"
#include "moment.h"

#include <getopt.h>

static const struct option long_options[] = {
    {"list", no_argument, NULL, 'l'},          {"case", required_argument, NULL, 'c'},
    {"nic", required_argument, NULL, 'n'},     {"quick", no_argument, NULL, 'q'},
    {"all-supported", no_argument, NULL, 'a'}, {NULL, 0, NULL, 0},
};

int main(int argc, char **argv)
{
    struct suite_options options = {.is_watched = true};
    struct rh_join_options join = {.struct_size = sizeof(join)};
    int letter;
    while ((letter = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        switch (letter) {
        case 'l':
            suite_list(stdout);
            return 0;
        case 'c':
            options.only = optarg;
            break;
        case 'n':
            join.nic = optarg;
            break;
        case 'q':
            options.is_quick = true;
            break;
        case 'a':
            options.all_supported = true;
            break;
        default:
            fprintf(stderr,
                    "usage: rhinet run -n N %s [--list] [--case NAME] [--nic NIC] [--quick] "
                    "[--all-supported]\n",
                    argv[0]);
            return 2;
        }
    }
    struct rh_job *job;
    int result = rh_join(&job, &join);
    if (result < 0) {
        fprintf(stderr, "conformance: join: %s: %s\n", rh_error_name(result), rh_error_text());
        return 1;
    }
    moment_of_job(job);
    return suite_run(job, &options);
}
