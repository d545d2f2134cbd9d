/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which parts are run for which rows.
 */
#include "experiment/thesis/pm/pm.h"
#include "experiment/thesis/session.h"

#include <math.h>
#include <string.h>

static void results_begin(struct session *session)
{
    struct thesis_report *report = session->report;
    for (const struct thesis_row *row = thesis_rows; row->id; row++) {
        if (session_wants(session, row) && report->result_count < THESIS_ROWS_MAX)
            report->results[report->result_count++] = (struct thesis_result){
                .row = row, .simulated = NAN, .error_percent = NAN};
    }
}

int thesis_run(struct thesis_report *report, const char *which,
               const struct sim_constants *constants)
{
    static const struct {
        const char *group;
        session_part *run;
    } parts[] = {{"constants", architecture},
                 {"table-6.2", table_62},
                 {"table-6.3", table_63},
                 {"fig-6.1", fig_61},
                 {"fig-6.2", fig_62},
                 {"fig-6.3", fig_63},
                 {"fig-6.4", fig_64},
                 {"fig-7.8", fig_78},
                 {"fig-7.9", fig_79},
                 {"fig-7.11", fig_711},
                 {"fig-7.12", fig_712},
                 {"fig-8.5", fig_85},
                 {"dimm", dimm},
                 {"constants", cluster_facts},
                 {"pm", pm_rows},
                 {"pm-facts", pm_facts},
                 {"pm-nodes", pm_nodes},
                 {"mpi", mpi_rows}};
    struct session session = {.report = report, .which = which, .constants = *constants};
    int result = 0;
    memset(report, 0, sizeof(*report));
    results_begin(&session);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && result == 0; i++) {
        if (session_wants_group(&session, parts[i].group))
            result = parts[i].run(&session);
    }
    return result;
}

int thesis_trace(struct trace *trace, const char *which, const struct sim_constants *constants)
{
    struct measure_setup setup = {.constants = constants, .trace = trace};
    double moments[MEASURE_MOMENTS];
    if (strcmp(which, "fig-7.12") == 0)
        return measure_vpush_sizes(&setup);
    return measure_moments(&setup, WAY_PULL, moments);
}
