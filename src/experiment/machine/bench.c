/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet bench rma` and its kin: the options, the jobs one after the other, the report. See
 * bench.h.
 */
#include "experiment/machine/bench.h"

#include "base/clock.h"
#include "base/memory_room.h"
#include "base/text.h"
#include "cli/cli.h"
#include "experiment/experiment.h"
#include "experiment/machine/dsm/dsm.h"
#include "experiment/machine/mpi/mpi.h"
#include "experiment/machine/msg/msg.h"
#include "experiment/machine/ofi/ofi.h"
#include "experiment/machine/rma/rma.h"
#include "experiment/machine/sets/sets.h"
#include "experiment/machine/sizes/sizes.h"
#include "experiment/machine/tail/tail.h"

#include <stdio.h>
#include <string.h>

#define ROUNDS        25
#define ROUNDS_QUICK  BENCH_ROUNDS_MIN
#define CASE_TIME_NS  (15 * NS_PER_S)
#define QUICK_TIME_NS (4 * NS_PER_S)
#define PEERS_FACTOR  3

const struct bench_layer bench_layers[] = {
    {.name = "rma", .cases = bench_rma_cases, .case_count = BENCH_RMA_CASES},
    {.name = "msg", .cases = bench_msg_cases, .case_count = BENCH_MSG_CASES},
    {.name = "sizes",
     .cases = bench_sizes_cases,
     .case_count = BENCH_SIZES_CASES,
     .has_curves = true},
    {.name = "sets", .cases = bench_sets_cases, .case_count = BENCH_SETS_CASES, .has_curves = true},
    {.name = "tail", .cases = bench_tail_cases, .case_count = BENCH_TAIL_CASES},
    {.name = "ofi", .cases = bench_ofi_cases, .case_count = BENCH_OFI_CASES, .nic = "ofi"},
    {.name = "mpi", .cases = bench_mpi_cases, .case_count = BENCH_MPI_CASES, .is_mpi = true},
    {.name = "dsm", .cases = bench_dsm_cases, .case_count = BENCH_DSM_CASES},
    {.name = "pages", .cases = bench_pages_cases, .case_count = BENCH_PAGES_CASES},
    {.name = "himeno", .cases = bench_himeno_cases, .case_count = BENCH_HIMENO_CASES},
    {.name = "datagram",
     .cases = bench_datagram_cases,
     .case_count = BENCH_DATAGRAM_CASES,
     .nic = "ofi"},
    {.name = NULL},
};

/* What the options say. */
static struct {
    const char *json, *only;
    bool is_quick, with_peers;
    uint32_t rounds; /* 0: not said */
    int nic;
} asked = {.nic = -1};

static const char *const nics[] = {"shm", "ofi", "mixed", NULL};

static const struct cli_option options[] = {
    CLI_FLAG("quick", &asked.is_quick, "fewer rounds"),
    CLI_NUMBER("rounds", "N", 1, BENCH_ROUNDS_MAX, &asked.rounds, "how many rounds"),
    CLI_TEXT("only", "NAME,...", &asked.only, "only these measurements"),
    CLI_FILE("json", "FILE", &asked.json, "one JSON object per line to FILE, - for stdout"),
    CLI_OPTIONS_END,
};
static const struct cli_option msg_options[] = {
    CLI_FLAG("peers", &asked.with_peers, "beside Open MPI, MPICH and UCX"), CLI_OPTIONS_END};
static const struct cli_option dsm_options[] = {
    CLI_CHOICE("nic", "NAME", nics, &asked.nic, "by this NIC: shm, ofi or mixed"), CLI_OPTIONS_END};

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

static int choose(const struct bench_layer *layer, struct bench_wishes *wishes)
{
    for (int i = 0; !asked.only && i < layer->case_count; i++)
        wishes->is_chosen[i] = true;
    for (const char *name = asked.only ? asked.only : ""; *name;) {
        size_t length = strcspn(name, ",");
        int index = find_case(layer, name, length);
        if (index < 0)
            return refuse_name(layer, name, length);
        wishes->is_chosen[index] = true;
        name += length + (name[length] == ',');
    }
    return 0;
}

/* What is left out is said. MPI's ranks take as much as ours. */
static void choose_what_fits(const struct bench_layer *layer, struct bench_wishes *wishes)
{
    const char *limit;
    uint64_t room = memory_room(&limit);
    for (int i = 0; i < layer->case_count; i++) {
        uint64_t needed = layer->cases[i].memory * (wishes->with_peers ? 2 : 1);
        if (!wishes->is_chosen[i] || needed <= room / 2)
            continue;
        wishes->is_chosen[i] = false;
        cli_say("%s is left out: it needs %llu MiB, more than half of the %llu MiB that %s leaves",
                layer->cases[i].name, (unsigned long long)needed >> 20,
                (unsigned long long)room >> 20, limit);
    }
}

static int wishes_make(const struct bench_layer *layer, struct bench_wishes *wishes)
{
    *wishes = (struct bench_wishes){.layer = (int)(layer - bench_layers),
                                    .with_peers = asked.with_peers || layer->is_mpi,
                                    .round_count = asked.rounds > 0 ? asked.rounds
                                                   : asked.is_quick ? ROUNDS_QUICK
                                                                    : ROUNDS,
                                    .case_time_ns = asked.is_quick ? QUICK_TIME_NS : CASE_TIME_NS};
    snprintf(wishes->nic, sizeof(wishes->nic), "%s", asked.nic < 0 ? "" : nics[asked.nic]);
    if (wishes->with_peers) /* they need time, too */
        wishes->case_time_ns *= PEERS_FACTOR;
    int status = choose(layer, wishes);
    if (status == 0)
        choose_what_fits(layer, wishes);
    return status;
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
    int result = bench_members_start(sheet, sheet_fd, rank_count);
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
        cli_progress("%s", layer->cases[i].name);
        if (bench_rounds_measure(&run, i) < 0) {
            cli_say("%s: %s", layer->cases[i].name, rh_error_text());
            failed = 1;
        }
    }
    cli_progress_end();
    return failed;
}

static int run_all(const struct bench_wishes *wishes)
{
    int sheet_fd;
    struct bench_sheet *sheet = bench_sheet_create(&sheet_fd);
    if (!sheet) {
        cli_say("no memory");
        return 1;
    }
    sheet->wishes = *wishes;
    if (wishes->with_peers && bench_peers_open(sheet) < 0)
        return 1;
    int status = run_jobs(sheet, sheet_fd);
    status |= run_outside(sheet);
    if (wishes->with_peers)
        bench_peers_close(sheet);
    struct bench_report report = {.sheet = sheet, .json_path = asked.json};
    return bench_report_write(&report) < 0 ? 1 : status;
}

/* ---- Commands ------------------------------------------------------------------------------- */

static int measure(const char *name)
{
    const struct bench_layer *layer = bench_layers;
    struct bench_wishes wishes;
    while (strcmp(layer->name, name) != 0)
        layer++;
    int status = wishes_make(layer, &wishes);
    return status != 0 ? status : run_all(&wishes);
}

/* The command is called like the layer. */
static int run(int count, char **words)
{
    return measure(cli_current()->name);
}

static int run_dsm(int count, char **words)
{
    return measure("dsm");
}

/* How this program starts itself again. */
static int be_rank(int count, char **words)
{
    return bench_members_be_rank(words[0]);
}

static int join_and_leave(int count, char **words)
{
    return start_join_and_leave();
}

static int do_nothing(int count, char **words)
{
    return 0;
}

#define LAYER(name_, own_, help_)                                                                  \
    {                                                                                              \
        .name = (name_), .help = (help_), .options = (own_), .shared = options, .run = run         \
    }
#define HIDDEN(name_, operands_, run_)                                                             \
    {                                                                                              \
        .name = (name_), .help = "part of a measurement", .operands = (operands_), .run = (run_),  \
        .is_hidden = true                                                                          \
    }

const struct cli_command cli_bench_rma = LAYER("rma", NULL, "remote memory");
const struct cli_command cli_bench_msg = LAYER("msg", msg_options, "messages");
const struct cli_command cli_bench_sizes = LAYER("sizes", msg_options,
                                                 "pushes and messages of 1 byte to 1 GiB");
const struct cli_command cli_bench_sets = LAYER("sets", msg_options,
                                                "collectives of 8 ranks, 8 bytes to 1 MiB");
const struct cli_command cli_bench_tail = LAYER(
    "tail", NULL, "the slow ones: medians, 99th and 99.9th percentiles");
const struct cli_command cli_bench_ofi = LAYER("ofi", NULL, "the network, by the NIC ofi");
const struct cli_command cli_bench_mpi = LAYER(
    "mpi", NULL, "MPI programs on rhinet, beside Open MPI and MPICH by themselves");
const struct cli_command cli_bench_dsm = LAYER("dsm", dsm_options, "distributed shared memory");
const struct cli_command cli_bench_pages = LAYER("pages", NULL,
                                                 "page mode: faults, fetches, locks");
const struct cli_command cli_bench_himeno = LAYER(
    "himeno", NULL, "Himeno benchmark: entry mode, page mode, messages");
const struct cli_command cli_bench_datagram = LAYER(
    "datagram", NULL, "remote memory against datagrams, over the network");
const struct cli_command cli_bench_rank = HIDDEN(".rank", "FD", be_rank);
const struct cli_command cli_bench_join = HIDDEN(".join", NULL, join_and_leave);
const struct cli_command cli_bench_nothing = HIDDEN(".nothing", NULL, do_nothing);

static const struct cli_command dsm_bench = {
    .name = "bench",
    .help = "the same as `rhinet bench dsm`, and more",
    .options = dsm_options,
    .shared = options,
    .commands = (const struct cli_command *const[]){&cli_bench_pages, &cli_bench_himeno,
                                                    &cli_bench_datagram, NULL},
    .run = run_dsm};

const struct cli_command cli_dsm = {
    .name = "dsm",
    .help = "measure distributed shared memory",
    .commands = (const struct cli_command *const[]){&dsm_bench, NULL}};
