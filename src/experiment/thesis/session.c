/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See session.h.
 */
#include "experiment/thesis/session.h"

#include <math.h>
#include <string.h>

bool session_wants(const struct session *session, const struct thesis_row *row)
{
    return strcmp(session->which, "all") == 0 || strcmp(session->which, row->group) == 0 ||
           strcmp(session->which, row->id) == 0;
}

bool session_wants_group(const struct session *session, const char *group)
{
    for (const struct thesis_row *row = thesis_rows; row->id; row++) {
        if (strcmp(row->group, group) == 0 && session_wants(session, row))
            return true;
    }
    return false;
}

static struct thesis_result *result_find(struct session *session, const char *id)
{
    for (uint32_t i = 0; i < session->report->result_count; i++) {
        if (strcmp(session->report->results[i].row->id, id) == 0)
            return &session->report->results[i];
    }
    return NULL; /* not wanted */
}

void number_settle(struct session *session, const char *id, double simulated)
{
    struct thesis_result *result = result_find(session, id);
    if (!result)
        return;
    double limit = result->row->class == 'V' ? THESIS_V_PERCENT : THESIS_C_PERCENT;
    result->is_simulated = true;
    result->simulated = simulated;
    result->error_percent = 100 * (simulated - result->row->thesis) / result->row->thesis;
    result->holds = fabs(result->error_percent) <= limit;
    if (thesis_within(result->row) > 0)
        result->holds = fabs(simulated - result->row->thesis) <= thesis_within(result->row);
    if (result->row->kind == THESIS_LEAST)
        result->holds = simulated > result->row->thesis;
    if (result->row->kind == THESIS_MOST)
        result->holds = simulated <= result->row->thesis;
}

void statement_settle(struct session *session, const char *id, bool holds)
{
    struct thesis_result *result = result_find(session, id);
    if (!result)
        return;
    result->is_simulated = true;
    result->holds = holds;
}

struct thesis_curve *curve_begin(struct session *session, const char *group, const char *name,
                                 const char *y_unit)
{
    struct thesis_report *report = session->report;
    if (report->curve_count == THESIS_CURVES_MAX)
        report->curve_count--; /* the last one is written over: never so by our own rows */
    struct thesis_curve *curve = &report->curves[report->curve_count++];
    *curve = (struct thesis_curve){.group = group, .name = name, .x_unit = "B", .y_unit = y_unit};
    return curve;
}

void curve_add(struct thesis_curve *curve, double x, double y)
{
    if (curve->count == THESIS_POINTS_MAX)
        return;
    curve->x[curve->count] = x;
    curve->y[curve->count++] = y;
}

double curve_at(const struct thesis_curve *curve, double x)
{
    for (uint32_t i = 0; i < curve->count; i++) {
        if (curve->x[i] == x)
            return curve->y[i];
    }
    return NAN;
}

double curve_max(const struct thesis_curve *curve)
{
    double most = 0;
    for (uint32_t i = 0; i < curve->count; i++)
        most = fmax(most, curve->y[i]);
    return most;
}
