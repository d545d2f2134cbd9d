/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See simulated.h. What a task manager does for processes is done here for fibers: roster, board,
 * the job's number. Nobody can forge anything, as all are one process.
 */
#include "simulated/simulated.h"

#include "base/error.h"
#include "base/log.h"
#include "job/job.h"
#include "nic/nic_layer.h"
#include "sim/cluster/cluster.h"
#include "simulated/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_NS (3600LL * 1000000000)
#define JOB_ID   1
#define PID_BASE 1 /* ranks have no processes of their own: a number for people */

struct rank_fiber {
    struct simulated *simulated;
    struct fiber *fiber;
    int rank;
    int result;
    bool is_over;
};

/* Somebody who dies later. */
struct killer {
    struct simulated *simulated;
    int rank;
    int64_t delay_ns;
    bool is_node;
};

struct simulated {
    const struct simulated_options *options;
    struct settings settings;
    struct martini_network network; /* from files */
    struct martini_world *world;
    struct roster *roster;
    struct board_rank *boards;
    struct rank_fiber *ranks;
    int64_t ended_ns; /* when the last rank did */
};

/* ---- Ranks ----------------------------------------------------------------------------------- */

static int rank_join(struct rank_fiber *self, struct rh_job **job)
{
    struct simulated *simulated = self->simulated;
    const struct simulated_options *options = simulated->options;
    struct job_place place = {.rank = self->rank,
                              .size = options->size,
                              .job_id = JOB_ID,
                              .roster = simulated->roster,
                              .boards = simulated->boards,
                              .settings = &simulated->settings,
                              .for_nic = martini_port(simulated->world, self->rank),
                              .nic = options->nic ? options->nic : "martini"};
    return job_place_take(job, &place);
}

static void rank_body(void *argument)
{
    struct rank_fiber *self = argument;
    const struct simulated_options *options = self->simulated->options;
    struct rh_job *job = NULL;
    error_restore(&(struct error_state){.rank = ERROR_NO_RANK}); /* not that of others */
    self->result = rank_join(self, &job);
    if (self->result == 0) {
        self->result = options->rank_main(job, options->context);
        if (!options->leaves_itself) {
            int left = rh_leave(job);
            self->result = self->result ? self->result : left;
        }
    }
    if (self->result < 0)
        log_info("simulated rank %d: %s: %s", self->rank, rh_error_name(self->result),
                 rh_error_text());
    self->is_over = true;
    self->simulated->ended_ns = simulated_now_ns(self->simulated);
}

/* ---- Deaths ---------------------------------------------------------------------------------- */

static void rank_ended(void *context, int rank, bool is_dead)
{
    struct simulated *simulated = context;
    struct roster *roster = simulated->roster;
    struct roster_peer *peer = &roster->peer[rank];
    if (is_dead)
        atomic_store(&peer->end_signal, 9);
    atomic_store(&peer->state, is_dead ? RH_PEER_DIED : RH_PEER_LEFT);
    if (!is_dead)
        return;
    atomic_store(&roster->last_dead, rank);
    atomic_fetch_add(&roster->death_count, 1);
}

void simulated_kill(struct simulated *simulated, int rank)
{
    martini_kill(simulated->world, rank, false);
}

int simulated_rank(const struct simulated *simulated)
{
    const struct fiber *current = fiber_current(martini_sim(simulated->world));
    for (int rank = 0; current && rank < simulated->options->size; rank++) {
        if (simulated->ranks[rank].fiber == current)
            return rank;
    }
    return -1;
}

/* A dead rank's program does not go on. */
static void stay_if_dead(struct simulated *simulated, int rank)
{
    struct sim_condition never = {.name = "nothing: it is dead"};
    while (roster_state(simulated->roster, rank) == RH_PEER_DIED)
        fiber_wait(martini_sim(simulated->world), &never, SIM_NEVER);
}

void simulated_sleep(struct simulated *simulated, int64_t duration_ns)
{
    const struct simulated_options *options = simulated->options;
    struct error_state before;
    int rank = simulated_rank(simulated);
    error_save(&before);
    if (options->switched)
        options->switched(options->context, rank);
    fiber_sleep(martini_sim(simulated->world), duration_ns * SIM_NS);
    stay_if_dead(simulated, rank);
    if (options->switched)
        options->switched(options->context, rank);
    error_restore(&before);
}

void simulated_die(struct simulated *simulated)
{
    simulated_kill(simulated, simulated_rank(simulated));
    for (;;)
        simulated_sleep(simulated, 0); /* never returns */
}

static void killer_body(void *argument)
{
    struct killer killer = *(struct killer *)argument;
    free(argument);
    fiber_sleep(martini_sim(killer.simulated->world), killer.delay_ns * SIM_NS);
    martini_kill(killer.simulated->world, killer.rank, killer.is_node);
}

static int killer_start(const struct killer *wanted)
{
    struct killer *killer = malloc(sizeof(*killer));
    struct fiber_spec spec = {.name = "killer", .body = killer_body, .argument = killer};
    if (killer)
        *killer = *wanted;
    if (killer && fiber_create(martini_sim(wanted->simulated->world), &spec, NULL) == 0)
        return 0;
    free(killer);
    return error_set(RH_ENOSPACE, wanted->rank, "no memory to kill rank %d", wanted->rank);
}

int simulated_kill_after(struct simulated *simulated, int rank, int64_t delay_ns)
{
    return killer_start(&(struct killer){simulated, rank, delay_ns, false});
}

/* ---- For ranks ------------------------------------------------------------------------------- */

int64_t simulated_now_ns(const struct simulated *simulated)
{
    return sim_now(martini_sim(simulated->world)) / SIM_NS;
}

struct martini_world *simulated_world(const struct simulated *simulated)
{
    return simulated->world;
}

/* ---- The job --------------------------------------------------------------------------------- */

static char *const no_environment[] = {NULL};

static int memory_make(struct simulated *simulated, uint32_t size)
{
    simulated->roster = calloc(1, roster_bytes(size));
    simulated->boards = aligned_alloc(64, size * sizeof(struct board_rank));
    simulated->ranks = calloc(size, sizeof(*simulated->ranks));
    if (!simulated->roster || !simulated->boards || !simulated->ranks)
        return error_no_memory("a job of %u ranks", size);
    memset(simulated->boards, 0, size * sizeof(struct board_rank));
    struct roster *roster = simulated->roster;
    roster->magic = ROSTER_MAGIC;
    roster->version = ROSTER_VERSION;
    roster->size = size;
    roster->job_id = JOB_ID;
    roster->survive = 1;
    roster->node_count = size;
    for (uint32_t rank = 0; rank < size; rank++) {
        roster->peer[rank].node = (int32_t)rank;
        atomic_store(&roster->peer[rank].pid, PID_BASE + (int)rank);
        snprintf(roster_nodes(roster)[rank].host, sizeof(roster_nodes(roster)[rank].host), "n%u",
                 rank);
    }
    return 0;
}

static int faults_begin(struct simulated *simulated)
{
    const struct simulated_faults *faults = &simulated->options->faults;
    struct cluster *cluster = martini_cluster(simulated->world);
    struct cluster_loss loss = {faults->loss, CLUSTER_ANY, CLUSTER_ANY};
    for (int rank = 0; faults->cpu_factor > 0 && rank < simulated->options->size; rank++)
        chip_cpu_slow(cluster_chip(cluster, (uint32_t)rank), faults->cpu_factor);
    if (faults->victim_ns > 0 &&
        killer_start(&(struct killer){simulated, faults->victim, faults->victim_ns, true}) < 0)
        return RH_ENOSPACE;
    return faults->loss > 0 && cluster_loss_set(cluster, &loss) < 0 ? RH_ENOSPACE : 0;
}

static int ranks_start(struct simulated *simulated)
{
    const struct simulated_options *options = simulated->options;
    for (int rank = 0; rank < options->size; rank++) {
        char name[32];
        struct rank_fiber *self = &simulated->ranks[rank];
        struct fiber_spec spec = {.name = name,
                                  .body = rank_body,
                                  .argument = self,
                                  .stack_size = options->stack_size ? options->stack_size
                                                                    : SIMULATED_STACK};
        snprintf(name, sizeof(name), "rank-%d", rank);
        *self = (struct rank_fiber){.simulated = simulated, .rank = rank};
        if (fiber_create(martini_sim(simulated->world), &spec, &self->fiber) < 0)
            return error_set(RH_ENOSPACE, rank, "no memory for rank %d", rank);
    }
    return 0;
}

/* A network of files, if the environment wants one and the caller has none. */
static int network_read(struct simulated *simulated, struct martini_spec *spec)
{
    struct martini_settings wanted;
    int result = martini_settings_read(&wanted,
                                       setting_text(&simulated->settings, SETTING_MARTINI));
    if (result == 0 && spec->constants)
        wanted.constants = *spec->constants;
    if (result == 0 && !spec->plan) {
        result = martini_network_open(&simulated->network, &wanted, spec->size);
        spec->plan = simulated->network.plan;
    }
    return result;
}

static int job_make(struct simulated *simulated)
{
    const struct simulated_options *options = simulated->options;
    struct martini_spec spec = options->spec;
    int result = settings_load(&simulated->settings,
                               options->environment ? options->environment : no_environment);
    if (result == 0)
        result = memory_make(simulated, (uint32_t)options->size);
    if (result < 0)
        return result;
    spec.size = (uint32_t)options->size;
    result = network_read(simulated, &spec);
    if (result < 0)
        return result;
    spec.timeout_ns = (int64_t)setting_number(&simulated->settings, SETTING_TIMEOUT);
    spec.ended = rank_ended;
    spec.context = simulated;
    result = martini_world_create(&simulated->world, &spec);
    if (result < 0)
        return result;
    if (options->switched)
        martini_on_switch(simulated->world, options->switched, options->context);
    if (options->handle)
        *options->handle = simulated;
    result = faults_begin(simulated);
    return result < 0 ? result : ranks_start(simulated);
}

static int job_result(struct simulated *simulated, struct simulated_report *report)
{
    const struct simulated_options *options = simulated->options;
    int result = 0;
    report->unfinished = 0;
    for (int rank = options->size - 1; rank >= 0; rank--) {
        const struct rank_fiber *self = &simulated->ranks[rank];
        if (self->is_over && self->result != 0)
            result = self->result;
        report->unfinished += !self->is_over && !martini_is_gone(simulated->world, rank);
    }
    if (report->unfinished > 0)
        fiber_list_print(martini_sim(simulated->world), stderr);
    if (report->unfinished > 0)
        result = error_fail(RH_ETIMEOUT, "%d ranks have not ended after %.3g s", report->unfinished,
                            (double)simulated_now_ns(simulated) / 1e9);
    return result;
}

int simulated_run(const struct simulated_options *options, struct simulated_report *report)
{
    struct simulated simulated = {.options = options};
    struct simulated_report unwanted;
    int64_t limit_ns = options->limit_ns > 0 ? options->limit_ns : LIMIT_NS;
    report = report ? report : &unwanted;
    *report = (struct simulated_report){0};
    int result = job_make(&simulated);
    if (result == 0) {
        struct sim *sim = martini_sim(simulated.world);
        int end = sim_run(sim, limit_ns * SIM_NS, 0);
        result = end < 0 ? RH_ENOSPACE : job_result(&simulated, report);
        report->time_ns = simulated.ended_ns;
        report->hash = sim_hash(sim);
        report->events = sim_event_count(sim);
        report->lost = cluster_lost(martini_cluster(simulated.world));
    }
    if (simulated.world)
        martini_world_destroy(simulated.world);
    martini_network_close(&simulated.network);
    free(simulated.ranks);
    free(simulated.boards);
    free(simulated.roster);
    return result;
}
