/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The message layer on a simulated cluster in which things go wrong: `martini-storm [--seed S]
 * [--count K] [--verbose]`.
 *
 * A seed gives the number of ranks, what each sends to each, and which faults there are: packets
 * that vanish on links that do not send again, a node that dies, firmware that is slow; often none
 * or one of them. Each rank posts all its receives and sends at once, waits for each with a
 * deadline, and then meets the others at a barrier and at a lock.
 *
 * What must hold: what is received was sent, whole, once, and in order of its sender; without a
 * fault everything arrives; a death takes nothing from those who live, and errors about it name the
 * dead rank; every wait ends; the same seed gives the same run.
 */
#include "check.h"
#include "pattern.h"
#include "simulation.h"

#include <getopt.h>
#include <rhinet/msg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS_MAX    6
#define MESSAGES_MAX 10
#define LENGTH_MAX   20000
#define PATIENCE_NS  RH_MILLISECONDS(400)
#define STAY_NS      RH_MILLISECONDS(10000000) /* others may run into deadline after deadline */
#define TRIES        4
#define COUNTER_SID  7u
#define LOCK         1u

/* What a seed means; the same for all ranks. */
struct storm {
    uint64_t seed;
    int size;
    struct simulated_faults faults;
    int count[RANKS_MAX][RANKS_MAX]; /* messages from, to */
    size_t length[RANKS_MAX][RANKS_MAX][MESSAGES_MAX];
    struct check checks[RANKS_MAX];
    int errors, received; /* over all ranks */
    uint64_t *counter;    /* rank 0's, guarded by the lock */
    uint64_t sections;    /* entered and left without an error */
    int finished;         /* ranks that need nobody any more */
};

struct member {
    struct storm *storm;
    struct rh_job *job;
    struct rh_msg *msg;
    int rank;
    bool has_open; /* requests that do not end, because their packets are lost */
};

static bool is_fair(const struct storm *storm)
{
    return storm->faults.loss == 0 && storm->faults.victim_ns == 0;
}

static uint64_t pattern_of(const struct storm *storm, int source, int target, int index)
{
    return storm->seed * 1000003 + (uint64_t)((source * RANKS_MAX + target) * MESSAGES_MAX + index);
}

/* ---- The plan -------------------------------------------------------------------------------- */

static size_t draw_length(struct prng *prng)
{
    switch (prng_below(prng, 4)) {
    case 0:
        return (size_t)prng_below(prng, 50);
    case 1:
        return (size_t)prng_below(prng, 3000);
    default:
        return (size_t)prng_below(prng, LENGTH_MAX);
    }
}

/* Some kinds of fault are off in most seeds, so that each is seen alone. */
static void draw_faults(struct storm *storm, struct prng *prng)
{
    struct simulated_faults *faults = &storm->faults;
    uint64_t kinds = prng_below(prng, 8);
    *faults = (struct simulated_faults){0};
    if (kinds & 1)
        faults->cpu_factor = 2 + (uint32_t)prng_below(prng, 30);
    if ((kinds & 6) == 2) {
        faults->victim = (int)prng_below(prng, (uint64_t)storm->size);
        faults->victim_ns = 1000 + (int64_t)prng_below(prng, 3000000);
    }
    if ((kinds & 6) == 4)
        faults->loss = 0.0001 * (double)(1 + prng_below(prng, 100));
}

static void storm_draw(struct storm *storm, uint64_t seed)
{
    struct prng prng = {.state = seed};
    memset(storm, 0, sizeof(*storm));
    storm->seed = seed;
    storm->size = 2 + (int)prng_below(&prng, RANKS_MAX - 1);
    draw_faults(storm, &prng);
    for (int source = 0; source < storm->size; source++) {
        for (int target = 0; target < storm->size; target++) {
            storm->count[source][target] = (int)prng_below(&prng, MESSAGES_MAX + 1);
            for (int i = 0; i < MESSAGES_MAX; i++)
                storm->length[source][target][i] = draw_length(&prng);
        }
    }
}

/* ---- Judging --------------------------------------------------------------------------------- */

/* An error must be one that the faults explain. */
static void judge_error(const struct member *member, int result, int peer)
{
    const struct storm *storm = member->storm;
    const struct simulated_faults *faults = &storm->faults;
    member->storm->errors++;
    if (is_fair(storm))
        FAIL("rank %d, peer %d: %s without a fault: %s", member->rank, peer, rh_error_name(result),
             rh_error_text());
    if (result == RH_EDEAD && (faults->victim_ns == 0 || rh_error_rank() != faults->victim))
        FAIL("rank %d is said to have died: %s", rh_error_rank(), rh_error_text());
    if (result == RH_ETIMEOUT && faults->loss == 0 && peer != faults->victim && peer >= 0)
        FAIL("rank %d waited for rank %d, which lives, in vain", member->rank, peer);
    if (result != RH_EDEAD && result != RH_ETIMEOUT && result != RH_ECANCELED)
        FAIL("rank %d, peer %d: unexpected %s: %s", member->rank, peer, rh_error_name(result),
             rh_error_text());
}

/* One of a rank's messages under way. */
struct item {
    struct rh_request *request;
    char *data;
    int peer, index;
    bool is_receive;
};

static void judge_message(const struct member *member, const struct item *item,
                          const struct rh_status *status)
{
    const struct storm *storm = member->storm;
    size_t length = storm->length[item->peer][member->rank][item->index];
    CHECK_U64(status->source, item->peer);
    CHECK_U64(status->tag, item->index);
    CHECK_U64(status->length, length);
    size_t at = pattern_find_difference(item->data, length,
                                        pattern_of(storm, item->peer, member->rank, item->index));
    if (at < length)
        FAIL("message %d from rank %d: byte %zu of %zu is wrong", item->index, item->peer, at,
             length);
    member->storm->received++;
}

/* Waits until it is complete, or taken back. False: it is neither, nor ever will be, since nobody
 * tells the layer that a rank that lives cannot be reached. */
static bool item_finish(struct member *member, const struct item *item)
{
    struct rh_status status = {0};
    int result = rh_wait_request(item->request, &status, PATIENCE_NS);
    for (int i = 0; i < TRIES && result == RH_ETIMEOUT; i++) {
        if (rh_cancel(item->request) == 0) {
            judge_error(member, RH_ETIMEOUT, item->peer);
            return true;
        }
        result = rh_wait_request(item->request, &status, PATIENCE_NS);
    }
    if (result == RH_ETIMEOUT && member->storm->faults.loss == 0)
        FAIL("a request that concerns rank %d does not end", item->peer);
    if (result < 0)
        judge_error(member, result, item->peer);
    else if (item->is_receive)
        judge_message(member, item, &status);
    return result != RH_ETIMEOUT;
}

/* ---- A rank ---------------------------------------------------------------------------------- */

/* Tags count a sender's messages: the layer may not mix them up, and one is posted for each. */
static int items_post(const struct member *member, struct item *items, bool is_receive)
{
    const struct storm *storm = member->storm;
    int count = 0;
    for (int peer = 0; peer < storm->size; peer++) {
        int source = is_receive ? peer : member->rank, target = is_receive ? member->rank : peer;
        for (int i = 0; i < storm->count[source][target]; i++) {
            struct item *item = &items[count];
            size_t length = storm->length[source][target][i];
            *item = (struct item){.peer = peer, .index = i, .is_receive = is_receive};
            item->data = malloc(length + 1);
            if (!is_receive)
                pattern_fill(item->data, length, pattern_of(storm, source, target, i));
            int result = is_receive
                             ? rh_irecv(member->msg, peer, i, item->data, length, &item->request)
                             : rh_isend(member->msg, peer, i, item->data, length, &item->request);
            if (result == 0)
                count++;
            else
                free(item->data);
            if (result < 0)
                judge_error(member, result, peer);
        }
    }
    return count;
}

static void exchange(struct member *member)
{
    enum { MOST = RANKS_MAX * MESSAGES_MAX };
    struct item items[2 * MOST];
    int count = items_post(member, items, true);
    count += items_post(member, items + count, false);
    for (int i = 0; i < count; i++) {
        if (item_finish(member, &items[i]))
            free(items[i].data);
        else
            member->has_open = true; /* the memory stays the layer's */
    }
}

/* A section that only one may be in: read, add, write. False: the lock cannot be given back. */
static bool enter_section(const struct member *member)
{
    struct rh_remote place = rh_at(0, COUNTER_SID, 0);
    uint64_t value = 0;
    int result = rh_lock(member->msg, LOCK, PATIENCE_NS);
    if (result < 0) {
        judge_error(member, result, -1);
        return true;
    }
    result = rh_pull(member->job, place, &value, sizeof(value));
    value++;
    if (result == 0)
        result = rh_push(member->job, place, &value, sizeof(value));
    if (result == 0)
        member->storm->sections++;
    else
        judge_error(member, result, 0);
    result = rh_unlock(member->msg, LOCK);
    if (result < 0)
        judge_error(member, result, -1);
    return result == 0;
}

static void meet(const struct member *member)
{
    int ranks[RANKS_MAX];
    for (int i = 0; i < member->storm->size; i++)
        ranks[i] = i;
    struct rh_set_spec spec = {.struct_size = sizeof(spec),
                               .id = 3,
                               .ranks = ranks,
                               .rank_count = (size_t)member->storm->size};
    struct rh_set *set;
    int result = rh_set_create(member->msg, &spec, &set);
    if (result < 0) {
        judge_error(member, result, -1);
        return;
    }
    result = rh_barrier(set, PATIENCE_NS);
    if (result < 0)
        judge_error(member, result, -1);
    rh_set_destroy(set);
}

static bool have_all_finished(void *context)
{
    const struct storm *storm = context;
    return storm->finished + (storm->faults.victim_ns > 0) >= storm->size;
}

/* Nobody leaves while others may need him; told outside of the network, which may be broken. */
static void stay(const struct member *member)
{
    struct rh_until until = {.is_met = have_all_finished,
                             .context = member->storm,
                             .from = member->rank,
                             .timeout_ns = STAY_NS};
    member->storm->finished++;
    CHECK_OK(rh_wait_until(member->job, &until));
}

static void live(void *argument)
{
    struct member *member = argument;
    void *base;
    CHECK_OK(rh_segment_alloc(member->job, COUNTER_SID, 64, &base));
    if (member->rank == 0)
        member->storm->counter = base;
    CHECK_OK(rh_msg_open(&member->msg, member->job));
    exchange(member);
    for (int i = 0; i < 3 && enter_section(member); i++)
        continue;
    meet(member);
    if (member->rank == 0 && is_fair(member->storm))
        CHECK_U64(*member->storm->counter, 3 * (unsigned)member->storm->size);
    stay(member);
    int result = member->has_open ? 0 : rh_msg_close(member->msg);
    if (result < 0)
        judge_error(member, result, -1);
}

static int rank_main(struct rh_job *job, void *context)
{
    struct storm *storm = context;
    struct member member = {.storm = storm, .job = job, .rank = rh_rank(job)};
    return check_run(&storm->checks[member.rank], live, &member) == CHECK_PASSED ? 0 : RH_ECORRUPT;
}

/* ---- A seed ---------------------------------------------------------------------------------- */

static char patience[] = "RHINET_TIMEOUT=300ms", silence[] = "RHINET_STUCK=0";
static char *const environment[] = {patience, silence, NULL};

static void storm_print(const struct storm *storm, const struct simulated_report *report)
{
    const struct simulated_faults *faults = &storm->faults;
    printf("seed %llu: %d ranks, loss %g, CPU x %u, ", (unsigned long long)storm->seed, storm->size,
           faults->loss, faults->cpu_factor);
    if (faults->victim_ns > 0)
        printf("rank %d dies at %.3f ms, ", faults->victim, (double)faults->victim_ns / 1e6);
    printf("%d received, %d errors, %llu packets lost, %.3f ms, hash %016llx\n", storm->received,
           storm->errors, (unsigned long long)report->lost, (double)report->time_ns / 1e6,
           (unsigned long long)report->hash);
}

static bool storm_run(uint64_t seed, bool is_verbose)
{
    static struct storm storm;
    struct simulated_report report, again;
    storm_draw(&storm, seed);
    struct simulation_options options = {.size = storm.size,
                                         .seed = seed,
                                         .faults = storm.faults,
                                         .environment = environment,
                                         .rank_main = rank_main,
                                         .context = &storm};
    int result = simulation_run(&options, &report);
    if (result == 0 && seed % 16 == 0) {
        storm_draw(&storm, seed);
        result = simulation_run(&options, &again);
        if (result == 0 && report.hash != again.hash) {
            printf("the second run differs\n");
            result = RH_ECORRUPT;
        }
    }
    if (is_verbose || result != 0)
        storm_print(&storm, &report);
    for (int rank = 0; rank < storm.size && result != 0; rank++) {
        if (storm.checks[rank].text[0])
            printf("FAIL rank %d: %s\n", rank, storm.checks[rank].text);
    }
    return result == 0;
}

int main(int argc, char **argv)
{
    static const struct option long_options[] = {{"seed", required_argument, NULL, 's'},
                                                 {"count", required_argument, NULL, 'c'},
                                                 {"verbose", no_argument, NULL, 'v'},
                                                 {NULL, 0, NULL, 0}};
    uint64_t seed = 1, count = 1, failed = 0;
    bool is_verbose = false;
    int letter;
    while ((letter = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (letter == 's')
            seed = strtoull(optarg, NULL, 0);
        else if (letter == 'c')
            count = strtoull(optarg, NULL, 0);
        else if (letter == 'v')
            is_verbose = true;
        else
            return 2;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (storm_run(seed + i, is_verbose))
            continue;
        failed++;
        printf("replay: %s --seed %llu --verbose\n", argv[0], (unsigned long long)(seed + i));
        fflush(stdout);
    }
    printf("%llu seeds from %llu on, %llu failed\n", (unsigned long long)count,
           (unsigned long long)seed, (unsigned long long)failed);
    return failed > 0;
}
