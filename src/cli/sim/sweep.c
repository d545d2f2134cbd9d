/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See sweep.h: lists of values, and running.
 */
#include "cli/sim/sweep.h"

#include "base/text.h"
#include "cli/farm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool sweep_is_wanted(const struct sweep *sweep)
{
    return sweep->texts.count > 0 || sweep->seeds > 1 || sweep->csv;
}

/* ---- Lists of values ------------------------------------------------------------------------- */

static int value_add(struct sweep_axis *axis, double value)
{
    if (axis->count == SWEEP_VALUES_MAX)
        return cli_usage_error("--sweep %s: more than %d values", axis->name, SWEEP_VALUES_MAX);
    axis->values[axis->count++] = value;
    return 0;
}

/* All numbers between separators; how many. -1: something is no whole number. */
static int numbers_read(const char *text, const char *separator, double *values, int most)
{
    int count = 0;
    for (const char *at = text;; count++) {
        char word[32];
        uint64_t value;
        size_t length = strcspn(at, separator);
        if (count == most || length >= sizeof(word))
            return -1;
        snprintf(word, sizeof(word), "%.*s", (int)length, at);
        if (!text_to_u64(word, &value) || value > INT64_MAX)
            return -1;
        values[count] = (double)value;
        if (at[length] == '\0')
            return count + 1;
        at += length + 1;
    }
}

static int values_read(struct sweep_axis *axis, const char *text)
{
    bool is_range = strchr(text, ':') != NULL;
    double parts[SWEEP_VALUES_MAX + 1];
    int status = 0;
    int count = numbers_read(text, is_range ? ":" : ",", parts, SWEEP_VALUES_MAX + 1);
    if (count < 0 || (is_range && count != 3))
        return cli_usage_error("--sweep %s=%s: values are whole numbers A,B,C, or FROM:TO:STEP",
                               axis->name, text);
    if (is_range && (parts[2] <= 0 || parts[1] < parts[0]))
        return cli_usage_error("--sweep %s=%s: that does not end", axis->name, text);
    if (is_range) {
        for (double value = parts[0]; value <= parts[1] && status == 0; value += parts[2])
            status = value_add(axis, value);
        return status;
    }
    for (int i = 0; i < count && status == 0; i++)
        status = value_add(axis, parts[i]);
    return status;
}

static int axis_room(struct sweep *sweep)
{
    if (sweep->axis_count < SWEEP_AXES_MAX)
        return 0;
    return cli_usage_error("a sweep has at most %d lists", SWEEP_AXES_MAX);
}

static int axis_read(struct sweep *sweep, const char *text)
{
    struct sweep_axis *axis = &sweep->axes[sweep->axis_count];
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || (size_t)(equals - text) >= sizeof(axis->name))
        return cli_usage_error("--sweep takes NAME=LIST, not '%s'", text);
    snprintf(axis->name, sizeof(axis->name), "%.*s", (int)(equals - text), text);
    axis->count = 0;
    if (!sim_constant_find(axis->name, &axis->constant)) {
        const char *near = sim_constant_nearest(axis->name);
        return cli_usage_error("--sweep: there is no constant '%s'%s%s%s", axis->name,
                               near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    for (size_t i = 0; i < sweep->axis_count; i++) {
        if (sweep->axes[i].constant == axis->constant)
            return cli_usage_error("--sweep %s is given twice", axis->name);
    }
    axis->unit = sim_constant_list[axis->constant].unit;
    int status = values_read(axis, equals + 1);
    sweep->axis_count += status == 0;
    return status;
}

static int points_count(struct sweep *sweep)
{
    double count = 1;
    for (size_t i = 0; i < sweep->axis_count; i++)
        count *= (double)sweep->axes[i].count;
    if (count * (double)sweep->seeds > SWEEP_POINTS_MAX)
        return cli_usage_error("%.0f simulations are more than %d: fewer values, or fewer seeds",
                               count * (double)sweep->seeds, SWEEP_POINTS_MAX);
    sweep->point_count = (size_t)count;
    return 0;
}

int sweep_open(struct sweep *sweep)
{
    int status = 0;
    sweep->seeds = sweep->seeds ? sweep->seeds : 1;
    for (size_t i = 0; i < sweep->texts.count && status == 0; i++) {
        status = axis_room(sweep);
        if (status == 0)
            status = axis_read(sweep, sweep->texts.item[i]);
    }
    return status != 0 ? status : points_count(sweep);
}

int sweep_axis_add(struct sweep *sweep, const char *name, const char *unit, const double *values,
                   size_t count)
{
    int status = axis_room(sweep);
    if (status != 0)
        return status;
    struct sweep_axis *axis = &sweep->axes[sweep->axis_count++];
    *axis = (struct sweep_axis){.unit = unit, .constant = SWEEP_OWN};
    snprintf(axis->name, sizeof(axis->name), "%s", name);
    for (size_t i = 0; i < count && status == 0; i++)
        status = value_add(axis, values[i]);
    return status != 0 ? status : points_count(sweep);
}

void sweep_close(struct sweep *sweep)
{
    free(sweep->found);
    sweep->found = NULL;
}

double sweep_value(const struct sweep *sweep, size_t point, size_t axis)
{
    for (size_t i = sweep->axis_count; i-- > axis + 1;)
        point /= sweep->axes[i].count;
    return sweep->axes[axis].values[point % sweep->axes[axis].count];
}

/* ---- Running --------------------------------------------------------------------------------- */

struct running {
    struct sweep *sweep;
    const struct sweep_job *job;
};

int sweep_change(const struct sweep_point *point, struct sim_constants *constants)
{
    for (size_t i = 0; i < point->sweep->axis_count; i++) {
        const struct sweep_axis *axis = &point->sweep->axes[i];
        if (axis->constant != SWEEP_OWN)
            sim_constant_put(constants, axis->constant,
                             (int64_t)sweep_value(point->sweep, point->number, i));
    }
    return sim_constants_check(constants);
}

static struct sweep_point point_make(const struct running *running, uint32_t part)
{
    const struct sweep *sweep = running->sweep;
    struct sweep_point point = {.constants = *running->job->constants,
                                .seed = running->job->seed + part % sweep->seeds,
                                .own = NAN,
                                .sweep = sweep,
                                .number = part / sweep->seeds};
    for (size_t i = 0; i < sweep->axis_count; i++) {
        if (sweep->axes[i].constant == SWEEP_OWN)
            point.own = sweep_value(sweep, point.number, i);
    }
    return point;
}

/* "name<tab>unit<tab>value" */
void sweep_put(FILE *out, const char *name, const char *unit, double value)
{
    if (isfinite(value))
        fprintf(out, "%s\t%s\t%.17g\n", name, unit, value);
}

static int work(void *context, uint32_t part, FILE *out)
{
    const struct running *running = context;
    struct sweep_point point = point_make(running, part);
    if (sweep_change(&point, &point.constants) < 0)
        return cli_fail();
    return running->job->measure(running->job->context, &point, out);
}

static size_t metric_find(struct sweep *sweep, const char *name, const char *unit)
{
    size_t at = 0;
    while (at < sweep->metric_count && strcmp(sweep->metrics[at].name, name) != 0)
        at++;
    if (at == sweep->metric_count && at < SWEEP_METRICS_MAX) {
        struct sweep_metric *metric = &sweep->metrics[sweep->metric_count++];
        snprintf(metric->name, sizeof(metric->name), "%s", name);
        snprintf(metric->unit, sizeof(metric->unit), "%s", unit);
    }
    return at;
}

static int take(void *context, uint32_t part, char *text)
{
    const struct running *running = context;
    struct sweep *sweep = running->sweep;
    for (char *rest, *line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        const char *name = strsep(&line, "\t"), *unit = strsep(&line, "\t");
        size_t metric = line ? metric_find(sweep, name, unit) : SWEEP_METRICS_MAX;
        char *end = line;
        double value = line ? strtod(line, &end) : NAN; /* may be below 0 */
        if (end == line || *end != '\0') {
            cli_say("a simulation said something else than a figure: %s", name);
            return 1;
        }
        if (metric < SWEEP_METRICS_MAX)
            sweep->found[part * SWEEP_METRICS_MAX + metric] = value;
    }
    return 0;
}

int sweep_run(struct sweep *sweep, const struct sweep_job *job)
{
    struct running running = {sweep, job};
    size_t parts = sweep->point_count * sweep->seeds, count = parts * SWEEP_METRICS_MAX;
    const struct farm farm = {.what = "sweep",
                              .part_count = (uint32_t)parts,
                              .process_max = (uint32_t)sweep->processes,
                              .work = work,
                              .take = take,
                              .context = &running};
    sweep->found = malloc(count * sizeof(*sweep->found));
    if (!sweep->found) {
        cli_say("no memory for %zu simulations", parts);
        return 1;
    }
    for (size_t i = 0; i < count; i++)
        sweep->found[i] = NAN;
    return farm_run(&farm);
}
