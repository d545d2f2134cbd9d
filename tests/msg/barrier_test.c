/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sets and barriers, as a program uses them: barrier_test CASE SEED, on any number of ranks.
 *
 *   shapes    nobody leaves before all have entered, on trees of every shape and on the usual one
 *   overlap   several sets with common members in use at once
 *   wrap      numbers of exchanges that come round
 *   remake    the same set made and destroyed again and again
 *   errors    wrong descriptions, deadlines, waiting on after a deadline
 *   leave     ranks leave the job right after a barrier: nobody takes that for a death
 *   death     a member dies somewhere: all others get RH_EDEAD, then and later
 */
#include "member.h"
#include "msg/set/set.h"

#define SID_NOTES 5u
#define RANKS_MAX 64
#define BARRIERS  200
#define SHAPES    5

struct barrier_test {
    struct member member;
    uint64_t *notes; /* how far each rank says it is; written by that rank */
};

static void start(struct barrier_test *test, uint64_t seed)
{
    struct member *member = &test->member;
    member_start(member, seed);
    MEMBER_OK(member, rh_segment_alloc(member->job, SID_NOTES, RANKS_MAX * sizeof(uint64_t),
                                       (void **)&test->notes));
}

static void meet(struct member *member)
{
    for (int rank = 0; rank < member->size; rank++)
        MEMBER_OK(member, rh_segment_wait(member->job, rank, SID_NOTES, RH_TIMEOUT_DEFAULT));
}

/* Say to all members that we enter barrier number `count`. */
static void announce(struct barrier_test *test, struct rh_set *set, const int *ranks,
                     uint64_t count)
{
    struct member *member = &test->member;
    for (int i = 0; i < rh_set_size(set); i++) {
        int rank = ranks ? ranks[i] : i;
        struct rh_remote word = rh_at(rank, SID_NOTES, (uint64_t)member->rank * sizeof(uint64_t));
        MEMBER_OK(member, rh_push(member->job, word, &count, sizeof(count)));
    }
}

/* We are through: all must have entered, and nobody can be through the next one. */
static void verify(struct barrier_test *test, struct rh_set *set, const int *ranks, uint64_t count)
{
    for (int i = 0; i < rh_set_size(set); i++) {
        int rank = ranks ? ranks[i] : i;
        uint64_t said = __atomic_load_n(&test->notes[rank], __ATOMIC_ACQUIRE);
        if (said != count && said != count + 1)
            MEMBER_FAIL(&test->member, "through barrier %llu, but rank %d is at %llu",
                        (unsigned long long)count, rank, (unsigned long long)said);
    }
}

static void loiter(struct member *member)
{
    if (member_next(&member->random) % 32 == 0)
        member_sleep_us((unsigned)(member_next(&member->random) % 300));
}

static void make_parents(struct member *member, int shape, int *parents)
{
    for (int i = 0; i < member->size; i++) {
        switch (shape) {
        case 0: /* star */
            parents[i] = i == 0 ? -1 : 0;
            break;
        case 1: /* chain, from the last one */
            parents[i] = i == member->size - 1 ? -1 : i + 1;
            break;
        case 2: /* two children each */
            parents[i] = i == 0 ? -1 : (i - 1) / 2;
            break;
        default: /* any tree, the same on all */
            parents[i] = i == 0 ? -1 : (int)(member_mix(member->seed + (uint64_t)i) % (uint64_t)i);
        }
    }
}

static void test_shapes(struct barrier_test *test)
{
    struct member *member = &test->member;
    uint64_t count = 0;
    meet(member);
    for (int shape = 0; shape < SHAPES; shape++) {
        int parents[RANKS_MAX];
        struct rh_set *set;
        make_parents(member, shape, parents);
        struct rh_set_spec spec = {.struct_size = sizeof(spec),
                                   .id = (uint32_t)shape * 128,
                                   .parents = shape < SHAPES - 1 ? parents : NULL};
        MEMBER_OK(member, rh_set_create(member->msg, &spec, &set));
        MEMBER_CHECK(member, rh_set_rank(set) == member->rank);
        MEMBER_CHECK(member, rh_set_size(set) == member->size);
        for (int i = 0; i < BARRIERS; i++) {
            count++;
            loiter(member);
            announce(test, set, NULL, count);
            MEMBER_OK(member, rh_barrier(set, RH_TIMEOUT_DEFAULT));
            verify(test, set, NULL, count);
        }
        MEMBER_OK(member, rh_set_destroy(set));
    }
}

/* Sets of all, of the even, of the odd, and of the first half, in turn. */
static void test_overlap(struct barrier_test *test)
{
    struct member *member = &test->member;
    struct rh_set *sets[4] = {NULL};
    int ranks[4][RANKS_MAX];
    size_t counts[4] = {0};
    for (int rank = 0; rank < member->size; rank++) {
        ranks[0][counts[0]++] = member->size - 1 - rank;
        ranks[1 + rank % 2][counts[1 + rank % 2]] = rank;
        counts[1 + rank % 2]++;
        if (rank <= member->size / 2)
            ranks[3][counts[3]++] = rank;
    }
    for (int i = 0; i < 4; i++) {
        struct rh_set_spec spec = {.struct_size = sizeof(spec),
                                   .id = 7 + (uint32_t)i,
                                   .ranks = ranks[i],
                                   .rank_count = counts[i]};
        bool is_in = i == 0 || i == 1 + member->rank % 2 ||
                     (i == 3 && member->rank <= member->size / 2);
        if (is_in)
            MEMBER_OK(member, rh_set_create(member->msg, &spec, &sets[i]));
        else
            MEMBER_CODE(member, rh_set_create(member->msg, &spec, &sets[i]), RH_EINVALID);
    }
    for (int i = 0; i < BARRIERS; i++) {
        for (int j = 3; j >= 0; j--) {
            loiter(member);
            if (sets[j])
                MEMBER_OK(member, rh_barrier(sets[j], RH_TIMEOUT_DEFAULT));
        }
    }
    for (int i = 0; i < 4; i++) {
        if (sets[i])
            MEMBER_OK(member, rh_set_destroy(sets[i]));
    }
}

static void test_remake(struct barrier_test *test)
{
    struct member *member = &test->member;
    uint64_t count = 0;
    meet(member);
    for (int i = 0; i < 40; i++) {
        struct rh_set_spec spec = {.struct_size = sizeof(spec), .id = 3};
        struct rh_set *set, *other;
        MEMBER_OK(member, rh_set_create(member->msg, &spec, &set));
        MEMBER_CODE(member, rh_set_create(member->msg, &spec, &other), RH_EEXIST);
        for (int j = 0; j < i % 3; j++) {
            count++;
            announce(test, set, NULL, count);
            MEMBER_OK(member, rh_barrier(set, RH_TIMEOUT_DEFAULT));
            verify(test, set, NULL, count);
        }
        MEMBER_OK(member, rh_set_destroy(set));
    }
}

/* The numbers of exchanges have 32 bits, which is minutes of barriers: over their end and on. */
static void test_wrap(struct barrier_test *test)
{
    struct member *member = &test->member;
    struct rh_set_spec of_all = {.struct_size = sizeof(of_all), .id = 1};
    struct rh_reduction sum = {RH_UINT64, RH_SUM, 1};
    struct rh_set *all, *set;
    uint64_t count = 0, whole = 0;
    meet(member);
    MEMBER_OK(member, rh_set_create(member->msg, &of_all, &all));
    for (int shape = 0; shape < SHAPES; shape++) {
        int parents[RANKS_MAX];
        make_parents(member, shape, parents);
        struct rh_set_spec spec = {.struct_size = sizeof(spec),
                                   .id = 2 + (uint32_t)shape,
                                   .parents = shape < SHAPES - 1 ? parents : NULL};
        MEMBER_OK(member, rh_set_create(member->msg, &spec, &set));
        set->number = UINT32_MAX - 20;
        set->expected = set->front->counter = UINT64_MAX - 20 * (uint64_t)member->size;
        MEMBER_OK(member, rh_barrier(all, RH_TIMEOUT_DEFAULT));
        for (int i = 0; i < 50; i++) {
            count++;
            announce(test, set, NULL, count);
            MEMBER_OK(member, rh_barrier(set, RH_TIMEOUT_DEFAULT));
            verify(test, set, NULL, count);
            MEMBER_OK(member, rh_allreduce(set, &count, &whole, &sum));
            MEMBER_CHECK(member, whole == count * (uint64_t)member->size);
        }
        MEMBER_OK(member, rh_set_destroy(set));
    }
    MEMBER_OK(member, rh_set_destroy(all));
}

static void refuse(struct member *member, struct rh_set_spec spec)
{
    struct rh_set *set;
    spec.struct_size = spec.struct_size ? spec.struct_size : sizeof(spec);
    MEMBER_CODE(member, rh_set_create(member->msg, &spec, &set), RH_EINVALID);
}

static void test_errors(struct barrier_test *test)
{
    struct member *member = &test->member;
    int outside[] = {member->rank, member->size};
    int twice[] = {member->rank, member->rank};
    int circle[] = {1, 0}, two_roots[] = {-1, -1}, beyond[] = {-1, 2};
    int pair[] = {0, 1};
    refuse(member, (struct rh_set_spec){.struct_size = 1});
    refuse(member, (struct rh_set_spec){.id = 65536});
    refuse(member, (struct rh_set_spec){.ranks = outside, .rank_count = 0});
    refuse(member, (struct rh_set_spec){.ranks = outside, .rank_count = 2});
    refuse(member, (struct rh_set_spec){.ranks = twice, .rank_count = 2});
    if (member->size > 1 && member->rank < 2) {
        refuse(member, (struct rh_set_spec){.ranks = pair, .rank_count = 2, .parents = circle});
        refuse(member, (struct rh_set_spec){.ranks = pair, .rank_count = 2, .parents = two_roots});
        refuse(member, (struct rh_set_spec){.ranks = pair, .rank_count = 2, .parents = beyond});
    }
    struct rh_set *set;
    struct rh_set_spec spec = {.struct_size = sizeof(spec), .id = 65535};
    MEMBER_OK(member, rh_set_create(member->msg, &spec, &set));
    MEMBER_OK(member, rh_barrier(set, RH_TIMEOUT_DEFAULT));
    /* rank 0 comes late: the others give up, and wait on later for the same barrier */
    char word = 0;
    for (int rank = 1; member->rank == 0 && rank < member->size; rank++)
        MEMBER_OK(member, rh_recv(member->msg, rank, 1, &word, 1, NULL));
    if (member->rank != 0) {
        MEMBER_CODE(member, rh_barrier(set, RH_MILLISECONDS(15)), RH_ETIMEOUT);
        MEMBER_OK(member, rh_send(member->msg, 0, 1, &word, 1));
    }
    MEMBER_OK(member, rh_barrier(set, RH_TIMEOUT_DEFAULT));
    MEMBER_OK(member, rh_barrier(set, RH_TIMEOUT_DEFAULT));
    MEMBER_OK(member, rh_set_destroy(set));
}

/* No rh_set_destroy(): some have left while others still look for their release. */
static void test_leave(struct barrier_test *test)
{
    struct member *member = &test->member;
    struct rh_set *set;
    struct rh_set_spec spec = {.struct_size = sizeof(spec), .id = 1};
    MEMBER_OK(member, rh_set_create(member->msg, &spec, &set));
    for (int i = 0; i < 3; i++) {
        loiter(member);
        MEMBER_OK(member, rh_barrier(set, RH_TIMEOUT_DEFAULT));
    }
}

static void test_death(struct barrier_test *test)
{
    struct member *member = &test->member;
    int victim = (int)(member_mix(member->seed) % (uint64_t)member->size);
    int parents[RANKS_MAX], result = 0;
    struct rh_set *set;
    make_parents(member, (int)(member->seed % SHAPES), parents);
    struct rh_set_spec spec = {.struct_size = sizeof(spec),
                               .id = 2,
                               .parents = member->seed % SHAPES == SHAPES - 1 ? NULL : parents};
    MEMBER_OK(member, rh_set_create(member->msg, &spec, &set));
    if (member->rank == victim)
        member_die_soon(member, 60000);
    for (int64_t end_ms = member_now_ms() + 20000; result == 0;) {
        MEMBER_CHECK(member, member_now_ms() < end_ms);
        result = rh_barrier(set, RH_TIMEOUT_DEFAULT);
    }
    MEMBER_CODE(member, result, RH_EDEAD);
    MEMBER_CHECK(member, rh_error_rank() == victim);
    MEMBER_CODE(member, rh_barrier(set, RH_TIMEOUT_DEFAULT), RH_EDEAD);
    MEMBER_CODE(member, rh_barrier(set, RH_TIMEOUT_NONE), RH_EDEAD);
    char byte = 0;
    MEMBER_CODE(member, rh_broadcast(set, 0, &byte, 1), RH_EDEAD);
    MEMBER_OK(member, rh_set_destroy(set));
}

static int part(struct rh_job *job, const char *name, uint64_t seed)
{
    static const struct {
        const char *name;
        void (*run)(struct barrier_test *test);
    } cases[] = {{"shapes", test_shapes}, {"overlap", test_overlap}, {"remake", test_remake},
                 {"wrap", test_wrap},     {"errors", test_errors},   {"leave", test_leave},
                 {"death", test_death}};
    struct barrier_test test = {.member.job = job};
    start(&test, seed);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strcmp(cases[i].name, name) == 0) {
            cases[i].run(&test);
            member_end(&test.member);
            return 0;
        }
    }
    return 2;
}

int main(int count, char **words)
{
    return member_main(count, words, part);
}
