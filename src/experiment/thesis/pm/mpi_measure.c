/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See mpi_measure.h. Copies cost what the host's caches say: one look at each line that is read or
 * written. What came by DMA is in no cache.
 */
#include "experiment/thesis/pm/mpi_measure.h"

#include "experiment/failure.h"
#include "sim/cluster/cluster.h"
#include "sim/host/host.h"
#include "simulated/simulated.h"

#include <rhinet/pm.h>

#include <string.h>

#define LINE        32
#define RING_SLOTS  64  /* for each sender */
#define QUEUE_SLOTS 256 /* for all of them */
/* Where the program's buffers lie: the same in every round, away from what PM has. */
#define SEND_AT    (4ULL << 30)
#define RECEIVE_AT (5ULL << 30)
#define STAGE_AT   (6ULL << 30) /* PM's buffer for the next message */
#define LIMIT_NS   RH_MILLISECONDS(10000)

/* One measurement, which its ranks share. */
struct exchange {
    const struct pm_setup *setup;
    bool is_trip; /* PingPong, else Sendrecv */
    struct simulated *simulated;
    int64_t begin_ns, end_ns; /* rank 0's */
    struct failure failure;   /* a rank is gone: nobody waits for it */
};

/* One rank. */
struct turn {
    struct exchange *exchange;
    struct rh_job *job;
    struct pm_context *pm;
    uint32_t most;    /* bytes of a message */
    uint64_t total;   /* bytes of a round */
    uint64_t to_send; /* of them left */
    int64_t to_take;  /* the same; below 0: somebody is a round ahead */
    bool has_message; /* one waits for room at its target */
    uint32_t length;  /* of it */
    int64_t give_up_ns;
};

static void copy_cost(const struct turn *turn, uint64_t from, uint64_t to, uint32_t length,
                      bool is_fresh)
{
    struct simulated *simulated = turn->exchange->simulated;
    struct cluster *cluster = martini_cluster(simulated_world(simulated));
    struct host *host = cluster_host(cluster, (uint32_t)rh_rank(turn->job));
    sim_time cost = 0;
    for (uint32_t at = 0; at < length; at += LINE) {
        cost += is_fresh ? turn->exchange->setup->constants->memory_ps
                         : host_read_cost(host, from + at);
        cost += host_read_cost(host, to + at);
    }
    simulated_sleep(simulated, cost / SIM_NS);
}

/* To the next rank first, so that not all send to the same one. */
static int target_of(const struct turn *turn)
{
    uint64_t done = (turn->total - turn->to_send) / turn->exchange->setup->size;
    return (rh_rank(turn->job) + 1 + (int)done) % rh_size(turn->job);
}

/* Sends a message, if there is room. 1: it did; 0: it did not. */
static int step_send(struct turn *turn)
{
    uint32_t size = turn->exchange->setup->size;
    int result = 0;
    if (turn->to_send == 0)
        return 0;
    if (!turn->has_message) {
        uint64_t done = turn->total - turn->to_send;
        uint32_t left = size - (uint32_t)(done % size);
        void *buffer;
        turn->length = left < turn->most ? left : turn->most;
        result = pmGetSendBuffer(turn->pm, target_of(turn), turn->length, &buffer);
        if (result < 0)
            return result;
        copy_cost(turn, SEND_AT + done, STAGE_AT, turn->length, false);
        turn->has_message = true;
    }
    result = pmSend(turn->pm);
    if (result == RH_EAGAIN)
        return 0;
    turn->has_message = false;
    turn->to_send -= turn->length;
    return result < 0 ? result : 1;
}

static int step_take(struct turn *turn)
{
    struct pm_message message;
    int result = pmReceive(turn->pm, &message);
    if (result < 0)
        return result == RH_EAGAIN ? 0 : result;
    uint64_t done = turn->total - (uint64_t)(turn->to_take > 0 ? turn->to_take : 0);
    copy_cost(turn, 0, RECEIVE_AT + done, (uint32_t)message.length, true);
    turn->to_take -= (int64_t)message.length;
    result = pmReleaseReceiveBuffer(turn->pm);
    return result < 0 ? result : 1;
}

/* Until all is sent and taken. */
static int steps_run(struct turn *turn)
{
    int result = 0;
    while ((turn->to_send > 0 || turn->to_take > 0) && result == 0 &&
           turn->exchange->failure.code == 0) {
        int sent = step_send(turn);
        int taken = sent < 0 || turn->to_take <= 0 ? 0 : step_take(turn);
        result = sent < 0 ? sent : taken < 0 ? taken : 0;
        if (result == 0 && rh_clock_ns(turn->job) > turn->give_up_ns) {
            result = error_set(RH_ETIMEOUT, rh_rank(turn->job), "an exchange takes more than %g s",
                               LIMIT_NS / 1e9);
            failure_note(&turn->exchange->failure, result);
        }
    }
    return result;
}

static int round_run(struct turn *turn)
{
    turn->to_send = turn->total;
    turn->to_take += (int64_t)turn->total;
    return steps_run(turn);
}

/* There and back: one sends all of it, then the other. */
static int trip_run(struct turn *turn)
{
    bool is_first = rh_rank(turn->job) == 0;
    int result = 0;
    for (int way = 0; way < 2 && result == 0; way++) {
        bool is_sending = is_first == (way == 0);
        turn->to_send = is_sending ? turn->total : 0;
        turn->to_take += is_sending ? 0 : (int64_t)turn->total;
        result = steps_run(turn);
    }
    return result;
}

/* As many rounds before as use each slot of a ring: TLBs are filled then. */
static int rounds_run(struct turn *turn)
{
    struct exchange *exchange = turn->exchange;
    const struct pm_setup *setup = exchange->setup;
    bool is_queue = strcmp(setup->implementation, "pm-queue") == 0;
    uint32_t messages = (setup->size + turn->most - 1) / turn->most; /* from each */
    uint32_t slots = is_queue ? QUEUE_SLOTS / (uint32_t)(setup->ranks - 1) : RING_SLOTS;
    uint32_t warm = 1 + slots / messages;
    int result = 0;
    uint32_t rounds = warm + setup->rounds;
    for (uint32_t i = 0; i < rounds && result == 0 && exchange->failure.code == 0; i++) {
        if (rh_rank(turn->job) == 0 && i == warm)
            exchange->begin_ns = rh_clock_ns(turn->job);
        result = exchange->is_trip ? trip_run(turn) : round_run(turn);
    }
    if (rh_rank(turn->job) == 0)
        exchange->end_ns = rh_clock_ns(turn->job);
    return result;
}

static int rank_main(struct rh_job *job, void *context)
{
    struct exchange *exchange = context;
    const struct pm_setup *setup = exchange->setup;
    struct pm_options options;
    struct turn turn = {.exchange = exchange,
                        .job = job,
                        .most = pm_message_max(setup),
                        .total = (uint64_t)setup->size * (uint32_t)(setup->ranks - 1),
                        .give_up_ns = rh_clock_ns(job) + LIMIT_NS};
    pm_options_of(setup, &options);
    int result = pmOpenContext(&turn.pm, job, &options);
    if (result == 0)
        result = rounds_run(&turn);
    failure_note_pm(&exchange->failure, result);
    pm_linger(job);
    int closed = turn.pm ? pmCloseContext(turn.pm) : 0;
    failure_note_pm(&exchange->failure, closed);
    return result < 0 ? result : closed;
}

static int measure(const struct pm_setup *setup, bool is_trip, double *us)
{
    struct exchange exchange = {.setup = setup, .is_trip = is_trip};
    struct simulated_options options = {.size = setup->ranks,
                                        .spec = {.seed = 1, .constants = setup->constants},
                                        .rank_main = rank_main,
                                        .context = &exchange,
                                        .handle = &exchange.simulated};
    int result = simulated_run(&options, NULL);
    *us = (double)(exchange.end_ns - exchange.begin_ns) / 1000 / setup->rounds;
    return failure_result(&exchange.failure, result);
}

int mpi_exchange(const struct pm_setup *setup, double *us)
{
    return measure(setup, false, us);
}

int mpi_round_trip(const struct pm_setup *setup, double *us)
{
    return measure(setup, true, us);
}
