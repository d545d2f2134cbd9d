/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making traffic and measuring it. One event for each message that a host makes, and one now and
 * then to look after the whole.
 */
#include "sim/workload/workload.h"

#include "base/error.h"
#include "sim/workload/samples.h"

#include <errno.h>
#include <stdlib.h>

#define LOOK_INTERVAL (100 * SIM_US) /* between looks for deadlock */
#define DRAIN_FACTOR  5              /* measured messages may take this many times `measure` */

/* Of a packet's cookie: it is the last of its message, and the message counts. */
#define COOKIE_LAST   1u
#define COOKIE_COUNTS 2u

enum workload_event { EVENT_MAKE, EVENT_LOOK, EVENT_COUNT };
static const char *const event_names[EVENT_COUNT] = {"make", "look"};

struct workload {
    struct workload_spec spec;
    struct sim *sim;
    struct network *network;
    uint32_t actor, host_count;
    struct sim_constants constants;
    struct samples samples;
    size_t trace_next;
    uint32_t *made; /* ALL_TO_ALL: messages that each host has made */
    uint64_t counted, finished;
    uint64_t flits_offered, flits_accepted; /* in the time that counts */
    sim_time last_tail;
    bool is_made; /* no more messages that count will come */
    int failure;
};

int workload_create(struct workload **workload, const struct workload_spec *spec)
{
    bool is_open = spec->pattern == WORKLOAD_UNIFORM || spec->pattern == WORKLOAD_HOTSPOT;
    if (spec->pattern != WORKLOAD_TRACE && !(spec->load > 0 && spec->load <= 100))
        return error_fail(-EINVAL, "a load of %g is not between 0 and 100", spec->load);
    if (is_open && spec->measure <= 0)
        return error_fail(-EINVAL, "the time to measure must be longer than 0");
    struct workload *made = calloc(1, sizeof(*made));
    if (!made)
        return error_fail(-ENOMEM, "no memory for traffic");
    made->spec = *spec;
    *workload = made;
    return 0;
}

void workload_destroy(struct workload *workload)
{
    if (!workload)
        return;
    samples_free(&workload->samples);
    free(workload->made);
    free(workload);
}

static bool is_open(const struct workload *workload)
{
    return workload->spec.pattern == WORKLOAD_UNIFORM || workload->spec.pattern == WORKLOAD_HOTSPOT;
}

static bool counts_now(const struct workload *workload, sim_time when)
{
    const struct workload_spec *spec = &workload->spec;
    return !is_open(workload) || (when >= spec->warm && when < spec->warm + spec->measure);
}

/* All has been made, and what counts has arrived. */
static void end_if_done(struct workload *workload)
{
    if (!workload->is_made || workload->finished < workload->counted)
        return;
    sim_stop(workload->sim);
}

void workload_deliver(void *context, const struct network_arrival *arrival)
{
    struct workload *workload = context;
    if (counts_now(workload, arrival->tail))
        workload->flits_accepted += arrival->flits;
    if (arrival->tail > workload->last_tail)
        workload->last_tail = arrival->tail;
    if ((arrival->cookie & COOKIE_COUNTS) == 0 || (arrival->cookie & COOKIE_LAST) == 0)
        return;
    if (!samples_add(&workload->samples, arrival->tail - arrival->sent))
        workload->failure = -ENOMEM;
    workload->finished++;
    end_if_done(workload);
}

static void message_send(struct workload *workload, uint32_t source, uint32_t target,
                         uint32_t bytes)
{
    uint32_t mtu = (uint32_t)workload->constants.mtu_bytes;
    bool counts = counts_now(workload, sim_now(workload->sim));
    workload->counted += counts;
    do {
        uint32_t part = bytes < mtu ? bytes : mtu;
        uint32_t flits = network_flits(workload->network, part);
        bytes -= part;
        struct network_packet packet = {
            .source = source,
            .targets = &target,
            .target_count = 1,
            .flits = flits,
            .cookie = (counts ? COOKIE_COUNTS : 0) | (bytes == 0 ? COOKIE_LAST : 0),
        };
        int result = network_send(workload->network, &packet);
        if (result < 0 && workload->failure == 0)
            workload->failure = result;
        workload->flits_offered += counts ? flits : 0;
    } while (bytes > 0 && workload->failure == 0);
}

static uint32_t target_choose(struct workload *workload, uint32_t source)
{
    const struct workload_spec *spec = &workload->spec;
    if (spec->pattern == WORKLOAD_HOTSPOT && source != spec->hot_host &&
        sim_random_real(workload->sim) < spec->hot_share)
        return spec->hot_host;
    uint32_t other = (uint32_t)sim_random_below(workload->sim, workload->host_count - 1);
    return other < source ? other : other + 1;
}

/* How long a message occupies a host's link. */
static double message_time(const struct workload *workload)
{
    uint32_t mtu = (uint32_t)workload->constants.mtu_bytes, bytes = workload->spec.bytes;
    uint64_t flits = (uint64_t)(bytes / mtu) * network_flits(workload->network, mtu);
    if (bytes % mtu || bytes == 0)
        flits += network_flits(workload->network, bytes % mtu);
    return (double)flits * (double)network_flit_time(workload->network);
}

static void make_later(struct workload *workload, sim_time when, uint64_t argument)
{
    sim_post(workload->sim, when, (struct sim_event){workload->actor, EVENT_MAKE, argument});
}

static void open_make(struct workload *workload, uint32_t host)
{
    const struct workload_spec *spec = &workload->spec;
    sim_time now = sim_now(workload->sim);
    if (now >= spec->warm + spec->measure && !workload->is_made) {
        workload->is_made = true;
        end_if_done(workload);
    }
    /* Traffic goes on while what counts is under way: it would be too quick in an empty network. */
    message_send(workload, host, target_choose(workload, host), spec->bytes);
    double wait = sim_random_wait(workload->sim, message_time(workload) / spec->load);
    make_later(workload, now + 1 + (sim_time)wait, host);
}

static void all_make(struct workload *workload, uint32_t host)
{
    uint32_t number = ++workload->made[host];
    sim_time pace = (sim_time)(message_time(workload) / workload->spec.load);
    bool is_last = number + 1 == workload->host_count;
    if (is_last &&
        workload->counted + 1 == (uint64_t)workload->host_count * (workload->host_count - 1))
        workload->is_made = true;
    message_send(workload, host, (host + number) % workload->host_count, workload->spec.bytes);
    if (!is_last)
        make_later(workload, sim_now(workload->sim) + pace, host);
}

static void trace_make(struct workload *workload)
{
    const struct workload_spec *spec = &workload->spec;
    const struct workload_message *message = &spec->trace[workload->trace_next++];
    workload->is_made = workload->trace_next == spec->trace_count;
    message_send(workload, message->source, message->target, message->bytes);
    if (!workload->is_made)
        make_later(workload, spec->trace[workload->trace_next].when, workload->trace_next);
}

static double part_done(const struct workload *workload)
{
    const struct workload_spec *spec = &workload->spec;
    uint64_t all = spec->pattern == WORKLOAD_TRACE
                       ? spec->trace_count
                       : (uint64_t)workload->host_count * (workload->host_count - 1);
    if (is_open(workload))
        return (double)sim_now(workload->sim) / (double)(spec->warm + spec->measure);
    return all ? (double)workload->finished / (double)all : 1;
}

static void look(struct workload *workload)
{
    const struct workload_spec *spec = &workload->spec;
    sim_time now = sim_now(workload->sim), interval = LOOK_INTERVAL;
    if (spec->progress) {
        double part = part_done(workload);
        spec->progress(spec->progress_context, part < 0.99 ? part : 0.99);
    }
    if (network_deadlock(workload->network, NULL) > 0 ||
        (is_open(workload) && now > spec->warm + spec->measure * DRAIN_FACTOR)) {
        sim_stop(workload->sim);
        return;
    }
    /* A network that has nothing to do but be looked at is done. */
    if (sim_pending(workload->sim) > 0)
        sim_post(workload->sim, now + interval, (struct sim_event){workload->actor, EVENT_LOOK, 0});
}

static void workload_event(void *context, uint32_t kind, uint64_t argument)
{
    struct workload *workload = context;
    if (kind == EVENT_LOOK)
        look(workload);
    else if (is_open(workload))
        open_make(workload, (uint32_t)argument);
    else if (workload->spec.pattern == WORKLOAD_ALL_TO_ALL)
        all_make(workload, (uint32_t)argument);
    else
        trace_make(workload);
    if (workload->failure < 0)
        sim_stop(workload->sim);
}

static int begin(struct workload *workload)
{
    const struct workload_spec *spec = &workload->spec;
    int actor = sim_actor_add(workload->sim, &(struct sim_actor){.name = "traffic",
                                                                 .handle = workload_event,
                                                                 .context = workload,
                                                                 .kinds = event_names,
                                                                 .kind_count = EVENT_COUNT});
    workload->made = calloc(workload->host_count + 1u, sizeof(*workload->made));
    if (actor < 0 || !workload->made)
        return error_fail(-ENOMEM, "no memory for traffic");
    workload->actor = (uint32_t)actor;
    if (spec->pattern == WORKLOAD_TRACE) {
        workload->is_made = spec->trace_count == 0;
        if (spec->trace_count > 0)
            make_later(workload, spec->trace[0].when, 0);
    } else if (workload->host_count > 1) {
        double spread = message_time(workload) / spec->load;
        for (uint32_t i = 0; i < workload->host_count; i++)
            make_later(workload,
                       is_open(workload) ? (sim_time)sim_random_wait(workload->sim, spread) : 0, i);
    }
    sim_post(workload->sim, LOOK_INTERVAL, (struct sim_event){workload->actor, EVENT_LOOK, 0});
    return 0;
}

static void deadlock_tell(const struct workload *workload, struct workload_report *report)
{
    FILE *out = fmemopen(report->deadlock, sizeof(report->deadlock), "w");
    if (!out)
        return;
    report->deadlock_count = network_deadlock(workload->network, out);
    fclose(out);
    report->deadlock[sizeof(report->deadlock) - 1] = '\0';
}

static void report_fill(struct workload *workload, struct workload_report *report)
{
    const struct workload_spec *spec = &workload->spec;
    sim_time span = is_open(workload) ? spec->measure : workload->last_tail;
    double flit_time = (double)network_flit_time(workload->network);
    double capacity = (double)span / flit_time * workload->host_count;
    *report = (struct workload_report){
        .messages_made = workload->counted,
        .messages_unfinished = workload->counted - workload->finished,
        .end = is_open(workload) ? sim_now(workload->sim) : workload->last_tail,
        .events = sim_event_count(workload->sim),
        .hash = sim_hash(workload->sim),
        .latency = samples_sum(&workload->samples),
    };
    if (capacity > 0) {
        report->offered = (double)workload->flits_offered / capacity;
        report->accepted = (double)workload->flits_accepted / capacity;
    }
    network_count(workload->network, &report->count);
    report->is_saturated = report->messages_unfinished > report->count.packets_lost;
    deadlock_tell(workload, report);
}

int workload_run(struct workload *workload, struct sim *sim, struct network *network,
                 uint32_t host_count, struct workload_report *report)
{
    workload->sim = sim;
    workload->network = network;
    workload->host_count = host_count;
    workload->constants = *network_constants(network);
    if (workload->spec.pattern == WORKLOAD_HOTSPOT && workload->spec.hot_host >= host_count)
        return error_fail(-EINVAL, "there is no host %u to be the hot one",
                          workload->spec.hot_host);
    int result = begin(workload);
    if (result < 0)
        return result;
    result = sim_run(sim, SIM_NEVER, 0);
    if (workload->failure < 0)
        return workload->failure == -ENOMEM
                   ? error_fail(-ENOMEM, "no memory for the traffic's latencies")
                   : workload->failure;
    if (result < 0)
        return result;
    result = network_check(network);
    if (result == 0)
        report_fill(workload, report);
    return result;
}
