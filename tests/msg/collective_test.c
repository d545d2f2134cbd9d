/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives against a computation that each rank makes for itself: collective_test CASE SEED.
 *
 *   random  several hundred calls with random kind, length, type, operator, root and set
 *   large   some MiB
 *   errors  wrong arguments
 *   death   a member dies in the middle: all others get RH_EDEAD
 *
 * What each member gives is a function of (seed, call, member), so that everybody can compute what
 * everybody gives.
 */
#include "member.h"

#include <math.h>

#define RANKS_MAX 64
#define CALLS     300

enum kind { BROADCAST, REDUCE, ALLREDUCE, GATHER, SCATTER, ALLGATHER, ALLTOALL, KINDS };

struct call {
    enum kind kind;
    int root;
    size_t length; /* bytes, of one member */
    struct rh_reduction reduction;
    bool in_place;
    uint64_t seed;
};

struct collective_test {
    struct member member;
    struct rh_set *set;
    int me, size;
};

static const size_t widths[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8};

/* ---- What members give ------------------------------------------------------------------------
 * */

static void fill_bytes(const struct call *call, int member, char *data, size_t length)
{
    uint64_t random = call->seed + (uint64_t)member * 1000003;
    for (size_t i = 0; i < length; i++)
        data[i] = (char)member_next(&random);
}

/* Small whole values as floating point, too, but in thirds: sums depend on their order. */
static void fill_elements(const struct call *call, int member, void *data)
{
    uint64_t random = call->seed + (uint64_t)member * 1000003;
    for (size_t i = 0; i < call->reduction.count; i++) {
        uint64_t value = member_next(&random);
        if (call->reduction.type == RH_FLOAT)
            ((float *)data)[i] = (float)(value % 1000) / 3.0f - 100.0f;
        else if (call->reduction.type == RH_DOUBLE)
            ((double *)data)[i] = (double)(value % 100000) / 3.0 - 10000.0;
        else
            memcpy((char *)data + i * widths[call->reduction.type], &value,
                   widths[call->reduction.type]);
    }
}

/* ---- The sequential computation ---------------------------------------------------------------
 * */

static uint64_t fold_whole(enum rh_operator operator_, uint64_t a, uint64_t b, bool is_signed)
{
    switch (operator_) {
    case RH_SUM:
        return a + b;
    case RH_PRODUCT:
        return a * b;
    case RH_MIN:
        return is_signed ? ((int64_t)b < (int64_t)a ? b : a) : b < a ? b : a;
    case RH_MAX:
        return is_signed ? ((int64_t)b > (int64_t)a ? b : a) : b > a ? b : a;
    case RH_AND:
        return a & b;
    case RH_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

static uint64_t load_whole(enum rh_type type, const char *data)
{
    uint64_t value = 0;
    unsigned bits = (unsigned)widths[type] * 8;
    memcpy(&value, data, widths[type]);
    if (type % 2 == 0 && bits < 64 && value >> (bits - 1)) /* the signed ones are even */
        value |= ~0ULL << bits;
    return value;
}

static double fold_real(enum rh_operator operator_, double a, double b)
{
    return operator_ == RH_SUM       ? a + b
           : operator_ == RH_PRODUCT ? a * b
           : operator_ == RH_MIN     ? fmin(a, b)
                                     : fmax(a, b);
}

static void fold_element(const struct rh_reduction *reduction, char *sum, const char *more)
{
    if (reduction->type == RH_FLOAT) {
        float a, b;
        memcpy(&a, sum, 4), memcpy(&b, more, 4);
        float c = reduction->operator_ == RH_SUM ? a + b
                  : reduction->operator_ == RH_PRODUCT
                      ? a * b
                      : (float)fold_real(reduction->operator_, a, b);
        memcpy(sum, &c, 4);
    } else if (reduction->type == RH_DOUBLE) {
        double a, b;
        memcpy(&a, sum, 8), memcpy(&b, more, 8);
        a = fold_real(reduction->operator_, a, b);
        memcpy(sum, &a, 8);
    } else {
        uint64_t value = fold_whole(reduction->operator_, load_whole(reduction->type, sum),
                                    load_whole(reduction->type, more), reduction->type % 2 == 0);
        memcpy(sum, &value, widths[reduction->type]);
    }
}

static void expect_reduction(struct collective_test *test, const struct call *call, char *expected)
{
    size_t width = widths[call->reduction.type];
    char *more = malloc(call->length + 8);
    fill_elements(call, 0, expected);
    for (int i = 1; i < test->size; i++) {
        fill_elements(call, i, more);
        for (size_t j = 0; j < call->reduction.count; j++)
            fold_element(&call->reduction, expected + j * width, more + j * width);
    }
    free(more);
}

/* ---- One call -----------------------------------------------------------------------------------
 * */

/* What this member gives and what it must get; lengths of both. */
struct data {
    char *give, *get, *expected;
    size_t give_length, get_length;
};

static void prepare(struct collective_test *test, const struct call *call, struct data *data)
{
    size_t n = (size_t)test->size, length = call->length;
    bool is_root = test->me == call->root;
    bool gives_all = call->kind == ALLTOALL || (call->kind == SCATTER && is_root);
    bool gets_all = call->kind == ALLTOALL || call->kind == ALLGATHER ||
                    (call->kind == GATHER && is_root);
    bool gets_none = (call->kind == GATHER || call->kind == REDUCE) && !is_root;
    data->give_length = gives_all ? length * n : length;
    data->get_length = gets_none ? 0 : gets_all ? length * n : length;
    data->give = malloc(data->give_length + 8);
    data->get = malloc(data->get_length + data->give_length + 8);
    data->expected = malloc(length * n + 8);
    char *all = malloc(length * n + 8);
    if (call->kind == REDUCE || call->kind == ALLREDUCE) {
        fill_elements(call, test->me, data->give);
        expect_reduction(test, call, data->expected);
    } else if (call->kind == BROADCAST) {
        fill_bytes(call, call->root, data->expected, length);
        fill_bytes(call, test->me, data->give, length);
    } else if (call->kind == SCATTER) {
        fill_bytes(call, call->root, all, length * n);
        memcpy(data->expected, all + (size_t)test->me * length, length);
        if (is_root)
            memcpy(data->give, all, length * n);
    } else {
        fill_bytes(call, test->me, data->give, data->give_length);
        for (int i = 0; i < test->size; i++) {
            fill_bytes(call, i, all, call->kind == ALLTOALL ? length * n : length);
            memcpy(data->expected + (size_t)i * length,
                   all + (call->kind == ALLTOALL ? (size_t)test->me * length : 0), length);
        }
    }
    free(all);
}

static int perform(struct collective_test *test, const struct call *call, const char *give,
                   char *get)
{
    switch (call->kind) {
    case BROADCAST:
        return rh_broadcast(test->set, call->root, get, call->length);
    case REDUCE:
        return rh_reduce(test->set, call->root, give, get, &call->reduction);
    case ALLREDUCE:
        return rh_allreduce(test->set, give, get, &call->reduction);
    case GATHER:
        return rh_gather(test->set, call->root, give, get, call->length);
    case SCATTER:
        return rh_scatter(test->set, call->root, give, get, call->length);
    case ALLGATHER:
        return rh_allgather(test->set, give, get, call->length);
    default:
        return rh_alltoall(test->set, give, get, call->length);
    }
}

static int run_call(struct collective_test *test, const struct call *call)
{
    struct data data;
    prepare(test, call, &data);
    bool in_place = call->in_place || call->kind == BROADCAST;
    memset(data.get, 0xEE, data.get_length + 8);
    if (in_place)
        memcpy(data.get, data.give, data.give_length);
    int result = perform(test, call, in_place ? data.get : data.give, data.get);
    if (result == 0 && memcmp(data.get, data.expected, data.get_length) != 0) {
        size_t at = 0;
        while (data.get[at] == data.expected[at])
            at++;
        MEMBER_FAIL(&test->member,
                    "kind %d, %d members, root %d, %zu bytes, type %d, operator %d, "
                    "in place %d: byte %zu differs",
                    (int)call->kind, test->size, call->root, call->length,
                    (int)call->reduction.type, (int)call->reduction.operator_, (int)call->in_place,
                    at);
    }
    free(data.give);
    free(data.get);
    free(data.expected);
    return result;
}

static size_t random_length(uint64_t *random, size_t most)
{
    switch (member_next(random) % 5) {
    case 0:
        return member_next(random) % 9;
    case 1:
        return member_next(random) % 300;
    case 2:
        return member_next(random) % 5000;
    case 3:
        return 65536 - 4 + member_next(random) % 9;
    default:
        return member_next(random) % most;
    }
}

/* The same on all members. */
static struct call random_call(struct collective_test *test, uint64_t *random, size_t most)
{
    struct call call = {.kind = (enum kind)(member_next(random) % KINDS),
                        .root = (int)(member_next(random) % (uint64_t)test->size),
                        .in_place = member_next(random) % 4 == 0,
                        .seed = member_next(random)};
    call.length = random_length(random, most);
    call.reduction.type = (enum rh_type)(member_next(random) % 10);
    bool is_real = call.reduction.type >= RH_FLOAT;
    call.reduction.operator_ = (enum rh_operator)(member_next(random) % (is_real ? 4 : 7));
    if (call.kind == REDUCE || call.kind == ALLREDUCE) {
        call.reduction.count = call.length / widths[call.reduction.type];
        call.length = call.reduction.count * widths[call.reduction.type];
    }
    return call;
}

/* ---- Cases ---------------------------------------------------------------------------------- */

static void make_set(struct collective_test *test, uint32_t id, bool is_reversed, bool is_tree)
{
    struct member *member = &test->member;
    int ranks[RANKS_MAX], parents[RANKS_MAX];
    for (int i = 0; i < member->size; i++) {
        ranks[i] = is_reversed ? member->size - 1 - i : i;
        parents[i] = i == 0 ? -1 : (i - 1) / 2;
    }
    struct rh_set_spec spec = {.struct_size = sizeof(spec),
                               .id = id,
                               .ranks = ranks,
                               .rank_count = (size_t)member->size,
                               .parents = is_tree ? parents : NULL};
    MEMBER_OK(member, rh_set_create(member->msg, &spec, &test->set));
    test->me = rh_set_rank(test->set);
    test->size = rh_set_size(test->set);
}

static void test_random(struct collective_test *test)
{
    struct member *member = &test->member;
    uint64_t random = member->seed;
    for (int half = 0; half < 2; half++) {
        make_set(test, 40 + (uint32_t)half, half == 1, half == 1);
        /* What all members move and compare together grows with the square of their number. */
        int calls = test->size <= 4 ? CALLS / 2 : CALLS * 2 / test->size;
        for (int i = 0; i < calls; i++) {
            struct call call = random_call(test, &random, 200000);
            MEMBER_OK(member, run_call(test, &call));
        }
        MEMBER_OK(member, rh_set_destroy(test->set));
    }
}

static void test_large(struct collective_test *test)
{
    struct member *member = &test->member;
    uint64_t random = member->seed;
    make_set(test, 1, false, false);
    for (int kind = 0; kind < KINDS; kind++) {
        struct call call = random_call(test, &random, 1000);
        call.kind = (enum kind)kind;
        call.reduction = (struct rh_reduction){.type = RH_DOUBLE, .operator_ = RH_SUM};
        call.reduction.count = (3u << 20) / 8 + (size_t)kind;
        call.length = call.reduction.count * 8;
        MEMBER_OK(member, run_call(test, &call));
    }
    MEMBER_OK(member, rh_set_destroy(test->set));
}

static void test_errors(struct collective_test *test)
{
    struct member *member = &test->member;
    uint64_t a = 0, b[RANKS_MAX];
    make_set(test, 1, false, false);
    struct rh_set *set = test->set;
    struct rh_reduction bits_of_real = {.type = RH_FLOAT, .operator_ = RH_XOR, .count = 1};
    struct rh_reduction no_type = {.type = (enum rh_type)10, .operator_ = RH_SUM, .count = 1};
    struct rh_reduction no_operator = {
        .type = RH_INT8, .operator_ = (enum rh_operator)7, .count = 1};
    struct rh_reduction too_many = {.type = RH_INT64, .operator_ = RH_SUM, .count = SIZE_MAX / 2};
    MEMBER_CODE(member, rh_allreduce(set, &a, b, &bits_of_real), RH_EINVALID);
    MEMBER_CODE(member, rh_allreduce(set, &a, b, &no_type), RH_EINVALID);
    MEMBER_CODE(member, rh_reduce(set, 0, &a, b, &no_operator), RH_EINVALID);
    MEMBER_CODE(member, rh_allreduce(set, &a, b, &too_many), RH_EINVALID);
    MEMBER_CODE(member, rh_broadcast(set, -1, &a, 8), RH_EINVALID);
    MEMBER_CODE(member, rh_broadcast(set, test->size, &a, 8), RH_EINVALID);
    MEMBER_CODE(member, rh_gather(set, test->size, &a, b, 8), RH_EINVALID);
    MEMBER_CODE(member, rh_scatter(set, -1, &a, b, 8), RH_EINVALID);
    MEMBER_OK(member, rh_broadcast(set, 0, NULL, 0)); /* nothing to do is not an error */
    MEMBER_OK(member, rh_allgather(set, &a, b, 8));   /* and nobody is out of step */
    MEMBER_OK(member, rh_set_destroy(set));
}

static void test_death(struct collective_test *test)
{
    struct member *member = &test->member;
    int victim = (int)(member_mix(member->seed) % (uint64_t)member->size), result = 0;
    uint64_t random = member->seed;
    make_set(test, 1, false, member->seed % 2 == 1);
    if (member->rank == victim)
        member_die_soon(member, 60000);
    for (int64_t end_ms = member_now_ms() + 20000; result == 0;) {
        struct call call = random_call(test, &random, 20000);
        MEMBER_CHECK(member, member_now_ms() < end_ms);
        result = run_call(test, &call);
    }
    MEMBER_CODE(member, result, RH_EDEAD);
    MEMBER_CHECK(member, rh_error_rank() == victim);
    MEMBER_CODE(member, rh_barrier(test->set, RH_TIMEOUT_DEFAULT), RH_EDEAD);
    rh_set_destroy(test->set);
}

static int part(struct rh_job *job, const char *name, uint64_t seed)
{
    static const struct {
        const char *name;
        void (*run)(struct collective_test *test);
    } cases[] = {{"random", test_random},
                 {"large", test_large},
                 {"errors", test_errors},
                 {"death", test_death}};
    struct collective_test test = {.member.job = job};
    member_start(&test.member, seed);
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
