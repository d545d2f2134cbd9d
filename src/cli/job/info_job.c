/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet info JOB`: who is in a running job and what each process has counted so far.
 */
#include "cli/job/info.h"
#include "cli/json_put.h"
#include "cli/table.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

static void print_head(FILE *out, const struct job_snapshot *job)
{
    char started[64] = "?";
    struct tm local;
    time_t start = (time_t)job->start_time_s;
    if (localtime_r(&start, &local))
        strftime(started, sizeof(started), "%Y-%m-%d %H:%M:%S", &local);
    fprintf(out, "Job %" PRIx64 ": %s\n", job->id, job->command[0] ? job->command : "(no name)");
    fprintf(out, "  %u ranks on NIC %s, launcher %d, started %s%s\n", job->size, job->nic,
            job->launcher_pid, started, job->survive ? ", survives deaths" : "");
}

static bool is_counted(const struct job_snapshot *job, int node)
{
    for (uint32_t i = 0; i < job->size; i++) {
        if (job->rank[i].node == node && !job->rank[i].is_counted)
            return false;
    }
    return true;
}

static void print_hosts(FILE *out, const struct job_snapshot *job)
{
    if (job->refused > 0)
        fprintf(out, "  %u connections of strangers refused\n", job->refused);
    if (job->node_count == 1)
        return;
    for (uint32_t i = 0; i < job->node_count; i++)
        fprintf(out, "  node %u is host %s (%s)%s\n", i, job->node[i].host,
                job->node[i].address[0] ? job->node[i].address : "not called back yet",
                (int)i == job->own_node   ? ", this one"
                : is_counted(job, (int)i) ? ""
                                          : ", which has told nothing of its counters");
}

static void cell_end(struct table *table, const struct job_rank *rank)
{
    if (rank->state != RH_PEER_DIED)
        table_cell(table, "%s", "");
    else if (rank->end_signal)
        table_cell(table, "signal %d (%s)", rank->end_signal,
                   rank->end_signal < 65 && sigabbrev_np(rank->end_signal)
                       ? sigabbrev_np(rank->end_signal)
                       : "?");
    else if (rank->end_status == ROSTER_END_HOST)
        table_cell(table, "%s", "host lost");
    else if (rank->end_status == ROSTER_END_UNKNOWN)
        table_cell(table, "%s", "did not leave");
    else
        table_cell(table, "exit status %d", rank->end_status);
}

static void print_ranks(FILE *out, const struct job_snapshot *job)
{
    static const struct table_column columns[] = {
        {.title = "RANK", .is_number = true}, {.title = "STATE"},
        {.title = "PID", .is_number = true},  {.title = "NODE", .is_number = true, .rank = 1},
        {.title = "END", .rank = 2},
    };
    struct table *table = table_create(columns, sizeof(columns) / sizeof(columns[0]));
    for (uint32_t i = 0; i < job->size; i++) {
        const struct job_rank *rank = &job->rank[i];
        table_cell(table, "%u", i);
        table_cell(table, "%s", job_state_name(rank->state));
        table_cell(table, "%d", rank->pid);
        table_cell(table, "%d", rank->node);
        cell_end(table, rank);
    }
    table_print(table, out, terminal_width());
    table_destroy(table);
}

/* All ranks in one table of counters would be wider than any screen: total, least and most show
 * whether the work is even, and --json has the rest. */
static void print_counters(FILE *out, const struct job_snapshot *job)
{
    static const struct table_column columns[] = {
        {.title = "COUNTER"},
        {.title = "TOTAL", .is_number = true},
        {.title = "LEAST", .is_number = true, .rank = 2},
        {.title = "MOST", .is_number = true, .rank = 2},
        {.title = "MEANING", .rank = 1},
    };
    struct table *table = table_create(columns, sizeof(columns) / sizeof(columns[0]));
    for (unsigned which = 0; which < COUNTERS_MAX; which++) {
        const struct counter_spec *spec = counter_spec(which);
        uint64_t total = 0, least = UINT64_MAX, most = 0;
        for (uint32_t i = 0; i < job->size; i++) {
            uint64_t value = job->rank[i].counter[which];
            total += value;
            least = value < least ? value : least;
            most = value > most ? value : most;
        }
        if (total == 0 || !spec)
            continue;
        table_cell(table, "%s", spec->name);
        table_cell(table, "%" PRIu64, total);
        table_cell(table, "%" PRIu64, least);
        table_cell(table, "%" PRIu64, most);
        table_cell(table, "%s", spec->help);
    }
    table_print(table, out, terminal_width());
    table_destroy(table);
}

void info_job_print(FILE *out, const struct job_snapshot *job)
{
    print_head(out, job);
    print_hosts(out, job);
    fputc('\n', out);
    print_ranks(out, job);
    fputc('\n', out);
    print_counters(out, job);
}

json_t *info_counters_json(const struct job_rank *rank)
{
    if (!rank->is_counted)
        return json_null();
    json_t *object = json_object();
    for (unsigned which = 0; which < COUNTERS_MAX; which++) {
        const struct counter_spec *spec = counter_spec(which);
        if (spec)
            json_put_number(object, spec->name, rank->counter[which]);
    }
    return object;
}

static json_t *rank_json(const struct job_snapshot *job, uint32_t which)
{
    const struct job_rank *rank = &job->rank[which];
    json_t *object = json_object();
    json_put_number(object, "rank", which);
    json_put_text(object, "state", job_state_name(rank->state));
    json_put_number(object, "pid", (uint64_t)rank->pid);
    json_put_number(object, "node", (uint64_t)rank->node);
    json_put_number(object, "end_signal", (uint64_t)rank->end_signal);
    json_object_set_new(object, "end_status", json_integer(rank->end_status));
    json_object_set_new(object, "counters", info_counters_json(rank));
    return object;
}

static json_t *nodes_json(const struct job_snapshot *job)
{
    json_t *nodes = json_array();
    for (uint32_t i = 0; i < job->node_count; i++) {
        json_t *object = json_object();
        json_put_text(object, "host", job->node[i].host);
        json_put_text(object, "address", job->node[i].address);
        json_put_flag(object, "is_here", (int)i == job->own_node);
        json_array_append_new(nodes, object);
    }
    return nodes;
}

json_t *info_job_json(const struct job_snapshot *job)
{
    char id[24];
    snprintf(id, sizeof(id), "%" PRIx64, job->id);
    json_t *ranks = json_array();
    for (uint32_t i = 0; i < job->size; i++)
        json_array_append_new(ranks, rank_json(job, i));
    json_t *object = json_object();
    json_put_format(object, "job 1");
    json_put_text(object, "job", id);
    json_put_text(object, "command", job->command);
    json_put_text(object, "nic", job->nic);
    json_put_number(object, "size", job->size);
    json_put_number(object, "launcher_pid", (uint64_t)job->launcher_pid);
    json_put_number(object, "start_time", (uint64_t)job->start_time_s);
    json_put_flag(object, "survive", job->survive);
    json_put_number(object, "refused", job->refused);
    json_object_set_new(object, "nodes", nodes_json(job));
    json_object_set_new(object, "ranks", ranks);
    return object;
}
