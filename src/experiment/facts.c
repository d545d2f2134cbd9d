/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Constants of PM/RHiNET and of the clusters, as the code that runs on simulated nodes has them.
 */
#include "experiment/failure.h"
#include "experiment/pm_measure.h"
#include "experiment/rows.h"
#include "simulated/simulated.h"

#define SLOT     2048
#define ONE_PUSH 2040 /* the longest message in one */
#define WAIT_NS  RH_MILLISECONDS(1000)
#define MANY     100000
#define HOSTS    64 /* enough for a tree of switches with all ports used */

/* ---- PM -------------------------------------------------------------------------------------- */

struct facts {
    const struct pm_setup *setup;
    uint64_t room;    /* messages that nobody has received, when no more went */
    uint64_t is_full; /* tells the receiver */
    size_t message_max;
    struct failure failure;
};

static bool is_set(void *context)
{
    return *(const uint64_t *)context != 0;
}

/* Rank 0 sends until there is no room; rank 1 does not receive. */
static int room_count(struct facts *facts, struct rh_job *job, struct pm_context *pm)
{
    struct rh_until full = {
        .is_met = is_set, .context = &facts->is_full, .from = RH_ANY_RANK, .timeout_ns = WAIT_NS};
    void *buffer;
    int result = 0;
    if (rh_rank(job) == 1) {
        result = rh_wait_until(job, &full);
        failure_note(&facts->failure, result);
        return result;
    }
    while (result == 0 && facts->room < MANY) {
        result = pmGetSendBuffer(pm, 1, ONE_PUSH, &buffer);
        if (result == 0) /* the first waits for the receiver's context, too */
            result = facts->room == 0 ? pmSendWait(pm, WAIT_NS) : pmSend(pm);
        facts->room += result == 0;
    }
    if (result == RH_EAGAIN)
        result = pmCancelSend(pm);
    facts->is_full = 1;
    return result;
}

static int rank_main(struct rh_job *job, void *context)
{
    struct facts *facts = context;
    struct pm_info info = {.struct_size = sizeof(info)};
    struct pm_options options;
    struct pm_context *pm;
    pm_options_of(facts->setup, &options);
    int result = pmOpenContext(&pm, job, &options);
    failure_note_pm(&facts->failure, result);
    if (result < 0)
        return result;
    result = pmGetInfo(pm, &info);
    facts->message_max = info.message_max;
    if (result == 0)
        result = room_count(facts, job, pm);
    failure_note_pm(&facts->failure, result);
    pm_linger(job);
    int closed = pmCloseContext(pm);
    failure_note_pm(&facts->failure, closed);
    return result < 0 ? result : closed;
}

static int facts_find(struct facts *facts, const struct pm_setup *setup)
{
    struct simulated_options options = {.size = 2,
                                        .spec = {.seed = 1, .constants = setup->constants},
                                        .rank_main = rank_main,
                                        .context = facts};
    *facts = (struct facts){.setup = setup};
    return failure_result(&facts->failure, simulated_run(&options, NULL));
}

/* Does the round trip jump at the first byte that one PUSH does not hold? */
static int split_find(struct pm_setup setup, bool *is_split)
{
    double us[3];
    for (uint32_t i = 0; i < 3; i++) {
        setup.size = ONE_PUSH - 8 + 8 * i;
        int result = pm_round_trip(&setup, &us[i]);
        if (result < 0)
            return result;
    }
    *is_split = us[2] - us[1] > 1 + 3 * (us[1] - us[0]);
    return 0;
}

int pm_facts(struct thesis_report *report, const struct sim_constants *constants)
{
    struct pm_setup ring = {
        .constants = constants, .implementation = "pm-ring", .ranks = 2, .rounds = 16};
    struct pm_setup queue = ring;
    struct facts of_ring, of_queue;
    bool is_split = false;
    queue.implementation = "pm-queue";
    int result = facts_find(&of_ring, &ring);
    if (result == 0)
        result = facts_find(&of_queue, &queue);
    if (result == 0)
        result = split_find(ring, &is_split);
    if (result < 0)
        return result;
    /* one slot stays empty, so that full and empty differ */
    thesis_number(report, "R1", (double)(of_ring.room + 1) * SLOT / 1024);
    thesis_statement(report, "R10", is_split);
    thesis_number(report, "R11", (double)of_ring.message_max);
    thesis_number(report, "R11-VP", (double)of_queue.message_max);
    return 0;
}

/* ---- The cluster ----------------------------------------------------------------------------- */

int cluster_facts(struct thesis_report *report, const struct sim_constants *constants)
{
    struct network_plan plan;
    uint8_t most = 0;
    int result = martini_plan_make(&plan, HOSTS, (uint32_t)constants->cluster_mbps);
    if (result < 0)
        return result;
    for (uint32_t i = 0; i < plan.link_count; i++) {
        most = plan.links[i].a.port > most ? plan.links[i].a.port : most;
        most = plan.links[i].b.port > most ? plan.links[i].b.port : most;
    }
    martini_plan_free(&plan);
    thesis_number(report, "L9", most);
    return 0;
}
