/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Neighbour exchange. Ranks form a ring; a call's bytes tell who sent them, from which side and in
 * which call, so that anything early, late or from elsewhere shows.
 */
#include "conformance.h"

#include <string.h>

enum { LEFT, RIGHT, NOBODY, SIDES };
enum { BLOCKS = 5, BLOCK = 7, STRIDE = 20, ROW = 300, OUT = 40 };

/* Four borders of either kind: out left, in left, out right, in right. */
#define PIECE  (STRIDE * BLOCKS > ROW ? STRIDE * BLOCKS : ROW)
#define LENGTH (OUT + 4 * PIECE)

static size_t at(int side, bool is_in)
{
    return OUT + ((size_t)side * 2 + is_in) * PIECE;
}

/* Columns if argument is 1, else rows. */
static void make_sides(const struct test *test, struct rh_side *sides)
{
    bool is_column = test->running->argument == 1;
    for (int side = LEFT; side <= RIGHT; side++)
        sides[side] = (struct rh_side){.rank = side == LEFT ? test_previous(test) : test_next(test),
                                       .meets = side == LEFT ? RIGHT : LEFT,
                                       .out = at(side, false),
                                       .in = at(side, true),
                                       .length = is_column ? BLOCK : ROW,
                                       .count = is_column ? BLOCKS : 0,
                                       .stride = is_column ? STRIDE : 0};
    sides[NOBODY] = (struct rh_side){.rank = -1};
}

/* What the blocks of a border are, in a border's bytes: the rest keeps its canary. */
static void fill(const struct rh_side *side, unsigned char *border, uint64_t seed)
{
    size_t count = side->count ? side->count : 1;
    for (size_t i = 0; i < count; i++)
        pattern_fill(border + i * side->stride, side->length, seed + i * 1000003);
}

static uint64_t seed_of(int rank, int side, uint64_t call)
{
    return ((uint64_t)rank * SIDES + (uint64_t)side) * 100000 + call;
}

static void one_call(struct test *test, struct rh_exchange *exchange, const struct rh_side *sides,
                     uint64_t call)
{
    unsigned char memory[LENGTH], expected[LENGTH];
    memset(memory, CANARY, sizeof(memory));
    for (int side = LEFT; side <= RIGHT; side++)
        fill(&sides[side], memory + sides[side].out, seed_of(test->rank, side, call));
    memcpy(expected, memory, sizeof(memory));
    for (int side = LEFT; side <= RIGHT; side++)
        fill(&sides[side], expected + sides[side].in,
             seed_of(sides[side].rank, (int)sides[side].meets, call));
    CHECK_OK(rh_exchange(exchange, memory));
    CHECK(memcmp(memory, expected, sizeof(memory)) == 0);
}

static struct rh_exchange *make(struct test *test, rh_sid sid, struct rh_side *sides)
{
    struct rh_exchange *exchange = NULL;
    make_sides(test, sides);
    CHECK_OK(rh_exchange_create(test->job, sid, sides, SIDES, &exchange));
    CHECK(exchange != NULL);
    return exchange;
}

/* Also with ranks that are much slower than others, one after the other. */
static void ring(struct test *test)
{
    struct rh_side sides[SIDES];
    struct rh_exchange *exchange = make(test, 1, sides);
    for (uint64_t call = 1; call <= 60; call++) {
        if (call % 10 == 0 && (uint64_t)test->rank == call / 10 % (uint64_t)test->size)
            test_sleep_us(3000);
        one_call(test, exchange, sides, call);
    }
    CHECK_OK(rh_exchange_destroy(exchange));
}

/* One after the other under the same SID, without a barrier in between, and some without a call. */
static void again(struct test *test)
{
    struct rh_side sides[SIDES];
    for (uint64_t round = 1; round <= 20; round++) {
        struct rh_exchange *exchange = make(test, 1, sides);
        for (uint64_t call = 1; call <= round % 3; call++)
            one_call(test, exchange, sides, round * 10 + call);
        CHECK_OK(rh_exchange_destroy(exchange));
    }
}

/* A rank beside itself, and one that has nobody at all. */
static void alone(struct test *test)
{
    unsigned char memory[64] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct rh_side sides[] = {
        {.rank = test->rank, .meets = 1, .out = 0, .in = 16, .length = 4},
        {.rank = test->rank, .meets = 0, .out = 4, .in = 20, .length = 4},
        {.rank = test->rank, .meets = 2, .out = 2, .in = 32, .length = 4},
    };
    struct rh_exchange *exchange;
    CHECK_OK(rh_exchange_create(test->job, 1, sides, COUNT_OF(sides), &exchange));
    for (int call = 0; call < 5; call++) {
        memset(memory + 8, 0, sizeof(memory) - 8);
        CHECK_OK(rh_exchange(exchange, memory));
        CHECK(memcmp(memory + 16, memory + 4, 4) == 0);
        CHECK(memcmp(memory + 20, memory, 4) == 0);
        CHECK(memcmp(memory + 32, memory + 2, 4) == 0);
    }
    CHECK_OK(rh_exchange_destroy(exchange));
    for (size_t i = 0; i < COUNT_OF(sides); i++)
        sides[i].rank = -1;
    CHECK_OK(rh_exchange_create(test->job, 1, sides, COUNT_OF(sides), &exchange));
    CHECK_OK(rh_exchange(exchange, memory));
    CHECK_OK(rh_exchange_destroy(exchange));
}

/* Rank 0 says otherwise. Both ends of a side that differs are told, with the other's rank; ranks
 * beside these are told that there will be no exchange. */
static void differ(struct test *test)
{
    static const struct rh_side others[] = {
        {.meets = LEFT, .length = 8}, {.meets = 7, .length = 9}, {.meets = RIGHT, .length = 9}};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        struct rh_exchange *exchange = NULL;
        struct rh_side sides[2] = {
            {.rank = test_previous(test), .meets = RIGHT, .length = 9},
            {.rank = test_next(test), .meets = LEFT, .length = 9},
        };
        if (test->rank == 0) {
            sides[RIGHT].meets = others[i].meets;
            sides[RIGHT].length = others[i].length;
        }
        int result = rh_exchange_create(test->job, (rh_sid)(10 + i), sides, 2, &exchange);
        if (test->rank <= 2 || test->rank == test->size - 1) { /* others may have met before */
            CHECK_CODE(result, RH_EINVALID);
            CHECK(strstr(rh_error_text(), "exchange 1"));
            CHECK(rh_error_rank() == test_previous(test) || rh_error_rank() == test_next(test));
            CHECK(exchange == NULL);
        }
        if (result == 0)
            CHECK_OK(rh_exchange_destroy(exchange));
        test_barrier(test);
    }
}

static void invalid(struct test *test)
{
    static const struct rh_side bad[] = {
        {.rank = 1 << 20, .length = 8},
        {.length = 0},
        {.length = 8, .count = 2, .stride = 7},
        {.length = 8, .meets = 4096},
        {.length = 8, .count = SIZE_MAX / 2, .stride = 8},
    };
    struct rh_exchange *exchange = NULL;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        CHECK_CODE(rh_exchange_create(test->job, 1, &bad[i], 1, &exchange), RH_EINVALID);
    CHECK_CODE(rh_exchange_create(test->job, 1, NULL, 1, &exchange), RH_EINVALID);
    CHECK_CODE(rh_exchange_create(test->job, 1, bad, 0, &exchange), RH_EINVALID);
    CHECK(exchange == NULL);
    struct rh_side self = {.rank = test->rank, .length = 8};
    test_alloc(test, 1, 64);
    CHECK_CODE(rh_exchange_create(test->job, 1, &self, 1, &exchange), RH_EEXIST);
    CHECK(exchange == NULL);
}

/* The last rank is gone after some calls: all hear of it, one from the other, nothing is put into
 * their memory, and the exchange says that it is of no more use. */
static void loses_neighbour(struct test *test)
{
    struct rh_side sides[SIDES];
    unsigned char memory[LENGTH];
    int victim = test_victim(test);
    struct rh_exchange *exchange = make(test, 1, sides);
    for (uint64_t call = 1; call <= 3; call++)
        one_call(test, exchange, sides, call);
    if (test->rank == victim && test->running->flags & CASE_LEAVES) {
        CHECK_OK(rh_leave(test->job));
        test->has_left = true;
        return;
    }
    if (test->rank == victim)
        test_die();
    test_mark_gone(test, victim);
    int result = 0;
    for (int call = 0; call <= test->size && result == 0; call++) {
        memset(memory, CANARY, sizeof(memory));
        result = rh_exchange(exchange, memory);
    }
    CHECK_CODE(result, RH_EDEAD);
    CHECK_CODE(rh_error_rank(), victim);
    CHECK_FILLED(memory, sizeof(memory), CANARY);
    CHECK_CODE(rh_exchange(exchange, memory), RH_EINVALID);
    CHECK_OK(rh_exchange_destroy(exchange));
    test_await_end(test, victim);
    rh_deaths_acknowledge(test->job);
    bool has_left = test->running->flags & CASE_LEAVES; /* who waits for all passes it over */
    test_alloc(test, 2, 64);
    CHECK_CODE(rh_segment_wait_all(test->job, 2, TEST_WAIT_NS), has_left ? 0 : RH_EDEAD);
    CHECK(has_left || rh_error_rank() == victim);
    test_barrier(test);
}

const struct test_case exchange_cases[] = {
    {.name = "exchange-rows", .run = ring},
    {.name = "exchange-columns", .run = ring, .argument = 1},
    {.name = "exchange-again", .run = again},
    {.name = "exchange-alone", .run = alone},
    {.name = "exchange-differ", .run = differ},
    {.name = "exchange-invalid", .run = invalid},
    {.name = "exchange-death", .run = loses_neighbour, .flags = CASE_DIES},
    {.name = "exchange-leave", .run = loses_neighbour, .flags = CASE_LEAVES},
    {.name = NULL},
};
