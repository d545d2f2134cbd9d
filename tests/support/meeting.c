/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See meeting.h. A word holds (series << 32 | round within it), so that it only ever grows and
 * "at least" is the right condition; the highest round of a series means "called off".
 */
#include "meeting.h"

#include "moment.h"

#include <string.h>

#define ROUND_CALLED_OFF 0xffffffffu
#define OPEN_NS          RH_MILLISECONDS(30000) /* also where the job's own time-out is short */

int meeting_open(struct meeting *meeting, struct rh_job *job)
{
    void *base;
    memset(meeting, 0, sizeof(*meeting));
    if (rh_size(job) > MEETING_RANKS_MAX)
        return RH_EINVALID;
    meeting->job = job;
    int result = rh_segment_alloc(job, MEETING_SID, MEETING_RANKS_MAX * sizeof(uint64_t), &base);
    if (result < 0)
        return result;
    meeting->heard = base;
    for (int rank = 0; rank < rh_size(job) && result == 0; rank++)
        result = rh_segment_wait(job, rank, MEETING_SID, OPEN_NS);
    return result;
}

void meeting_close(struct meeting *meeting)
{
    rh_segment_detach(meeting->job, MEETING_SID);
}

/* Again while it is in doubt whether it has come. Who leaves meanwhile has heard of us: nobody goes
 * from the last meeting before. */
static int tell(const struct meeting *meeting, int rank, uint64_t value, int64_t end_ns)
{
    uint64_t own = (uint64_t)rh_rank(meeting->job) * sizeof(uint64_t);
    struct rh_notice notice = {.word = rh_at(rank, MEETING_SID, own), .value = value};
    bool is_in_doubt = false;
    int result;
    do {
        result = rh_push_notify(meeting->job, rh_at(rank, MEETING_SID, 0), NULL, 0, &notice);
        if (result == RH_EDEAD && is_in_doubt)
            return 0;
        is_in_doubt = result == RH_ETIMEOUT;
    } while (is_in_doubt && moment_now_ns() < end_ns);
    return result;
}

static int tell_all(const struct meeting *meeting, uint64_t value, int64_t timeout_ns)
{
    int64_t end_ns = moment_now_ns() + timeout_ns;
    int first_error = 0;
    for (int rank = 0; rank < rh_size(meeting->job); rank++) {
        if (rank == rh_rank(meeting->job) || meeting->is_gone[rank])
            continue;
        int result = tell(meeting, rank, value, end_ns);
        if (result < 0 && first_error == 0)
            first_error = result;
    }
    return first_error;
}

static bool is_called_off(const struct meeting *meeting, int rank)
{
    /* acquire: as the wait that came before it */
    uint64_t value = __atomic_load_n(&meeting->heard[rank], __ATOMIC_ACQUIRE);
    return value == (meeting->round | ROUND_CALLED_OFF);
}

int meeting_hold(struct meeting *meeting, int64_t timeout_ns, int *missing)
{
    int self = rh_rank(meeting->job);
    meeting->round++;
    int result = tell_all(meeting, meeting->round, timeout_ns);
    if (result < 0) {
        *missing = rh_error_rank();
        return result;
    }
    for (int rank = 0; rank < rh_size(meeting->job); rank++) {
        if (rank == self || meeting->is_gone[rank])
            continue;
        struct rh_wait wait = {.word = &meeting->heard[rank],
                               .when = RH_AT_LEAST,
                               .value = meeting->round,
                               .from = rank,
                               .timeout_ns = timeout_ns};
        *missing = rank;
        result = rh_wait_word(meeting->job, &wait);
        if (result < 0)
            return result;
        if (is_called_off(meeting, rank))
            return RH_ECANCELED;
    }
    return 0;
}

void meeting_begin_series(struct meeting *meeting, uint32_t series)
{
    meeting->round = (uint64_t)series << 32;
}

void meeting_call_off(struct meeting *meeting)
{
    tell_all(meeting, meeting->round | ROUND_CALLED_OFF, 0);
}
