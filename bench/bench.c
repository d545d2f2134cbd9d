/* SPDX-License-Identifier: BSD-3-Clause
 *
 * rhinet bench: the options, the jobs one after the other, the report. See bench.h.
 */
#include "bench.h"

#include "base/clock.h"
#include "base/text.h"
#include "cli/cli.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS        25
#define ROUNDS_QUICK  BENCH_ROUNDS_MIN
#define CASE_TIME_NS  (15 * NS_PER_S)
#define QUICK_TIME_NS (4 * NS_PER_S)

enum option_value { OPTION_JSON = 256, OPTION_QUICK, OPTION_ROUNDS, OPTION_ONLY };

static const struct option options_known[] = {
    {"json", required_argument, NULL, OPTION_JSON},
    {"quick", no_argument, NULL, OPTION_QUICK},
    {"rounds", required_argument, NULL, OPTION_ROUNDS},
    {"only", required_argument, NULL, OPTION_ONLY},
    {NULL, 0, NULL, 0},
};

struct command {
    struct bench_wishes wishes;
    const char *json_path;
};

static int find_case(const char *name, size_t length)
{
    for (int i = 0; i < bench_case_count; i++) {
        if (strlen(bench_cases[i].name) == length &&
            strncmp(bench_cases[i].name, name, length) == 0)
            return i;
    }
    return -1;
}

static int refuse_name(const char *name, size_t length)
{
    const char *names[BENCH_CASES_MAX];
    char text[64];
    snprintf(text, sizeof(text), "%.*s", (int)length, name);
    for (int i = 0; i < bench_case_count; i++)
        names[i] = bench_cases[i].name;
    const char *nearest = text_nearest(text, names, (size_t)bench_case_count);
    return cli_usage_error("bench", "--only: there is no \"%s\"%s%s", text,
                           nearest ? "; did you mean " : "", nearest ? nearest : "");
}

static int set_only(struct command *command, const char *names)
{
    memset(command->wishes.is_chosen, 0, sizeof(command->wishes.is_chosen));
    for (const char *name = names; *name;) {
        size_t length = strcspn(name, ",");
        int index = find_case(name, length);
        if (index < 0)
            return refuse_name(name, length);
        command->wishes.is_chosen[index] = true;
        name += length + (name[length] == ',');
    }
    return 0;
}

static int set_rounds(struct command *command, const char *text)
{
    uint64_t count;
    if (!text_to_u64(text, &count) || count < 1 || count > BENCH_ROUNDS_MAX)
        return cli_usage_error("bench", "--rounds \"%s\": a number from 1 to %d is expected", text,
                               BENCH_ROUNDS_MAX);
    command->wishes.round_count = (uint32_t)count;
    return 0;
}

static int set_option(struct command *command, int option, const char *word)
{
    switch (option) {
    case OPTION_JSON:
        command->json_path = optarg;
        return 0;
    case OPTION_QUICK:
        command->wishes.round_count = ROUNDS_QUICK;
        command->wishes.case_time_ns = QUICK_TIME_NS;
        return 0;
    case OPTION_ROUNDS:
        return set_rounds(command, optarg);
    case OPTION_ONLY:
        return set_only(command, optarg);
    case ':':
        return cli_usage_error("bench", "%s needs a value", word);
    default:
        return cli_usage_error("bench", "unknown option %s", word);
    }
}

static int parse(struct command *command, int argc, char **argv)
{
    command->wishes.round_count = ROUNDS;
    command->wishes.case_time_ns = CASE_TIME_NS;
    for (int i = 0; i < bench_case_count; i++)
        command->wishes.is_chosen[i] = true;
    int option;
    optind = 1;
    while ((option = getopt_long(argc, argv, "+:", options_known, NULL)) != -1) {
        int status = set_option(command, option, argv[optind - 1]);
        if (status)
            return status;
    }
    if (optind < argc)
        return cli_usage_error("bench", "what is \"%s\"?", argv[optind]);
    return 0;
}

/* The cases of one job size at a time; several share a job. */
static int run_jobs(struct bench_sheet *sheet, int sheet_fd, bool show_progress)
{
    int failed = 0;
    for (int i = 0; i < bench_case_count; i++) {
        int rank_count = bench_cases[i].rank_count;
        bool is_first = rank_count > 0 && sheet->wishes.is_chosen[i];
        for (int j = 0; j < i; j++)
            is_first &= !(sheet->wishes.is_chosen[j] && bench_cases[j].rank_count == rank_count);
        if (is_first && bench_members_start(sheet, sheet_fd, rank_count, show_progress) < 0)
            failed = 1;
    }
    return failed;
}

static int run_outside(struct bench_sheet *sheet)
{
    struct bench_run run = {.sheet = sheet, .size = 1, .peer = -1};
    int failed = 0;
    for (int i = 0; i < bench_case_count; i++) {
        if (!sheet->wishes.is_chosen[i] || bench_cases[i].rank_count > 0)
            continue;
        if (bench_rounds_measure(&run, i) < 0) {
            fprintf(stderr, "rhinet bench: %s: %s\n", bench_cases[i].name, rh_error_text());
            failed = 1;
        }
    }
    return failed;
}

int cli_bench(int argc, char **argv)
{
    if (argc < 2)
        return cli_usage_error("bench", "what? rma is there");
    /* How this program starts itself again. */
    if (strcmp(argv[1], ".rank") == 0 && argc == 3)
        return bench_members_be_rank(argv[2]);
    if (strcmp(argv[1], ".join") == 0)
        return start_join_and_leave();
    if (strcmp(argv[1], ".nothing") == 0)
        return 0;
    if (strcmp(argv[1], "rma") != 0)
        return cli_usage_error("bench", "there is no bench \"%s\"; rma is there", argv[1]);

    struct command command = {0};
    int sheet_fd;
    int status = parse(&command, argc - 1, argv + 1);
    if (status)
        return status;
    struct bench_sheet *sheet = bench_sheet_create(&sheet_fd);
    if (!sheet) {
        fprintf(stderr, "rhinet bench: no memory\n");
        return 1;
    }
    sheet->wishes = command.wishes;
    status = run_jobs(sheet, sheet_fd, isatty(STDERR_FILENO));
    status |= run_outside(sheet);
    struct bench_report report = {.sheet = sheet, .json_path = command.json_path};
    return bench_report_write(&report) < 0 ? 1 : status;
}
