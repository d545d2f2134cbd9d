/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See metrics.h.
 */
#include "cli/job/metrics.h"

#include "base/counters.h"

#include <inttypes.h>
#include <stdlib.h>

static void put_counter(FILE *out, const struct job_snapshot *job, unsigned which)
{
    const struct counter_spec *spec = counter_spec(which);
    fprintf(out, "# HELP rhinet_%s_total %s\n# TYPE rhinet_%s_total counter\n", spec->name,
            spec->help, spec->name);
    for (uint32_t i = 0; i < job->size; i++) {
        if (job->rank[i].is_counted)
            fprintf(out, "rhinet_%s_total{job=\"%" PRIx64 "\",rank=\"%u\"} %" PRIu64 "\n",
                    spec->name, job->id, i, job->rank[i].counter[which]);
    }
}

static void put_states(FILE *out, const struct job_snapshot *job)
{
    fputs("# HELP rhinet_rank_joined Whether the rank is in its job: 1, or 0\n"
          "# TYPE rhinet_rank_joined gauge\n",
          out);
    for (uint32_t i = 0; i < job->size; i++)
        fprintf(out, "rhinet_rank_joined{job=\"%" PRIx64 "\",rank=\"%u\",state=\"%s\"} %d\n",
                job->id, i, job_state_name(job->rank[i].state),
                job->rank[i].state == RH_PEER_JOINED);
}

char *metrics_text(const struct job_snapshot *job)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    put_states(out, job);
    for (unsigned which = 0; which < COUNTERS_MAX; which++) {
        if (counter_spec(which))
            put_counter(out, job, which);
    }
    fclose(out);
    return text;
}
