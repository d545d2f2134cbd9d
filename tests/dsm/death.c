/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank dies while others share memory with it: dsm_death CASE NUMBER, on two ranks or more. The
 * last one is the victim, and dies only when all others have said that they are ready: so nobody
 * is still on the way when it happens, however ranks are scheduled.
 *
 *   death   it dies by a timer, somewhere in a fight for variables; NUMBER is the seed. The others
 *           are told its rank, adopt what it had, and go on; whatever is held stays whole
 *   atomic  the same, but it is killed when it begins its NUMBERth atomic operation of the fight
 *   pull    or its NUMBERth pull, where all ranks reach each other by such operations only
 *   adopt   the owner dies; what others have a copy of is adopted, what they have not is lost
 *   half    the owner dies after another could fetch only half of what it wrote: what is adopted is
 *           the older writing, whole. Three ranks
 */
#include "dsm/bulk.h"
#include "dsm_member.h"
#include "job/job.h"

#include <signal.h>

#define READY_TAG    7
#define DEATH_MS     350
#define HELD_AT_LAST 50 /* by each survivor, after the death */

/* The last rank dies. */
static bool is_victim(const struct dsm_test *test)
{
    return test->member.rank == test->member.size - 1;
}

/* The victim returns from this when all others have come to it. */
static void be_ready(struct dsm_test *test)
{
    struct member *member = &test->member;
    if (!is_victim(test)) /* it may die of it before this returns: no matter */
        rh_send(member->msg, member->size - 1, READY_TAG, "", 1);
    for (int rank = 0; is_victim(test) && rank < member->size - 1; rank++) {
        char nothing;
        MEMBER_OK(member, rh_recv(member->msg, rank, READY_TAG, &nothing, 1, NULL));
    }
}

/* ---- Steps ---------------------------------------------------------------------------------- */

static struct nic_ops sound, deadly;
static uint64_t atomics_left = UINT64_MAX, pulls_left = UINT64_MAX;

static void count_down(uint64_t *left)
{
    if (--*left == 0)
        raise(SIGKILL);
}

static int atomic_or_die(struct nic *nic, struct rh_remote target,
                         const struct nic_atomic_operands *operands, uint64_t *old)
{
    count_down(&atomics_left);
    return sound.atomic(nic, target, operands, old);
}

static int pull_or_die(struct nic *nic, struct rh_remote source, void *target, size_t length,
                       const struct nic_extra *extra)
{
    count_down(&pulls_left);
    return sound.pull(nic, source, target, length, extra);
}

/* From here on each step on a peer's memory is an operation of the NIC; the victim counts them. */
static void count_steps(struct dsm_test *test)
{
    struct nic *nic = test->member.job->nic;
    for (int rank = 0; rank < test->member.size; rank++) {
        if (rank != test->member.rank)
            test->dsm->peers[rank].entries = NULL, test->dsm->peers[rank].heap = NULL;
    }
    be_ready(test);
    if (!is_victim(test))
        return;
    sound = deadly = *nic->ops;
    deadly.atomic = atomic_or_die;
    deadly.pull = pull_or_die;
    dsm_member_ops_set(test->member.job, &deadly);
}

/* ---- The fight ------------------------------------------------------------------------------ */

/* An acquire failed because of the dead: adopt, or let another do so. */
static void recover(struct dsm_test *test, unsigned variable, int code)
{
    struct member *member = &test->member;
    if (code != RH_EDEAD)
        MEMBER_FAIL(member, "variable %u: %d", variable, code);
    if (rh_error_rank() != member->size - 1)
        MEMBER_FAIL(member, "rank %d is blamed", rh_error_rank());
    rh_deaths_acknowledge(member->job);
    int result = rh_dsm_adopt(test->dsm, variable, true);
    if (result == RH_OWNER_DIED) /* a write may have been under way */
        test->pairs[variable]->second = test->pairs[variable]->first;
    if (result >= 0)
        MEMBER_OK(member, rh_dsm_release(test->dsm, variable));
    else if (result != RH_EINVALID && result != RH_EAGAIN) /* another has adopted it, or is at it */
        MEMBER_FAIL(member, "adopt variable %u: %d", variable, result);
}

/* Hold variables for reading or writing, until the victim is dead and each survivor has held some
 * without it. */
static void fight(struct dsm_test *test)
{
    struct member *member = &test->member;
    int held_after = 0;
    while (held_after < HELD_AT_LAST) {
        unsigned which = (unsigned)(member_next(&member->random) % VARIABLES);
        bool writes = member_next(&member->random) % 2;
        bool is_dead = rh_peer_state(member->job, member->size - 1) >= RH_PEER_LEFT;
        int result = rh_dsm_acquire(test->dsm, which, writes ? RH_DSM_WRITE : RH_DSM_READ,
                                    RH_TIMEOUT_DEFAULT);
        if (result < 0) {
            recover(test, which, result);
            continue;
        }
        held_after += is_dead;
        if (test->pairs[which]->first != test->pairs[which]->second)
            MEMBER_FAIL(member, "variable %u: halves %llu and %llu", which,
                        (unsigned long long)test->pairs[which]->first,
                        (unsigned long long)test->pairs[which]->second);
        if (writes) {
            test->pairs[which]->first++;
            test->pairs[which]->second++;
        }
        MEMBER_OK(member, rh_dsm_release(test->dsm, which));
    }
}

static void test_death(struct dsm_test *test)
{
    be_ready(test);
    if (is_victim(test))
        member_die_soon(&test->member, DEATH_MS * 1000);
    fight(test);
}

static void test_atomic(struct dsm_test *test)
{
    atomics_left = test->member.seed;
    count_steps(test);
    fight(test);
}

static void test_pull(struct dsm_test *test)
{
    pulls_left = test->member.seed;
    count_steps(test);
    fight(test);
}

/* ---- Adopting ------------------------------------------------------------------------------- */

static void await_death(struct dsm_test *test)
{
    struct member *member = &test->member;
    while (rh_peer_state(member->job, member->size - 1) < RH_PEER_LEFT)
        member_sleep_us(1000);
    rh_deaths_acknowledge(member->job);
}

/* What the victim was the first to own: nobody else has ever been asked for it. */
static unsigned copied(const struct dsm_test *test)
{
    return (unsigned)test->member.size - 1;
}

/* This rank has a copy of what the victim wrote. Rank 0 has adopted the variable and written it. */
static void expect_adopted(struct dsm_test *test)
{
    struct member *member = &test->member;
    char nothing;
    MEMBER_OK(member, rh_recv(member->msg, 0, READY_TAG, &nothing, 1, NULL));
    MEMBER_OK(member, rh_dsm_acquire(test->dsm, copied(test), RH_DSM_READ, RH_TIMEOUT_DEFAULT));
    MEMBER_CHECK(member, test->pairs[copied(test)]->first == 50);
    MEMBER_OK(member, rh_dsm_release(test->dsm, copied(test)));
}

static void adopt_all(struct dsm_test *test)
{
    struct member *member = &test->member;
    struct rh_dsm *dsm = test->dsm;
    unsigned which = copied(test);
    MEMBER_CODE(member, rh_dsm_acquire(dsm, which, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT), RH_EDEAD);
    MEMBER_CHECK(member, rh_error_rank() == member->size - 1);
    MEMBER_OK(member, rh_dsm_adopt(dsm, which, false));
    MEMBER_CHECK(member, test->pairs[which]->first == 41);
    test->pairs[which]->first = 50;
    MEMBER_OK(member, rh_dsm_release(dsm, which));
    for (int rank = 1; rank < member->size - 1; rank++)
        MEMBER_OK(member, rh_send(member->msg, rank, READY_TAG, "", 1));
    MEMBER_CODE(member, rh_dsm_acquire(dsm, 0, RH_DSM_READ, RH_TIMEOUT_DEFAULT), RH_EDEAD);
    MEMBER_CODE(member, rh_dsm_adopt(dsm, 0, false), RH_ENOSEG);
    MEMBER_CODE(member, rh_dsm_adopt(dsm, 0, true), RH_OWNER_DIED);
    MEMBER_OK(member, rh_dsm_release(dsm, 0));
    MEMBER_OK(member, rh_dsm_acquire(dsm, 0, RH_DSM_READ, RH_TIMEOUT_DEFAULT));
    MEMBER_OK(member, rh_dsm_release(dsm, 0));
}

static void test_adopt(struct dsm_test *test)
{
    struct member *member = &test->member;
    struct rh_dsm *dsm = test->dsm;
    unsigned written[] = {copied(test), 0};
    for (unsigned i = 0; is_victim(test) && i < 2; i++) {
        MEMBER_OK(member, rh_dsm_acquire(dsm, written[i], RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
        test->pairs[written[i]]->first = test->pairs[written[i]]->second = 41 + i;
        MEMBER_OK(member, rh_dsm_release(dsm, written[i]));
    }
    MEMBER_OK(member, rh_dsm_barrier(dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
    MEMBER_OK(member, rh_dsm_acquire(dsm, copied(test), RH_DSM_READ, RH_TIMEOUT_DEFAULT));
    MEMBER_OK(member, rh_dsm_release(dsm, copied(test)));
    MEMBER_OK(member, rh_dsm_barrier(dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
    be_ready(test);
    if (is_victim(test))
        raise(SIGALRM);
    await_death(test);
    if (member->rank == 0)
        adopt_all(test);
    else
        expect_adopted(test);
}

/* ---- Half a fetch --------------------------------------------------------------------------- */

/* The stamps come, and of the data that is newer the first piece. */
static int pull_half(const struct dsm_move *move)
{
    struct dsm_move part = *move;
    part.count = 1;
    int result = dsm_bulk_rdma.pull(&part);
    return result < 0 || move->count == 1
               ? result
               : error_set(RH_ETIMEOUT, move->rank, "the test has lost the rest");
}

static void victim_writes(struct dsm_test *test, uint64_t value)
{
    struct member *member = &test->member;
    if (is_victim(test)) {
        MEMBER_OK(member, rh_dsm_acquire(test->dsm, 0, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
        MEMBER_OK(member, value == 1 ? rh_dsm_mode(test->dsm, 0, RH_DSM_PULL | RH_DSM_DIFF) : 0);
        test->pairs[0]->first = test->pairs[0]->second = value;
        MEMBER_OK(member, rh_dsm_release(test->dsm, 0));
    }
    MEMBER_OK(member, rh_dsm_barrier(test->dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
}

static void test_half(struct dsm_test *test)
{
    struct member *member = &test->member;
    struct rh_dsm *dsm = test->dsm;
    struct dsm_bulk_ops half = dsm_bulk_rdma;
    half.pull = pull_half;
    victim_writes(test, 1);
    MEMBER_OK(member, rh_dsm_acquire(dsm, 0, RH_DSM_READ, RH_TIMEOUT_DEFAULT));
    MEMBER_CHECK(member, test->pairs[0]->first == 1 && test->pairs[0]->second == 1);
    MEMBER_OK(member, rh_dsm_release(dsm, 0));
    MEMBER_OK(member, rh_dsm_barrier(dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
    victim_writes(test, 2);
    if (member->rank == 1) {
        dsm->bulk = &half;
        MEMBER_CODE(member, rh_dsm_acquire(dsm, 0, RH_DSM_READ, RH_TIMEOUT_DEFAULT), RH_ETIMEOUT);
        dsm->bulk = &dsm_bulk_rdma;
    }
    be_ready(test);
    if (is_victim(test))
        raise(SIGALRM);
    await_death(test);
    if (member->rank != 1)
        return;
    MEMBER_CODE(member, rh_dsm_adopt(dsm, 0, true), RH_OWNER_DIED);
    MEMBER_CHECK(member, test->pairs[0]->first == 1 && test->pairs[0]->second == 1);
    MEMBER_OK(member, rh_dsm_release(dsm, 0));
}

int main(int count, char **arguments)
{
    static const struct dsm_case cases[] = {{"death", test_death},
                                            {"atomic", test_atomic},
                                            {"pull", test_pull},
                                            {"adopt", test_adopt},
                                            {"half", test_half}};
    return dsm_main(count, arguments, cases, sizeof(cases) / sizeof(cases[0]));
}
