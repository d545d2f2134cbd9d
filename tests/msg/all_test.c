/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The barrier of all ranks, as a program uses it that has nothing else: all_test CASE SEED.
 *
 *   alone    nobody leaves before all have entered, without a mailbox; then all leave at once
 *   mailbox  it works before, while and after the program has a mailbox, and messages arrive
 *   null     the set of all ranks is the one without a description
 *   ready    the set of all ranks that needs no making
 *   again    a mailbox that was closed is opened again: meanwhile its rank is late, not gone
 */
#include "member.h"

#define SID_NOTES 5u
#define RANKS_MAX 64
#define BARRIERS  200

struct all_test {
    struct member member; /* without its mailbox */
    uint64_t *notes;      /* how far each rank says it is; written by that rank */
};

static void start(struct all_test *test, uint64_t seed)
{
    struct member *member = &test->member;
    member->rank = -1;
    if (!member->job)
        MEMBER_OK(member, rh_join(&member->job, NULL));
    moment_of_job(member->job);
    member->rank = rh_rank(member->job);
    member->size = rh_size(member->job);
    member->random = member_mix(seed + 1) + (uint64_t)member->rank;
    MEMBER_OK(member, rh_segment_alloc(member->job, SID_NOTES, RANKS_MAX * sizeof(uint64_t),
                                       (void **)&test->notes));
}

static void meet(struct all_test *test, uint64_t count)
{
    struct member *member = &test->member;
    for (int rank = 0; rank < member->size; rank++) {
        struct rh_remote word = rh_at(rank, SID_NOTES, (uint64_t)member->rank * sizeof(uint64_t));
        MEMBER_OK(member, rh_segment_wait(member->job, rank, SID_NOTES, RH_TIMEOUT_DEFAULT));
        MEMBER_OK(member, rh_push(member->job, word, &count, sizeof(count)));
    }
    if (member_next(&member->random) % 8 == 0)
        member_sleep_us(50);
    MEMBER_OK(member, rh_barrier_all(member->job));
    for (int rank = 0; rank < member->size; rank++) {
        uint64_t said = __atomic_load_n(&test->notes[rank], __ATOMIC_ACQUIRE);
        if (said != count && said != count + 1)
            MEMBER_FAIL(member, "through barrier %llu, but rank %d is at %llu",
                        (unsigned long long)count, rank, (unsigned long long)said);
    }
}

static void test_alone(struct all_test *test)
{
    for (uint64_t count = 1; count <= BARRIERS; count++)
        meet(test, count);
}

/* To the next rank, from the one before. */
static void pass_on(struct member *member, uint64_t value)
{
    uint64_t got = 0;
    int next = (member->rank + 1) % member->size;
    MEMBER_OK(member, rh_send(member->msg, next, 1, &value, sizeof(value)));
    MEMBER_OK(member, rh_recv(member->msg, RH_ANY_RANK, 1, &got, sizeof(got), NULL));
    MEMBER_CHECK(member, got == value);
}

static void test_mailbox(struct all_test *test)
{
    struct member *member = &test->member;
    struct rh_msg *second;
    for (uint64_t count = 1; count <= 20; count += 3) {
        if (count > 1 || member->seed % 2 == 0)
            meet(test, count);
        MEMBER_OK(member, rh_msg_open(&member->msg, member->job));
        MEMBER_CODE(member, rh_msg_open(&second, member->job), RH_EEXIST);
        pass_on(member, count);
        meet(test, count + 1);
        pass_on(member, count + 1);
        MEMBER_OK(member, rh_msg_close(member->msg));
        meet(test, count + 2);
    }
}

static void test_null(struct all_test *test)
{
    struct member *member = &test->member;
    struct rh_set *all, *second;
    MEMBER_OK(member, rh_msg_open(&member->msg, member->job));
    for (uint64_t round = 0; round < 10; round++) {
        uint64_t one = 1, sum = 0;
        struct rh_reduction reduction = {.type = RH_UINT64, .operator_ = RH_SUM, .count = 1};
        MEMBER_OK(member, rh_set_create(member->msg, NULL, &all));
        MEMBER_CODE(member, rh_set_create(member->msg, NULL, &second), RH_EEXIST);
        MEMBER_CHECK(member, rh_set_size(all) == member->size);
        MEMBER_CHECK(member, rh_set_rank(all) == member->rank);
        MEMBER_OK(member, rh_allreduce(all, &one, &sum, &reduction));
        MEMBER_CHECK(member, sum == (uint64_t)member->size);
        MEMBER_OK(member, rh_barrier_all(member->job));
        MEMBER_OK(member, rh_set_destroy(all));
    }
    MEMBER_OK(member, rh_msg_close(member->msg));
}

/* The set that is ready: with barriers of all in between, as they are calls on it. */
static void test_ready(struct all_test *test)
{
    struct member *member = &test->member;
    struct rh_set *all, *same;
    struct rh_reduction reduction = {.type = RH_UINT64, .operator_ = RH_SUM, .count = 1};
    for (uint64_t round = 0; round < 20; round++) {
        uint64_t sum = 0, mine = round + (uint64_t)member->rank;
        uint64_t whole = round * (uint64_t)member->size +
                         (uint64_t)member->size * ((uint64_t)member->size - 1) / 2;
        MEMBER_OK(member, rh_set_all(member->job, &all));
        MEMBER_OK(member, rh_set_all(member->job, &same));
        MEMBER_CHECK(member, all == same);
        MEMBER_CHECK(member, rh_set_size(all) == member->size);
        MEMBER_CHECK(member, rh_set_rank(all) == member->rank);
        MEMBER_OK(member, rh_allreduce(all, &mine, &sum, &reduction));
        MEMBER_CHECK(member, sum == whole);
        MEMBER_OK(member, rh_barrier_all(member->job));
        MEMBER_CODE(member, rh_set_destroy(all), RH_EINVALID);
    }
}

/* One rank after the other closes its mailbox and comes late to where the others are. What these
 * find there meanwhile is a mailbox that was closed. */
static void test_again(struct all_test *test)
{
    struct member *member = &test->member;
    struct rh_set *all;
    for (int round = 0; round < 3; round++) {
        bool is_late = member->rank == round % member->size;
        MEMBER_OK(member, rh_msg_open(&member->msg, member->job));
        MEMBER_OK(member, rh_set_create(member->msg, NULL, &all));
        MEMBER_OK(member, rh_barrier(all, RH_TIMEOUT_DEFAULT));
        MEMBER_OK(member, rh_set_destroy(all));
        MEMBER_OK(member, rh_msg_close(member->msg));
        if (is_late)
            member_sleep_us(20000);
    }
    if (member->rank == 0)
        member_sleep_us(20000);
    meet(test, 1);
}

static int part(struct rh_job *job, const char *name, uint64_t seed)
{
    struct all_test test = {.member = {.job = job, .seed = seed}};
    start(&test, seed);
    if (strcmp(name, "alone") == 0)
        test_alone(&test);
    else if (strcmp(name, "mailbox") == 0)
        test_mailbox(&test);
    else if (strcmp(name, "null") == 0)
        test_null(&test);
    else if (strcmp(name, "ready") == 0)
        test_ready(&test);
    else if (strcmp(name, "again") == 0)
        test_again(&test);
    else
        return 2;
    MEMBER_OK(&test.member, rh_leave(test.member.job));
    printf("ok %d\n", test.member.rank);
    return 0;
}

int main(int count, char **words)
{
    return member_main(count, words, part);
}
