/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Everybody pushes, appends, adds and waits with everybody, at random and without end, until a rank
 * is killed. Each survivor must learn of it from its calls, by the right rank, go on with the
 * others, and end well: "dead V by R" for the test that did it.
 */
#include <rhinet/rma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SID_MEMORY = 1, SID_QUEUE = 2 };

#define SIZE_MAX_RANKS 64
#define BLOCK          1024
#define ROUNDS_AFTER   200 /* operations among the survivors */
#define LIMIT_S        60  /* nobody was killed: the test forgot us */

struct churn {
    struct rh_job *job;
    int rank, size;
    uint64_t *memory; /* a word and a block for each peer */
    struct rh_queue *queue;
    uint64_t random;
    uint64_t sent;
    bool is_gone[SIZE_MAX_RANKS];
    int victim; /* -1 while all live */
};

static uint64_t next_random(struct churn *churn)
{
    churn->random ^= churn->random << 13;
    churn->random ^= churn->random >> 7;
    churn->random ^= churn->random << 17;
    return churn->random;
}

static void fail(struct churn *churn, const char *what, int code)
{
    fprintf(stderr, "rank %d: %s: %s (%s)\n", churn->rank, what, rh_error_name(code),
            rh_error_text());
    exit(3);
}

/* What a call may return: 0; full, empty or a short timeout; stale, from a survivor that is through
 * and about to leave; or a death, which must be a true one. */
static void check(struct churn *churn, const char *what, int result)
{
    if (result >= 0 || result == RH_EAGAIN || result == RH_ETIMEOUT)
        return;
    int rank = rh_error_rank();
    bool is_peer = rank >= 0 && rank < churn->size && rank != churn->rank;
    if ((result != RH_EDEAD && result != RH_ESTALE) || !is_peer)
        fail(churn, what, result);
    if (result == RH_ESTALE) {
        churn->is_gone[rank] = true;
        return;
    }
    int state = rh_peer_state(churn->job, rank);
    if (state != RH_PEER_DIED && state != RH_PEER_LEFT)
        fail(churn, "a rank was called dead that is not", result);
    churn->is_gone[rank] = true;
    rh_deaths_acknowledge(churn->job);
    if (state == RH_PEER_DIED && churn->victim < 0)
        churn->victim = rank;
}

static uint64_t word_offset(int rank)
{
    return (uint64_t)rank * BLOCK;
}

static void push(struct churn *churn, int peer)
{
    char block[BLOCK - 64];
    memset(block, (int)churn->sent, sizeof(block));
    struct rh_notice notice = {.word = rh_at(peer, SID_MEMORY, word_offset(churn->rank)),
                               .value = ++churn->sent};
    struct rh_remote target = rh_at(peer, SID_MEMORY, word_offset(churn->rank) + 64);
    check(churn, "push", rh_push_notify(churn->job, target, block, sizeof(block), &notice));
}

static void append(struct churn *churn, int peer)
{
    check(churn, "append",
          rh_append_try(churn->job, peer, SID_QUEUE, &churn->sent, sizeof(churn->sent)));
}

static void add(struct churn *churn, int peer)
{
    uint64_t old;
    struct rh_remote target = rh_at(peer, SID_MEMORY, word_offset(churn->rank) + 8);
    check(churn, "fetch-add", rh_fetch_add(churn->job, target, 1, &old));
}

static void wait_for(struct churn *churn, int peer)
{
    const uint64_t *word = &churn->memory[word_offset(peer) / sizeof(uint64_t)];
    struct rh_wait wait = {.word = word,
                           .when = RH_NOT_EQUAL,
                           .value = __atomic_load_n(word, __ATOMIC_ACQUIRE),
                           .from = peer,
                           .timeout_ns = RH_MILLISECONDS(1)};
    check(churn, "wait", rh_wait_word(churn->job, &wait));
}

static void receive(struct churn *churn)
{
    struct rh_arrival arrival;
    int64_t timeout_ns = next_random(churn) % 4 ? 0 : RH_MILLISECONDS(1);
    int result;
    while ((result = rh_queue_next(churn->queue, &arrival, timeout_ns)) == 0) {
        if (arrival.length != sizeof(uint64_t) || arrival.source < 0)
            fail(churn, "a message of a wrong shape", 0);
        rh_queue_release(churn->queue);
        timeout_ns = 0;
    }
    check(churn, "receive", result);
}

static void operate(struct churn *churn)
{
    int peer = (int)(next_random(churn) % (uint64_t)churn->size);
    if (peer == churn->rank || churn->is_gone[peer]) {
        receive(churn);
        return;
    }
    switch (next_random(churn) % 4) {
    case 0:
        push(churn, peer);
        break;
    case 1:
        append(churn, peer);
        break;
    case 2:
        add(churn, peer);
        break;
    default:
        wait_for(churn, peer);
    }
}

static void must_name_victim(struct churn *churn, const char *what, int result)
{
    if (result != RH_EDEAD || rh_error_rank() != churn->victim)
        fail(churn, what, result);
}

/* Whatever is asked of the dead, now and later, must be refused in its name. */
static void probe(struct churn *churn)
{
    uint64_t word = 0;
    struct rh_remote target = rh_at(churn->victim, SID_MEMORY, 0);
    struct rh_wait wait = {.word = churn->memory,
                           .when = RH_EQUAL,
                           .value = UINT64_MAX,
                           .from = churn->victim,
                           .timeout_ns = RH_TIMEOUT_DEFAULT};
    must_name_victim(churn, "push", rh_push(churn->job, target, &word, sizeof(word)));
    must_name_victim(churn, "pull", rh_pull(churn->job, target, &word, sizeof(word)));
    must_name_victim(churn, "add", rh_fetch_add(churn->job, target, 1, NULL));
    must_name_victim(churn, "append",
                     rh_append(churn->job, churn->victim, SID_QUEUE, &word, sizeof(word)));
    must_name_victim(churn, "wait", rh_wait_word(churn->job, &wait));
}

static void start(struct churn *churn)
{
    struct rh_queue_shape shape = {.slot_count = 128, .slot_length = 16};
    void *base;
    int result = rh_join(&churn->job, NULL);
    if (result < 0)
        fail(churn, "join", result);
    churn->rank = rh_rank(churn->job);
    churn->size = rh_size(churn->job);
    churn->random = (uint64_t)getpid() * 0x9e3779b97f4a7c15u + 1;
    result = rh_segment_alloc(churn->job, SID_MEMORY, SIZE_MAX_RANKS * BLOCK, &base);
    if (result == 0)
        result = rh_queue_create(churn->job, SID_QUEUE, shape, &churn->queue);
    if (result < 0)
        fail(churn, "segments", result);
    churn->memory = base;
    for (int peer = 0; peer < churn->size; peer++) {
        check(churn, "meet", rh_segment_wait(churn->job, peer, SID_QUEUE, RH_TIMEOUT_DEFAULT));
        if (rh_peer_state(churn->job, peer) == RH_PEER_STARTING)
            fail(churn, "a peer did not come", RH_ETIMEOUT);
    }
}

int main(void)
{
    struct churn churn = {.victim = -1, .rank = -1};
    start(&churn);
    printf("ready %d %d\n", churn.rank, (int)getpid());
    fflush(stdout);
    time_t end = time(NULL) + LIMIT_S;
    while (churn.victim < 0 && time(NULL) < end)
        operate(&churn);
    if (churn.victim < 0)
        fail(&churn, "nobody died", RH_ETIMEOUT);
    probe(&churn);
    for (int i = 0; i < ROUNDS_AFTER; i++)
        operate(&churn);
    printf("dead %d by %d\n", churn.victim, churn.rank);
    fflush(stdout);
    rh_queue_destroy(churn.queue);
    rh_leave(churn.job);
    return 0;
}
