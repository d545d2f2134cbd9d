/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One rank of the soak: `rhinet run --survive -n N msg-soak SECONDS SEED`, while soak.py kills and
 * stops ranks. Sends messages of random lengths to random ranks, receives from anybody, takes locks
 * and meets at barriers. Checks that the messages of each rank come whole, in order and exactly
 * once, to the last; that a lock has one holder; and that nobody leaves a barrier before all have
 * entered it. Survivors print "done"; a broken promise prints "FAIL" and ends the rank. Ranks may
 * be stopped for longer than a call waits: then it is called again, and still nothing is lost,
 * doubled or in another order.
 */
#include "check.h"
#include "pattern.h"

#include <rhinet/msg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SOAK_SID   0x50a4u
#define LENGTH_MAX 300000
#define SENDS      12
#define RECEIVES   4
#define LOCKS      4
#define BARRIER_NS RH_MILLISECONDS(100)
#define TAG_END    1

struct board { /* of each rank, written by all */
    uint64_t holder[LOCKS];
    uint64_t entered; /* barriers this rank has come to */
};

struct soak {
    struct rh_job *job;
    struct rh_msg *msg;
    struct rh_set *set; /* NULL after a death: it is of no more use */
    struct board *board;
    int rank, size;
    struct prng prng;
    int64_t start_ns, end_ns;
    int64_t barrier_ns;        /* the next barrier: all ranks come to the same number of them */
    uint64_t *sent, *received; /* by rank */
    bool *is_dead, *has_ended, *is_told;
    struct rh_request *send[SENDS], *receive[RECEIVES];
    char *send_buffer[SENDS], *receive_buffer[RECEIVES];
    size_t oldest; /* receive */
    uint64_t barriers, locks, bytes;
};

struct header {
    uint64_t number, length;
};

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static uint64_t seed_of(int source, int target, uint64_t number)
{
    return number << 16 ^ (uint64_t)source << 8 ^ (uint64_t)target;
}

/* Any call may say that somebody died; which one, and we go on. */
static bool died(struct soak *soak, int result)
{
    if (result != RH_EDEAD)
        return false;
    CHECK(rh_error_rank() >= 0 && rh_error_rank() < soak->size);
    CHECK(rh_peer_state(soak->job, rh_error_rank()) >= RH_PEER_LEFT);
    soak->is_dead[rh_error_rank()] = true;
    rh_deaths_acknowledge(soak->job);
    return true;
}

/* A call on a rank that may be stopped: again and again, until it is decided. */
#define INSIST(call)                                                                               \
    ({                                                                                             \
        int insisted;                                                                              \
        do                                                                                         \
            insisted = (call);                                                                     \
        while (insisted == RH_ETIMEOUT);                                                           \
        insisted;                                                                                  \
    })

/* A swap that timed out may still happen: not after this. *before is UINT64_MAX if it is not
 * known. */
static int swap_surely(struct soak *soak, struct rh_remote word, uint64_t value, uint64_t *before)
{
    int result = rh_swap(soak->job, word, value, before);
    if (result != RH_ETIMEOUT)
        return result;
    *before = UINT64_MAX;
    result = INSIST(rh_flush(soak->job, word.rank));
    uint64_t now = 0;
    if (result == 0)
        result = INSIST(rh_pull(soak->job, word, &now, sizeof(now)));
    if (result == 0 && now != value) /* the connection broke, or so: it is ours, so write it */
        result = INSIST(rh_push(soak->job, word, &value, sizeof(value)));
    return result;
}

/* ---- Messages ------------------------------------------------------------------------------- */

static size_t draw_length(struct prng *prng)
{
    static const uint64_t most[] = {33, 33, 33, 2000, 8177, 8177, 40000, LENGTH_MAX - 16};
    return sizeof(struct header) + (size_t)prng_below(prng, most[prng_below(prng, 8)]);
}

static void start_send(struct soak *soak, int slot, int rank, int tag)
{
    struct header header = {.number = soak->sent[rank], .length = draw_length(&soak->prng)};
    if (tag == TAG_END)
        header.length = sizeof(header);
    char *data = soak->send_buffer[slot];
    memcpy(data, &header, sizeof(header));
    pattern_fill(data + sizeof(header), header.length - sizeof(header),
                 seed_of(soak->rank, rank, header.number));
    CHECK_OK(rh_isend(soak->msg, rank, tag, data, header.length, &soak->send[slot]));
    soak->sent[rank]++;
    soak->bytes += header.length;
}

static int free_slot(struct soak *soak)
{
    int found = -1;
    for (int i = 0; i < SENDS; i++) {
        int result = soak->send[i] ? rh_test_request(soak->send[i], NULL) : 0;
        if (result == RH_EAGAIN)
            continue;
        if (!died(soak, result))
            CHECK_OK(result);
        soak->send[i] = NULL;
        found = i;
    }
    return found;
}

static void send_some(struct soak *soak)
{
    int slot = free_slot(soak), rank = (int)prng_below(&soak->prng, (uint64_t)soak->size);
    if (slot < 0)
        return;
    if (now_ns() < soak->end_ns) {
        if (!soak->is_dead[rank])
            start_send(soak, slot, rank, 0);
        return;
    }
    for (rank = 0; rank < soak->size; rank++) { /* the last one to each says that it is */
        if (!soak->is_told[rank] && !soak->is_dead[rank]) {
            soak->is_told[rank] = true;
            start_send(soak, slot, rank, TAG_END);
            return;
        }
    }
}

static void take(struct soak *soak, const struct rh_status *status, const char *data)
{
    struct header header;
    int source = status->source;
    CHECK(source >= 0 && source < soak->size);
    CHECK(status->length >= sizeof(header));
    memcpy(&header, data, sizeof(header));
    CHECK_U64(header.length, status->length);
    /* Of a dead rank, large messages that were under way may be missing before small ones. */
    bool is_next = header.number == soak->received[source] ||
                   (header.number > soak->received[source] &&
                    rh_peer_state(soak->job, source) == RH_PEER_DIED);
    if (!is_next || soak->has_ended[source])
        FAIL("message %llu of rank %d came in place of %llu", (unsigned long long)header.number,
             source, (unsigned long long)soak->received[source]);
    soak->received[source] = header.number + 1;
    size_t length = status->length - sizeof(header);
    size_t at = pattern_find_difference(data + sizeof(header), length,
                                        seed_of(source, soak->rank, header.number));
    if (at < length)
        FAIL("message %llu of rank %d: byte %zu of %zu is wrong", (unsigned long long)header.number,
             source, at, length);
    soak->has_ended[source] = status->tag == TAG_END;
}

/* In the order of posting, so that the numbers must follow each other. */
static void receive_some(struct soak *soak)
{
    for (int i = 0; i < RECEIVES; i++) {
        size_t at = soak->oldest;
        struct rh_status status;
        if (!soak->receive[at])
            CHECK_OK(rh_irecv(soak->msg, RH_ANY_RANK, RH_ANY_TAG, soak->receive_buffer[at],
                              LENGTH_MAX, &soak->receive[at]));
        int64_t timeout_ns = prng_below(&soak->prng, 4) == 0 ? RH_MILLISECONDS(1) : 0;
        int result = rh_wait_request(soak->receive[at], &status, timeout_ns);
        if (result == RH_EAGAIN || result == RH_ETIMEOUT)
            return;
        soak->receive[at] = NULL;
        if (result == 0)
            take(soak, &status, soak->receive_buffer[at]);
        else if (!died(soak, result))
            CHECK_OK(result);
        soak->oldest = (at + 1) % RECEIVES;
    }
}

/* ---- Locks and barriers --------------------------------------------------------------------- */

static void lock_once(struct soak *soak)
{
    uint32_t lock = (uint32_t)prng_below(&soak->prng, LOCKS);
    int home = (int)lock % soak->size;
    struct rh_remote word = rh_at(home, SOAK_SID, lock * sizeof(uint64_t));
    uint64_t before = 0;
    int result = rh_lock(soak->msg, lock, RH_MILLISECONDS(5));
    if (result == RH_ETIMEOUT || died(soak, result))
        return;
    CHECK(result == 0 || result == RH_OWNER_DIED);
    int swapped = swap_surely(soak, word, (uint64_t)soak->rank + 1, &before);
    if (swapped == 0 && result == 0 && before != 0 && before != UINT64_MAX)
        FAIL("lock %u: rank %llu holds it, too", lock, (unsigned long long)before - 1);
    swapped = swap_surely(soak, word, 0, &before);
    if (swapped == 0 && before != UINT64_MAX)
        CHECK_U64(before, soak->rank + 1);
    result = INSIST(rh_unlock(soak->msg, lock));
    if (!died(soak, result))
        CHECK_OK(result);
    soak->locks++;
}

static void barrier_once(struct soak *soak)
{
    __atomic_store_n(&soak->board->entered, ++soak->barriers, __ATOMIC_RELEASE);
    int result = INSIST(rh_barrier(soak->set, RH_TIMEOUT_DEFAULT));
    if (died(soak, result)) {
        soak->set = NULL;
        return;
    }
    CHECK_OK(result);
    for (int rank = 0; rank < soak->size; rank++) {
        uint64_t entered = 0;
        result = INSIST(rh_pull(soak->job, rh_at(rank, SOAK_SID, offsetof(struct board, entered)),
                                &entered, sizeof(entered)));
        if (died(soak, result) || result == RH_ESTALE) /* it was done with all, and leaves */
            continue;
        CHECK_OK(result);
        CHECK(entered >= soak->barriers);
    }
}

/* ---- The whole ------------------------------------------------------------------------------ */

static bool is_over(struct soak *soak)
{
    if (now_ns() < soak->end_ns || (soak->set && soak->barrier_ns < soak->end_ns))
        return false;
    for (int rank = 0; rank < soak->size; rank++) {
        bool is_gone = soak->is_dead[rank] || rh_peer_state(soak->job, rank) == RH_PEER_DIED;
        if (!is_gone && (!soak->is_told[rank] || !soak->has_ended[rank]))
            return false;
    }
    for (int i = 0; i < SENDS; i++) {
        if (soak->send[i])
            return false;
    }
    return true;
}

static void run(void *argument)
{
    struct soak *soak = argument;
    soak->barrier_ns = soak->start_ns + BARRIER_NS;
    while (!is_over(soak)) {
        alarm(60);
        send_some(soak);
        receive_some(soak);
        if (now_ns() < soak->end_ns && prng_below(&soak->prng, 16) == 0)
            lock_once(soak);
        if (soak->set && soak->barrier_ns < soak->end_ns && now_ns() >= soak->barrier_ns) {
            barrier_once(soak);
            soak->barrier_ns += BARRIER_NS;
        }
    }
    for (int i = 0; i < RECEIVES; i++) {
        if (soak->receive[i])
            CHECK_OK(rh_cancel(soak->receive[i]));
    }
}

static void open_all(void *argument)
{
    struct soak *soak = argument;
    size_t size = (size_t)soak->size;
    struct rh_set_spec spec = {.struct_size = sizeof(spec), .id = 1};
    soak->sent = calloc(size, sizeof(uint64_t));
    soak->received = calloc(size, sizeof(uint64_t));
    soak->is_dead = calloc(size, sizeof(bool));
    soak->has_ended = calloc(size, sizeof(bool));
    soak->is_told = calloc(size, sizeof(bool));
    for (int i = 0; i < SENDS; i++)
        soak->send_buffer[i] = malloc(LENGTH_MAX);
    for (int i = 0; i < RECEIVES; i++)
        soak->receive_buffer[i] = malloc(LENGTH_MAX);
    CHECK_OK(rh_segment_alloc(soak->job, SOAK_SID, sizeof(struct board), (void **)&soak->board));
    CHECK_OK(rh_msg_open(&soak->msg, soak->job));
    CHECK_OK(rh_set_create(soak->msg, &spec, &soak->set));
    for (int rank = 0; rank < soak->size; rank++) {
        int result = INSIST(rh_segment_wait(soak->job, rank, SOAK_SID, RH_TIMEOUT_DEFAULT));
        if (!died(soak, result))
            CHECK_OK(result);
    }
    printf("open\n"); /* soak.py --stalls waits for that */
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct soak soak = {0};
    struct check check;
    if (argc != 4 || rh_join(&soak.job, NULL) < 0) {
        fprintf(stderr, "usage: rhinet run --survive -n N %s SECONDS SEED START_NS\n", argv[0]);
        return 2;
    }
    soak.rank = rh_rank(soak.job);
    soak.size = rh_size(soak.job);
    soak.prng.state = strtoull(argv[2], NULL, 10) * 100 + (uint64_t)soak.rank;
    soak.start_ns = strtoll(argv[3], NULL, 10);
    soak.end_ns = soak.start_ns + (int64_t)(strtod(argv[1], NULL) * 1e9);
    if (check_run(&check, open_all, &soak) != CHECK_PASSED ||
        check_run(&check, run, &soak) != CHECK_PASSED) {
        printf("FAIL soak: rank %d of %d: %s\n", soak.rank, soak.size, check.text);
        fflush(stdout);
        _exit(1);
    }
    uint64_t received = 0;
    for (int rank = 0; rank < soak.size; rank++)
        received += soak.received[rank];
    printf("done rank %d: %llu messages received, %llu bytes sent, %llu locks, %llu barriers\n",
           soak.rank, (unsigned long long)received, (unsigned long long)soak.bytes,
           (unsigned long long)soak.locks, (unsigned long long)soak.barriers);
    fflush(stdout);
    return rh_msg_close(soak.msg) < 0 || rh_leave(soak.job) < 0;
}
