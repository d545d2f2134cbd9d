/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory, descriptors and threads that run out, one request after the other: scarce_test CASE SEED,
 * on two ranks or more. In every round another request of rank 0 fails. Each of its calls must then
 * return RH_ENOSPACE and succeed when it is made again; the other ranks notice nothing. So there is
 * no crash, no wait without end, no lost or doubled message.
 *
 *   join      the whole life of a job of one
 *   rma       segments, queues, pages, transfers, atomics
 *   service   attached memory through the owner's service thread; SEED is the request that fails
 *   send      messages of every length, expected and unexpected, to others and to itself
 *   sets      barriers and collectives
 *   locks     locks
 */
#include "meeting.h"
#include "member.h"
#include "pattern.h"
#include "scarce.h"

#define ROUNDS_MAX 400
#define LARGE      300000

struct scarce_test {
    struct member member;
    struct meeting meeting;
    bool is_poor; /* this rank is the one */
    uint64_t round;
};

#define POOR(test, call) MEMBER_CODE(&(test)->member, SCARCE(call), 0)

static void meet(struct scarce_test *test)
{
    int missing;
    MEMBER_OK(&test->member, meeting_hold(&test->meeting, RH_MILLISECONDS(30000), &missing));
}

static void begin(struct scarce_test *test)
{
    if (test->is_poor)
        scarce_begin(test->round, false);
}

/* ---- Scenarios ------------------------------------------------------------------------------- */

static void use_memory(struct scarce_test *test)
{
    struct member *member = &test->member;
    struct rh_job *job = member->job;
    int next = (member->rank + 1) % member->size;
    uint64_t word = test->round, old = 0, *base;
    struct rh_page *page;
    struct rh_queue *queue;
    struct rh_arrival arrival;
    struct rh_queue_shape shape = {.slot_count = 4, .slot_length = 64};
    begin(test);
    POOR(test, rh_segment_alloc(job, 10, 4096, (void **)&base));
    POOR(test, rh_queue_create(job, 11, shape, &queue));
    POOR(test, rh_segment_wait(job, next, 10, RH_TIMEOUT_DEFAULT));
    POOR(test, rh_segment_wait(job, next, 11, RH_TIMEOUT_DEFAULT));
    POOR(test, rh_push(job, rh_at(next, 10, 0), &word, 8));
    POOR(test, rh_fetch_add(job, rh_at(next, 10, 8), word, &old));
    POOR(test, rh_page_open(job, rh_at(next, 10, 16), 64, &page));
    POOR(test, rh_store(page, 0, word, 8));
    POOR(test, rh_append(job, next, 11, &word, 8));
    rh_page_close(page);
    POOR(test, rh_flush(job, RH_ANY_RANK));
    POOR(test, rh_queue_next(queue, &arrival, RH_TIMEOUT_DEFAULT));
    MEMBER_CHECK(member, arrival.length == 8 && memcmp(arrival.data, &word, 8) == 0);
    rh_queue_release(queue);
    meet(test);
    MEMBER_CHECK(member, base[0] == word && base[1] == word && base[2] == word && old == 0);
    meet(test);
    rh_queue_destroy(queue);
    MEMBER_OK(member, rh_segment_detach(job, 10));
}

static void use_service(struct scarce_test *test)
{
    struct member *member = &test->member;
    struct rh_job *job = member->job;
    int next = (member->rank + 1) % member->size;
    uint64_t memory[64] = {0}, word = test->round, back = 0, old = 0;
    struct rh_segment segment = {.struct_size = sizeof(segment),
                                 .sid = 12,
                                 .base = memory,
                                 .length = sizeof(memory),
                                 .rights = RH_READ | RH_WRITE | RH_ATOMIC};
    begin(test);
    POOR(test, rh_segment_create(job, &segment));
    POOR(test, rh_segment_wait(job, next, 12, RH_TIMEOUT_DEFAULT));
    POOR(test, rh_push(job, rh_at(next, 12, 8), &word, 8));
    POOR(test, rh_fetch_add(job, rh_at(next, 12, 16), word, &old));
    POOR(test, rh_pull(job, rh_at(next, 12, 8), &back, 8));
    MEMBER_CHECK(member, back == word);
    meet(test);
    MEMBER_CHECK(member, memory[1] == word && memory[2] == word);
    MEMBER_OK(member, rh_segment_detach(job, 12));
}

static const size_t lengths[] = {0, 8, 48, 200, 3000, 8192, LARGE};
#define LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

/* Nonblocking, all at once and received in the reverse order: so most are unexpected. */
static void exchange(struct scarce_test *test, char *const *out, char *const *in)
{
    struct member *member = &test->member;
    int next = (member->rank + 1) % member->size;
    int previous = (member->rank + member->size - 1) % member->size;
    struct rh_request *sends[LENGTHS], *receives[LENGTHS];
    for (size_t i = 0; i < LENGTHS; i++)
        POOR(test, rh_isend(member->msg, next, (int)i, out[i], lengths[i], &sends[i]));
    for (size_t i = LENGTHS; i-- > 0;)
        POOR(test, rh_irecv(member->msg, previous, (int)i, in[i], lengths[i], &receives[i]));
    for (size_t i = 0; i < LENGTHS; i++) {
        struct rh_status status;
        /* A request that failed is over: then the message was not sent, and is to be sent anew. */
        int result = rh_wait_request(sends[i], NULL, RH_TIMEOUT_DEFAULT);
        if (result == RH_ENOSPACE && scarce_has_failed())
            result = rh_send(member->msg, next, (int)i, out[i], lengths[i]);
        MEMBER_OK(member, result);
        result = rh_wait_request(receives[i], &status, RH_TIMEOUT_DEFAULT);
        if (result == RH_ENOSPACE && scarce_has_failed())
            result = rh_recv(member->msg, previous, (int)i, in[i], lengths[i], &status);
        MEMBER_OK(member, result);
        MEMBER_CHECK(member, status.length == lengths[i]);
    }
}

static void send_to_self(struct scarce_test *test, char *const *out, char *const *in)
{
    struct member *member = &test->member;
    struct rh_status status;
    for (size_t i = 0; i < LENGTHS - 1; i++)
        POOR(test, rh_send(member->msg, member->rank, (int)i, out[i], lengths[i]));
    for (size_t i = LENGTHS - 1; i-- > 0;) {
        POOR(test, rh_recv(member->msg, member->rank, (int)i, in[i], lengths[i], &status));
        MEMBER_CHECK(member, memcmp(in[i], out[i], lengths[i]) == 0);
    }
}

static void use_messages(struct scarce_test *test)
{
    struct member *member = &test->member;
    int previous = (member->rank + member->size - 1) % member->size;
    char *out[LENGTHS], *in[LENGTHS];
    for (size_t i = 0; i < LENGTHS; i++) {
        out[i] = calloc(1, LARGE);
        in[i] = calloc(1, LARGE);
    }
    begin(test);
    POOR(test, rh_msg_open(&member->msg, member->job));
    meet(test); /* a mailbox that was there and is closed counts as gone */
    for (int turn = 0; turn < 3; turn++) {
        for (size_t i = 0; i < LENGTHS; i++)
            pattern_fill(out[i], lengths[i], (uint64_t)(member->rank * 1000 + turn) + i);
        exchange(test, out, in);
        for (size_t i = 0; i < LENGTHS; i++)
            MEMBER_CHECK(member, pattern_find_difference(in[i], lengths[i],
                                                         (uint64_t)(previous * 1000 + turn) + i) ==
                                     lengths[i]);
    }
    send_to_self(test, out, in);
    meet(test);
    MEMBER_OK(member, rh_msg_close(member->msg));
    for (size_t i = 0; i < LENGTHS; i++) {
        free(out[i]);
        free(in[i]);
    }
}

static void use_sets(struct scarce_test *test)
{
    struct member *member = &test->member;
    struct rh_set_spec spec = {.struct_size = sizeof(spec), .id = 1};
    struct rh_reduction sum = {RH_INT64, RH_SUM, 1};
    struct rh_set *set;
    size_t length = LARGE;
    char *block = calloc(1, length), *all = calloc((size_t)member->size, length);
    int64_t one = 1, total = 0;
    begin(test);
    POOR(test, rh_msg_open(&member->msg, member->job));
    meet(test); /* a mailbox that was there and is closed counts as gone */
    POOR(test, rh_set_create(member->msg, &spec, &set));
    POOR(test, rh_barrier(set, RH_TIMEOUT_DEFAULT));
    POOR(test, rh_allreduce(set, &one, &total, &sum));
    MEMBER_CHECK(member, total == member->size);
    memset(block, member->rank + 1, length);
    POOR(test, rh_allgather(set, block, all, length));
    for (int rank = 0; rank < member->size; rank++)
        MEMBER_CHECK(member, pattern_find_other(all + (size_t)rank * length, length,
                                                (unsigned char)(rank + 1)) == length);
    POOR(test, rh_broadcast(set, member->size - 1, block, length));
    MEMBER_CHECK(member, block[length - 1] == (char)member->size);
    POOR(test, rh_set_destroy(set));
    MEMBER_OK(member, rh_msg_close(member->msg));
    free(block);
    free(all);
}

static void use_locks(struct scarce_test *test)
{
    struct member *member = &test->member;
    begin(test);
    POOR(test, rh_msg_open(&member->msg, member->job));
    meet(test); /* a mailbox that was there and is closed counts as gone */
    for (uint32_t lock = 0; lock < 3; lock++) {
        POOR(test, rh_lock(member->msg, lock, RH_TIMEOUT_DEFAULT));
        POOR(test, rh_unlock(member->msg, lock));
    }
    meet(test);
    MEMBER_OK(member, rh_msg_close(member->msg));
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

/* Rank 0 knows whether there was anything left to fail. */
static bool is_last(struct scarce_test *test, uint64_t *word)
{
    struct member *member = &test->member;
    uint64_t is_over = 0;
    if (test->is_poor)
        is_over = !scarce_end();
    for (int rank = 0; rank < member->size && test->is_poor; rank++)
        MEMBER_OK(member, rh_push(member->job, rh_at(rank, 9, 0), &is_over, 8));
    meet(test);
    bool answer = __atomic_load_n(word, __ATOMIC_ACQUIRE) != 0;
    meet(test);
    return answer;
}

static void run_rounds(struct scarce_test *test, void (*scenario)(struct scarce_test *))
{
    struct member *member = &test->member;
    uint64_t *word;
    MEMBER_OK(member, rh_segment_alloc(member->job, 9, 8, (void **)&word));
    MEMBER_OK(member, meeting_open(&test->meeting, member->job));
    bool is_single = scenario == use_service; /* there is one service thread per process */
    for (test->round = is_single ? member->seed : 1; test->round < ROUNDS_MAX; test->round++) {
        meet(test);
        scenario(test);
        if (test->is_poor && getenv("SCARCE_TELL"))
            fprintf(stderr, "# round %llu: no %s\n", (unsigned long long)test->round,
                    scarce_what());
        if (is_last(test, word) || is_single)
            break;
    }
    MEMBER_CHECK(member, is_single || (test->round > 5 && test->round < ROUNDS_MAX));
    meeting_close(&test->meeting);
    MEMBER_OK(member, rh_leave(member->job));
    printf("ok %d\n", member->rank);
}

/* A job of one, again and again. */
static void test_join(struct member *member)
{
    for (uint64_t round = 1; round < ROUNDS_MAX; round++) {
        scarce_begin(round, false);
        MEMBER_OK(member, SCARCE(rh_join(&member->job, NULL)));
        MEMBER_OK(member, SCARCE(rh_msg_open(&member->msg, member->job)));
        MEMBER_OK(member, rh_msg_close(member->msg));
        MEMBER_OK(member, rh_leave(member->job));
        if (!scarce_end()) {
            MEMBER_CHECK(member, round > 5);
            printf("ok 0\n");
            return;
        }
    }
    MEMBER_FAIL(member, "more than %d requests", ROUNDS_MAX);
}

int main(int count, char **words)
{
    static const struct {
        const char *name;
        void (*scenario)(struct scarce_test *test);
    } cases[] = {{"rma", use_memory},
                 {"service", use_service},
                 {"send", use_messages},
                 {"sets", use_sets},
                 {"locks", use_locks}};
    struct scarce_test test = {.member.rank = -1};
    if (count != 3)
        return 2;
    if (strcmp(words[1], "join") == 0) {
        test_join(&test.member);
        return 0;
    }
    MEMBER_OK(&test.member, rh_join(&test.member.job, NULL));
    test.member.rank = rh_rank(test.member.job);
    test.member.size = rh_size(test.member.job);
    test.member.seed = strtoull(words[2], NULL, 10);
    test.is_poor = test.member.rank == 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strcmp(cases[i].name, words[1]) == 0) {
            run_rounds(&test, cases[i].scenario);
            return 0;
        }
    }
    return 2;
}
