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
#define PEERS_FACTOR  3

enum option_value {
    OPTION_JSON = 256,
    OPTION_QUICK,
    OPTION_ROUNDS,
    OPTION_ONLY,
    OPTION_PEERS,
    OPTION_NIC
};

static const struct option options_known[] = {
    {"json", required_argument, NULL, OPTION_JSON},
    {"quick", no_argument, NULL, OPTION_QUICK},
    {"rounds", required_argument, NULL, OPTION_ROUNDS},
    {"only", required_argument, NULL, OPTION_ONLY},
    {"peers", no_argument, NULL, OPTION_PEERS},
    {"nic", required_argument, NULL, OPTION_NIC},
    {NULL, 0, NULL, 0},
};

const struct bench_layer bench_layers[] = {
    {.name = "rma", .cases = bench_rma_cases, .case_count = BENCH_RMA_CASES},
    {.name = "msg", .cases = bench_msg_cases, .case_count = BENCH_MSG_CASES, .has_peers = true},
    {.name = "ofi", .cases = bench_ofi_cases, .case_count = BENCH_OFI_CASES, .nic = "ofi"},
    {.name = "dsm", .cases = bench_dsm_cases, .case_count = BENCH_DSM_CASES, .takes_nic = true},
    {.name = "pages", .cases = bench_pages_cases, .case_count = BENCH_PAGES_CASES},
    {.name = "himeno", .cases = bench_himeno_cases, .case_count = BENCH_HIMENO_CASES},
    {.name = "datagram",
     .cases = bench_datagram_cases,
     .case_count = BENCH_DATAGRAM_CASES,
     .nic = "ofi"},
    {.name = NULL},
};

struct command {
    const struct bench_layer *layer;
    struct bench_wishes wishes;
    const char *json_path;
};

static int find_case(const struct bench_layer *layer, const char *name, size_t length)
{
    for (int i = 0; i < layer->case_count; i++) {
        if (strlen(layer->cases[i].name) == length &&
            strncmp(layer->cases[i].name, name, length) == 0)
            return i;
    }
    return -1;
}

static int refuse_name(const struct bench_layer *layer, const char *name, size_t length)
{
    const char *names[BENCH_CASES_MAX];
    char text[64];
    snprintf(text, sizeof(text), "%.*s", (int)length, name);
    for (int i = 0; i < layer->case_count; i++)
        names[i] = layer->cases[i].name;
    const char *nearest = text_nearest(text, names, (size_t)layer->case_count);
    return cli_usage_error("--only: there is no \"%s\"%s%s", text, nearest ? "; did you mean " : "",
                           nearest ? nearest : "");
}

static int set_only(struct command *command, const char *names)
{
    memset(command->wishes.is_chosen, 0, sizeof(command->wishes.is_chosen));
    for (const char *name = names; *name;) {
        size_t length = strcspn(name, ",");
        int index = find_case(command->layer, name, length);
        if (index < 0)
            return refuse_name(command->layer, name, length);
        command->wishes.is_chosen[index] = true;
        name += length + (name[length] == ',');
    }
    return 0;
}

static int set_rounds(struct command *command, const char *text)
{
    uint64_t count;
    if (!text_to_u64(text, &count) || count < 1 || count > BENCH_ROUNDS_MAX)
        return cli_usage_error("--rounds \"%s\": a number from 1 to %d is expected", text,
                               BENCH_ROUNDS_MAX);
    command->wishes.round_count = (uint32_t)count;
    return 0;
}

static int set_nic(struct command *command, const char *name)
{
    static const char *const names[] = {"shm", "ofi", "mixed"};
    if (!command->layer->takes_nic)
        return cli_usage_error("--nic is for dsm");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) != 0)
            continue;
        snprintf(command->wishes.nic, sizeof(command->wishes.nic), "%s", name);
        return 0;
    }
    return cli_usage_error("--nic \"%s\": shm, ofi and mixed can be measured", name);
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
    case OPTION_PEERS:
        if (!command->layer->has_peers)
            return cli_usage_error("--peers is for msg; for rma there is "
                                   "tools/bench-peers");
        command->wishes.with_peers = true;
        return 0;
    case OPTION_NIC:
        return set_nic(command, optarg);
    case ':':
        return cli_usage_error("%s needs a value", word);
    default:
        return cli_usage_error("unknown option %s", word);
    }
}

static int parse(struct command *command, int argc, char **argv)
{
    command->wishes.round_count = ROUNDS;
    command->wishes.case_time_ns = CASE_TIME_NS;
    for (int i = 0; i < command->layer->case_count; i++)
        command->wishes.is_chosen[i] = true;
    int option;
    optind = 1;
    while ((option = getopt_long(argc, argv, "+:", options_known, NULL)) != -1) {
        int status = set_option(command, option, argv[optind - 1]);
        if (status)
            return status;
    }
    if (optind < argc)
        return cli_usage_error("what is \"%s\"?", argv[optind]);
    return 0;
}

/* ---- Order of things ------------------------------------------------------------------------ */

static bool is_chosen(const struct bench_sheet *sheet, int index, int rank_count)
{
    return sheet->wishes.is_chosen[index] &&
           bench_layer_of(sheet)->cases[index].rank_count == rank_count;
}

static int run_job(struct bench_sheet *sheet, int sheet_fd, int rank_count)
{
    if (sheet->wishes.with_peers)
        bench_peers_start(sheet, rank_count);
    int result = bench_members_start(sheet, sheet_fd, rank_count, isatty(STDERR_FILENO));
    if (sheet->wishes.with_peers)
        bench_peers_stop(sheet);
    return result;
}

/* The cases of one job size at a time; several share a job. */
static int run_jobs(struct bench_sheet *sheet, int sheet_fd)
{
    const struct bench_layer *layer = bench_layer_of(sheet);
    int failed = 0;
    for (int i = 0; i < layer->case_count; i++) {
        int rank_count = layer->cases[i].rank_count;
        bool is_first = rank_count > 0 && sheet->wishes.is_chosen[i];
        for (int j = 0; j < i; j++)
            is_first &= !is_chosen(sheet, j, rank_count);
        if (is_first && run_job(sheet, sheet_fd, rank_count) < 0)
            failed = 1;
    }
    return failed;
}

static int run_outside(struct bench_sheet *sheet)
{
    struct bench_run run = {.sheet = sheet, .size = 1, .peer = -1};
    const struct bench_layer *layer = bench_layer_of(sheet);
    int failed = 0;
    for (int i = 0; i < layer->case_count; i++) {
        if (!is_chosen(sheet, i, 0))
            continue;
        if (bench_rounds_measure(&run, i) < 0) {
            fprintf(stderr, "rhinet bench: %s: %s\n", layer->cases[i].name, rh_error_text());
            failed = 1;
        }
    }
    return failed;
}

static int run_all(struct command *command)
{
    int sheet_fd;
    struct bench_sheet *sheet = bench_sheet_create(&sheet_fd);
    if (!sheet) {
        fprintf(stderr, "rhinet bench: no memory\n");
        return 1;
    }
    bool with_peers = command->wishes.with_peers;
    if (with_peers) /* they need time, too */
        command->wishes.case_time_ns *= PEERS_FACTOR;
    sheet->wishes = command->wishes;
    if (with_peers && bench_peers_open(sheet) < 0)
        return 1;
    int status = run_jobs(sheet, sheet_fd);
    status |= run_outside(sheet);
    if (with_peers)
        bench_peers_close(sheet);
    struct bench_report report = {.sheet = sheet, .json_path = command->json_path};
    return bench_report_write(&report) < 0 ? 1 : status;
}

static int bench_old(int argc, char **argv)
{
    struct command command = {0};
    if (argc < 2)
        return cli_usage_error("what? rma, msg and ofi are there");
    /* How this program starts itself again. */
    if (strcmp(argv[1], ".rank") == 0 && argc == 3)
        return bench_members_be_rank(argv[2]);
    if (strcmp(argv[1], ".join") == 0)
        return start_join_and_leave();
    if (strcmp(argv[1], ".nothing") == 0)
        return 0;
    command.layer = bench_layers;
    while (command.layer->name && strcmp(argv[1], command.layer->name) != 0)
        command.layer++;
    if (!command.layer->name)
        return cli_usage_error(
            "there is no bench \"%s\"; rma, msg, ofi, dsm, pages, himeno and datagram are there",
            argv[1]);
    command.wishes.layer = (int)(command.layer - bench_layers);
    int status = parse(&command, argc - 1, argv + 1);
    return status ? status : run_all(&command);
}

const struct cli_command cli_bench = {
    .name = "bench",
    .help = "measure remote memory, messages and the network against the machine's own limits",
    .old = bench_old};
