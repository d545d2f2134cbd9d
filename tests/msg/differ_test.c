/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Members of a set that do not do the same: differ_test CASE SEED, on two ranks or more.
 *
 *   calls   one member makes another call, or the same with other arguments: all get RH_EINVALID,
 *           which names both calls, and nobody's memory changes
 *   after   the last member makes the set when the others have found that their calls differ: it
 *           hears of that, too, and the number of the set can be used again at once
 *   late    one member does not come: the others' error names it, and not somebody else
 */
#include "member.h"

#define LENGTH_MAX 200000
#define RANKS_MAX  64
#define SHAPES     4

struct differ_test {
    struct member member;
    struct rh_set *meeting; /* of all, for the test itself */
    char *source, *target;
};

/* ---- The calls ------------------------------------------------------------------------------- */

enum kind { BARRIER, DESTROY, BROADCAST, GATHER, ALLGATHER, SCATTER, ALLTOALL, REDUCE, ALLREDUCE };

static const struct call {
    enum kind kind;
    const char *name; /* in the text */
    size_t length;    /* or elements */
    int root;
    struct rh_reduction reduction;
} calls[] = {
    {BARRIER, "rh_barrier", 0, 0, {0}},
    {DESTROY, "rh_set_destroy", 0, 0, {0}},
    {BROADCAST, "rh_broadcast(8 bytes, root 0)", 8, 0, {0}},
    {BROADCAST, "rh_broadcast(16 bytes, root 0)", 16, 0, {0}},
    {BROADCAST, "rh_broadcast(8 bytes, root 1)", 8, 1, {0}},
    {BROADCAST, "rh_broadcast(0 bytes, root 0)", 0, 0, {0}},
    {BROADCAST, "rh_broadcast(200000 bytes, root 1)", LENGTH_MAX, 1, {0}},
    {GATHER, "rh_gather(8 bytes, root 0)", 8, 0, {0}},
    {ALLGATHER, "rh_allgather(8 bytes)", 8, 0, {0}},
    {ALLGATHER, "rh_allgather(1000 bytes)", 1000, 0, {0}},
    {SCATTER, "rh_scatter(8 bytes, root 1)", 8, 1, {0}},
    {ALLTOALL, "rh_alltoall(8 bytes)", 8, 0, {0}},
    {REDUCE, "rh_reduce(sum of 2 int32, root 0)", 0, 0, {RH_INT32, RH_SUM, 2}},
    {ALLREDUCE, "rh_allreduce(sum of 2 int32)", 0, 0, {RH_INT32, RH_SUM, 2}},
    {ALLREDUCE, "rh_allreduce(sum of 2 float)", 0, 0, {RH_FLOAT, RH_SUM, 2}},
    {ALLREDUCE, "rh_allreduce(max of 2 int32)", 0, 0, {RH_INT32, RH_MAX, 2}},
    {ALLREDUCE, "rh_allreduce(sum of 1 int64)", 0, 0, {RH_INT64, RH_SUM, 1}},
    {ALLREDUCE, "rh_allreduce(sum of 5000 double)", 0, 0, {RH_DOUBLE, RH_SUM, 5000}},
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))

static int make(const struct differ_test *test, struct rh_set *set, const struct call *call)
{
    const char *source = test->source;
    char *target = test->target;
    switch (call->kind) {
    case BARRIER:
        return rh_barrier(set, RH_TIMEOUT_DEFAULT);
    case DESTROY:
        return rh_set_destroy(set);
    case BROADCAST:
        return rh_broadcast(set, call->root, target, call->length);
    case GATHER:
        return rh_gather(set, call->root, source, target, call->length);
    case ALLGATHER:
        return rh_allgather(set, source, target, call->length);
    case SCATTER:
        return rh_scatter(set, call->root, source, target, call->length);
    case ALLTOALL:
        return rh_alltoall(set, source, target, call->length);
    case REDUCE:
        return rh_reduce(set, call->root, source, target, &call->reduction);
    case ALLREDUCE:
        return rh_allreduce(set, source, target, &call->reduction);
    }
    return 0;
}

/* ---- The sets -------------------------------------------------------------------------------- */

/* 0: the usual way; others: trees, which have their own. */
static struct rh_set *make_set(struct member *member, int shape, uint32_t id)
{
    int parents[RANKS_MAX];
    for (int i = 0; i < member->size; i++)
        parents[i] = shape == 1   ? i - 1             /* a chain */
                     : shape == 2 ? (i == 0 ? -1 : 0) /* a star */
                                  : (i == 0 ? -1 : (i - 1) / 2);
    struct rh_set_spec spec = {
        .struct_size = sizeof(spec), .id = id, .parents = shape == 0 ? NULL : parents};
    struct rh_set *set;
    MEMBER_OK(member, rh_set_create(member->msg, &spec, &set));
    return set;
}

/* ---- Cases ----------------------------------------------------------------------------------- */

static void check_text(struct member *member, int odd, const struct call *usual,
                       const struct call *other)
{
    char who[32];
    snprintf(who, sizeof(who), "rank %d ", odd);
    const char *text = rh_error_text();
    if (strstr(text, "made different calls")) /* two found it at once: a tree's inner member */
        return;
    MEMBER_CHECK(member, strstr(text, usual->name));
    MEMBER_CHECK(member, strstr(text, other->name));
    MEMBER_CHECK(member, strstr(text, who));
    MEMBER_CHECK(member, rh_error_rank() >= 0 && rh_error_rank() != member->rank);
}

static void differ_once(struct differ_test *test, int shape, uint32_t id, const struct call *usual,
                        const struct call *other)
{
    struct member *member = &test->member;
    int odd = (int)(member_mix(member->seed + id) % (uint64_t)member->size);
    const struct call *own = member->rank == odd ? other : usual;
    struct rh_set *set = make_set(member, shape, id);
    for (unsigned i = 0; i < id % 5; i++) /* so that both turns of everything are met */
        MEMBER_OK(member, rh_barrier(set, RH_TIMEOUT_DEFAULT));
    memset(test->target, member->rank + 1, LENGTH_MAX);
    MEMBER_CODE(member, make(test, set, own), RH_EINVALID);
    check_text(member, odd, usual, other);
    for (size_t i = 0; i < LENGTH_MAX; i++)
        MEMBER_CHECK(member, test->target[i] == (char)(member->rank + 1));
    if (own->kind == DESTROY)
        return;
    MEMBER_CODE(member, rh_barrier(set, RH_TIMEOUT_DEFAULT), RH_EINVALID);
    MEMBER_CODE(member, rh_broadcast(set, 0, test->target, 8), RH_EINVALID);
    MEMBER_OK(member, rh_set_destroy(set));
}

static void test_calls(struct differ_test *test)
{
    uint32_t id = 100;
    for (int shape = 0; shape < SHAPES; shape++) {
        for (size_t i = 0; i < CALLS; i++, id++) {
            size_t other = (i + 1 + member_mix(test->member.seed + id) % (CALLS - 1)) % CALLS;
            differ_once(test, shape, id, &calls[i], &calls[other]);
            MEMBER_OK(&test->member, rh_barrier(test->meeting, RH_TIMEOUT_DEFAULT));
        }
    }
}

/* In a star: its root looks at member 1 first. */
static void come_after(struct differ_test *test, uint32_t id)
{
    struct member *member = &test->member;
    bool is_last = member->rank == member->size - 1;
    const struct call *own = &calls[member->rank == 1 ? 2 : 0];
    if (is_last && id % 2 == 0)
        MEMBER_OK(member, rh_barrier(test->meeting, RH_TIMEOUT_DEFAULT));
    if (is_last)
        member_sleep_us((unsigned)(member_next(&member->random) % 1000));
    struct rh_set *set = make_set(member, 2, id);
    MEMBER_CODE(member, make(test, set, own), RH_EINVALID);
    check_text(member, 1, &calls[0], &calls[2]);
    if (!is_last && id % 2 == 0) /* or it comes while they leave */
        MEMBER_OK(member, rh_barrier(test->meeting, RH_TIMEOUT_DEFAULT));
    MEMBER_OK(member, rh_set_destroy(set));
}

static void test_after(struct differ_test *test)
{
    for (uint32_t id = 100; id < 130 && test->member.size > 2; id++) {
        come_after(test, id);
        struct rh_set *set = make_set(&test->member, 2, id);
        MEMBER_OK(&test->member, rh_barrier(set, RH_TIMEOUT_DEFAULT));
        MEMBER_OK(&test->member, rh_set_destroy(set));
    }
}

static bool is_one_node(struct member *member)
{
    for (int rank = 1; rank < member->size; rank++) {
        if (rh_node(member->job, rank) != rh_node(member->job, 0))
            return false;
    }
    return true;
}

static void test_late(struct differ_test *test)
{
    struct member *member = &test->member;
    for (int shape = 0; shape < SHAPES; shape++) {
        int late = (int)(member_mix(member->seed + (uint64_t)shape) % (uint64_t)member->size);
        struct rh_set *set = make_set(member, shape, 100 + (uint32_t)shape);
        MEMBER_OK(member, rh_barrier(set, RH_TIMEOUT_DEFAULT));
        if (member->rank != late) {
            MEMBER_CODE(member, rh_barrier(set, RH_MILLISECONDS(40)), RH_ETIMEOUT);
            MEMBER_CHECK(member, strstr(rh_error_text(), "rh_barrier"));
            if (is_one_node(member) || member->size == 2)
                MEMBER_CHECK(member, rh_error_rank() == late);
        }
        MEMBER_OK(member, rh_barrier(test->meeting, RH_TIMEOUT_DEFAULT));
        MEMBER_OK(member, rh_barrier(set, RH_TIMEOUT_DEFAULT));
        MEMBER_OK(member, rh_barrier(set, RH_TIMEOUT_DEFAULT));
        MEMBER_OK(member, rh_set_destroy(set));
    }
}

static int part(struct rh_job *job, const char *name, uint64_t seed)
{
    struct differ_test test = {
        .member.job = job, .source = calloc(1, LENGTH_MAX), .target = calloc(1, LENGTH_MAX)};
    member_start(&test.member, seed);
    test.meeting = make_set(&test.member, 0, 1);
    if (strcmp(name, "calls") == 0)
        test_calls(&test);
    else if (strcmp(name, "after") == 0)
        test_after(&test);
    else if (strcmp(name, "late") == 0)
        test_late(&test);
    else
        return 2;
    MEMBER_OK(&test.member, rh_set_destroy(test.meeting));
    free(test.source);
    free(test.target);
    member_end(&test.member);
    return 0;
}

int main(int count, char **words)
{
    return member_main(count, words, part);
}
