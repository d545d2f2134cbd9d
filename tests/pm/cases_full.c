/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A receiver that does not receive: its senders stop, nothing is lost, memory is bounded.
 */
#include "suite.h"

#include "pm/context.h"

#define ROOM_MAX 20000 /* messages; far above what any implementation holds */

static unsigned fill(struct suite *suite, size_t length)
{
    unsigned count = 0;
    void *buffer;
    int result = 0;
    while (count < ROOM_MAX) {
        CHECK_OK(pmGetSendBuffer(suite->pm, 0, length, &buffer));
        pattern_fill(buffer, length, count);
        result = pmSend(suite->pm);
        if (result < 0)
            break;
        count++;
    }
    CHECK_CODE(result, RH_EAGAIN);
    CHECK(count < ROOM_MAX);
    return count;
}

/* Message `count` is in the buffer, got and not sent. */
static void be_stopped(struct suite *suite, size_t length)
{
    void *buffer;
    unsigned count = fill(suite, length);
    CHECK_CODE(pmSend(suite->pm), RH_EAGAIN);
    CHECK_CODE(pmSendWait(suite->pm, RH_MILLISECONDS(3)), RH_ETIMEOUT);
    CHECK(*pmErrorText() != '\0');
    CHECK_CODE(pmGetSendBuffer(suite->pm, 0, length, &buffer), RH_EINVALID);
    suite_meet(suite);
    CHECK_OK(pmSendWait(suite->pm, RH_TIMEOUT_DEFAULT));
    suite_send(suite, 0, 8, count + 1);
}

static void receive_all(struct suite *suite, size_t length)
{
    unsigned expected[MEETING_RANKS_MAX] = {0};
    struct pm_message message;
    suite_meet(suite);
    for (int left = suite->size - 1; left > 0;) {
        CHECK_OK(pmReceiveWait(suite->pm, &message, SUITE_WAIT_NS));
        unsigned number = expected[message.source]++;
        bool is_last = message.length != length;
        suite_check_message(&message, message.source, is_last ? 8 : length, number);
        CHECK_OK(pmReleaseReceiveBuffer(suite->pm));
        left -= is_last ? 1 : 0;
    }
    CHECK_CODE(pmReceive(suite->pm, &message), RH_EAGAIN);
}

static void full_of(struct suite *suite, size_t length)
{
    if (suite->rank == 0)
        receive_all(suite, length);
    else
        be_stopped(suite, length);
    suite_meet(suite);
}

static void full(struct suite *suite)
{
    full_of(suite, 16);
    full_of(suite, suite->info.message_max);
    full_of(suite, 100);
}

static void bounds(struct suite *suite)
{
    const struct pm_info *info = &suite->info;
    if (suite_is(suite, "pm-ring")) {
        CHECK(info->memory_per_rank >= 128 * 1024);
        CHECK(info->memory_per_rank <= 136 * 1024);
    } else {
        CHECK(info->memory_per_rank <= 256);
    }
    uint64_t fixed = info->memory - (uint64_t)suite->size * info->memory_per_rank;
    CHECK(fixed <= 4u << 20);
}

/* Nonsense in a ring is noticed and does no harm. */
static void nonsense(struct suite *suite)
{
    uint64_t rings_at = 4096; /* after the words of all rings, at most 64 here */
    uint64_t stride = 128 * 1024 + 4096;
    uint32_t length = 9000;
    uint32_t header = length | (~length & 0xffffu) << 16;
    struct pm_message message;
    if (suite->rank == 1) {
        struct rh_remote place = rh_at(0, PM_SID_RINGS, rings_at + stride + 4);
        CHECK_OK(rh_push(suite->job, place, &header, sizeof(header)));
    }
    suite_meet(suite);
    if (suite->rank == 0)
        CHECK_CODE(pmReceive(suite->pm, &message), RH_ECORRUPT);
}

const struct suite_case full_cases[] = {
    {"full", full, 0},
    {"bounds", bounds, 0},
    {"nonsense", nonsense, CASE_RING},
    {NULL, NULL, 0},
};
