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

/* The hosts of chapters 7 and 8: what their platform has otherwise than the usual one, unless it
 * was changed already. */
static int hesl_of(const struct sim_constants *constants, struct sim_constants *hesl)
{
    struct sim_constants usual = sim_constants_default(), other;
    int result = platform_constants(&other, "rhinet2-he-sl");
    *hesl = *constants;
    for (const struct sim_constant *one = sim_constant_list; one->name && result == 0; one++) {
        if (memcmp((char *)constants + one->offset, (char *)&usual + one->offset,
                   sizeof(int64_t)) == 0)
            memcpy((char *)hesl + one->offset, (char *)&other + one->offset, sizeof(int64_t));
    }
    return result;
}

int thesis_run(struct thesis_report *report, const char *which,
               const struct sim_constants *constants, thesis_tell *tell)
{
    static const struct {
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
    struct session session = {.report = report, .which = which};
    struct sim_constants hesl;
    int result = hesl_of(constants, &hesl);
    memset(report, 0, sizeof(*report));
    results_begin(&session);
    const size_t count = sizeof(parts) / sizeof(parts[0]);
    for (size_t i = 0; i < count && result == 0; i++) {
        session.constants = parts[i].is_hesl ? hesl : *constants;
        if (!session_wants_group(&session, parts[i].group))
            continue;
        if (tell)
            tell(parts[i].group, i + 1, count);
        result = parts[i].run(&session);
    }
    return result;
}

int thesis_trace(struct trace *trace, const char *which, const struct sim_constants *constants)
{
    struct measure_setup setup = {.constants = constants, .trace = trace};
    double moments[MEASURE_MOMENTS];
    if (strcmp(which, "fig-7.12") == 0) {
        struct sim_constants hesl;
        int result = hesl_of(constants, &hesl);
        setup.constants = &hesl;
        return result < 0 ? result : measure_vpush_sizes(&setup);
    }
    return measure_moments(&setup, WAY_PULL, moments);
}
