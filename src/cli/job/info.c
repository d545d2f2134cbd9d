/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet info`: this machine, the NICs, the settings and the counters; with JOB, a running job.
 */
#include "cli/job/info.h"

#include "base/settings.h"
#include "cli/cli.h"
#include "cli/json_put.h"
#include "cli/table.h"
#include "nic/nic.h"
#include "nic/ofi/ofi.h"

#include <stdlib.h>
#include <unistd.h>

static struct {
    bool settings, counters, json;
} wishes;

static const struct cli_option options[] = {
    CLI_FLAG("settings", &wishes.settings, "every RHINET_ variable: value, origin, meaning"),
    CLI_FLAG("counters", &wishes.counters, "every counter and its meaning"),
    CLI_FLAG("json", &wishes.json, "print JSON instead of text"),
    CLI_OPTIONS_END,
};

static const char *origin_name(const struct setting_value *value)
{
    return value->from_environment ? "environment" : "default";
}

static void print_settings(FILE *out, const struct settings *settings)
{
    static const struct table_column columns[] = {
        {.title = "SETTING"},
        {.title = "VALUE"},
        {.title = "ORIGIN", .rank = 1},
        {.title = "MEANING"},
    };
    struct table *table = table_create(columns, sizeof(columns) / sizeof(columns[0]));
    const struct setting_spec *spec;
    for (size_t i = 0; (spec = setting_at(i)); i++) {
        const struct setting_value *value = &settings->value[i];
        table_cell(table, "%s", spec->name);
        table_cell(table, "%s", value->text[0] ? value->text : "(empty)");
        table_cell(table, "%s", origin_name(value));
        if (spec->choices)
            table_cell(table, "%s (%s)", spec->help, spec->choices);
        else
            table_cell(table, "%s", spec->help);
    }
    table_print(table, out, terminal_width());
    table_destroy(table);
}

static json_t *settings_json(const struct settings *settings)
{
    static const char *const kinds[] = {"text", "number", "duration", "choice"};
    json_t *array = json_array();
    const struct setting_spec *spec;
    for (size_t i = 0; (spec = setting_at(i)); i++) {
        const struct setting_value *value = &settings->value[i];
        json_t *object = json_object();
        json_put_text(object, "name", spec->name);
        json_put_text(object, "value", value->text);
        json_put_text(object, "origin", origin_name(value));
        json_put_text(object, "default", spec->initial);
        json_put_text(object, "kind", kinds[spec->kind]);
        if (spec->choices)
            json_put_text(object, "choices", spec->choices);
        json_put_text(object, "help", spec->help);
        json_array_append_new(array, object);
    }
    return array;
}

static void print_counters(FILE *out)
{
    static const struct table_column columns[] = {{.title = "COUNTER"}, {.title = "MEANING"}};
    struct table *table = table_create(columns, sizeof(columns) / sizeof(columns[0]));
    for (unsigned which = 0; which < COUNTERS_MAX; which++) {
        const struct counter_spec *spec = counter_spec(which);
        if (!spec)
            continue;
        table_cell(table, "%s", spec->name);
        table_cell(table, "%s", spec->help);
    }
    table_print(table, out, terminal_width());
    table_destroy(table);
}

static json_t *name_and_help(const char *name, const char *help)
{
    json_t *object = json_object();
    json_put_text(object, "name", name);
    json_put_text(object, "help", help);
    return object;
}

static json_t *counters_json(void)
{
    json_t *array = json_array();
    for (unsigned which = 0; which < COUNTERS_MAX; which++) {
        const struct counter_spec *spec = counter_spec(which);
        if (spec)
            json_array_append_new(array, name_and_help(spec->name, spec->help));
    }
    return array;
}

static bool is_on_libfabric(const struct nic_ops *nic)
{
    return nic == &ofi_ops || nic == &mixed_ops;
}

static void print_nics(FILE *out, const struct settings *settings)
{
    struct ofi_choice choice;
    ofi_choose(settings, &choice);
    static const struct table_column columns[] = {
        {.title = NULL}, {.title = NULL}, {.title = NULL}};
    struct table *table = table_create(columns, sizeof(columns) / sizeof(columns[0]));
    for (const struct nic_ops *const *nic = nic_list; *nic; nic++) {
        table_cell(table, "%s", "");
        table_cell(table, "%s", (*nic)->name);
        if (!is_on_libfabric(*nic))
            table_cell(table, "%s", (*nic)->help);
        else if (choice.provider[0])
            table_cell(table, "%s; provider %s (%s)", (*nic)->help, choice.provider, choice.reason);
        else
            table_cell(table, "%s; not here: %s", (*nic)->help, choice.reason);
    }
    table_print(table, out, terminal_width());
    table_destroy(table);
}

static json_t *nics_json(const struct settings *settings)
{
    json_t *array = json_array();
    struct ofi_choice choice;
    ofi_choose(settings, &choice);
    for (const struct nic_ops *const *nic = nic_list; *nic; nic++) {
        json_t *object = name_and_help((*nic)->name, (*nic)->help);
        if (is_on_libfabric(*nic)) {
            json_put_text(object, "provider", choice.provider);
            json_put_text(object, "provider_reason", choice.reason);
        }
        json_array_append_new(array, object);
    }
    return array;
}

static void print_overview(FILE *out, const struct machine *machine,
                           const struct settings *settings)
{
    struct live_job jobs[JOBS_MAX];
    size_t job_count = jobs_find(jobs);
    fprintf(out, "rhinet %s\n\nThis machine\n", RHINET_VERSION);
    machine_print(out, machine);
    fprintf(out, "\nNICs\n");
    print_nics(out, settings);
    fprintf(out, "\nRunning jobs: %zu\n", job_count);
    if (job_count > 0)
        jobs_print(out, jobs, job_count);
    fputs("\nSee also: rhinet info --settings, rhinet info --counters, rhinet info JOB\n", out);
    jobs_close(jobs, job_count);
}

static int print_json(json_t *value)
{
    int result = value ? json_dumpf(value, stdout, JSON_INDENT(2)) : -1;
    json_decref(value);
    putchar('\n');
    if (result != 0)
        fprintf(stderr, "rhinet info: cannot write JSON: out of memory, or nobody reads it\n");
    return result == 0 ? 0 : 1;
}

static json_t *jobs_json(void)
{
    struct live_job jobs[JOBS_MAX];
    size_t job_count = jobs_find(jobs);
    json_t *array = json_array();
    for (size_t i = 0; i < job_count; i++) {
        struct job_snapshot *snapshot = job_snapshot_take(&jobs[i]);
        if (snapshot)
            json_array_append_new(array, info_job_json(snapshot));
        free(snapshot);
    }
    jobs_close(jobs, job_count);
    return array;
}

static int show_json(const struct settings *settings)
{
    json_t *object = json_object();
    bool everything = !wishes.settings && !wishes.counters;
    json_put_format(object, "info 1");
    if (everything) {
        struct machine machine;
        machine_read(&machine);
        json_object_set_new(object, "version", json_string(RHINET_VERSION));
        json_object_set_new(object, "machine", machine_json(&machine));
        json_object_set_new(object, "nics", nics_json(settings));
        json_object_set_new(object, "jobs", jobs_json());
    }
    if (everything || wishes.settings)
        json_object_set_new(object, "settings", settings_json(settings));
    if (everything || wishes.counters)
        json_object_set_new(object, "counters", counters_json());
    return print_json(object);
}

static int show_text(const struct settings *settings)
{
    if (wishes.settings)
        print_settings(stdout, settings);
    if (wishes.settings && wishes.counters)
        putchar('\n');
    if (wishes.counters)
        print_counters(stdout);
    if (!wishes.settings && !wishes.counters) {
        struct machine machine;
        machine_read(&machine);
        print_overview(stdout, &machine, settings);
    }
    return 0;
}

static int show_job(const char *name)
{
    struct live_job job;
    int status = jobs_select(name, &job);
    if (status != 0)
        return status;
    job_others_ask(&job);
    struct job_snapshot *snapshot = job_snapshot_take(&job);
    jobs_close(&job, 1);
    if (!snapshot) {
        cli_say("the job ended meanwhile");
        return 1;
    }
    if (wishes.json)
        status = print_json(info_job_json(snapshot));
    else
        info_job_print(stdout, snapshot);
    free(snapshot);
    return status;
}

static int info(int count, char **words)
{
    if (count > 0 && (wishes.settings || wishes.counters))
        return cli_usage_error("a job has no --settings or --counters of its own");
    if (count > 0)
        return show_job(words[0]);
    struct settings settings;
    settings_warn(environ);
    if (settings_load(&settings, environ) < 0)
        return cli_fail();
    return wishes.json ? show_json(&settings) : show_text(&settings);
}

const struct cli_command cli_info = {
    .name = "info",
    .help = "show this machine, the NICs, the settings, or a running job",
    .operands = "[JOB]",
    .options = options,
    .suggest = jobs_suggest,
    .run = info};
