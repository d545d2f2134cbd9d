/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random programs with an exact checker: `rhinet run -n N msg-random [--seed S] [--count K]`.
 *
 * A seed gives a plan that all ranks know: for every pair a list of messages with tag, length and
 * contents. Each rank sends its lists in order and receives by random envelopes, blocking or not,
 * with room or too little, with cancels. The checker goes through the receives in the order in
 * which they were posted: each must have got the first message of its source that fits and that no
 * receive posted before it got. So loss, duplicates, inventions, wrong order and wrong bytes all
 * show.
 *
 * Nobody may lock up, so blocking sends go to higher ranks only, receives by tag look only as far
 * ahead as a sender's credit reaches, and who makes no progress posts a receive for anything.
 *
 * Longer than most files: plan, program and checker are one thing, and nobody else's.
 */
#include "check.h"
#include "meeting.h"
#include "moment.h"
#include "pattern.h"
#include "simulation.h"
#include "threads.h"

#include <getopt.h>
#include <rhinet/msg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LENGTH_MAX 200000
#define WINDOW     8  /* sends, and receives, under way */
#define AHEAD      12 /* messages of a pair that a receive by tag may pass over */
#define WAIT_NS    RH_MILLISECONDS(2)
#define WATCHDOG_S 120

struct message {
    int tag;
    size_t length;
    uint64_t seed;
    bool is_taken; /* the checker's */
};

struct pair {
    struct message *message;
    size_t count;
    size_t done; /* sender: started; receiver: received */
};

struct posted {
    struct rh_request *request; /* NULL: complete, or a blocking receive */
    int rank, tag;              /* as asked for */
    char *buffer;
    size_t room;
    int result;
    struct rh_status status;
};

struct player {
    struct rh_job *job;
    struct rh_msg *msg;
    int rank, size;
    uint64_t seed;
    int64_t patience_ns; /* without a message */
    struct prng prng;    /* this rank's own choices */
    struct pair *to;     /* by rank */
    struct pair *from;   /* by rank */
    struct posted *posted;
    size_t posted_count, wanted; /* receives so far; messages that are to come */
    size_t received;
    struct rh_request *sends[WINDOW];
    char *send_buffer[WINDOW];
    struct meeting meeting;
};

/* ---- The plan: the same on all ranks -------------------------------------------------------- */

static size_t draw_length(struct prng *prng)
{
    switch (prng_below(prng, 10)) {
    case 0:
        return 0;
    case 1:
    case 2:
    case 3:
        return (size_t)prng_below(prng, 49);
    case 4:
        return (size_t[]){48, 49, 2048, 2049, 8192, 8193, 32768, 32769, 65536}[prng_below(prng, 9)];
    case 5:
    case 6:
    case 7:
        return (size_t)prng_below(prng, 8193);
    case 8:
        return (size_t)prng_below(prng, 40000);
    default:
        return (size_t)prng_below(prng, LENGTH_MAX);
    }
}

static void plan_pair(struct prng *prng, struct pair *pair, size_t most, int tags)
{
    *pair = (struct pair){.count = (size_t)prng_below(prng, most + 1)};
    pair->message = calloc(pair->count + 1, sizeof(*pair->message));
    for (size_t i = 0; i < pair->count; i++) {
        pair->message[i].tag = (int)prng_below(prng, (uint64_t)tags);
        pair->message[i].length = draw_length(prng);
        pair->message[i].seed = prng_next(prng);
    }
}

/* The message lists of a pair belong to both of its sides, each of which has its own copy. */
static void keep_pair(struct player *player, int source, int target, struct pair *pair)
{
    size_t bytes = (pair->count + 1) * sizeof(*pair->message);
    if (target == player->rank) {
        player->from[source] = *pair;
        player->from[source].message = malloc(bytes);
        memcpy(player->from[source].message, pair->message, bytes);
        player->wanted += pair->count;
    }
    if (source == player->rank)
        player->to[target] = *pair;
    else
        free(pair->message);
}

static void plan_make(struct player *player)
{
    struct prng prng = {.state = player->seed};
    size_t most = (size_t)(5 + prng_below(&prng, 60)) / (size_t)(1 + player->size / 6);
    int tags = 1 + (int)prng_below(&prng, 4);
    player->wanted = player->received = player->posted_count = 0;
    for (int source = 0; source < player->size; source++) {
        for (int target = 0; target < player->size; target++) {
            struct pair pair;
            plan_pair(&prng, &pair, most, tags);
            keep_pair(player, source, target, &pair);
        }
    }
    player->posted = calloc(player->wanted + 4 * WINDOW, sizeof(*player->posted));
    player->prng.state = player->seed * 1000 + (uint64_t)player->rank;
}

static void plan_free(struct player *player)
{
    for (int rank = 0; rank < player->size; rank++) {
        free(player->to[rank].message);
        free(player->from[rank].message);
    }
    free(player->posted);
}

/* ---- Sending -------------------------------------------------------------------------------- */

static void collect_sends(struct player *player)
{
    for (int i = 0; i < WINDOW; i++) {
        if (!player->sends[i])
            continue;
        int result = rh_test_request(player->sends[i], NULL);
        if (result == RH_EAGAIN)
            continue;
        CHECK_OK(result);
        player->sends[i] = NULL;
        guarded_destroy(player->send_buffer[i]);
    }
}

/* Now and then taken back and sent again, while it is the last. */
static void start_send(struct player *player, int rank, int slot)
{
    struct pair *pair = &player->to[rank];
    struct message *message = &pair->message[pair->done++];
    char *data = guarded_create(message->length);
    pattern_fill(data, message->length, message->seed);
    if (rank > player->rank && prng_below(&player->prng, 3) == 0) {
        CHECK_OK(rh_send(player->msg, rank, message->tag, data, message->length));
        guarded_destroy(data);
        return;
    }
    struct rh_request *request;
    CHECK_OK(rh_isend(player->msg, rank, message->tag, data, message->length, &request));
    if (prng_below(&player->prng, 8) == 0) {
        int result = rh_cancel(request);
        CHECK(result == 0 || result == RH_EAGAIN);
        if (result == 0)
            CHECK_OK(rh_isend(player->msg, rank, message->tag, data, message->length, &request));
    }
    player->sends[slot] = request;
    player->send_buffer[slot] = data;
}

/* True when nothing is left to send. */
static bool send_some(struct player *player)
{
    int first = (int)prng_below(&player->prng, (uint64_t)player->size);
    bool is_over = true;
    collect_sends(player);
    for (int i = 0; i < player->size; i++) {
        int rank = (first + i) % player->size, slot = 0;
        if (player->to[rank].done == player->to[rank].count)
            continue;
        is_over = false;
        while (slot < WINDOW && player->sends[slot])
            slot++;
        if (slot < WINDOW)
            start_send(player, rank, slot);
    }
    for (int i = 0; i < WINDOW; i++)
        is_over = is_over && !player->sends[i];
    return is_over;
}

/* ---- Receiving ------------------------------------------------------------------------------ */

static size_t under_way(const struct player *player)
{
    size_t count = 0;
    for (size_t i = 0; i < player->posted_count; i++)
        count += player->posted[i].request != NULL;
    return count;
}

static void complete(struct player *player, struct posted *posted, int result)
{
    CHECK(result == 0 || result == RH_ETOOBIG);
    posted->request = NULL;
    posted->result = result;
    player->received++;
}

static struct posted *new_posted(struct player *player, int rank, int tag, size_t room)
{
    struct posted *posted = &player->posted[player->posted_count++];
    *posted = (struct posted){.rank = rank, .tag = tag, .room = room};
    posted->buffer = guarded_create(room);
    return posted;
}

static void post(struct player *player, int rank, int tag)
{
    size_t room = prng_below(&player->prng, 12) == 0 ? (size_t)prng_below(&player->prng, 9000)
                                                     : LENGTH_MAX;
    struct posted *posted = new_posted(player, rank, tag, room);
    CHECK_OK(rh_irecv(player->msg, rank, tag, posted->buffer, room, &posted->request));
    if (prng_below(&player->prng, 10) == 0 && rh_cancel(posted->request) == 0) {
        posted->request = NULL;
        guarded_destroy(posted->buffer);
        player->posted_count--;
    }
}

/* A blocking receive of a message that is there. */
static void receive_probed(struct player *player)
{
    struct rh_status status;
    int result = rh_probe(player->msg, RH_ANY_RANK, RH_ANY_TAG, &status, RH_TIMEOUT_NONE);
    if (result == RH_EAGAIN)
        return;
    CHECK_OK(result);
    struct posted *posted = new_posted(player, status.source, status.tag, status.length);
    result = rh_recv(player->msg, status.source, status.tag, posted->buffer, posted->room,
                     &posted->status);
    CHECK_U64(posted->status.length, status.length);
    complete(player, posted, result);
}

static void post_some(struct player *player)
{
    size_t open = under_way(player);
    if (open >= WINDOW || player->received + open >= player->wanted)
        return;
    int rank = (int)prng_below(&player->prng, (uint64_t)player->size);
    struct pair *pair = &player->from[rank];
    switch (prng_below(&player->prng, 4)) {
    case 0:
        if (open == 0) /* with others posted, what the probe saw may be meant for them */
            receive_probed(player);
        break;
    case 1:
        post(player, RH_ANY_RANK, RH_ANY_TAG);
        break;
    default:
        if (pair->count == 0 || open > 0) /* named ones only if the message cannot be another's */
            break;
        for (size_t i = 0, ahead = 0; i < pair->count && ahead < AHEAD; i++) {
            if (pair->message[i].is_taken)
                continue;
            ahead++;
            if (prng_below(&player->prng, 4) == 0) {
                post(player, rank,
                     prng_below(&player->prng, 2) ? pair->message[i].tag : RH_ANY_TAG);
                return;
            }
        }
    }
}

/* ---- The checker ---------------------------------------------------------------------------- */

static bool fits(const struct posted *posted, const struct message *message)
{
    return !message->is_taken && (posted->tag == RH_ANY_TAG || posted->tag == message->tag);
}

static void check_one(struct player *player, struct posted *posted)
{
    const struct rh_status *status = &posted->status;
    CHECK(status->source >= 0 && status->source < player->size);
    CHECK(posted->rank == RH_ANY_RANK || posted->rank == status->source);
    struct pair *pair = &player->from[status->source];
    size_t i = 0;
    while (i < pair->count && !fits(posted, &pair->message[i]))
        i++;
    if (i == pair->count)
        FAIL("a message from rank %d with tag %d that nobody sent", status->source, status->tag);
    struct message *message = &pair->message[i];
    message->is_taken = true;
    CHECK_U64(status->tag, message->tag);
    CHECK_U64(status->length, message->length);
    CHECK_CODE(posted->result, message->length > posted->room ? RH_ETOOBIG : 0);
    size_t part = message->length < posted->room ? message->length : posted->room;
    size_t at = pattern_find_difference(posted->buffer, part, message->seed);
    if (at < part)
        FAIL("message %zu from rank %d, %zu bytes: byte %zu is wrong", i, status->source,
             message->length, at);
    CHECK(guarded_check(posted->buffer) == 0);
}

/* In the order of posting, as far as all have completed. */
static size_t check_prefix(struct player *player, size_t checked)
{
    while (checked < player->posted_count && !player->posted[checked].request) {
        check_one(player, &player->posted[checked]);
        guarded_destroy(player->posted[checked].buffer);
        player->posted[checked++].buffer = NULL;
    }
    return checked;
}

/* ---- One seed ------------------------------------------------------------------------------- */

/* Wait for one of the receives; false if none came for a while. */
static bool receive_some(struct player *player)
{
    struct rh_request *requests[2 * WINDOW + 8] = {0};
    struct posted *owner[2 * WINDOW + 8] = {0};
    struct rh_status status;
    size_t count = 0, index;
    for (size_t i = 0; i < player->posted_count; i++) {
        if (player->posted[i].request) {
            owner[count] = &player->posted[i];
            requests[count++] = player->posted[i].request;
        }
    }
    if (count == 0)
        return false;
    bool waits = prng_below(&player->prng, 2);
    int result = rh_wait_any(requests, count, &index, &status, waits ? WAIT_NS : 0);
    if (result == RH_ETIMEOUT || result == RH_EAGAIN)
        return result == RH_EAGAIN;
    owner[index]->status = status;
    complete(player, owner[index], result);
    return true;
}

static void meet(struct player *player)
{
    int missing;
    if (meeting_hold(&player->meeting, player->patience_ns, &missing) < 0)
        FAIL("meeting rank %d: %s", missing, rh_error_text());
}

static void play(void *argument)
{
    struct player *player = argument;
    size_t checked = 0, received = 0;
    bool is_sent = false;
    int64_t since_ns = moment_now_ns();
    plan_make(player);
    meet(player);
    while (!is_sent || player->received < player->wanted) {
        is_sent = send_some(player);
        post_some(player);
        size_t open = under_way(player);
        if (!receive_some(player) && player->received + open < player->wanted && open < 2 * WINDOW)
            post(player, RH_ANY_RANK, RH_ANY_TAG);
        checked = check_prefix(player, checked);
        if (player->received != received)
            since_ns = moment_now_ns();
        received = player->received;
        if (moment_now_ns() - since_ns > player->patience_ns)
            FAIL("%zu of %zu messages have come, and no more do", received, player->wanted);
    }
    CHECK_U64(check_prefix(player, checked), player->posted_count);
    meet(player);
    CHECK_CODE(rh_probe(player->msg, RH_ANY_RANK, RH_ANY_TAG, NULL, 0), RH_EAGAIN);
    plan_free(player);
}

struct options {
    uint64_t seed, count, patience_s;
};

static int player_run(struct rh_job *job, void *context)
{
    const struct options *options = context;
    struct player player = {.job = job, .rank = rh_rank(job), .size = rh_size(job)};
    struct check check;
    player.patience_ns = (int64_t)options->patience_s * 1000000000;
    player.to = calloc((size_t)player.size, sizeof(*player.to));
    player.from = calloc((size_t)player.size, sizeof(*player.from));
    int result = meeting_open(&player.meeting, job);
    if (result == 0)
        result = rh_msg_open(&player.msg, job);
    for (uint64_t i = 0; i < options->count && result == 0; i++) {
        alarm(WATCHDOG_S);
        player.seed = options->seed + i;
        if (check_run(&check, play, &player) != CHECK_PASSED) {
            printf("FAIL random: --seed %llu --count 1, rank %d of %d: %s\n",
                   (unsigned long long)player.seed, player.rank, player.size, check.text);
            fflush(stdout);
            _exit(1);
        }
    }
    if (result < 0) {
        fprintf(stderr, "msg-random: %s\n", rh_error_text());
        _exit(1);
    }
    if (player.rank == 0)
        printf("ok random, %d ranks, seeds %llu to %llu\n", player.size,
               (unsigned long long)options->seed,
               (unsigned long long)(options->seed + options->count - 1));
    free(player.to);
    free(player.from);
    return rh_msg_close(player.msg);
}

int main(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"seed", required_argument, NULL, 's'},     {"count", required_argument, NULL, 'c'},
        {"threads", required_argument, NULL, 't'},  {"fibers", required_argument, NULL, 'f'},
        {"patience", required_argument, NULL, 'p'}, {NULL, 0, NULL, 0}};
    struct options options = {.seed = 1, .count = 1, .patience_s = 60};
    struct threads_options threads = {.rank_main = player_run, .context = &options};
    struct simulation_options simulation = {
        .environment = environ, .rank_main = player_run, .context = &options, .is_hashed = true};
    int letter;
    while ((letter = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (letter == 's')
            options.seed = strtoull(optarg, NULL, 0);
        else if (letter == 'c')
            options.count = strtoull(optarg, NULL, 0);
        else if (letter == 'p')
            options.patience_s = strtoull(optarg, NULL, 0);
        else if (letter == 't')
            threads.size = (int)strtol(optarg, NULL, 10);
        else if (letter == 'f')
            simulation.size = (int)strtol(optarg, NULL, 10);
        else
            return 2;
    }
    if (threads.size > 0)
        return threads_run(&threads) != 0;
    if (simulation.size > 0) { /* NIC martini, in virtual time */
        struct simulated_report report;
        simulation.seed = options.seed;
        return simulation_run(&simulation, &report) != 0;
    }
    struct rh_job *job;
    if (rh_join(&job, NULL) < 0) {
        fprintf(stderr, "msg-random: %s\n", rh_error_text());
        return 1;
    }
    moment_of_job(job);
    return player_run(job, &options) < 0 || rh_leave(job) < 0;
}
