/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Steps of shared memory whose answer is lost: doubt CASE SEED. Three ranks.
 *
 * Rank 1 reaches the others by a network of the test's, which can say that an operation has timed
 * out, though it has happened, or will later. Whatever the others do meanwhile, what is read
 * afterwards is what was written last, and everything can be acquired.
 *
 *   give        it makes a waiting rank the owner
 *   grant       it lets a waiting rank read, later
 *   update      it marks a copy that it has written as valid, later
 *   push        it writes a copy, later
 *   invalidate  it makes a copy invalid, which is then fetched again
 *   take        it takes what another owns, and never asks for it again
 *   return      it gives back what it has taken and could not fetch
 *   adopt       it puts itself down as the one who adopts
 *   circle      an old hint has come late: the words of two ranks point at each other
 *
 * Longer than most files: nine cases on the same network of the test's.
 */
#include "dsm/bulk.h"
#include "dsm/reach.h"
#include "dsm_member.h"
#include "job/job.h"

#define ODD      1 /* the rank of which all this is tested */
#define SHORT_NS RH_MILLISECONDS(300)
#define LONG_NS  RH_MILLISECONDS(5000)
#define TAG      7

/* ---- The network ---------------------------------------------------------------------------- */

static struct nic_ops sound, odd;

/* What is swallowed, of the next operations, and what has been. */
static struct {
    bool swallows_swap, swallows_push;
    bool at_once;   /* it happens nevertheless */
    bool is_silent; /* until told otherwise nobody hears how it ended */
} fault;

static struct {
    bool is_swap, is_push, has_happened;
    struct rh_remote target;
    struct nic_atomic_operands operands;
    uint64_t old;
    char data[sizeof(struct pair)];
    size_t length;
} held;

static void carry_out(struct nic *nic)
{
    if (held.is_push)
        sound.push(nic, held.target, held.data, held.length, NULL);
    if (held.is_swap && !held.has_happened)
        sound.atomic(nic, held.target, &held.operands, &held.old);
    held.has_happened = true;
    held.is_push = false;
}

static int time_out(int rank)
{
    return error_set(RH_ETIMEOUT, rank, "the test's network has swallowed it");
}

static int odd_atomic(struct nic *nic, struct rh_remote target,
                      const struct nic_atomic_operands *operands, uint64_t *old)
{
    if (operands->ticket && operands->ticket->is_open) {
        if (fault.is_silent)
            return time_out(target.rank);
        carry_out(nic);
        *old = held.old;
        operands->ticket->is_open = held.is_swap = false;
        return 0;
    }
    if (!fault.swallows_swap || operands->operation != NIC_COMPARE_SWAP ||
        target.sid != DSM_SID_CONTROL)
        return sound.atomic(nic, target, operands, old);
    uint64_t word;
    sound.pull(nic, target, &word, sizeof(word), NULL);
    if (word != operands->expected) /* in vain anyway */
        return sound.atomic(nic, target, operands, old);
    fault.swallows_swap = held.has_happened = false;
    fault.is_silent = held.is_swap = operands->ticket->is_open = true;
    held.target = target;
    held.operands = *operands;
    held.operands.ticket = NULL;
    if (fault.at_once)
        carry_out(nic);
    return time_out(target.rank);
}

/* What is pushed later does not overtake what is held. */
static int odd_push(struct nic *nic, struct rh_remote target, const void *source, size_t length,
                    const struct nic_extra *extra)
{
    if (fault.swallows_push && target.sid == DSM_SID_HEAP && length <= sizeof(held.data)) {
        fault.swallows_push = false;
        fault.is_silent = held.is_push = true;
        held.target = target;
        held.length = length;
        memcpy(held.data, source, length);
    }
    if (held.is_push && held.target.rank == target.rank &&
        (target.sid == DSM_SID_HEAP || target.sid == DSM_SID_CONTROL)) {
        if (fault.is_silent)
            return time_out(target.rank);
        carry_out(nic);
    }
    return sound.push(nic, target, source, length, extra);
}

static void make_odd(struct dsm_test *test)
{
    struct nic *nic = test->member.job->nic;
    sound = odd = *nic->ops;
    odd.atomic = odd_atomic;
    odd.push = odd_push;
    for (int rank = 0; rank < test->member.size; rank++) {
        if (rank == ODD)
            continue;
        test->dsm->peers[rank].entries = NULL;
        test->dsm->peers[rank].heap = NULL;
    }
    dsm_member_ops_set(test->member.job, &odd);
}

/* ---- Steps ---------------------------------------------------------------------------------- */

/* All come; nothing is looked after meanwhile. */
static void meet(struct dsm_test *test)
{
    if (test->member.rank == ODD && !sound.name)
        make_odd(test);
    MEMBER_OK(&test->member, rh_barrier(test->dsm->set, RH_MILLISECONDS(30000)));
}

static int write_pair(struct dsm_test *test, rh_dsm_variable variable, uint64_t value,
                      int64_t timeout_ns)
{
    int result = rh_dsm_acquire(test->dsm, variable, RH_DSM_WRITE, timeout_ns);
    if (result < 0)
        return result;
    test->pairs[variable]->first = test->pairs[variable]->second = value;
    return rh_dsm_release(test->dsm, variable);
}

static int read_pair(struct dsm_test *test, rh_dsm_variable variable, uint64_t *value,
                     int64_t timeout_ns)
{
    int result = rh_dsm_acquire(test->dsm, variable, RH_DSM_READ, timeout_ns);
    if (result < 0)
        return result;
    *value = test->pairs[variable]->first;
    if (*value != test->pairs[variable]->second)
        MEMBER_FAIL(&test->member, "variable %u is torn", variable);
    return rh_dsm_release(test->dsm, variable);
}

static void reads(struct dsm_test *test, rh_dsm_variable variable, uint64_t expected)
{
    uint64_t value = 0;
    MEMBER_OK(&test->member, read_pair(test, variable, &value, LONG_NS));
    if (value != expected)
        MEMBER_FAIL(&test->member, "variable %u is %llu, but %llu was written last", variable,
                    (unsigned long long)value, (unsigned long long)expected);
}

/* Rank 0 tries to write `value` while the odd one does not know how its step ended; returns to all
 * what was written last. */
static uint64_t write_meanwhile(struct dsm_test *test, rh_dsm_variable variable, uint64_t before,
                                uint64_t value)
{
    uint64_t last = before;
    meet(test);
    if (test->member.rank == 0) {
        if (write_pair(test, variable, value, SHORT_NS) == 0)
            last = value;
        for (int rank = 1; rank < test->member.size; rank++)
            MEMBER_OK(&test->member, rh_send(test->member.msg, rank, TAG, &last, sizeof(last)));
    } else {
        MEMBER_OK(&test->member, rh_recv(test->member.msg, 0, TAG, &last, sizeof(last), NULL));
    }
    meet(test);
    return last;
}

/* What was swallowed happens now, if it has not, and the odd rank hears of it, in passing. */
static void let_land(struct dsm_test *test)
{
    uint64_t value;
    if (test->member.rank == ODD) {
        carry_out(test->member.job->nic);
        fault.is_silent = false;
        MEMBER_OK(&test->member, read_pair(test, 3, &value, LONG_NS)); /* another variable */
    }
    meet(test);
}

/* Afterwards everybody can have it, one after the other, and finds the last value. */
static void go_on(struct dsm_test *test, rh_dsm_variable variable, uint64_t last)
{
    for (int rank = 0; rank < test->member.size; rank++) {
        meet(test);
        if (test->member.rank != rank)
            continue;
        reads(test, variable, last + 100 * (uint64_t)rank);
        MEMBER_OK(&test->member,
                  write_pair(test, variable, last + 100 * (uint64_t)(rank + 1), LONG_NS));
    }
    meet(test);
}

/* ---- What an owner does --------------------------------------------------------------------- */

static void await_bits(struct dsm_test *test, const uint64_t *word, uint64_t bits)
{
    struct rh_wait wait = {.word = word,
                           .when = RH_AT_LEAST,
                           .value = bits,
                           .from = RH_ANY_RANK,
                           .timeout_ns = RH_TIMEOUT_DEFAULT};
    MEMBER_OK(&test->member, rh_wait_word(test->member.job, &wait));
}

static void test_give(struct dsm_test *test)
{
    struct rh_dsm *dsm = test->dsm;
    if (test->member.rank == ODD)
        MEMBER_OK(&test->member, rh_dsm_acquire(dsm, ODD, RH_DSM_WRITE, LONG_NS));
    meet(test);
    if (test->member.rank == 2) {
        MEMBER_OK(&test->member, rh_dsm_acquire(dsm, ODD, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
        test->pairs[ODD]->first = 5;
    }
    if (test->member.rank == ODD) {
        await_bits(test, &dsm->entries[ODD].waiters_write, dsm_bit(2));
        fault.swallows_swap = fault.at_once = true;
        MEMBER_OK(&test->member, rh_dsm_release(dsm, ODD));
    }
    meet(test);
    if (test->member.rank == ODD && rh_dsm_acquire(dsm, ODD, RH_DSM_WRITE, SHORT_NS) != RH_ETIMEOUT)
        MEMBER_FAIL(&test->member, "two ranks own variable %d", ODD);
    meet(test);
    if (test->member.rank == 2) {
        test->pairs[ODD]->second = 5;
        MEMBER_OK(&test->member, rh_dsm_release(dsm, ODD));
    }
    meet(test);
    let_land(test);
    go_on(test, ODD, 5);
}

/* Rank 2 waits to read, as its word says; it does not look for itself. */
static void test_grant(struct dsm_test *test)
{
    struct rh_dsm *dsm = test->dsm;
    if (test->member.rank == ODD)
        MEMBER_OK(&test->member, rh_dsm_acquire(dsm, ODD, RH_DSM_WRITE, LONG_NS));
    if (test->member.rank == 2)
        dsm->entries[ODD].word |= WORD_WAIT_READ;
    meet(test);
    if (test->member.rank == ODD) {
        test->pairs[ODD]->first = test->pairs[ODD]->second = 5;
        dsm->entries[ODD].waiters_read |= dsm_bit(2);
        dsm->entries[ODD].word |= WORD_WANTED;
        fault.swallows_swap = true;
        MEMBER_OK(&test->member, rh_dsm_release(dsm, ODD));
    }
    uint64_t last = write_meanwhile(test, ODD, 5, 6);
    let_land(test);
    if (test->member.rank == 2) { /* as who waited would: the owner's data is the newest */
        uint64_t word = dsm->entries[ODD].word;
        MEMBER_CHECK(&test->member, word & WORD_FETCHING);
        MEMBER_OK(&test->member, rh_pull(test->member.job,
                                         rh_at(word_hint(word), DSM_SID_HEAP,
                                               rh_dsm_offset(dsm, test->pairs[ODD])),
                                         test->pairs[ODD], sizeof(struct pair)));
        if (test->pairs[ODD]->first != last)
            MEMBER_FAIL(&test->member, "was let in to read %llu, but %llu was written last",
                        (unsigned long long)test->pairs[ODD]->first, (unsigned long long)last);
        dsm->entries[ODD].word = (word & ~WORD_FETCHING) | WORD_VALID;
    }
    go_on(test, ODD, last);
}

/* The odd rank writes what rank 2 has read, and writes its copy at release. */
static void write_copy(struct dsm_test *test)
{
    if (test->member.rank == ODD) {
        MEMBER_OK(&test->member, rh_dsm_acquire(test->dsm, ODD, RH_DSM_WRITE, LONG_NS));
        MEMBER_OK(&test->member, rh_dsm_mode(test->dsm, ODD, RH_DSM_PUSH));
        MEMBER_OK(&test->member, rh_dsm_release(test->dsm, ODD));
    }
    meet(test);
    if (test->member.rank == 2)
        reads(test, ODD, 0);
    meet(test);
}

static void test_update(struct dsm_test *test)
{
    write_copy(test);
    if (test->member.rank == ODD) {
        fault.swallows_swap = false;
        MEMBER_OK(&test->member, rh_dsm_acquire(test->dsm, ODD, RH_DSM_WRITE, LONG_NS));
        test->pairs[ODD]->first = test->pairs[ODD]->second = 5;
        fault.swallows_swap = true;
        MEMBER_OK(&test->member, rh_dsm_release(test->dsm, ODD));
        MEMBER_CHECK(&test->member, held.is_swap);
    }
    uint64_t last = write_meanwhile(test, ODD, 5, 6);
    let_land(test);
    if (test->member.rank == 2)
        reads(test, ODD, last);
    go_on(test, ODD, last);
}

static void test_push(struct dsm_test *test)
{
    uint64_t value;
    write_copy(test);
    if (test->member.rank == ODD) {
        MEMBER_OK(&test->member, rh_dsm_acquire(test->dsm, ODD, RH_DSM_WRITE, LONG_NS));
        test->pairs[ODD]->first = test->pairs[ODD]->second = 5;
        fault.swallows_push = true;
        MEMBER_OK(&test->member, rh_dsm_release(test->dsm, ODD));
        MEMBER_CHECK(&test->member, held.is_push);
    }
    uint64_t last = write_meanwhile(test, ODD, 5, 6);
    if (test->member.rank == 2 && read_pair(test, ODD, &value, SHORT_NS) == 0)
        MEMBER_CHECK(&test->member, value == last);
    meet(test);
    let_land(test);
    if (test->member.rank == 2)
        reads(test, ODD, last);
    go_on(test, ODD, last);
}

static void test_invalidate(struct dsm_test *test)
{
    if (test->member.rank == 2)
        reads(test, ODD, 0);
    meet(test);
    if (test->member.rank == ODD) {
        fault.swallows_swap = fault.at_once = true;
        MEMBER_CODE(&test->member, write_pair(test, ODD, 4, SHORT_NS), RH_ETIMEOUT);
        fault.is_silent = false;
    }
    meet(test);
    if (test->member.rank == 2)
        reads(test, ODD, 0);
    meet(test);
    if (test->member.rank == ODD)
        MEMBER_OK(&test->member, write_pair(test, ODD, 5, LONG_NS));
    meet(test);
    if (test->member.rank == 2)
        reads(test, ODD, 5);
    go_on(test, ODD, 5);
}

/* ---- What others do to an owner ------------------------------------------------------------- */

static void test_take(struct dsm_test *test)
{
    if (test->member.rank == 0)
        MEMBER_OK(&test->member, write_pair(test, 0, 5, LONG_NS));
    meet(test);
    if (test->member.rank == ODD) {
        fault.swallows_swap = fault.at_once = true;
        MEMBER_CODE(&test->member, write_pair(test, 0, 6, SHORT_NS), RH_ETIMEOUT);
        MEMBER_CHECK(&test->member, held.is_swap);
    }
    uint64_t last = write_meanwhile(test, 0, 5, 7);
    let_land(test);
    MEMBER_OK(&test->member, rh_dsm_barrier(test->dsm, NULL, 0, LONG_NS));
    if (test->member.rank == 2)
        reads(test, 0, last);
    go_on(test, 0, last);
}

static struct dsm_bulk_ops bulk;

static int pull_nothing(const struct dsm_move *move)
{
    fault.swallows_swap = true; /* what follows is the return */
    return time_out(move->rank);
}

static void test_return(struct dsm_test *test)
{
    if (test->member.rank == 0)
        MEMBER_OK(&test->member, write_pair(test, 0, 5, LONG_NS));
    meet(test);
    if (test->member.rank == ODD) {
        bulk = dsm_bulk_rdma;
        bulk.pull = pull_nothing;
        test->dsm->bulk = &bulk;
        MEMBER_CODE(&test->member, write_pair(test, 0, 6, SHORT_NS), RH_ETIMEOUT);
        MEMBER_CHECK(&test->member, held.is_swap);
        test->dsm->bulk = &dsm_bulk_rdma;
    }
    meet(test);
    let_land(test);
    MEMBER_OK(&test->member, rh_dsm_barrier(test->dsm, NULL, 0, LONG_NS));
    go_on(test, 0, 5);
}

static void test_adopt(struct dsm_test *test)
{
    meet(test);
    if (test->member.rank == ODD) {
        fault.swallows_swap = fault.at_once = true;
        MEMBER_CODE(&test->member, rh_dsm_adopt(test->dsm, 2, true), RH_ETIMEOUT);
    }
    meet(test);
    let_land(test);
    if (test->member.rank == 0 && test->dsm->entries[2].adopter != 0)
        MEMBER_FAIL(&test->member, "rank %d still keeps others from adopting",
                    (int)test->dsm->entries[2].adopter - 1);
    go_on(test, 2, 0);
}

static void test_circle(struct dsm_test *test)
{
    uint64_t *word = &test->dsm->entries[ODD].word;
    if (test->member.rank != ODD)
        *word = word_with_hint(*word, 2 - test->member.rank);
    meet(test);
    go_on(test, ODD, 0);
}

int main(int count, char **arguments)
{
    static const struct dsm_case cases[] = {
        {"give", test_give},     {"grant", test_grant},           {"update", test_update},
        {"push", test_push},     {"invalidate", test_invalidate}, {"take", test_take},
        {"return", test_return}, {"adopt", test_adopt},           {"circle", test_circle}};
    return dsm_main(count, arguments, cases, sizeof(cases) / sizeof(cases[0]));
}
