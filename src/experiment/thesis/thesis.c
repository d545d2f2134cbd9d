/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which parts are run for which rows.
 */
#include "experiment/thesis/pm/pm.h"
#include "experiment/thesis/session.h"
#include "sim/platform/platform.h"

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

static const struct part {
    const char *group;
    session_part *run;
    bool is_hesl; /* on the hosts of chapters 7 and 8 */
} parts[] = {{"constants", architecture, false},
             {"table-6.2", table_62, false},
             {"table-6.3", table_63, false},
             {"fig-6.1", fig_61, false},
             {"fig-6.2", fig_62, false},
             {"fig-6.3", fig_63, false},
             {"fig-6.4", fig_64, false},
             {"fig-7.8", fig_78, true},
             {"fig-7.9", fig_79, true},
             {"fig-7.11", fig_711, true},
             {"fig-7.12", fig_712, true},
             {"fig-8.5", fig_85, true},
             {"dimm", dimm, false},
             {"constants", cluster_facts, false},
             {"pm", pm_rows, true},
             {"pm-facts", pm_facts, true},
             {"pm-nodes", pm_nodes, true},
             {"mpi", mpi_rows, true}};
#define PART_COUNT (sizeof(parts) / sizeof(parts[0]))

int thesis_hosts_usual(struct thesis_hosts *hosts)
{
    hosts->le = hosts->hesl = sim_constants_default();
    return platform_constants(&hosts->hesl, "rhinet2-he-sl");
}

const struct sim_constants *thesis_hosts_of(const struct thesis_hosts *hosts,
                                            const struct thesis_row *row)
{
    for (size_t i = 0; i < PART_COUNT; i++) {
        if (strcmp(parts[i].group, row->group) == 0 && parts[i].is_hesl)
            return &hosts->hesl;
    }
    return &hosts->le;
}

int thesis_run(struct thesis_report *report, const char *which, const struct thesis_hosts *hosts,
               thesis_tell *tell)
{
    struct session session = {.report = report, .which = which};
    int result = 0;
    memset(report, 0, sizeof(*report));
    results_begin(&session);
    for (size_t i = 0; i < PART_COUNT && result == 0; i++) {
        session.constants = parts[i].is_hesl ? hosts->hesl : hosts->le;
        if (!session_wants_group(&session, parts[i].group))
            continue;
        if (tell)
            tell(parts[i].group, i + 1, PART_COUNT);
        result = parts[i].run(&session);
    }
    return result;
}

int thesis_trace(struct trace *trace, const char *which, const struct thesis_hosts *hosts)
{
    struct measure_setup setup = {.constants = &hosts->le, .trace = trace};
    double moments[MEASURE_MOMENTS];
    if (strcmp(which, "fig-7.12") == 0) {
        setup.constants = &hosts->hesl;
        return measure_vpush_sizes(&setup);
    }
    return measure_moments(&setup, WAY_PULL, moments);
}
