/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet sim sensitivity`: each constant is changed a little, one at a time, and all rows are
 * simulated again: which constant moves which row, and by how much.
 */
#include "base/error.h"
#include "cli/farm.h"
#include "cli/json_put.h"
#include "cli/route/route.h"
#include "cli/sim/sim.h"
#include "cli/table.h"
#include "experiment/experiment.h"
#include "experiment/thesis/thesis.h"
#include "experiment/thesis/what_if.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A row with one constant changed. */
struct effect {
    size_t constant; /* its number */
    double simulated, elasticity;
    int holds; /* -1: nobody says */
};

struct row {
    const struct thesis_row *row;
    double simulated;
    int holds;
    struct effect *effects;
    size_t effect_count;
};

static struct {
    const char *which, *json;
    struct cli_list platforms, set, only;
    double percent;
    uint64_t top, processes;
    struct thesis_hosts hosts;
    size_t *trials; /* constants: part 0 changes none, part i that of trial i - 1 */
    uint32_t trial_count;
    struct row *rows;
    size_t row_count;
} wishes = {.which = "all"};

static const char *constant_name(size_t index)
{
    return sim_constant_list[index].name;
}

static const struct cli_option options[] = {
    CLI_REAL("change", "PERCENT", 0.01, 100, &wishes.percent,
             "by how much each constant is changed, and by 1 at least", .standard = "10"),
    CLI_LIST("constant", "NAME", &wishes.only, "only this one; may be repeated",
             .suggest = constant_name),
    CLI_NUMBER("top", "N", 1, 1000, &wishes.top, "constants to show of each row", .standard = "5"),
    SIM_PLATFORM_OPTION(&wishes.platforms),
    CLI_LIST("set", "NAME=VALUE", &wishes.set, "change a constant before all that"),
    CLI_NUMBER("processes", "N", 1, 64, &wishes.processes,
               "simulations at once; as many as cores unless given"),
    CLI_FILE("json", "FILE", &wishes.json, "one JSON object a row, - for stdout"),
    CLI_OPTIONS_END,
};

/* ---- Simulating ------------------------------------------------------------------------------ */

/* How much is "a little more" of a constant; there is none of 0. */
static int64_t step_of(int64_t value)
{
    int64_t step = (int64_t)((double)value * wishes.percent / 100 + 0.5);
    return value == 0 || step > 0 ? step : 1;
}

static int trial_make(struct sim_constants *constants, size_t constant)
{
    int64_t value = sim_constant_get(constants, constant);
    sim_constant_put(constants, constant, value + step_of(value));
    return sim_constants_check(constants);
}

static int work(void *context, uint32_t part, FILE *out)
{
    struct thesis_hosts hosts = wishes.hosts;
    struct thesis_report *report = calloc(1, sizeof(*report));
    bool is_made = part == 0 || (trial_make(&hosts.le, wishes.trials[part - 1]) == 0 &&
                                 trial_make(&hosts.hesl, wishes.trials[part - 1]) == 0);
    if (!report)
        error_no_memory("a report");
    if (!is_made || !report || thesis_run(report, wishes.which, &hosts, NULL) < 0)
        return cli_fail();
    json_t *rows = json_array();
    for (uint32_t i = 0; i < report->result_count; i++) {
        const struct thesis_result *result = &report->results[i];
        bool is_said = result->is_simulated && result->row->kind != THESIS_FOUND;
        json_array_append_new(
            rows,
            json_pack("[s,o,i]", result->row->id,
                      isfinite(result->simulated) ? json_real(result->simulated) : json_null(),
                      is_said ? result->holds : -1));
    }
    int status = json_dumpf(rows, out, JSON_COMPACT | JSON_REAL_PRECISION(17)) < 0;
    json_decref(rows);
    free(report);
    return status;
}

static const struct thesis_row *row_find(const char *id)
{
    for (const struct thesis_row *row = thesis_rows; row->id; row++) {
        if (strcmp(row->id, id) == 0)
            return row;
    }
    return NULL;
}

static void effect_add(struct row *row, size_t constant, double simulated, int holds)
{
    int64_t before = sim_constant_get(thesis_hosts_of(&wishes.hosts, row->row), constant);
    double change = (double)step_of(before) / (double)before;
    bool has_value = before != 0 && isfinite(simulated) && isfinite(row->simulated) &&
                     row->simulated != 0;
    row->effects[row->effect_count++] = (struct effect){
        .constant = constant,
        .simulated = simulated,
        .elasticity = has_value ? (simulated - row->simulated) / row->simulated / change : NAN,
        .holds = holds};
}

static int no_memory(const char *what)
{
    error_no_memory("%s", what);
    return cli_fail();
}

static int take(void *context, uint32_t part, char *text)
{
    json_error_t wrong;
    json_t *rows = json_loads(text, 0, &wrong);
    int status = 0;
    size_t count = json_array_size(rows);
    if (part == 0) {
        wishes.row_count = count;
        wishes.rows = calloc(count + 1, sizeof(*wishes.rows));
        status = wishes.rows ? 0 : no_memory("the rows");
    }
    if (!rows || count != wishes.row_count) {
        cli_say("a simulation said something else than its rows: %s", wrong.text);
        status = 1;
    }
    for (size_t i = 0; i < count && status == 0; i++) {
        const json_t *one = json_array_get(rows, i), *value = json_array_get(one, 1);
        double simulated = json_is_real(value) ? json_real_value(value) : NAN;
        int holds = (int)json_integer_value(json_array_get(one, 2));
        struct row *row = &wishes.rows[i];
        if (part > 0) {
            effect_add(row, wishes.trials[part - 1], simulated, holds);
            continue;
        }
        *row = (struct row){.row = row_find(json_string_value(json_array_get(one, 0))),
                            .simulated = simulated,
                            .holds = holds,
                            .effects = calloc(wishes.trial_count + 1u, sizeof(struct effect))};
        status = row->effects ? 0 : no_memory("the effects");
        if (!row->row) {
            cli_say("a simulation said something else than its rows: one that nobody knows");
            status = 1;
        }
    }
    json_decref(rows);
    return status;
}

/* ---- What there is to be changed ------------------------------------------------------------- */

static bool is_wanted(const char *name)
{
    for (size_t i = 0; i < wishes.only.count; i++) {
        if (strcmp(wishes.only.item[i], name) == 0)
            return true;
    }
    return wishes.only.count == 0;
}

/* Switches, and what is 0, have no "a little more". */
static int trials_make(void)
{
    size_t index;
    for (size_t i = 0; i < wishes.only.count; i++) {
        if (!sim_constant_find(wishes.only.item[i], &index)) {
            const char *near = sim_constant_nearest(wishes.only.item[i]);
            return cli_usage_error("there is no constant '%s'%s%s%s", wishes.only.item[i],
                                   near ? "; did you mean '" : "", near ? near : "",
                                   near ? "'?" : "");
        }
    }
    wishes.trials = calloc(sim_constant_count(), sizeof(*wishes.trials));
    for (size_t i = 0; wishes.trials && sim_constant_list[i].name; i++) {
        struct thesis_hosts changed = wishes.hosts;
        bool is_zero = sim_constant_get(&changed.le, i) == 0 &&
                       sim_constant_get(&changed.hesl, i) == 0;
        bool is_switch = strcmp(sim_constant_list[i].origin, "switch") == 0;
        if (is_zero || is_switch || !is_wanted(sim_constant_list[i].name))
            continue;
        if (trial_make(&changed.le, i) == 0 && trial_make(&changed.hesl, i) == 0)
            wishes.trials[wishes.trial_count++] = i;
    }
    return wishes.trials ? 0 : no_memory("the trials");
}

/* ---- What came out --------------------------------------------------------------------------- */

static bool is_moved(const struct row *row, const struct effect *effect)
{
    bool is_other = isnan(effect->elasticity) && isfinite(row->simulated) &&
                    effect->simulated != row->simulated; /* of 0 there are no percents */
    return is_other || fabs(effect->elasticity) >= 0.0005 || effect->holds != row->holds;
}

static int compare_effects(const void *a, const void *b)
{
    const struct effect *left = a, *right = b;
    double more = isnan(right->elasticity) ? -1 : fabs(right->elasticity);
    double less = isnan(left->elasticity) ? -1 : fabs(left->elasticity);
    if (more != less)
        return (more > less) - (more < less);
    return (left->constant > right->constant) - (left->constant < right->constant);
}

static const struct table_column columns[] = {
    {"row", false, 0},      {"class", false, 1},  {"simulated", true, 0},    {"unit", false, 1},
    {"constant", false, 0}, {"origin", false, 2}, {"1 % of it is", true, 0}, {"holds", false, 1},
};

static void effect_text(struct table *table, const struct row *row, const struct effect *effect)
{
    static const char *const verdicts[] = {"-", "NO", "yes"};
    table_cell(table, "%s", row->row->id);
    table_cell(table, "%c", row->row->class);
    table_cell(table, isnan(row->simulated) ? "-" : "%.4g", row->simulated);
    table_cell(table, "%s", row->row->unit);
    table_cell(table, "%s", effect ? constant_name(effect->constant) : "none moves it");
    table_cell(table, "%s", effect ? sim_constant_list[effect->constant].origin : "");
    if (effect && !isnan(effect->elasticity))
        table_cell(table, "%+.3f %%", effect->elasticity);
    else
        table_cell(table, "-");
    if (effect && effect->holds != row->holds)
        table_cell(table, "%s -> %s", verdicts[row->holds + 1], verdicts[effect->holds + 1]);
    else
        table_cell(table, "%s", verdicts[row->holds + 1]);
}

static void report_text(void)
{
    struct table *table = table_create(columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < wishes.row_count; i++) {
        const struct row *row = &wishes.rows[i];
        uint64_t shown = 0;
        if (isnan(row->simulated) && row->holds < 0)
            continue; /* not simulated */
        for (size_t k = 0; k < row->effect_count && shown < wishes.top; k++) {
            if (is_moved(row, &row->effects[k])) {
                effect_text(table, row, &row->effects[k]);
                shown++;
            }
        }
        if (shown == 0)
            effect_text(table, row, NULL);
    }
    table_print(table, stdout, terminal_width());
    table_destroy(table);
    printf("%u constants, each changed by %g %% (by 1 at least)\n", wishes.trial_count,
           wishes.percent);
}

static json_t *real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *holds_json(int holds)
{
    return holds < 0 ? json_null() : json_boolean(holds);
}

static int report_json(void)
{
    FILE *out = route_output_open(wishes.json);
    if (!out)
        return 1;
    for (size_t i = 0; i < wishes.row_count; i++) {
        const struct row *row = &wishes.rows[i];
        char class[2] = {row->row->class, '\0'};
        json_t *object = json_object(), *effects = json_array();
        json_put_format(object, "sensitivity 1");
        json_put_text(object, "row", row->row->id);
        json_put_text(object, "what", row->row->what);
        json_put_text(object, "unit", row->row->unit);
        json_put_text(object, "class", class);
        json_object_set_new(object, "simulated", real_or_null(row->simulated));
        json_object_set_new(object, "holds", holds_json(row->holds));
        json_put_real(object, "change_percent", wishes.percent);
        for (size_t k = 0; k < row->effect_count; k++) {
            const struct effect *effect = &row->effects[k];
            json_t *one = json_object();
            if (!is_moved(row, effect)) {
                json_decref(one);
                continue;
            }
            json_put_text(one, "constant", constant_name(effect->constant));
            json_put_text(one, "origin", sim_constant_list[effect->constant].origin);
            json_object_set_new(one, "simulated", real_or_null(effect->simulated));
            json_object_set_new(one, "elasticity", real_or_null(effect->elasticity));
            json_object_set_new(one, "holds", holds_json(effect->holds));
            json_array_append_new(effects, one);
        }
        json_object_set_new(object, "effects", effects);
        json_dumpf(object, out, JSON_COMPACT);
        fputc('\n', out);
        json_decref(object);
    }
    return route_output_close(out, wishes.json, 0);
}

static int run(int count, char **words)
{
    if (count > 0)
        wishes.which = words[0];
    if (!thesis_knows(wishes.which))
        return cli_usage_error("PART is all, a table or figure such as table-6.2, or a row's id, "
                               "not '%s'",
                               wishes.which);
    int status = what_if_hosts(&wishes.hosts, &wishes.platforms, &wishes.set);
    if (status == 0)
        status = trials_make();
    const struct farm farm = {.what = "sensitivity",
                              .part_count = 1 + wishes.trial_count,
                              .process_max = (uint32_t)wishes.processes,
                              .work = work,
                              .take = take};
    if (status == 0)
        status = farm_run(&farm);
    for (size_t i = 0; i < wishes.row_count && status == 0; i++)
        qsort(wishes.rows[i].effects, wishes.rows[i].effect_count, sizeof(struct effect),
              compare_effects);
    if (status == 0 && (!wishes.json || strcmp(wishes.json, "-") != 0))
        report_text();
    if (status == 0 && wishes.json)
        status = report_json();
    for (size_t i = 0; i < wishes.row_count; i++)
        free(wishes.rows[i].effects);
    free(wishes.rows);
    free(wishes.trials);
    return status;
}

static const char *part_name(size_t index)
{
    return index == 0 ? "all" : thesis_rows[index - 1].id;
}

const struct cli_command cli_sim_sensitivity = {
    .name = "sensitivity",
    .help = "which constant moves which of the thesis's figures, and by how much",
    .operands = "[PART]",
    .options = options,
    .suggest = part_name,
    .run = run};
