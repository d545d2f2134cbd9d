/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Locks, as a program uses them: lock_test CASE SEED, on any number of ranks.
 *
 *   exclusion  all fight for a few locks; one holder at a time, no wake-up is lost
 *   order      who asks first gets it first
 *   impatient  most give up waiting again and again, or only try; still one holder, nobody is lost
 *   late       the same, while one rank has not opened its mailbox yet: nobody takes it for dead
 *   wrap       the same over the end of what turns can count
 *   errors     wrong numbers, wrong holders, deadlines
 *   death      one or two ranks die somewhere in the fight; the others finish, and whoever gets a
 *              lock after a dead holder is told so
 *   home       the rank that looks after the lock dies: all get RH_EDEAD
 */
#include "member.h"
#include "msg/lock/lock.h"

#define SID_NOTES 5u
#define LOCKS     3
#define ROUNDS    300
#define LATE_NOTE 2 /* its turn counts those who are through with what they do without the last */
#define DEATH_MS  1500 /* the fight goes on that long */

/* What a lock protects, in rank 0's memory. */
struct notes {
    uint64_t holder;  /* rank + 1 while it is held */
    uint64_t count_a; /* two counters that only the holder changes, one after the other */
    uint64_t count_b;
    uint64_t turn;
    uint64_t reserved[4];
};

struct lock_test {
    struct member member;
    struct notes *own;
    uint64_t taken, refused, orphaned;
};

static struct rh_remote note(unsigned lock, size_t field)
{
    return rh_at(0, SID_NOTES, lock * sizeof(struct notes) + field);
}

/* Rank 0 looks after these: the locks of a test are number 0, size, 2 * size … */
static uint32_t lock_id(const struct lock_test *test, unsigned lock)
{
    return lock * (uint32_t)test->member.size;
}

/* Before the mailbox is opened: the others have given up and repaired without us. */
static void come_late(struct member *member)
{
    uint64_t through = 0;
    if (!member->job)
        MEMBER_OK(member, rh_join(&member->job, NULL));
    moment_of_job(member->job);
    uint64_t others = (uint64_t)rh_size(member->job) - 1;
    if ((uint64_t)rh_rank(member->job) != others || others == 0)
        return;
    MEMBER_OK(member, rh_segment_wait(member->job, 0, SID_NOTES, RH_TIMEOUT_DEFAULT));
    for (int64_t end_ms = member_now_ms() + 60000; through < others; member_sleep_us(500)) {
        MEMBER_CHECK(member, member_now_ms() < end_ms);
        MEMBER_OK(member, rh_pull(member->job, note(LATE_NOTE, offsetof(struct notes, turn)),
                                  &through, sizeof(through)));
    }
}

static void start(struct lock_test *test, uint64_t seed, bool is_late)
{
    struct member *member = &test->member;
    if (is_late)
        come_late(member);
    member_start(member, seed);
    MEMBER_OK(member, rh_segment_alloc(member->job, SID_NOTES, LOCKS * sizeof(struct notes),
                                       (void **)&test->own));
    MEMBER_OK(member, rh_segment_wait(member->job, 0, SID_NOTES, RH_TIMEOUT_DEFAULT));
}

static void add(struct lock_test *test, unsigned lock, size_t field)
{
    struct member *member = &test->member;
    uint64_t value;
    MEMBER_OK(member, rh_pull(member->job, note(lock, field), &value, sizeof(value)));
    value++;
    MEMBER_OK(member, rh_push(member->job, note(lock, field), &value, sizeof(value)));
}

/* The lock is ours: nobody else may be inside, unless it died there and we were told. */
static void critical_section(struct lock_test *test, unsigned lock, bool owner_died)
{
    struct member *member = &test->member;
    struct rh_remote holder = note(lock, offsetof(struct notes, holder));
    uint64_t before, a, b;
    MEMBER_OK(member, rh_swap(member->job, holder, (uint64_t)member->rank + 1, &before));
    if (before != 0 && !owner_died)
        MEMBER_FAIL(member, "lock %u: rank %d is inside, too", lock, (int)before - 1);
    if (before != 0 && rh_peer_state(member->job, (int)before - 1) < RH_PEER_LEFT)
        MEMBER_FAIL(member, "lock %u: rank %d is inside and alive", lock, (int)before - 1);
    MEMBER_OK(member,
              rh_pull(member->job, note(lock, offsetof(struct notes, count_a)), &a, sizeof(a)));
    MEMBER_OK(member,
              rh_pull(member->job, note(lock, offsetof(struct notes, count_b)), &b, sizeof(b)));
    if (a != b && !owner_died)
        MEMBER_FAIL(member, "lock %u: %llu and %llu should be equal", lock, (unsigned long long)a,
                    (unsigned long long)b);
    if (a != b)
        add(test, lock, offsetof(struct notes, count_b)); /* what its dead holder left undone */
    add(test, lock, offsetof(struct notes, count_a));
    if (member_next(&member->random) % 16 == 0)
        member_sleep_us(20);
    add(test, lock, offsetof(struct notes, count_b));
    MEMBER_OK(member, rh_swap(member->job, holder, 0, &before));
    if (before != (uint64_t)member->rank + 1)
        MEMBER_FAIL(member, "lock %u: rank %d came in", lock, (int)before - 1);
    test->taken++;
    test->orphaned += owner_died;
}

static void await_end(struct member *member, int rank)
{
    for (int64_t end_ms = member_now_ms() + 60000;
         rh_peer_state(member->job, rank) < RH_PEER_LEFT;) {
        if (member_now_ms() > end_ms)
            MEMBER_FAIL(member, "rank %d neither leaves nor dies", rank);
        member_sleep_us(500);
    }
}

/* Tell rank 0 that we are through, and wait until all living ranks are. */
static void finish(struct lock_test *test)
{
    struct member *member = &test->member;
    struct rh_remote word = note(0, offsetof(struct notes, turn));
    MEMBER_OK(member, rh_fetch_add(member->job, word, 1, NULL));
    for (int64_t end_ms = member_now_ms() + 60000;;) {
        uint64_t through;
        int dead = 0;
        for (int rank = 0; rank < member->size; rank++)
            dead += rh_peer_state(member->job, rank) == RH_PEER_DIED;
        MEMBER_OK(member, rh_pull(member->job, word, &through, sizeof(through)));
        if ((int)through + dead >= member->size)
            break;
        if (member_now_ms() > end_ms)
            MEMBER_FAIL(member, "%llu of %d are through", (unsigned long long)through,
                        member->size);
        member_sleep_us(500);
    }
    for (int rank = 1; member->rank == 0 && rank < member->size; rank++)
        await_end(member, rank); /* they still look at our memory */
    printf("taken %llu, refused %llu, orphaned %llu\n", (unsigned long long)test->taken,
           (unsigned long long)test->refused, (unsigned long long)test->orphaned);
    member_end(member);
}

/* ---- Cases ---------------------------------------------------------------------------------- */

static void test_exclusion(struct lock_test *test)
{
    struct member *member = &test->member;
    for (int i = 0; i < ROUNDS; i++) {
        unsigned lock = (unsigned)(member_next(&member->random) % LOCKS);
        MEMBER_OK(member, rh_lock(member->msg, lock_id(test, lock), RH_TIMEOUT_DEFAULT));
        critical_section(test, lock, false);
        MEMBER_OK(member, rh_unlock(member->msg, lock_id(test, lock)));
    }
    finish(test);
}

/* Who stands last in the queue of lock 0, as its representative knows it. */
static int last_requester(struct lock_test *test)
{
    struct locks *locks = test->member.msg->locks;
    uint64_t name;
    MEMBER_OK(&test->member,
              rh_pull(test->member.job, lock_entry_at(locks, 0, offsetof(struct lock_entry, last)),
                      &name, sizeof(name)));
    return lock_name_rank(name);
}

static void test_order(struct lock_test *test)
{
    struct member *member = &test->member;
    uint64_t turn;
    MEMBER_OK(member, rh_lock_try(member->msg, lock_id(test, 1) + (uint32_t)member->rank));
    /* rank 0 takes it first, then rank 1 queues up, then rank 2 … */
    for (int64_t end_ms = member_now_ms() + 30000; member->rank > 0;) {
        if (last_requester(test) == member->rank - 1)
            break;
        MEMBER_CHECK(member, member_now_ms() < end_ms);
        member_sleep_us(100);
    }
    MEMBER_OK(member, rh_lock(member->msg, 0, RH_TIMEOUT_DEFAULT));
    for (int64_t end_ms = member_now_ms() + 30000;
         member->rank == 0 && last_requester(test) != member->size - 1;) {
        MEMBER_CHECK(member, member_now_ms() < end_ms);
        member_sleep_us(100);
    }
    MEMBER_OK(member, rh_fetch_add(member->job, note(1, offsetof(struct notes, turn)), 1, &turn));
    if ((int)turn != member->rank)
        MEMBER_FAIL(member, "got its turn as number %llu", (unsigned long long)turn);
    MEMBER_OK(member, rh_unlock(member->msg, 0));
    finish(test);
}

static void impatient_round(struct lock_test *test, unsigned lock)
{
    struct member *member = &test->member;
    uint64_t dice = member_next(&member->random);
    int result;
    if (dice % 3 == 0)
        result = rh_lock_try(member->msg, lock_id(test, lock));
    else if (dice % 3 == 1)
        result = rh_lock(member->msg, lock_id(test, lock), (int64_t)(dice >> 8) % 100000);
    else
        result = rh_lock(member->msg, lock_id(test, lock), RH_TIMEOUT_DEFAULT);
    if (result == RH_EAGAIN || result == RH_ETIMEOUT) {
        test->refused++;
        return;
    }
    MEMBER_OK(member, result);
    critical_section(test, lock, false);
    MEMBER_OK(member, rh_unlock(member->msg, lock_id(test, lock)));
}

static void test_impatient(struct lock_test *test)
{
    for (int i = 0; i < ROUNDS; i++)
        impatient_round(test, (unsigned)(member_next(&test->member.random) % LOCKS));
    finish(test);
}

/* What a request leaves behind that was given up and has happened all the same. */
static void give_up_in_doubt(struct lock_test *test)
{
    struct locks *locks = test->member.msg->locks;
    struct lock_qnode *qnode = &locks->qnodes[0];
    struct lock_entry *entries = (void *)(locks->base + locks->entries_offset);
    uint64_t turn = lock_turn(lock_load(&qnode->state)) + LOCK_TURN_ONE;
    lock_put(&qnode->grant, turn | LOCK_DEPARTED);
    lock_put(&qnode->pred, 0);
    lock_put(&qnode->state, turn | LOCK_WAITING);
    lock_put(&entries[0].last, turn | locks->own_low);
}

static void test_late(struct lock_test *test)
{
    struct member *member = &test->member;
    struct rh_remote begin = note(1, offsetof(struct notes, turn));
    uint64_t has_begun = member->size < 3 || member->rank == member->size - 1;
    if (member->rank == 0 && !has_begun) {
        give_up_in_doubt(test);
        MEMBER_OK(member, rh_fetch_add(member->job, begin, 1, NULL));
    }
    for (int64_t end_ms = member_now_ms() + 30000; !has_begun; member_sleep_us(100)) {
        MEMBER_CHECK(member, member_now_ms() < end_ms);
        MEMBER_OK(member, rh_pull(member->job, begin, &has_begun, sizeof(has_begun)));
    }
    if (member->rank < member->size - 1) {
        MEMBER_OK(member, rh_lock(member->msg, 0, RH_TIMEOUT_DEFAULT)); /* nobody has died */
        MEMBER_OK(member, rh_unlock(member->msg, 0));
        for (int i = 0; i < ROUNDS; i++)
            impatient_round(test, (unsigned)(member_next(&member->random) % LOCKS));
        MEMBER_OK(member, rh_fetch_add(member->job, note(LATE_NOTE, offsetof(struct notes, turn)),
                                       1, NULL));
    }
    test_impatient(test);
}

static void test_errors(struct lock_test *test)
{
    struct member *member = &test->member;
    struct rh_msg *msg = member->msg;
    uint32_t own = (uint32_t)(member->size * 2 + member->rank);
    MEMBER_CODE(member, rh_lock(msg, 1024, RH_TIMEOUT_DEFAULT), RH_EINVALID);
    MEMBER_CODE(member, rh_lock_try(msg, UINT32_MAX), RH_EINVALID);
    MEMBER_CODE(member, rh_unlock(msg, 1024), RH_EINVALID);
    MEMBER_CODE(member, rh_unlock(msg, own), RH_EINVALID);
    MEMBER_OK(member, rh_lock(msg, own, RH_TIMEOUT_DEFAULT));
    MEMBER_CODE(member, rh_lock(msg, own, RH_TIMEOUT_DEFAULT), RH_EINVALID);
    MEMBER_CODE(member, rh_lock_try(msg, own), RH_EINVALID);
    MEMBER_OK(member, rh_unlock(msg, own));
    MEMBER_CODE(member, rh_unlock(msg, own), RH_EINVALID);
    if (member->rank == 0)
        MEMBER_OK(member, rh_lock(msg, 0, RH_TIMEOUT_DEFAULT));
    for (int64_t end_ms = member_now_ms() + 30000; last_requester(test) < 0;) {
        MEMBER_CHECK(member, member_now_ms() < end_ms);
        member_sleep_us(100);
    }
    if (member->rank != 0) {
        int64_t before_ms = member_now_ms();
        MEMBER_CODE(member, rh_lock(msg, 0, RH_TIMEOUT_NONE), RH_ETIMEOUT);
        MEMBER_CODE(member, rh_lock_try(msg, 0), RH_EAGAIN);
        MEMBER_CODE(member, rh_lock(msg, 0, RH_MILLISECONDS(30)), RH_ETIMEOUT);
        MEMBER_CHECK(member, strstr(rh_error_text(), "lock 0"));
        MEMBER_CHECK(member, member->size > 2 || rh_error_rank() == 1 - member->rank);
        MEMBER_CHECK(member, member_now_ms() - before_ms >= 29);
        MEMBER_CODE(member, rh_unlock(msg, 0), RH_EINVALID);
        MEMBER_CODE(member, rh_lock_try(msg, 0), RH_EAGAIN);
        MEMBER_CODE(member, rh_lock(msg, 0, RH_MILLISECONDS(5)), RH_ETIMEOUT);
    }
    finish(test); /* rank 0 leaves holding a lock, others waiting for it: that must not matter */
}

static void death_round(struct lock_test *test, unsigned lock)
{
    struct member *member = &test->member;
    uint64_t dice = member_next(&member->random);
    int64_t timeout_ns = dice % 4 == 0 ? (int64_t)(dice >> 8) % 200000 : RH_TIMEOUT_DEFAULT;
    int result = dice % 8 == 1 ? rh_lock_try(member->msg, lock_id(test, lock))
                               : rh_lock(member->msg, lock_id(test, lock), timeout_ns);
    if (result == RH_EAGAIN || (result == RH_ETIMEOUT && timeout_ns >= 0)) {
        test->refused++;
        return;
    }
    if (result != 0 && result != RH_OWNER_DIED)
        MEMBER_FAIL(member, "lock %u: %d", lock, result);
    critical_section(test, lock, result == RH_OWNER_DIED);
    MEMBER_OK(member, rh_unlock(member->msg, lock_id(test, lock)));
}

static void test_death(struct lock_test *test)
{
    struct member *member = &test->member;
    int victim = 1 + (int)(member_mix(member->seed) % (uint64_t)(member->size - 1));
    int second = 1 + (int)(member_mix(member->seed + 9) % (uint64_t)(member->size - 1));
    bool has_two = member->seed % 3 == 0 && member->size > 3;
    int64_t end_ms = member_now_ms() + DEATH_MS;
    if (member->rank == victim || (has_two && member->rank == second))
        member_die_soon(member, DEATH_MS * 600);
    while (member_now_ms() < end_ms) {
        for (int i = 0; i < 20; i++)
            death_round(test, (unsigned)(member_next(&member->random) % LOCKS));
    }
    if (member->rank == victim || (has_two && member->rank == second))
        for (;;)
            member_sleep_us(1000000); /* it dies in there */
    /* Whatever the dead left behind, every lock can be had. */
    for (unsigned lock = 0; lock < LOCKS; lock++) {
        int result = rh_lock(member->msg, lock_id(test, lock), RH_MILLISECONDS(20000));
        MEMBER_CHECK(member, result == 0 || result == RH_OWNER_DIED);
        critical_section(test, lock, result == RH_OWNER_DIED);
        MEMBER_OK(member, rh_unlock(member->msg, lock_id(test, lock)));
    }
    finish(test);
}

static void test_home(struct lock_test *test)
{
    struct member *member = &test->member;
    uint32_t lock = (uint32_t)(member->size - 1);
    if (member->rank == member->size - 1)
        member_die_soon(member, 100000);
    int result = 0;
    for (int64_t end_ms = member_now_ms() + 30000; result >= 0;) {
        MEMBER_CHECK(member, member_now_ms() < end_ms);
        result = rh_lock(member->msg, lock, RH_TIMEOUT_DEFAULT);
        if (result >= 0)
            result = rh_unlock(member->msg, lock);
    }
    MEMBER_CODE(member, result, RH_EDEAD);
    MEMBER_CHECK(member, rh_error_rank() == member->size - 1);
    MEMBER_CODE(member, rh_lock(member->msg, lock, RH_TIMEOUT_DEFAULT), RH_EDEAD);
    MEMBER_CODE(member, rh_lock_try(member->msg, lock), RH_EDEAD);
    finish(test);
}

/* Turns have 44 bits, a week of nothing but locking: over their end and on. */
static void test_wrap(struct lock_test *test)
{
    struct locks *locks = test->member.msg->locks;
    for (unsigned lock = 0; lock < LOCKS; lock++)
        lock_put(&locks->qnodes[lock_id(test, lock)].state,
                 (UINT64_MAX & ~LOCK_LOW_MASK) - 20 * LOCK_TURN_ONE + LOCK_IDLE);
    test_impatient(test);
}

static int part(struct rh_job *job, const char *name, uint64_t seed)
{
    static const struct {
        const char *name;
        void (*run)(struct lock_test *test);
    } cases[] = {{"exclusion", test_exclusion}, {"order", test_order},
                 {"impatient", test_impatient}, {"late", test_late},
                 {"wrap", test_wrap},           {"errors", test_errors},
                 {"death", test_death},         {"home", test_home}};
    struct lock_test test = {.member.job = job};
    start(&test, seed, strcmp(name, "late") == 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strcmp(cases[i].name, name) == 0) {
            cases[i].run(&test);
            return 0;
        }
    }
    return 2;
}

int main(int count, char **words)
{
    return member_main(count, words, part);
}
