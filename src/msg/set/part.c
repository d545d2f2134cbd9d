/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Leaving a set whose members have called different things. They are not in step, so that no
 * exchange brings them together any more; instead each tells each other how far it is.
 */
#include "base/clock.h"
#include "msg/set/set.h"

#define NAP_NS (100 * NS_PER_US)

static bool is_gone(const struct rh_set *set, int member)
{
    return rh_peer_state(set->job, set->ranks[member]) >= RH_PEER_LEFT;
}

/* Until the member has made the set: we may be the only one who can tell it. */
static void find(struct rh_set *set, int member, int64_t deadline_ns)
{
    const uint64_t *broken_by = &set->front->broken_by;
    struct rh_wait nap = {.word = broken_by, /* which does not change any more */
                          .when = RH_NOT_EQUAL,
                          .value = __atomic_load_n(broken_by, __ATOMIC_RELAXED),
                          .from = set->ranks[member],
                          .timeout_ns = NAP_NS};
    if (set->sids[member] != 0)
        return;
    int result = set_look_up(set, member);
    while (result == RH_EAGAIN && !is_gone(set, member) && rh_clock_ns(set->job) < deadline_ns) {
        rh_wait_word(set->job, &nap);
        result = set_look_up(set, member);
    }
    if (result == 0)
        set_mismatch_tell(set, member);
}

/* A member that cannot be told is gone, or will not wait for us longer than we for it. */
static void tell(struct rh_set *set, int member, uint64_t step)
{
    struct rh_remote seat;
    uint64_t offset = set->seats_offset + (uint64_t)set->me * sizeof(struct set_seat) +
                      offsetof(struct set_seat, parted);
    if (set_remote(set, member, offset, 0, &seat) == 0)
        rh_push_inline(set->job, seat, &step, sizeof(step));
}

static void await(struct rh_set *set, int member, uint64_t step, int64_t deadline_ns)
{
    const struct set_seat *seats = (const void *)(set->base + set->seats_offset);
    const uint64_t *parted = &seats[member].parted;
    /* acquire: pairs with the push in tell() */
    uint64_t seen = __atomic_load_n(parted, __ATOMIC_ACQUIRE);
    while (seen < step && !is_gone(set, member) && rh_clock_ns(set->job) < deadline_ns) {
        struct rh_wait nap = {.word = parted,
                              .when = RH_NOT_EQUAL,
                              .value = seen,
                              .from = set->ranks[member],
                              .timeout_ns = NAP_NS};
        rh_wait_word(set->job, &nap);
        seen = __atomic_load_n(parted, __ATOMIC_ACQUIRE);
    }
}

void set_part(struct rh_set *set, uint64_t step)
{
    int64_t deadline_ns = rma_deadline_ns(set->job, RH_TIMEOUT_DEFAULT);
    for (int i = 0; i < set->size; i++) {
        if (step == 1 && i != set->me)
            find(set, i, deadline_ns);
        if (i != set->me && set->sids[i] != 0)
            tell(set, i, step);
    }
    rh_flush(set->job, RH_ANY_RANK); /* before our memory goes, which they may find out first */
    for (int i = 0; i < set->size; i++) {
        if (i != set->me && set->sids[i] != 0)
            await(set, i, step, deadline_ns);
    }
}
