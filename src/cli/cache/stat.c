/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet cache stat`: what the caches of this host hold and have done, by node and by file. Costs
 * them nothing: they count in memory that we read.
 */
#include "cli/cache/cache.h"
#include "cli/cache/find.h"
#include "cli/cli.h"
#include "cli/json_put.h"
#include "cli/table.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

static struct {
    bool json;
    const char *job; /* NULL: all */
    uint64_t file_count;
} wishes;

static const struct cli_option options[] = {
    CLI_FLAG("json", &wishes.json, "one JSON object for each node"),
    CLI_NUMBER("files", "N", 0, UINT64_MAX, &wishes.file_count,
               "show the N files that were read most", .standard = "10"),
    CLI_TEXT("job", "JOB", &wishes.job, "only that job's caches, by its number"),
    CLI_OPTIONS_END,
};

static const char *const state_names[] = {"starting", "running", "gone"};

/* ---- Files ---------------------------------------------------------------------------------- */

static int compare_files(const void *left, const void *right)
{
    const struct cache_file_stat *a = *(struct cache_file_stat *const *)left;
    const struct cache_file_stat *b = *(struct cache_file_stat *const *)right;
    uint64_t bytes_a = a->hit_bytes + a->load_bytes, bytes_b = b->hit_bytes + b->load_bytes;
    return bytes_a == bytes_b ? 0 : bytes_a < bytes_b ? 1 : -1;
}

/* The files of a node, most read first; returns how many. free() the list. */
static size_t sort_files(struct cache_control *node, struct cache_file_stat ***list)
{
    struct cache_file_stat *stats = cache_file_stats(node, &node->shape);
    size_t count = 0;
    *list = calloc(node->shape.file_count, sizeof(**list));
    for (uint32_t i = 0; *list && i < node->shape.file_count; i++) {
        if (stats[i].id[0] == 0)
            continue;
        stats[i].path[sizeof(stats[i].path) - 1] = '\0';
        for (char *at = stats[i].path; *at; at++)
            *at = isprint((unsigned char)*at) ? *at : '?';
        (*list)[count++] = &stats[i];
    }
    if (*list)
        qsort(*list, count, sizeof(**list), compare_files);
    return count;
}

static void print_files(struct cache_control *node, uint64_t most)
{
    static const struct table_column columns[] = {
        {.title = "NODE", .is_number = true},   {.title = "FILE"},
        {.title = "SIZE", .is_number = true},   {.title = "HITS", .is_number = true},
        {.title = "READ", .is_number = true},   {.title = "REMOTE", .is_number = true, .rank = 1},
        {.title = "LOADED", .is_number = true},
    };
    struct cache_file_stat **files;
    size_t count = sort_files(node, &files);
    struct table *table = table_create(columns, sizeof(columns) / sizeof(columns[0]));
    char text[UNIT_TEXT_MAX];
    for (size_t i = 0; i < count && i < most; i++) {
        table_cell(table, "%d", node->rank);
        table_cell(table, "%s", files[i]->path);
        table_cell(table, "%s", unit_bytes(text, (double)files[i]->size));
        table_cell(table, "%" PRIu64, files[i]->hits);
        table_cell(table, "%s", unit_bytes(text, (double)files[i]->hit_bytes));
        table_cell(table, "%s", unit_bytes(text, (double)files[i]->remote_bytes));
        table_cell(table, "%s", unit_bytes(text, (double)files[i]->load_bytes));
    }
    if (count > 0)
        table_print(table, stdout, terminal_width());
    table_destroy(table);
    free(files);
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

static void print_nodes(struct cache_control **nodes, size_t count)
{
    static const struct table_column columns[] = {
        {.title = "JOB", .rank = 3},
        {.title = "NODE", .is_number = true},
        {.title = "AGENT", .rank = 2},
        {.title = "USED", .is_number = true},
        {.title = "OF", .is_number = true, .rank = 1},
        {.title = "SINGLETS", .is_number = true, .rank = 2},
        {.title = "LOCAL", .is_number = true},
        {.title = "REMOTE", .is_number = true},
        {.title = "LOADED", .is_number = true},
        {.title = "EVICTED", .is_number = true},
        {.title = "FALLBACKS", .is_number = true},
        {.title = "PROGRAM", .rank = 4},
    };
    struct table *table = table_create(columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < count; i++) {
        uint64_t values[CACHE_COUNTER_COUNT];
        char text[UNIT_TEXT_MAX];
        const struct cache_control *node = nodes[i];
        uint32_t state = node->agent_state;
        cache_counters_sum(node, values);
        table_cell(table, "%" PRIx64, node->job_id);
        table_cell(table, "%d", node->rank);
        table_cell(table, "%s", state_names[state <= CACHE_AGENT_GONE ? state : CACHE_AGENT_GONE]);
        table_cell(table, "%s", unit_bytes(text, (double)node->used_bytes));
        table_cell(table, "%s", unit_bytes(text, (double)cache_data_length(&node->shape)));
        table_cell(table, "%s", unit_bytes(text, (double)node->singlet_bytes));
        table_cell(table, "%s", unit_bytes(text, (double)values[CACHE_LOCAL_BYTES]));
        table_cell(table, "%s", unit_bytes(text, (double)values[CACHE_REMOTE_BYTES]));
        table_cell(table, "%s", unit_bytes(text, (double)values[CACHE_LOAD_BYTES]));
        table_cell(table, "%" PRIu64, values[CACHE_EVICTIONS]);
        table_cell(table, "%" PRIu64, values[CACHE_FALLBACKS]);
        table_cell(table, "%s", node->program);
    }
    table_print(table, stdout, terminal_width());
    table_destroy(table);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static json_t *file_json(const struct cache_file_stat *file)
{
    json_t *object = json_object();
    json_put_text(object, "path", file->path);
    json_put_number(object, "size", file->size);
    json_put_number(object, "hits", file->hits);
    json_put_number(object, "hit_bytes", file->hit_bytes);
    json_put_number(object, "remote_hits", file->remote_hits);
    json_put_number(object, "remote_bytes", file->remote_bytes);
    json_put_number(object, "loads", file->loads);
    json_put_number(object, "load_bytes", file->load_bytes);
    return object;
}

static json_t *node_json(struct cache_control *node, uint64_t most)
{
    uint64_t values[CACHE_COUNTER_COUNT];
    char job[24];
    json_t *object = json_object(), *list = json_array();
    uint32_t state = node->agent_state;
    snprintf(job, sizeof(job), "%" PRIx64, node->job_id);
    json_put_format(object, "cache stat 1");
    json_put_text(object, "job", job);
    json_put_number(object, "node", (uint64_t)node->rank);
    json_put_number(object, "nodes", (uint64_t)node->size);
    json_put_number(object, "groups", node->group_count);
    json_put_text(object, "agent", state_names[state <= CACHE_AGENT_GONE ? state : 2]);
    json_put_number(object, "agent_pid", (uint64_t)node->agent_pid);
    json_put_text(object, "program", node->program);
    json_put_number(object, "cache_bytes", cache_data_length(&node->shape));
    json_put_number(object, "block_bytes", node->shape.block_length);
    json_put_number(object, "used_bytes", node->used_bytes);
    json_put_number(object, "content_bytes", node->content_bytes);
    json_put_number(object, "singlet_bytes", node->singlet_bytes);
    json_put_real(object, "singlet_ratio", node->singlet_permille / 1000.0);
    cache_counters_sum(node, values);
    for (int i = 0; i < CACHE_COUNTER_COUNT; i++)
        json_put_number(object, cache_counter_name(i), values[i]);
    struct cache_file_stat **files;
    size_t count = sort_files(node, &files);
    for (size_t i = 0; i < count && i < most; i++)
        json_array_append_new(list, file_json(files[i]));
    free(files);
    json_object_set_new(object, "files", list);
    return object;
}

static void print_json(struct cache_control *node, uint64_t most)
{
    json_t *object = node_json(node, most);
    json_dumpf(object, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(object);
}

json_t *cache_stats_json(uint64_t file_count)
{
    struct cache_control *nodes[CACHE_FIND_MAX];
    size_t count = cache_find(nodes);
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(list, node_json(nodes[i], file_count));
        free(nodes[i]);
    }
    return list;
}

static int stat_run(int count, char **words)
{
    struct cache_control *nodes[CACHE_FIND_MAX];
    size_t node_count = cache_find(nodes);
    if ((node_count == 0 || wishes.job) && cache_find_job(nodes, &node_count, wishes.job) != 0)
        return 1;
    if (!wishes.json)
        print_nodes(nodes, node_count);
    for (size_t i = 0; i < node_count; i++) {
        if (wishes.json)
            print_json(nodes[i], wishes.file_count);
        else
            print_files(nodes[i], wishes.file_count);
        free(nodes[i]);
    }
    return 0;
}

const struct cli_command cli_cache_stat = {
    .name = "stat",
    .help = "what the caches of this host hold and have done",
    .options = options,
    .run = stat_run};
