/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared memory as a program uses it: dsm_test CASE SEED, on any number of ranks.
 *
 *   count      all count in a few variables at once; no count is lost, readers never see halves
 *   heap       all allocate and free at random; no two objects overlap, and all memory comes back
 *   condition  one produces, the others consume, with waits and signals in between
 *   barrier    what is named at a barrier is valid everywhere afterwards, without a fetch
 *   diff       of a large region of which little changes, little travels
 *   late       the same when so much has been written that versions do not fit 32 bits any more
 *   crowd      more ranks than the waiters of a variable have bits, all of which want the same one
 *   again      closed and opened again, with options that fit and with some that do not
 *   errors     wrong numbers, wrong holders, deadlines
 *
 * Longer than most files: nine cases in one program, which every NIC and every way of data runs.
 */
#include "dsm/dsm.h"
#include "dsm_member.h"

#include <sched.h>

#define ROUNDS       400
#define CROWD_ROUNDS 4

static void test_count(struct dsm_test *test)
{
    struct member *member = &test->member;
    for (int i = 0; i < ROUNDS; i++) {
        unsigned which = (unsigned)(member_next(&member->random) % VARIABLES);
        struct pair *pair = test->pairs[i % VARIABLES];
        MEMBER_OK(member, rh_dsm_acquire(test->dsm, (unsigned)i % VARIABLES, RH_DSM_WRITE,
                                         RH_TIMEOUT_DEFAULT));
        MEMBER_CHECK(member, pair->first == pair->second);
        pair->first++;
        pair->second++;
        MEMBER_OK(member, rh_dsm_release(test->dsm, (unsigned)i % VARIABLES));
        MEMBER_OK(member, rh_dsm_acquire(test->dsm, which, RH_DSM_READ, RH_TIMEOUT_DEFAULT));
        MEMBER_CHECK(member, test->pairs[which]->first == test->pairs[which]->second);
        MEMBER_OK(member, rh_dsm_release(test->dsm, which));
    }
    MEMBER_OK(member, rh_dsm_barrier(test->dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
    for (unsigned i = 0; i < VARIABLES; i++) {
        MEMBER_OK(member, rh_dsm_acquire(test->dsm, i, RH_DSM_READ, RH_TIMEOUT_DEFAULT));
        if (test->pairs[i]->first != (uint64_t)(ROUNDS / VARIABLES * member->size))
            MEMBER_FAIL(member, "variable %u: %llu", i, (unsigned long long)test->pairs[i]->first);
        MEMBER_OK(member, rh_dsm_release(test->dsm, i));
    }
}

/* All write and read one variable, so that ranks which share a bit wait for it together; then one
 * of them writes it alone, and finds nothing left of the others' waiting. */
static void test_crowd(struct dsm_test *test)
{
    struct member *member = &test->member;
    struct pair *pair = test->pairs[0];
    for (uint64_t i = 0; i < CROWD_ROUNDS; i++) {
        MEMBER_OK(member, rh_dsm_acquire(test->dsm, 0, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
        MEMBER_CHECK(member, pair->first == pair->second);
        pair->first++;
        sched_yield(); /* let others come and wait */
        pair->second++;
        MEMBER_OK(member, rh_dsm_release(test->dsm, 0));
        MEMBER_OK(member, rh_dsm_acquire(test->dsm, 0, RH_DSM_READ, RH_TIMEOUT_DEFAULT));
        MEMBER_CHECK(member, pair->first == pair->second && pair->first > i);
        MEMBER_OK(member, rh_dsm_release(test->dsm, 0));
    }
    MEMBER_OK(member, rh_dsm_barrier(test->dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
    MEMBER_OK(member, rh_dsm_acquire(test->dsm, 0, RH_DSM_READ, RH_TIMEOUT_DEFAULT));
    MEMBER_CHECK(member, pair->first == CROWD_ROUNDS * (uint64_t)member->size);
    MEMBER_OK(member, rh_dsm_release(test->dsm, 0));
    MEMBER_OK(member, rh_dsm_barrier(test->dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
    if (member->rank != member->size - 1)
        return;
    for (int i = 0; i < 2; i++) { /* the first hands on, or forgets, whatever was left */
        MEMBER_OK(member, rh_dsm_acquire(test->dsm, 0, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
        MEMBER_OK(member, rh_dsm_release(test->dsm, 0));
    }
    const struct dsm_entry *entry = &test->dsm->entries[0];
    MEMBER_CHECK(member, (entry->word & (WORD_WANTED | WORD_OWNER)) == WORD_OWNER);
    MEMBER_CHECK(member, entry->waiters_write == 0);
}

/* ---- Heap ----------------------------------------------------------------------------------- */

#define OBJECTS 24

struct object {
    uint64_t offset, length;
};

static void check_apart(struct dsm_test *test, const struct object *objects, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (objects[i].length && objects[j].length &&
                objects[i].offset < objects[j].offset + objects[j].length &&
                objects[j].offset < objects[i].offset + objects[i].length)
                MEMBER_FAIL(&test->member, "objects at %llu and %llu overlap",
                            (unsigned long long)objects[i].offset,
                            (unsigned long long)objects[j].offset);
}

static void test_heap(struct dsm_test *test)
{
    struct member *member = &test->member;
    struct rh_set_spec spec = {.struct_size = sizeof(spec), .id = 1};
    struct rh_set *set;
    struct object own[OBJECTS] = {{0, 0}}, *all = calloc((size_t)member->size, sizeof(own));
    MEMBER_OK(member, rh_set_create(member->msg, &spec, &set));
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 200; i++) {
            struct object *object = &own[member_next(&member->random) % OBJECTS];
            if (object->length) {
                MEMBER_OK(member, rh_dsm_free(test->dsm, object->offset));
                object->length = 0;
                continue;
            }
            uint64_t length = 1 + member_next(&member->random) % 2000;
            MEMBER_OK(member, rh_dsm_alloc(test->dsm, length, &object->offset));
            MEMBER_CHECK(member, object->offset % 64 == 0);
            object->length = length;
        }
        MEMBER_OK(member, rh_gather(set, 0, own, all, sizeof(own)));
        if (member->rank == 0)
            check_apart(test, all, (size_t)member->size * OBJECTS);
        MEMBER_OK(member, rh_dsm_barrier(test->dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
    }
    for (int i = 0; i < OBJECTS; i++)
        if (own[i].length)
            MEMBER_OK(member, rh_dsm_free(test->dsm, own[i].offset));
    MEMBER_OK(member, rh_dsm_barrier(test->dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
    if (member->rank == 0) { /* in one piece again */
        uint64_t offset;
        MEMBER_OK(member, rh_dsm_alloc(test->dsm, 900000, &offset));
        MEMBER_CODE(member, rh_dsm_alloc(test->dsm, 900000, &offset), RH_ENOSPACE);
        MEMBER_OK(member, rh_dsm_free(test->dsm, offset));
        MEMBER_CODE(member, rh_dsm_free(test->dsm, offset), RH_EINVALID);
    }
    MEMBER_OK(member, rh_dsm_barrier(test->dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
    MEMBER_OK(member, rh_set_destroy(set));
    free(all);
}

/* ---- Condition ------------------------------------------------------------------------------ */

#define ITEMS 200

/* first: items made; second: items taken. Variable 1 counts what each has taken. */
static void produce(struct dsm_test *test)
{
    struct member *member = &test->member;
    for (int i = 0; i < ITEMS; i++) {
        MEMBER_OK(member, rh_dsm_acquire(test->dsm, 0, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
        while (test->pairs[0]->first - test->pairs[0]->second >= 3)
            MEMBER_OK(member, rh_dsm_wait(test->dsm, 0, RH_TIMEOUT_DEFAULT));
        test->pairs[0]->first++;
        MEMBER_OK(member, rh_dsm_broadcast(test->dsm, 0));
        MEMBER_OK(member, rh_dsm_release(test->dsm, 0));
    }
}

static uint64_t consume(struct dsm_test *test)
{
    struct member *member = &test->member;
    uint64_t taken = 0;
    for (;;) {
        MEMBER_OK(member, rh_dsm_acquire(test->dsm, 0, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
        struct pair *queue = test->pairs[0];
        while (queue->first == queue->second && queue->second < ITEMS)
            MEMBER_OK(member, rh_dsm_wait(test->dsm, 0, RH_TIMEOUT_DEFAULT));
        bool is_over = queue->second == ITEMS;
        if (!is_over)
            queue->second++;
        MEMBER_OK(member, rh_dsm_broadcast(test->dsm, 0));
        MEMBER_OK(member, rh_dsm_release(test->dsm, 0));
        if (is_over)
            return taken;
        taken++;
    }
}

/* Some wait in vain and go; then one waits, and is signalled once. Nobody who has gone has that
 * signal. */
static void test_one_signal(struct dsm_test *test)
{
    struct member *member = &test->member;
    struct pair *pair = test->pairs[2];
    MEMBER_OK(member, rh_dsm_acquire(test->dsm, 2, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
    MEMBER_CODE(member, rh_dsm_wait(test->dsm, 2, RH_MILLISECONDS(1)), RH_ETIMEOUT);
    MEMBER_OK(member, rh_dsm_release(test->dsm, 2));
    MEMBER_CODE(member, rh_dsm_wait(test->dsm, 2, RH_MILLISECONDS(1)), RH_EINVALID);
    MEMBER_OK(member, rh_dsm_barrier(test->dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
    if (member->rank == 0) {
        MEMBER_OK(member, rh_dsm_acquire(test->dsm, 2, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
        pair->first = 77;
        while (pair->second != 77)
            MEMBER_OK(member, rh_dsm_wait(test->dsm, 2, RH_MILLISECONDS(10000)));
        MEMBER_OK(member, rh_dsm_release(test->dsm, 2));
    }
    while (member->rank == 1 && pair->second != 77) {
        MEMBER_OK(member, rh_dsm_acquire(test->dsm, 2, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
        if (pair->first == 77) { /* rank 0 waits, or is about to */
            pair->second = 77;
            MEMBER_OK(member, rh_dsm_signal(test->dsm, 2));
        }
        MEMBER_OK(member, rh_dsm_release(test->dsm, 2));
        moment_sleep_us(10); /* on a simulated network no time passes in what is local */
    }
    MEMBER_OK(member, rh_dsm_barrier(test->dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
}

static void test_condition(struct dsm_test *test)
{
    struct member *member = &test->member;
    uint64_t taken = 0;
    if (member->size == 1)
        return;
    test_one_signal(test);
    if (member->rank == 0)
        produce(test);
    else
        taken = consume(test);
    MEMBER_OK(member, rh_dsm_acquire(test->dsm, 1, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
    test->pairs[1]->first += taken;
    MEMBER_CODE(member, rh_dsm_wait(test->dsm, 1, RH_MILLISECONDS(1)), RH_ETIMEOUT);
    MEMBER_CHECK(member, strstr(rh_error_text(), "to signal variable 1"));
    MEMBER_OK(member, rh_dsm_release(test->dsm, 1));
    MEMBER_OK(member, rh_dsm_barrier(test->dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
    MEMBER_OK(member, rh_dsm_acquire(test->dsm, 1, RH_DSM_READ, RH_TIMEOUT_DEFAULT));
    MEMBER_CHECK(member, test->pairs[1]->first == ITEMS);
    MEMBER_OK(member, rh_dsm_release(test->dsm, 1));
}

/* ---- Barrier and differences ---------------------------------------------------------------- */

static uint64_t misses(struct dsm_test *test)
{
    struct rh_dsm_stat stat = {.struct_size = sizeof(stat)};
    MEMBER_OK(&test->member, rh_dsm_stat(test->dsm, UINT32_MAX, &stat));
    return stat.read_misses;
}

static void test_barrier(struct dsm_test *test)
{
    struct member *member = &test->member;
    rh_dsm_variable own = (unsigned)member->rank % VARIABLES;
    uint64_t before = 0;
    for (uint64_t round = 1; round < 50; round++) {
        if (member->rank < VARIABLES) {
            MEMBER_OK(member, rh_dsm_acquire(test->dsm, own, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
            test->pairs[own]->first = test->pairs[own]->second = round;
            MEMBER_OK(member, rh_dsm_release(test->dsm, own));
        }
        MEMBER_OK(member, rh_dsm_barrier(test->dsm, &own, 1, RH_TIMEOUT_DEFAULT));
        for (unsigned i = 0; i < VARIABLES && i < (unsigned)member->size; i++) {
            MEMBER_OK(member, rh_dsm_acquire(test->dsm, i, RH_DSM_READ, RH_TIMEOUT_DEFAULT));
            MEMBER_CHECK(member, test->pairs[i]->first == round);
            MEMBER_CHECK(member, test->pairs[i]->second == round);
            MEMBER_OK(member, rh_dsm_release(test->dsm, i));
        }
        if (round == 2)
            before = misses(test);
        MEMBER_OK(member, rh_dsm_barrier(test->dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
    }
    MEMBER_CHECK(member, misses(test) == before);
}

#define LARGE 200000

static void test_diff(struct dsm_test *test)
{
    struct member *member = &test->member;
    uint64_t offset;
    MEMBER_OK(member, rh_dsm_alloc_named(test->dsm, 99, LARGE, &offset));
    char *data = rh_dsm_ptr(test->dsm, offset);
    if (member->rank == 0) {
        struct rh_dsm_region region = {.offset = offset, .length = LARGE};
        MEMBER_OK(member, rh_dsm_acquire(test->dsm, 5, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
        memset(data, 0, LARGE);
        MEMBER_OK(member, rh_dsm_bind(test->dsm, 5, &region, 1));
        MEMBER_OK(member, rh_dsm_mode(test->dsm, 5, RH_DSM_PULL | RH_DSM_DIFF));
        MEMBER_OK(member, rh_dsm_release(test->dsm, 5));
    }
    MEMBER_OK(member, rh_dsm_barrier(test->dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
    for (int i = 0; i < 40; i++) {
        size_t at = member_next(&member->random) % LARGE;
        MEMBER_OK(member, rh_dsm_acquire(test->dsm, 5, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
        data[at]++;
        if (i % 2)
            MEMBER_OK(member, rh_dsm_wrote(test->dsm, 5, &data[at], 1));
        MEMBER_OK(member, rh_dsm_release(test->dsm, 5));
    }
    MEMBER_OK(member, rh_dsm_barrier(test->dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
    MEMBER_OK(member, rh_dsm_acquire(test->dsm, 5, RH_DSM_READ, RH_TIMEOUT_DEFAULT));
    unsigned sum = 0;
    for (size_t i = 0; i < LARGE; i++)
        sum += (unsigned char)data[i];
    MEMBER_OK(member, rh_dsm_release(test->dsm, 5));
    MEMBER_CHECK(member, sum == 40u * (unsigned)member->size);
    struct rh_dsm_stat stat = {.struct_size = sizeof(stat)};
    MEMBER_OK(member, rh_dsm_stat(test->dsm, 5, &stat));
    if (stat.fetched_bytes > 2 * LARGE + 41 * 16384)
        MEMBER_FAIL(member, "%llu bytes fetched", (unsigned long long)stat.fetched_bytes);
}

/* Rank 0 has written 4294967290 times, and goes on; each time all others must see it, also those
 * that have read before and fetch what is newer. */
static void test_late(struct dsm_test *test)
{
    struct member *member = &test->member;
    unsigned modes[] = {RH_DSM_PULL | RH_DSM_DIFF, RH_DSM_PUSH | RH_DSM_DIFF};
    for (unsigned i = 0; i < 2; i++) {
        if (member->rank == 0) {
            MEMBER_OK(member, rh_dsm_acquire(test->dsm, i, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
            MEMBER_OK(member, rh_dsm_mode(test->dsm, i, modes[i]));
            MEMBER_OK(member, rh_dsm_release(test->dsm, i));
            __atomic_store_n(&test->dsm->entries[i].version, UINT32_MAX - 5, __ATOMIC_SEQ_CST);
        }
        for (uint64_t writing = 1; writing < 12; writing++) {
            if (member->rank == 0) {
                MEMBER_OK(member, rh_dsm_acquire(test->dsm, i, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
                test->pairs[i]->first = test->pairs[i]->second = writing;
                MEMBER_OK(member, rh_dsm_release(test->dsm, i));
            }
            MEMBER_OK(member, rh_dsm_barrier(test->dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
            MEMBER_OK(member, rh_dsm_acquire(test->dsm, i, RH_DSM_READ, RH_TIMEOUT_DEFAULT));
            if (test->pairs[i]->first != writing || test->pairs[i]->second != writing)
                MEMBER_FAIL(member, "mode %u, writing %llu: found %llu and %llu", modes[i],
                            (unsigned long long)writing, (unsigned long long)test->pairs[i]->first,
                            (unsigned long long)test->pairs[i]->second);
            MEMBER_OK(member, rh_dsm_release(test->dsm, i));
            MEMBER_OK(member, rh_dsm_barrier(test->dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
        }
    }
}

/* ---- Errors --------------------------------------------------------------------------------- */

/* Lengths at which sums overflow, and around that of the heap: nothing is given out twice. */
static void test_sizes(struct dsm_test *test)
{
    struct member *member = &test->member;
    uint64_t heap = test->dsm->heap_length, offset = 7, own[2];
    const uint64_t lengths[] = {UINT64_MAX,      UINT64_MAX - 1, UINT64_MAX - 62, UINT64_MAX - 63,
                                UINT64_MAX - 64, INT64_MAX,      1ULL << 63,      1ULL << 32,
                                heap + 1,        heap,           heap - 1,        0};
    for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        int expected = lengths[i] == 0 ? RH_EINVALID : RH_ENOSPACE;
        MEMBER_CODE(member, rh_dsm_alloc(test->dsm, lengths[i], &offset), expected);
        MEMBER_CODE(member, rh_dsm_alloc_named(test->dsm, 70 + i, lengths[i], &offset), expected);
        MEMBER_CODE(member, rh_dsm_free(test->dsm, lengths[i]), RH_EINVALID);
    }
    MEMBER_CHECK(member, offset == 7);
    for (int i = 0; i < 2; i++)
        MEMBER_OK(member, rh_dsm_alloc(test->dsm, 65, &own[i]));
    MEMBER_CHECK(member, own[0] + 128 <= own[1] || own[1] + 128 <= own[0]);
    for (int i = 0; i < 2; i++)
        MEMBER_OK(member, rh_dsm_free(test->dsm, own[i]));
    struct rh_dsm *none = NULL;
    struct rh_dsm_options options = {.struct_size = sizeof(options), .heap_length = UINT64_MAX};
    MEMBER_CODE(member, rh_dsm_open(&none, member->job, &options), RH_EINVALID);
    options = (struct rh_dsm_options){.struct_size = sizeof(options), .variable_count = UINT32_MAX};
    MEMBER_CODE(member, rh_dsm_open(&none, member->job, &options), RH_EINVALID);
    MEMBER_CHECK(member, none == NULL);
}

/* A writer that gives up has not taken anything: rank 0 reads variable 2, rank 1 waits in vain. */
static void test_giving_up(struct dsm_test *test)
{
    struct member *member = &test->member;
    if (member->rank == 1) {
        MEMBER_OK(member, rh_dsm_acquire(test->dsm, 2, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
        MEMBER_OK(member, rh_dsm_release(test->dsm, 2));
    }
    MEMBER_OK(member, rh_dsm_barrier(test->dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
    if (member->rank == 0)
        MEMBER_OK(member, rh_dsm_acquire(test->dsm, 2, RH_DSM_READ, RH_TIMEOUT_DEFAULT));
    MEMBER_OK(member, rh_dsm_barrier(test->dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
    if (member->rank == 1) {
        MEMBER_CODE(member, rh_dsm_acquire(test->dsm, 2, RH_DSM_WRITE, RH_MILLISECONDS(2)),
                    RH_ETIMEOUT);
        MEMBER_CHECK(member, rh_error_rank() == 0);
        MEMBER_OK(member, rh_dsm_acquire(test->dsm, 2, RH_DSM_READ, RH_MILLISECONDS(5000)));
        MEMBER_OK(member, rh_dsm_release(test->dsm, 2));
    }
    MEMBER_OK(member, rh_dsm_barrier(test->dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
    if (member->rank == 0)
        MEMBER_OK(member, rh_dsm_release(test->dsm, 2));
    MEMBER_OK(member, rh_dsm_acquire(test->dsm, 2, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
    MEMBER_OK(member, rh_dsm_release(test->dsm, 2));
}

/* Regions at the edges of what there is. Rank 0 has the variable. */
static void test_regions(struct dsm_test *test)
{
    uint64_t heap = test->dsm->heap_length;
    const struct rh_dsm_region wrong[] = {
        {.offset = UINT64_MAX, .length = 1},
        {.offset = heap, .length = 1},
        {.offset = heap - 1, .length = 2},
        {.offset = 1, .length = UINT64_MAX},
        {.offset = 0, .length = 0},
        {.offset = 0, .length = 8, .block_count = 2, .stride = 7},
        {.offset = 0, .length = 8, .block_count = 2, .stride = heap},
        {.offset = 0, .length = 8, .block_count = 2, .stride = UINT64_MAX},
        {.offset = 0, .length = 8, .block_count = UINT32_MAX, .stride = 1ULL << 33},
    };
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        MEMBER_CODE(&test->member, rh_dsm_bind(test->dsm, 3, &wrong[i], 1), RH_EINVALID);
    MEMBER_CODE(&test->member, rh_dsm_bind(test->dsm, 3, wrong, RH_DSM_REGIONS_MAX + 1),
                RH_EINVALID);
    void *data = test->pairs[3];
    MEMBER_CODE(&test->member, rh_dsm_wrote(test->dsm, 3, data, UINT64_MAX), RH_EINVALID);
    MEMBER_CODE(&test->member, rh_dsm_wrote(test->dsm, 3, &heap, 1), RH_EINVALID);
    MEMBER_CODE(&test->member, rh_dsm_wrote(test->dsm, 2, data, 1), RH_EINVALID);
    MEMBER_OK(&test->member, rh_dsm_wrote(test->dsm, 3, data, 1));
    MEMBER_CHECK(&test->member, rh_dsm_bound(test->dsm, 3, NULL, 0) == 1);
}

static void expect_text(struct dsm_test *test, const char *text)
{
    if (!strstr(rh_error_text(), text))
        MEMBER_FAIL(&test->member, "expected a text with \"%s\"", text);
}

/* Rank 0 has variable 3 for writing. What is told says what for, and who: also to rank 0. */
static void test_texts(struct dsm_test *test)
{
    struct member *member = &test->member;
    struct rh_dsm *dsm = test->dsm;
    const char *has = member->rank == 0 ? "a thread of this rank itself has" : "rank 0 has";
    MEMBER_CODE(member, rh_dsm_acquire(dsm, 3, RH_DSM_READ, RH_MILLISECONDS(2)), RH_ETIMEOUT);
    expect_text(test, "waited 0.002 s to read variable 3");
    expect_text(test, has);
    MEMBER_CODE(member, rh_dsm_acquire(dsm, 3, RH_DSM_WRITE, RH_MILLISECONDS(2)), RH_ETIMEOUT);
    expect_text(test, "waited 0.002 s to write variable 3");
    expect_text(test, has);
    MEMBER_CODE(member, rh_dsm_acquire(dsm, 3, RH_DSM_WRITE, RH_TIMEOUT_NONE), RH_EAGAIN);
    expect_text(test, "cannot write variable 3 at once");
    expect_text(test, has);
    MEMBER_CHECK(member, rh_error_rank() == 0);
}

static void test_errors(struct dsm_test *test)
{
    struct member *member = &test->member;
    struct rh_dsm *dsm = test->dsm;
    struct rh_dsm_region region = {.offset = 1 << 20, .length = 8};
    rh_dsm_variable own = 8;
    MEMBER_CODE(member, rh_dsm_acquire(dsm, 16, RH_DSM_READ, 0), RH_EINVALID);
    MEMBER_CODE(member, rh_dsm_acquire(dsm, 0, (enum rh_dsm_access)3, 0), RH_EINVALID);
    MEMBER_CODE(member, rh_dsm_release(dsm, own), RH_EINVALID);
    MEMBER_CODE(member, rh_dsm_bind(dsm, own, &region, 1), RH_EINVALID);
    MEMBER_CODE(member, rh_dsm_mode(dsm, own, RH_DSM_PUSH), RH_EINVALID);
    MEMBER_CODE(member, rh_dsm_free(dsm, 64), RH_EINVALID);
    if (member->rank == 0) /* one at a time */
        MEMBER_CODE(member, rh_dsm_adopt(dsm, 0, false), RH_EINVALID);
    uint64_t offset = 7;
    MEMBER_CODE(member, rh_dsm_alloc(dsm, 1 << 20, &offset), RH_ENOSPACE);
    test_sizes(test);
    if (member->size > 1)
        test_giving_up(test);
    MEMBER_CODE(member, rh_dsm_alloc_named(dsm, 0, 3, &offset), RH_EINVALID);
    MEMBER_CHECK(member, offset == 7);
    MEMBER_OK(member, rh_dsm_barrier(dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
    if (member->rank == 0) {
        MEMBER_OK(member, rh_dsm_acquire(dsm, 3, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
        MEMBER_CODE(member, rh_dsm_bind(dsm, 3, &region, 1), RH_EINVALID);
        test_regions(test);
        MEMBER_CODE(member, rh_dsm_mode(dsm, 3, RH_DSM_PULL | RH_DSM_PUSH), RH_EINVALID);
    }
    MEMBER_OK(member, rh_dsm_barrier(dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
    test_texts(test);
    if (member->rank != 0) {
        MEMBER_CODE(member, rh_dsm_acquire(dsm, 3, RH_DSM_WRITE, RH_TIMEOUT_NONE), RH_EAGAIN);
        MEMBER_CODE(member, rh_dsm_acquire(dsm, 3, RH_DSM_READ, RH_TIMEOUT_NONE), RH_EAGAIN);
        MEMBER_CODE(member, rh_dsm_acquire(dsm, 3, RH_DSM_READ, RH_MILLISECONDS(2)), RH_ETIMEOUT);
        MEMBER_CODE(member, rh_dsm_acquire(dsm, 3, RH_DSM_WRITE, RH_MILLISECONDS(2)), RH_ETIMEOUT);
        MEMBER_CHECK(member, rh_error_rank() == 0);
    }
    MEMBER_OK(member, rh_dsm_barrier(dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
    if (member->rank == 0)
        MEMBER_OK(member, rh_dsm_release(dsm, 3));
    MEMBER_OK(member, rh_dsm_acquire(dsm, 3, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
    MEMBER_OK(member, rh_dsm_release(dsm, 3));
}

/* ---- Opening -------------------------------------------------------------------------------- */

/* By messages, for there is no shared memory. */
static void await_all(struct dsm_test *test)
{
    struct rh_set_spec spec = {.struct_size = sizeof(spec), .id = 2};
    struct rh_set *set;
    MEMBER_OK(&test->member, rh_set_create(test->member.msg, &spec, &set));
    MEMBER_OK(&test->member, rh_barrier(set, RH_TIMEOUT_DEFAULT));
    MEMBER_OK(&test->member, rh_set_destroy(set));
}

static int open_with(struct dsm_test *test, uint64_t heap_length, uint32_t variable_count)
{
    struct rh_dsm_options options = {.struct_size = sizeof(options),
                                     .heap_length = heap_length,
                                     .variable_count = variable_count,
                                     .msg = test->member.msg};
    return rh_dsm_open(&test->dsm, test->member.job, &options);
}

static void test_again(struct dsm_test *test)
{
    struct member *member = &test->member;
    struct rh_dsm_options wrong = {.struct_size = 1};
    bool is_odd = member->rank % 2;
    int expected = member->size > 1 ? RH_EINVALID : 0;
    MEMBER_CODE(member, open_with(test, 0, 0), RH_EEXIST);
    MEMBER_CODE(member, rh_dsm_open(&test->dsm, member->job, &wrong), RH_EINVALID);
    for (int i = 0; i < 3; i++) {
        MEMBER_OK(member, rh_dsm_close(test->dsm));
        MEMBER_OK(member, open_with(test, 1 << 20, 16));
        *(char *)rh_dsm_ptr(test->dsm, 900000) = 1; /* new memory is zero again */
    }
    MEMBER_CHECK(member, rh_dsm_msg(test->dsm) == member->msg);
    MEMBER_OK(member, rh_dsm_close(test->dsm));
    MEMBER_CODE(member, open_with(test, is_odd ? 1 << 20 : 2 << 20, 16), expected);
    if (member->size == 1)
        return;
    await_all(test); /* nobody's attempt is in the way of the next */
    MEMBER_CODE(member, open_with(test, 1 << 20, is_odd ? 16 : 17), RH_EINVALID);
    await_all(test);
    MEMBER_OK(member, open_with(test, 1 << 20, 16));
}

int main(int count, char **arguments)
{
    static const struct dsm_case cases[] = {
        {"count", test_count},     {"heap", test_heap}, {"condition", test_condition},
        {"barrier", test_barrier}, {"diff", test_diff}, {"errors", test_errors},
        {"crowd", test_crowd},     {"late", test_late}, {"again", test_again}};
    return dsm_main(count, arguments, cases, sizeof(cases) / sizeof(cases[0]));
}
