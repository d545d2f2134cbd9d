/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages arrive: once, whole, in the order of their sender, whatever their size.
 */
#include "suite.h"

#include <string.h>
#include <unistd.h>

#define LAPS 40 /* of one size: more than make a pair busy, and than a ring holds */

/* Around everything that happens at some size: units, lines, slots, limits. */
static const size_t sizes[] = {0,    1,    3,    4,    5,    7,    8,    9,    12,   47,   48,
                               49,   51,   52,   53,   55,   56,   57,   59,   60,   61,   63,
                               64,   65,   116,  120,  124,  128,  511,  512,  1023, 1024, 2031,
                               2032, 2035, 2036, 2037, 2039, 2040, 2041, 2047, 2048, 2049, 4087,
                               4088, 4089, 4096, 6135, 6136, 6137, 8175, 8183, 8184};

/* Round the ring of ranks, so that nobody waits for himself. */
static void all_sizes(struct suite *suite)
{
    int from = (suite->rank + suite->size - 1) % suite->size;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (sizes[i] > suite->info.message_max)
            continue;
        for (unsigned lap = 0; lap < LAPS; lap++) {
            suite_send(suite, suite_next(suite), sizes[i], sizes[i] * 1000 + lap);
            suite_take(suite, from, sizes[i], sizes[i] * 1000 + lap);
        }
    }
}

/* ---- Everybody to everybody ----------------------------------------------------------------- */

#define PER_PAIR 250
#define IDLE_MAX 10000 /* milliseconds */

struct traffic {
    unsigned sent[MEETING_RANKS_MAX];
    unsigned received[MEETING_RANKS_MAX];
    unsigned to_send, to_receive;
    bool has_buffer;
    int rank;
};

/* Size and contents of message `number` from one rank to another are known to both. */
static size_t length_of(const struct suite *suite, int source, int target, unsigned number)
{
    struct prng prng = {.state = ((uint64_t)source << 40) + ((uint64_t)target << 20) + number};
    size_t most = prng_below(&prng, 4) == 0 ? suite->info.message_max : 80;
    return prng_below(&prng, most + 1);
}

static uint64_t seed_of(int source, int target, unsigned number)
{
    return (uint64_t)source << 40 ^ (uint64_t)target << 20 ^ number;
}

static void prepare(struct suite *suite, struct traffic *traffic)
{
    void *buffer;
    int rank = (int)prng_below(&suite->prng, (uint64_t)suite->size);
    while (traffic->sent[rank] == PER_PAIR)
        rank = (rank + 1) % suite->size;
    unsigned number = traffic->sent[rank];
    size_t length = length_of(suite, suite->rank, rank, number);
    CHECK_OK(pmGetSendBuffer(suite->pm, rank, length, &buffer));
    pattern_fill(buffer, length, seed_of(suite->rank, rank, number));
    traffic->rank = rank;
    traffic->has_buffer = true;
}

static bool send_some(struct suite *suite, struct traffic *traffic)
{
    if (traffic->to_send == 0)
        return false;
    if (!traffic->has_buffer)
        prepare(suite, traffic);
    int result = pmSend(suite->pm);
    if (result == RH_EAGAIN)
        return false;
    CHECK_OK(result);
    traffic->has_buffer = false;
    traffic->sent[traffic->rank]++;
    traffic->to_send--;
    return true;
}

static bool receive_some(struct suite *suite, struct traffic *traffic, int64_t timeout_ns)
{
    struct pm_message message;
    int result = pmReceiveWait(suite->pm, &message, timeout_ns);
    if (result == RH_EAGAIN || result == RH_ETIMEOUT)
        return false;
    CHECK_OK(result);
    int source = message.source;
    CHECK(source >= 0);
    CHECK(source < suite->size);
    unsigned number = traffic->received[source]++;
    CHECK(number < PER_PAIR);
    suite_check_message(&message, source, length_of(suite, source, suite->rank, number),
                        seed_of(source, suite->rank, number));
    CHECK_OK(pmReleaseReceiveBuffer(suite->pm));
    traffic->to_receive--;
    return true;
}

static void everybody(struct suite *suite)
{
    struct traffic traffic = {.to_send = PER_PAIR * (unsigned)suite->size};
    struct pm_message message;
    traffic.to_receive = traffic.to_send;
    unsigned idle = 0;
    while (traffic.to_send > 0 || traffic.to_receive > 0) {
        unsigned pieces = (unsigned)prng_below(&suite->prng, 20);
        bool moved = false;
        while (pieces-- > 0 && send_some(suite, &traffic))
            moved = true;
        pieces = (unsigned)prng_below(&suite->prng, 20);
        while (pieces-- > 0 && traffic.to_receive > 0 && receive_some(suite, &traffic, 0))
            moved = true;
        if (!moved && traffic.to_receive > 0)
            moved = receive_some(suite, &traffic, RH_MILLISECONDS(1));
        else if (!moved)
            usleep(1000); /* the others have to make room */
        idle = moved ? 0 : idle + 1;
        if (idle > IDLE_MAX)
            FAIL("%u to send and %u to receive, and nothing moves", traffic.to_send,
                 traffic.to_receive);
    }
    suite_meet(suite);
    CHECK_CODE(pmReceive(suite->pm, &message), RH_EAGAIN); /* nothing arrives twice */
}

/* ---- One way -------------------------------------------------------------------------------- */

#define STREAM 5000

/* All to rank 0 as fast as they can: nothing is lost when it is full again and again. */
static void stream(struct suite *suite)
{
    unsigned expected[MEETING_RANKS_MAX] = {0};
    unsigned count = STREAM / (unsigned)(suite->size - 1);
    if (suite->rank > 0) {
        for (unsigned i = 0; i < count; i++)
            suite_send(suite, 0, length_of(suite, suite->rank, 0, i), seed_of(suite->rank, 0, i));
        return;
    }
    for (unsigned left = count * (unsigned)(suite->size - 1); left > 0; left--) {
        struct pm_message message;
        CHECK_OK(pmReceiveWait(suite->pm, &message, SUITE_WAIT_NS));
        unsigned number = expected[message.source]++;
        suite_check_message(&message, message.source, length_of(suite, message.source, 0, number),
                            seed_of(message.source, 0, number));
        CHECK_OK(pmReleaseReceiveBuffer(suite->pm));
    }
}

/* A receiver that has gone to sleep is woken; one for which nothing comes wakes by itself. */
static void waits(struct suite *suite)
{
    struct pm_message message;
    CHECK_CODE(pmReceive(suite->pm, &message), RH_EAGAIN);
    CHECK_CODE(pmReceiveWait(suite->pm, &message, RH_MILLISECONDS(5)), RH_ETIMEOUT);
    suite_meet(suite);
    for (unsigned i = 0; i < 40; i++) {
        int turn = (int)i % suite->size;
        if (suite->rank == turn) {
            usleep(1000);
            suite_send(suite, suite_next(suite), i, i);
        }
        if (suite->rank == (turn + 1) % suite->size)
            suite_take(suite, turn, i, i);
    }
}

const struct suite_case message_cases[] = {
    {"all-sizes", all_sizes, 0},
    {"all-sizes-split", all_sizes, CASE_SPLIT},
    {"everybody", everybody, 0},
    {"everybody-split", everybody, CASE_SPLIT},
    {"stream", stream, 0},
    {"waits", waits, 0},
    {NULL, NULL, 0},
};
