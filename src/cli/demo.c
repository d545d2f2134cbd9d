/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet demo`: what a newcomer types first. Runs a few commands of this program one after the
 * other, as anybody would type them, and ends with one screen of what they have measured and with
 * the page that `rhinet report` makes of it. Everything is in one folder of the user's.
 */
#include "cli/cache/cache.h"
#include "cli/cli.h"
#include "cli/plot.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MAX   12
#define MEASURED    "remote-memory.json"
#define MESSAGES    "messages.json"
#define ROUTING     "routing.json"
#define NETWORK     "network.json"
#define THESIS      "thesis.json"
#define TIME_LINE   "remote-write.json"
#define FILE_CACHE  "file-cache.json"
#define REPORT      "report.html"
#define SHOWN_CASES "store-8,push-8,push-1M,fetch-add"
#define SENT_CASES  "send-8,send-1M,barrier-2"

extern char **environ;

static const char *folder;

static const struct cli_option options[] = {CLI_FILE("output", "FOLDER", &folder,
                                                     "where results and the page go", .letter = 'o',
                                                     .standard = "rhinet-demo"),
                                            CLI_OPTIONS_END};

struct step {
    const char *title;            /* NULL: it belongs to the one before */
    const char *words[WORDS_MAX]; /* of this program, in the folder */
    bool may_miss;                /* a figure, on a busy machine */
};

static const struct step steps[] = {
    {"Remote memory, against the least that this machine takes for the same: ratio 1 is the limit.",
     {"bench", "rma", "--quick", "--only", SHOWN_CASES, "--json", MEASURED},
     true},
    {"Messages and barriers, measured the same way.",
     {"bench", "msg", "--quick", "--only", SENT_CASES, "--json", MESSAGES},
     true},
    {"Routing: two joined fat trees as OpenSM would see them; tables, proved free of deadlock.",
     {"route", "generate", "joined", "--ports", "8", "-o", "fabric"},
     false},
    {NULL, {"route", "compute", "fabric", "--lft", "tables", "--map", "--json", ROUTING}, false},
    {"The simulator: traffic on that network.",
     {"sim", "run", "--topology", "fabric", "--load", "0.2,0.5,0.8", "--time", "50us", "--json",
      NETWORK},
     false},
    {"The Martini controller of the thesis: a remote write step by step, beside the simulated one.",
     {"sim", "thesis", "table-6.2", "--json", THESIS, "--timeline", TIME_LINE},
     false},
    {"The file cache, above a file system of 100 MB/s, which it asks for each block once.",
     {"cache", "bench", "sequential", "--quick", "--json", FILE_CACHE},
     false},
    {"A page of all that.",
     {"report", MEASURED, MESSAGES, ROUTING, NETWORK, THESIS, TIME_LINE, FILE_CACHE, "--title",
      "rhinet demo", "-o", REPORT},
     false},
};
#define STEP_COUNT (sizeof(steps) / sizeof(steps[0]))

/* ---- Running -------------------------------------------------------------------------------- */

/* The exit status as a shell has it; -1: it could not be started. */
static int call(char *program, const struct step *step)
{
    char *words[WORDS_MAX + 2] = {program};
    posix_spawn_file_actions_t actions;
    int pid, status;
    memcpy(words + 1, step->words, sizeof(step->words));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, folder);
    int error = posix_spawn(&pid, program, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0 || waitpid(pid, &status, 0) < 0) {
        cli_say("cannot run %s: %s", program, strerror(error ? error : errno));
        return -1;
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int take(char *program, const struct step *step)
{
    if (step->title)
        printf("\n%s\n", step->title);
    fputs("$ rhinet", stdout);
    for (int i = 0; i < WORDS_MAX && step->words[i]; i++)
        printf(strchr(step->words[i], ' ') ? " '%s'" : " %s", step->words[i]);
    putchar('\n');
    fflush(stdout);
    int status = call(program, step);
    if (status == 1 && step->may_miss) {
        puts("A short run on a busy machine may miss a figure.");
        return 0;
    }
    if (status > 0)
        cli_say("`rhinet %s %s` ended with status %d; what it said is above", step->words[0],
                step->words[1], status);
    return status < 0 ? 1 : status;
}

/* ---- The last screen ------------------------------------------------------------------------ */

typedef void row_use(const json_t *row, void *context);

static void each_row(const char *name, row_use *use, void *context)
{
    char path[PATH_MAX];
    json_t *row;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *in = fopen(path, "re");
    while (in && (row = json_loadf(in, JSON_DISABLE_EOF_CHECK, NULL))) {
        use(row, context);
        json_decref(row);
    }
    if (in)
        fclose(in);
}

static double number(const json_t *row, const char *name)
{
    return json_number_value(json_object_get(row, name));
}

static void say_measured(const json_t *row, void *context)
{
    if (json_object_get(row, "value"))
        printf("  %-12s%9.4g %-5s%.2f x what the machine itself takes or does\n",
               json_string_value(json_object_get(row, "name")), number(row, "value"),
               json_string_value(json_object_get(row, "unit")), number(row, "ratio"));
}

struct counts {
    int all, holding;
};

static void count_holding(const json_t *row, void *context)
{
    struct counts *counts = context;
    counts->all++;
    counts->holding += json_is_true(json_object_get(row, "holds"));
}

/* Most nodes, and the best of them without the cache and with it. */
struct speeds {
    int nodes;
    double plain, cached;
};

static void note_speed(const json_t *row, void *context)
{
    struct speeds *speeds = context;
    int nodes = (int)number(row, "nodes");
    if (nodes > speeds->nodes)
        *speeds = (struct speeds){.nodes = nodes};
    double *best = json_is_true(json_object_get(row, "plain")) ? &speeds->plain : &speeds->cached;
    if (nodes == speeds->nodes && number(row, "mib_per_s") > *best)
        *best = number(row, "mib_per_s");
}

static void sum_up(void)
{
    struct counts thesis = {0};
    struct speeds speeds = {0};
    puts("\nIn short:");
    each_row(MEASURED, say_measured, NULL);
    each_row(MESSAGES, say_measured, NULL);
    each_row(THESIS, count_holding, &thesis);
    each_row(FILE_CACHE, note_speed, &speeds);
    printf("  simulation: %d of %d figures of the thesis's table 6.2 hold\n", thesis.holding,
           thesis.all);
    if (speeds.plain > 0)
        printf("  file cache: %.1f x the plain file system, %d nodes\n",
               speeds.cached / speeds.plain, speeds.nodes);
    printf("  all of it: %s/" REPORT ", for any browser\n", folder);
}

static int demo(int count, char **words)
{
    char program[PATH_MAX];
    int status = plot_folder_make(folder);
    if (status == 0 && cache_own_path(program, sizeof(program)) < 0) {
        cli_say("cannot find out what this program is: %s", strerror(errno));
        status = 1;
    }
    if (status == 0)
        printf("rhinet %s: remote memory for clusters. All this is in %s.\n", RHINET_VERSION,
               folder);
    for (size_t i = 0; i < STEP_COUNT && status == 0; i++)
        status = take(program, &steps[i]);
    if (status == 0)
        sum_up();
    return status;
}

const struct cli_command cli_demo = {.name = "demo",
                                     .help = "a few commands, measured, and a page of the results",
                                     .options = options,
                                     .run = demo};
