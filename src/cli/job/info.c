/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet info`: this machine, the NICs, the settings and the counters; with JOB, a running job.
 */
#include "cli/job/info.h"

#include "base/error.h"
#include "base/settings.h"
#include "cli/cli.h"
#include "cli/json_put.h"
#include "cli/table.h"
#include "nic/nic.h"
#include "nic/ofi/ofi.h"

#include <getopt.h>
#include <stdlib.h>
#include <unistd.h>

struct info_options {
    bool settings;
    bool counters;
    bool json;
    const char *job; /* NULL: this machine */
};

static const char *origin_name(const struct settings *settings, enum setting which)
{
    return settings->value[which].from_environment ? "environment" : "default";
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
    for (int i = 0; i < SETTING_COUNT; i++) {
        const struct setting_spec *spec = setting_spec(i);
        const char *text = setting_text(settings, i);
        table_cell(table, "%s", spec->name);
        table_cell(table, "%s", text[0] ? text : "(empty)");
        table_cell(table, "%s", origin_name(settings, i));
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
    for (int i = 0; i < SETTING_COUNT; i++) {
        const struct setting_spec *spec = setting_spec(i);
        json_t *object = json_object();
        json_put_text(object, "name", spec->name);
        json_put_text(object, "value", setting_text(settings, i));
        json_put_text(object, "origin", origin_name(settings, i));
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
    for (int which = 0; which < COUNTER_COUNT; which++) {
        table_cell(table, "%s", counter_spec(which)->name);
        table_cell(table, "%s", counter_spec(which)->help);
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
    for (int which = 0; which < COUNTER_COUNT; which++) {
        const struct counter_spec *spec = counter_spec(which);
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

static int show_json(const struct info_options *options, const struct settings *settings)
{
    json_t *object = json_object();
    bool everything = !options->settings && !options->counters;
    if (everything) {
        struct machine machine;
        machine_read(&machine);
        json_object_set_new(object, "version", json_string(RHINET_VERSION));
        json_object_set_new(object, "machine", machine_json(&machine));
        json_object_set_new(object, "nics", nics_json(settings));
        json_object_set_new(object, "jobs", jobs_json());
    }
    if (everything || options->settings)
        json_object_set_new(object, "settings", settings_json(settings));
    if (everything || options->counters)
        json_object_set_new(object, "counters", counters_json());
    return print_json(object);
}

static int show_text(const struct info_options *options, const struct settings *settings)
{
    if (options->settings)
        print_settings(stdout, settings);
    if (options->settings && options->counters)
        putchar('\n');
    if (options->counters)
        print_counters(stdout);
    if (!options->settings && !options->counters) {
        struct machine machine;
        machine_read(&machine);
        print_overview(stdout, &machine, settings);
    }
    return 0;
}

static int show_job(const struct info_options *options)
{
    struct live_job job;
    int status = jobs_select("info", options->job, &job);
    if (status != 0)
        return status;
    struct job_snapshot *snapshot = job_snapshot_take(&job);
    jobs_close(&job, 1);
    if (!snapshot) {
        fprintf(stderr, "rhinet info: the job ended meanwhile\n");
        return 1;
    }
    if (options->json)
        status = print_json(info_job_json(snapshot));
    else
        info_job_print(stdout, snapshot);
    free(snapshot);
    return status;
}

static int parse_options(int argc, char **argv, struct info_options *options)
{
    static const struct option table[] = {
        {"settings", no_argument, NULL, 's'},
        {"counters", no_argument, NULL, 'c'},
        {"json", no_argument, NULL, 'j'},
        {NULL, 0, NULL, 0},
    };
    opterr = 0;
    for (int found; (found = getopt_long(argc, argv, "", table, NULL)) != -1;) {
        if (found == 's')
            options->settings = true;
        else if (found == 'c')
            options->counters = true;
        else if (found == 'j')
            options->json = true;
        else
            return cli_usage_error(argv[0], "unknown option '%s'", argv[optind - 1]);
    }
    if (argc - optind > 1)
        return cli_usage_error(argv[0], "one job at a time");
    options->job = optind < argc ? argv[optind] : NULL;
    if (options->job && (options->settings || options->counters))
        return cli_usage_error(argv[0], "a job has no --settings or --counters of its own");
    return 0;
}

int cli_info(int argc, char **argv)
{
    struct info_options options = {0};
    int status = parse_options(argc, argv, &options);
    if (status != 0)
        return status;
    if (options.job)
        return show_job(&options);
    struct settings settings;
    settings_warn(environ);
    if (settings_load(&settings, environ) < 0) {
        fprintf(stderr, "rhinet info: %s\n", rh_error_text());
        return 1;
    }
    return options.json ? show_json(&options, &settings) : show_text(&options, &settings);
}
