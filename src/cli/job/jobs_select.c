/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which of the running jobs is meant; see jobs.h.
 */
#include "base/text.h"
#include "cli/cli.h"
#include "cli/job/jobs.h"
#include "cli/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void jobs_print(FILE *out, const struct live_job *jobs, size_t job_count)
{
    static const struct table_column columns[] = {
        {.title = "JOB"},
        {.title = "LAUNCHER", .is_number = true},
        {.title = "RANKS", .is_number = true},
        {.title = "NIC", .rank = 2},
        {.title = "STARTED", .rank = 3},
        {.title = "COMMAND", .rank = 1},
    };
    struct table *table = table_create(columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < job_count; i++) {
        struct job_snapshot *snapshot = job_snapshot_take(&jobs[i]);
        if (!snapshot)
            continue;
        char started[32] = "?";
        struct tm local;
        time_t start = (time_t)snapshot->start_time_s;
        if (localtime_r(&start, &local))
            strftime(started, sizeof(started), "%H:%M:%S", &local);
        table_cell(table, "%" PRIx64, snapshot->id);
        table_cell(table, "%d", snapshot->launcher_pid);
        table_cell(table, "%u", snapshot->size);
        table_cell(table, "%s", snapshot->nic);
        table_cell(table, "%s", started);
        table_cell(table, "%s", snapshot->command);
        free(snapshot);
    }
    table_print(table, out, terminal_width());
    table_destroy(table);
}

/* Which job the text means: its launcher first, because a pid may also read as a number in hex. */
static size_t match(const struct live_job *jobs, size_t job_count, const char *text)
{
    uint64_t pid;
    for (size_t i = 0; i < job_count && text_to_u64(text, &pid); i++) {
        if ((uint64_t)jobs[i].launcher_pid == pid)
            return i;
    }
    for (size_t i = 0; i < job_count; i++) {
        char id[24];
        snprintf(id, sizeof(id), "%" PRIx64, jobs[i].id);
        if (strcasecmp(text, id) == 0)
            return i;
    }
    return job_count;
}

int jobs_select(const char *text, struct live_job *job)
{
    struct live_job jobs[JOBS_MAX];
    size_t job_count = jobs_find(jobs);
    size_t which = text ? match(jobs, job_count, text) : 0;
    if (job_count == 0) {
        cli_say("no job of yours is running here; `rhinet run` starts one");
    } else if (!text && job_count > 1) {
        cli_say("several jobs are running; say which:");
        jobs_print(stderr, jobs, job_count);
        which = job_count;
    } else if (which == job_count) {
        cli_say("no job '%s'; these are running:", text);
        jobs_print(stderr, jobs, job_count);
    }
    for (size_t i = 0; i < job_count; i++) {
        if (i == which)
            *job = jobs[i];
        else
            jobs_close(&jobs[i], 1);
    }
    return which < job_count ? 0 : 1;
}

const char *jobs_suggest(size_t index)
{
    static char ids[JOBS_MAX][24];
    static size_t count;
    if (index == 0) {
        struct live_job jobs[JOBS_MAX];
        count = jobs_find(jobs);
        for (size_t i = 0; i < count; i++)
            snprintf(ids[i], sizeof(ids[i]), "%" PRIx64, jobs[i].id);
        jobs_close(jobs, count);
    }
    return index < count ? ids[index] : NULL;
}
