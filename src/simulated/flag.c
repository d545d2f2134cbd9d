/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Answers: places in the library's memory that acks and the firmware's answers are written to, and
 * waiting for them. A place whose answer never came is not used again for long, because it may
 * still come.
 */
#include "base/assert.h"
#include "base/error.h"
#include "simulated/station.h"

#define LOST_FOR (1 * SIM_S)
#define GRACE    (200 * SIM_US) /* for acks that were on the way when their sender went */

uint64_t *flag_words(const struct station *station, uint32_t flag)
{
    return process_memory(station->process, STATION_FLAGS_AT + flag * STATION_FLAG_SIZE,
                          STATION_FLAG_SIZE);
}

uint64_t flag_address(uint32_t flag)
{
    return PROCESS_VIRTUAL + STATION_FLAGS_AT + flag * STATION_FLAG_SIZE;
}

int flag_take(struct station *station, uint32_t *flag)
{
    for (uint32_t i = 0; i < STATION_FLAGS; i++) {
        uint32_t at = (station->flag_next + i) % STATION_FLAGS;
        bool is_over = station->flags[at] == FLAG_LOST &&
                       station_now(station) - station->lost_at[at] > LOST_FOR;
        if (station->flags[at] != FLAG_FREE && !is_over)
            continue;
        station->flags[at] = FLAG_USED;
        station->flag_next = at + 1;
        *flag = at;
        flag_words(station, at)[0] = 0;
        return 0;
    }
    return error_fail(RH_EAGAIN, "%d transfers are under way or lost", STATION_FLAGS);
}

void flag_give(struct station *station, uint32_t flag, bool is_lost)
{
    ASSERT(flag < STATION_FLAGS);
    ASSERT(station->flags[flag] == FLAG_USED);
    station->flags[flag] = is_lost ? FLAG_LOST : FLAG_FREE;
    station->lost_at[flag] = station_now(station);
}

struct awaited awaited_make(const struct station *station, int rank,
                            const struct station_segment *segment, int64_t timeout_ns)
{
    int64_t most_ns = station->world->spec.timeout_ns;
    int64_t limit_ns = timeout_ns > 0 && timeout_ns < most_ns ? timeout_ns : most_ns;
    return (struct awaited){.rank = rank,
                            .segment = segment,
                            .generation = segment ? segment->generation : 0,
                            .deadline = station_deadline(station, limit_ns)};
}

/* An answer may be on the way from somebody who is gone, or about a segment that is. */
static bool is_gone(struct station *station, const struct awaited *awaited)
{
    const struct station_segment *segment = awaited->segment;
    return station_is_gone(station_of(station->world, awaited->rank)) ||
           (segment && !segment_is(segment, awaited->generation));
}

int awaited_check(struct station *station, struct awaited *awaited)
{
    sim_time now = station_now(station);
    if (!awaited->is_target_gone && is_gone(station, awaited)) {
        awaited->is_target_gone = true;
        if (awaited->deadline > now + GRACE)
            awaited->deadline = now + GRACE;
    }
    if (now < awaited->deadline)
        return 0;
    int result = station_peer_check(station, awaited->rank);
    if (result < 0)
        return result;
    ASSERT(!awaited->is_target_gone || awaited->segment);
    if (awaited->is_target_gone)
        return segment_refuse_stale(awaited->rank, awaited->segment->sid);
    return error_set(RH_ETIMEOUT, awaited->rank,
                     "rank %d does not answer: the network lost a packet", awaited->rank);
}

int flag_wait(struct station *station, uint32_t flag, struct awaited *awaited)
{
    for (;;) {
        uint64_t answer = flag_words(station, flag)[0];
        if (answer != 0)
            return (int)answer;
        int result = awaited_check(station, awaited);
        if (result < 0)
            return result;
        (void)station_wait(station, awaited->deadline);
    }
}
