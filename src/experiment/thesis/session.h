/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One run of `thesis`: rows are settled and curves are drawn by the parts, each a chapter or paper.
 * Private to this folder.
 */
#pragma once

#include "experiment/thesis/measure.h"
#include "experiment/thesis/thesis.h"

struct session {
    struct thesis_report *report;
    const char *which;
    struct sim_constants constants;
};

bool session_wants(const struct session *session, const struct thesis_row *row);
bool session_wants_group(const struct session *session, const char *group);

/* What the simulation gives for a row. Rows that nobody asked for are passed over. */
void number_settle(struct session *session, const char *id, double simulated);
void statement_settle(struct session *session, const char *id, bool holds);

/* A line of a figure, over sizes in bytes. */
struct thesis_curve *curve_begin(struct session *session, const char *group, const char *name,
                                 const char *y_unit);
void curve_add(struct thesis_curve *curve, double x, double y);
double curve_at(const struct thesis_curve *curve, double x); /* NAN: no such point */
double curve_max(const struct thesis_curve *curve);

/* The parts. Each measures, and settles the rows that it can. */
typedef int session_part(struct session *session);
session_part architecture, table_62, table_63, fig_61, fig_62, fig_63, fig_64, fig_78, fig_79,
    fig_711, fig_712, fig_85, dimm;
session_part ports; /* of architecture() */
