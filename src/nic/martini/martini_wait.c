/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waiting, and the calls by which everything is asked of the rank's station.
 */
#include "base/error.h"
#include "nic/handover.h"
#include "nic/martini/martini_nic.h"

#include <time.h>

#define LOOK_NS       100     /* of one look that is in vain */
#define WORD_SLICE_NS 1000000 /* plain stores of other threads ring no bell */
#define MET_SLICE_NS  1000    /* of conditions that only the program knows */
#define SLICE_MAX_NS  16000000

/* ---- Calls ----------------------------------------------------------------------------------- */

static void count_refusal(struct nic *nic, int result)
{
    static const struct {
        int code;
        unsigned counter;
    } denials[] = {{RH_ENOSEG, COUNTER_DENIED_SEGMENT},
                   {RH_ESTALE, COUNTER_DENIED_STALE},
                   {RH_EBOUNDS, COUNTER_DENIED_BOUNDS},
                   {RH_ERIGHTS, COUNTER_DENIED_RIGHTS}};
    for (size_t i = 0; i < sizeof(denials) / sizeof(denials[0]); i++) {
        if (denials[i].code == result)
            counter_add_exact(nic->job->counters, denials[i].counter);
    }
}

/* The server may know of an end before the roster does, by a moment. */
#define ROSTER_LATE_MS 2000

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

int martini_peer_gone(struct nic *nic, int rank, const char *during)
{
    for (int i = 0; i < ROSTER_LATE_MS && roster_state(nic->job->roster, rank) < RH_PEER_LEFT; i++)
        nap();
    return nic_peer_gone(nic, rank, during);
}

static void roster_await(struct martini_nic *martini, uint32_t gone_count)
{
    const struct nic_job *job = martini->nic.job;
    for (int i = 0; i < ROSTER_LATE_MS; i++) {
        uint32_t found = 0;
        for (int rank = 0; rank < job->size; rank++)
            found += roster_state(job->roster, rank) >= RH_PEER_LEFT;
        if (found >= gone_count)
            break;
        nap();
    }
    martini->gone_count = gone_count;
}

int martini_ask(struct nic *nic, struct martini_call *call, const char *during)
{
    struct martini_nic *martini = martini_of(nic);
    int result = martini->port->call(martini->port->context, call);
    if (result < 0)
        return result;
    if (call->result == RH_EDEAD)
        return martini_peer_gone(nic, call->rank, during);
    if (call->result < 0)
        count_refusal(nic, call->result);
    return call->result;
}

int martini_tell(struct nic *nic, struct martini_call *call)
{
    struct martini_nic *martini = martini_of(nic);
    int result = martini->port->call(martini->port->context, call);
    return result < 0 ? result : call->result;
}

int64_t martini_now_ns(struct nic *nic)
{
    struct martini_call call = {.operation = MARTINI_NOW};
    return martini_tell(nic, &call) < 0 ? INT64_MAX : call.now_ns;
}

void martini_poll_empty(struct nic *nic, bool has_more)
{
    struct martini_call call = {
        .operation = MARTINI_LOOK, .timeout_ns = LOOK_NS, .value = has_more};
    martini_tell(nic, &call);
}

/* ---- Waiting --------------------------------------------------------------------------------- */

static bool is_met(struct nic *nic, const struct nic_wait *wait)
{
    if (wait->word)
        return nic_word_is_met(wait->word, wait->when, wait->value);
    if (wait->is_met)
        return wait->is_met(wait->context);
    if (wait->queue)
        return martini_queue_has_message(nic, wait->queue);
    return __atomic_load_n(&wait->done->state, __ATOMIC_ACQUIRE) != 0;
}

/* Until memory changes, but not beyond the deadline. RH_ETIMEOUT: that is reached. */
static int sleep_once(struct nic *nic, const struct nic_wait *wait, int64_t deadline_ns,
                      int64_t slice_ns, int64_t *now_ns)
{
    struct martini_call call = {.operation = MARTINI_PAUSE,
                                .timeout_ns = deadline_slice_ns(deadline_ns, *now_ns, slice_ns)};
    if (wait->until && wait->until->watched) { /* looking at many words takes its time */
        call.address = (uintptr_t)wait->until->watched;
        call.length = wait->until->watched_stride;
        call.value = wait->until->watched_count;
    }
    int result = martini_tell(nic, &call);
    if (result < 0 && result != RH_ETIMEOUT)
        return result;
    *now_ns = call.now_ns;
    if (call.gone != martini_of(nic)->gone_count)
        roster_await(martini_of(nic), call.gone);
    return *now_ns >= deadline_ns ? RH_ETIMEOUT : 0;
}

static int wait_long(struct nic *nic, const struct nic_wait *wait)
{
    int64_t now_ns = nic_now_ns(nic);
    int64_t deadline_ns = deadline_after_ns(now_ns, wait->timeout_ns);
    int64_t slice_ns = wait->is_met ? MET_SLICE_NS : WORD_SLICE_NS;
    for (;;) {
        if (is_met(nic, wait))
            return 0;
        int result = nic_wait_check(nic, wait->from);
        if (result < 0) /* what a dead peer did before counts */
            return is_met(nic, wait) ? 0 : result;
        result = sleep_once(nic, wait, deadline_ns, slice_ns, &now_ns);
        if (result == RH_ETIMEOUT)
            return is_met(nic, wait) ? 0 : nic_wait_late(wait, "");
        if (result < 0)
            return result;
        slice_ns = slice_ns < SLICE_MAX_NS ? 2 * slice_ns : slice_ns;
    }
}

int martini_wait(struct nic *nic, const struct nic_wait *wait)
{
    nic_assert_wait(nic, wait);
    if (is_met(nic, wait))
        return 0;
    if (wait->timeout_ns > 0)
        return wait_long(nic, wait);
    martini_poll_empty(nic, false);
    if (is_met(nic, wait))
        return 0;
    int result = nic_wait_check(nic, wait->from);
    return result < 0 ? result : RH_EAGAIN;
}
