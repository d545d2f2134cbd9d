/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the preloaded library costs programs that never touch a cached path: their start, and their
 * run time. Processor time, with and without in turns, and the least of each: what else runs on a
 * machine can only add to it.
 */
#include "base/settings.h"
#include "cache/cache.h"
#include "cli/cache/cache.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "experiment/cache/bench.h"

#include <limits.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct subject {
    const char *name;
    const char *line;    /* for a shell; it must end well */
    int pairs;           /* how often; a third of that if quick */
    double start_ms_max; /* of a start; 0: it is the run time that counts, by 1 % */
};

static const struct subject subjects[] = {
    {"start of /bin/true", "exec /bin/true", 300, 1},
    {"grep -r of small files", "exec grep -rc include /usr/include >/dev/null", 40, 0},
    {"sha256sum of one file", "exec sha256sum \"$BENCH_FILE\" >/dev/null", 40, 0},
    {"dd, 512 byte reads", "exec dd if=/dev/zero of=/dev/null bs=512 count=300000 status=none", 40,
     0},
};

static const struct table_column columns[] = {
    {.title = "PROGRAM"},
    {.title = "WITHOUT", .is_number = true},
    {.title = "WITH", .is_number = true},
    {.title = "UNIT"},
    {.title = "DIFFERENCE", .is_number = true},
    {.title = "WANTED", .is_number = true},
    {.title = "", .rank = 1},
};

/* Processor time of one run in ms, or a negative number. */
static double run_once(const struct subject *subject)
{
    char shell[] = "sh", option[] = "-c";
    char *words[] = {shell, option, (char *)subject->line, NULL};
    struct rusage usage;
    pid_t pid;
    int status;
    if (posix_spawnp(&pid, shell, NULL, NULL, words, environ) != 0 ||
        wait4(pid, &status, 0, &usage) != pid || !WIFEXITED(status) || WEXITSTATUS(status) > 1)
        return -1;
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
}

/* The library is there, an agent is named, and nothing that is opened is below the cached path. */
static double run_with(const struct subject *subject, const char *preload)
{
    setenv("LD_PRELOAD", preload, 1);
    setenv(CACHE_SOCKET_VARIABLE, "rhinet-bench-none", 1);
    setenv("RHINET_CACHE_PATH", "/nothing/is/here", 1);
    double result = run_once(subject);
    unsetenv("LD_PRELOAD");
    unsetenv(CACHE_SOCKET_VARIABLE);
    unsetenv("RHINET_CACHE_PATH");
    return result;
}

static int measure(const struct subject *subject, const char *preload, bool is_quick,
                   struct table *table)
{
    int pairs = is_quick ? subject->pairs / 3 : subject->pairs;
    double base = INFINITY, with = INFINITY;
    for (int i = 0; i < pairs; i++) {
        cli_progress("%s: %d of %d", subject->name, i, pairs);
        base = fmin(base, run_once(subject));
        with = fmin(with, run_with(subject, preload));
        if (base < 0 || with < 0) {
            cli_say("cannot run `%s`", subject->line);
            return 1;
        }
    }
    cli_progress_end();
    double more = with - base;
    bool is_start = subject->start_ms_max > 0;
    table_cell(table, "%s", subject->name);
    table_cell(table, "%.3f", base);
    table_cell(table, "%.3f", with);
    table_cell(table, "ms");
    table_cell(table, is_start ? "%.3f ms" : "%.2f %%", is_start ? more : more / base * 100);
    table_cell(table, is_start ? "<= %.0f ms" : "<= 1 %%", subject->start_ms_max);
    bool is_reached = is_start ? more <= subject->start_ms_max : more <= base / 100;
    table_cell(table, "%s", is_reached ? "ok" : "MISSED");
    return 0;
}

int bench_overhead(struct cache_bench *bench)
{
    struct settings settings;
    char path[PATH_MAX + 64];
    if (settings_load(&settings, environ) < 0)
        return cli_fail();
    const char *preload = cache_find_preload(&settings, path, sizeof(path));
    if (!preload) {
        cli_say("librhinet_cache.so is not there");
        return 1;
    }
    int status = bench_data_file(bench, 32u << 20);
    setenv("BENCH_FILE", bench->data, 1);
    struct table *table = table_create(columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]) && status == 0; i++)
        status = measure(&subjects[i], preload, bench->is_quick, table);
    if (status == 0)
        table_print(table, stdout, 0);
    table_destroy(table);
    return status;
}
