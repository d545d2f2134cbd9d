/* SPDX-License-Identifier: BSD-3-Clause
 *
 * pmtest's options, and the script that all ranks follow.
 */
#include "pm/pmtest/pmtest.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: rhinet run -n RANKS pmtest [OPTION...]\n"
    "Measure the messages of PM between ranks 0 and 1, or from all to rank 0.\n"
    "  -t, --test LIST    pingpong, burst, cost (default: pingpong,burst)\n"
    "  -p, --pm LIST      pm-ring, pm-queue, pm-auto (default: all)\n"
    "  -s, --sizes LIST   of messages in bytes (default: 8,32,64,256,1024,2040,4096,8184)\n"
    "  -r, --rounds N     a figure is the median of this many (default: 11)\n"
    "  -c, --count N      messages in a round (default: 2000)\n"
    "      --split        pm-ring: long messages in pushes of 2 KB, as PM/RHiNET did\n"
    "  -j, --json FILE    write JSON there (-: standard output) in place of a table\n"
    "  -h, --help\n";

static const struct option long_options[] = {
    {"test", required_argument, NULL, 't'},
    {"pm", required_argument, NULL, 'p'},
    {"sizes", required_argument, NULL, 's'},
    {"rounds", required_argument, NULL, 'r'},
    {"count", required_argument, NULL, 'c'},
    {"split", no_argument, NULL, 'x'},
    {"json", required_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static int complain(const char *what, const char *value)
{
    fprintf(stderr, "pmtest: %s: %s; try --help\n", what, value);
    return -1;
}

static int read_number(const char *text, unsigned long least, unsigned long most,
                       unsigned long *number)
{
    char *end;
    *number = strtoul(text, &end, 10);
    return *text && !*end && *number >= least && *number <= most ? 0 : -1;
}

static int read_tests(struct pmtest_options *options, char *list)
{
    options->does_pingpong = options->does_burst = false;
    for (char *word = strtok(list, ","); word; word = strtok(NULL, ",")) {
        bool *chosen = strcmp(word, "pingpong") == 0 ? &options->does_pingpong
                       : strcmp(word, "burst") == 0  ? &options->does_burst
                       : strcmp(word, "cost") == 0   ? &options->does_cost
                                                     : NULL;
        if (!chosen)
            return complain("no such test", word);
        *chosen = true;
    }
    return 0;
}

static int read_pms(struct pmtest_options *options, char *list)
{
    const char *const *names = pmGetImplementations();
    options->pm_count = 0;
    for (char *word = strtok(list, ","); word; word = strtok(NULL, ",")) {
        int which = 0;
        while (names[which] && strcmp(names[which], word) != 0)
            which++;
        for (unsigned i = 0; i < options->pm_count; i++) {
            if (options->pm[i] == names[which])
                return complain("named twice", word);
        }
        if (!names[which])
            return complain("no such implementation", word);
        options->pm[options->pm_count++] = names[which];
    }
    return 0;
}

static int read_sizes(struct pmtest_options *options, char *list)
{
    options->size_count = 0;
    for (char *word = strtok(list, ","); word; word = strtok(NULL, ",")) {
        unsigned long number;
        if (options->size_count == PMTEST_SIZES_MAX || read_number(word, 0, 8184, &number) < 0)
            return complain("not a size from 0 to 8184, or one too many", word);
        options->size[options->size_count++] = number;
    }
    return 0;
}

static int read_option(struct pmtest_options *options, int letter, char *value)
{
    unsigned long number;
    switch (letter) {
    case 't':
        return read_tests(options, value);
    case 'p':
        return read_pms(options, value);
    case 's':
        return read_sizes(options, value);
    case 'r':
        if (read_number(value, 1, PMTEST_ROUNDS_MAX, &number) < 0)
            return complain("not a number of rounds", value);
        options->rounds = (unsigned)number;
        return 0;
    case 'c':
        if (read_number(value, 1, 100000000, &number) < 0)
            return complain("not a number of messages", value);
        options->count = (unsigned)number;
        return 0;
    case 'x':
        options->splits = true;
        return 0;
    case 'j':
        options->json_path = value;
        return 0;
    default:
        return -1;
    }
}

static int open_all(struct pmtest *test)
{
    const struct pmtest_options *wishes = test->options;
    for (unsigned i = 0; i < wishes->pm_count; i++) {
        bool splits = wishes->splits && strcmp(wishes->pm[i], "pm-ring") == 0;
        struct pm_options options = {.struct_size = sizeof(options),
                                     .implementation = wishes->pm[i],
                                     .flags = splits ? PM_SPLIT_PUSHES : 0};
        int result = pmOpenContext(&test->pm[i], test->job, &options);
        if (result < 0)
            return result;
    }
    return 0;
}

static int close_all(struct pmtest *test)
{
    int result = pmtest_meet(test);
    for (unsigned i = 0; i < PMTEST_PM_MAX; i++) {
        if (test->pm[i])
            pmCloseContext(test->pm[i]);
        test->pm[i] = NULL;
    }
    return result;
}

static int run(struct pmtest *test)
{
    const struct pmtest_options *options = test->options;
    int result = pmtest_open(test);
    if (result == 0 && (options->does_pingpong || options->does_burst)) {
        result = open_all(test);
        if (result == 0 && options->does_pingpong)
            result = pmtest_pingpong(test);
        if (result == 0 && options->does_burst)
            result = pmtest_burst(test);
        int closed = result == 0 ? close_all(test) : 0;
        if (result == 0)
            result = closed;
    }
    if (result == 0 && options->does_cost)
        result = pmtest_cost(test);
    return result == 0 ? pmtest_meet(test) : result;
}

static int join_and_run(const struct pmtest_options *options)
{
    struct pmtest test = {.options = options, .results = json_array()};
    int result = rh_join(&test.job, NULL);
    if (result < 0) {
        fprintf(stderr, "pmtest: join: %s\n", rh_error_text());
        return 1;
    }
    test.rank = rh_rank(test.job);
    test.size = rh_size(test.job);
    if (test.size < 2) {
        fprintf(stderr, "pmtest: one rank alone; start it with `rhinet run -n 2 pmtest`\n");
        return 2;
    }
    result = run(&test);
    if (result < 0)
        fprintf(stderr, "pmtest: rank %d: %s: %s%s%s\n", test.rank, rh_error_name(result),
                pmErrorText(), *pmErrorText() ? " / " : "", rh_error_text());
    else if (test.rank == 0)
        result = pmtest_report(&test);
    rh_leave(test.job);
    json_decref(test.results);
    return result < 0;
}

int main(int argc, char **argv)
{
    struct pmtest_options options = {
        .does_pingpong = true,
        .does_burst = true,
        .pm = {"pm-ring", "pm-queue", "pm-auto"},
        .pm_count = 3,
        .size = {8, 32, 64, 256, 1024, 2040, 4096, 8184},
        .size_count = 8,
        .rounds = 11,
        .count = 2000,
    };
    int letter;
    while ((letter = getopt_long(argc, argv, "t:p:s:r:c:j:h", long_options, NULL)) != -1) {
        if (letter == 'h') {
            fputs(usage, stdout);
            return 0;
        }
        if (read_option(&options, letter, optarg) < 0)
            return 2;
    }
    if (optind < argc) {
        complain("unexpected argument", argv[optind]);
        return 2;
    }
    return join_and_run(&options);
}
