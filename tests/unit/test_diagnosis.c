/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who waits for whom, found in boards made by hand: circles, locks, barriers, and all the reasons
 * not to cry deadlock. Also what a broken or hostile board does to the reader: nothing.
 */
#include "base/clock.h"
#include "msg/msg_layer.h"
#include "unit.h"
#include "watch/diagnosis.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZE 4

struct fixture {
    struct roster *roster;
    struct board_rank board[SIZE];
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    fixture->roster = calloc(1, roster_bytes(SIZE));
    assert_non_null(fixture->roster);
    for (int rank = 0; rank < SIZE; rank++) {
        fixture->roster->peer[rank].state = RH_PEER_JOINED;
        fixture->roster->peer[rank].pid = getpid();
    }
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    free(fixture->roster);
    free(fixture);
    return 0;
}

static struct board_wait *wait_in(struct fixture *fixture, int rank, struct wait_note note)
{
    struct board_wait *wait = &fixture->board[rank].wait[0];
    while (wait->call != BOARD_NOTHING)
        wait++;
    wait->turn = 2;
    wait->call = note.call;
    wait->peer = note.peer;
    wait->number = note.number;
    wait->length = note.length;
    wait->since_ns = clock_now_ns() - 5 * NS_PER_S;
    return wait;
}

static void receive_from(struct fixture *fixture, int rank, int peer)
{
    wait_in(fixture, rank, (struct wait_note){.call = WAIT_RECEIVE, .peer = peer, .number = 1});
}

static void join_set(struct fixture *fixture, int rank, uint32_t id, uint32_t size, uint64_t step)
{
    struct board_group *group = board_group_open(&fixture->board[rank], id, size);
    board_group_enter(group, step);
}

static struct diagnosis *look(const struct fixture *fixture)
{
    struct diagnosis *diagnosis = diagnosis_take(fixture->roster, fixture->board, SIZE);
    assert_non_null(diagnosis);
    for (int rank = 0; rank < SIZE; rank++) {
        diagnosis->rank[rank].process.state = PROCESS_SLEEPING;
        diagnosis->rank[rank].process.thread_count = diagnosis->rank[rank].wait_count;
    }
    return diagnosis;
}

static void all_look_again(struct fixture *fixture)
{
    for (int rank = 0; rank < SIZE; rank++) {
        for (int i = 0; i < BOARD_WAITS; i++)
            fixture->board[rank].wait[i].looks += 5;
    }
}

/* Which ranks are deadlocked, as bits, after two looks with `between` in between. */
static unsigned deadlocked(struct fixture *fixture, void (*between)(struct fixture *fixture))
{
    struct diagnosis *before = look(fixture);
    between(fixture);
    struct diagnosis *now = look(fixture);
    unsigned bits = 0;
    diagnosis_judge(now, before);
    for (unsigned rank = 0; rank < SIZE; rank++)
        bits |= (unsigned)now->rank[rank].is_deadlocked << rank;
    free(before);
    free(now);
    return bits;
}

static void make_circle(struct fixture *fixture)
{
    for (int rank = 0; rank < SIZE; rank++)
        receive_from(fixture, rank, (rank + 1) % SIZE);
}

static void test_circle(void **state)
{
    struct fixture *fixture = *state;
    make_circle(fixture);
    assert_int_equal(deadlocked(fixture, all_look_again), 15);
    struct diagnosis *now = look(fixture);
    struct diagnosis_text line = {.used = 0};
    for (int rank = 0; rank < SIZE; rank++)
        now->rank[rank].is_deadlocked = true;
    diagnosis_circle_add(&line, now, 2);
    assert_string_equal(line.text, "0 waits for 1, 1 waits for 2, 2 waits for 3, 3 waits for 0");
    free(now);
}

static void nothing(struct fixture *fixture)
{
    (void)fixture;
}

static void somebody_new(struct fixture *fixture)
{
    all_look_again(fixture);
    fixture->board[2].wait[0].turn += 2;
}

static void somebody_works(struct fixture *fixture)
{
    all_look_again(fixture);
    fixture->board[2].counters.value[COUNTER_MSG_UNEXPECTED]++;
}

static void something_moves(struct fixture *fixture)
{
    all_look_again(fixture);
    fixture->board[2].wait[0].moved = 1;
}

static void test_not_certain(void **state)
{
    struct fixture *fixture = *state;
    make_circle(fixture);
    assert_int_equal(deadlocked(fixture, nothing), 0); /* nobody has looked since */
    assert_int_equal(deadlocked(fixture, somebody_new), 0);
    assert_int_equal(deadlocked(fixture, somebody_works), 0);
    assert_int_equal(deadlocked(fixture, something_moves), 0);
    assert_int_equal(deadlocked(fixture, all_look_again), 15);
    fixture->board[1].wait[0].since_ns = clock_now_ns();
    assert_int_equal(deadlocked(fixture, all_look_again), 0); /* too young */
}

static void test_somebody_computes(void **state)
{
    struct fixture *fixture = *state;
    for (int rank = 0; rank < SIZE - 1; rank++)
        receive_from(fixture, rank, rank + 1);
    assert_int_equal(deadlocked(fixture, all_look_again), 0);
}

static void test_part(void **state)
{
    struct fixture *fixture = *state;
    receive_from(fixture, 0, 1);
    receive_from(fixture, 1, 0);
    receive_from(fixture, 2, 1); /* behind the circle */
    assert_int_equal(deadlocked(fixture, all_look_again), 7);
    fixture->roster->peer[1].state = RH_PEER_DIED; /* ends both waits, with an error */
    assert_int_equal(deadlocked(fixture, all_look_again), 0);
}

static void test_any(void **state)
{
    struct fixture *fixture = *state;
    for (int rank = 0; rank < SIZE - 1; rank++)
        receive_from(fixture, rank, -1);
    assert_int_equal(deadlocked(fixture, all_look_again), 0); /* rank 3 may send */
    fixture->roster->peer[3].state = RH_PEER_LEFT;
    assert_int_equal(deadlocked(fixture, all_look_again), 7);
}

static void test_threads(void **state)
{
    struct fixture *fixture = *state;
    receive_from(fixture, 0, 1);
    receive_from(fixture, 0, 3); /* another thread, and rank 3 computes */
    receive_from(fixture, 1, 0);
    assert_int_equal(deadlocked(fixture, all_look_again), 0);
    receive_from(fixture, 3, 0);
    assert_int_equal(deadlocked(fixture, all_look_again), 11);
}

static void test_lock_queue(void **state)
{
    struct fixture *fixture = *state;
    wait_in(fixture, 3, (struct wait_note){.call = WAIT_LOCK, .peer = 1, .number = 7});
    wait_in(fixture, 1, (struct wait_note){.call = WAIT_LOCK, .peer = 2, .number = 7});
    wait_in(fixture, 0, (struct wait_note){.call = WAIT_LOCK, .peer = 3, .number = 8});
    struct diagnosis *now = look(fixture);
    assert_int_equal(now->rank[3].wait[0].note.peer, 2);
    assert_int_equal(now->rank[1].wait[0].note.peer, 2);
    assert_int_equal(now->rank[0].wait[0].note.peer, 3); /* another lock */
    struct diagnosis_text line = {.used = 0};
    diagnosis_wait_add(&line, now, 3, &now->rank[3].wait[0]);
    assert_string_equal(line.text, "lock 7, held by rank 2");
    free(now);
}

static void test_lock_queue_in_a_ring(void **state)
{
    struct fixture *fixture = *state;
    wait_in(fixture, 0, (struct wait_note){.call = WAIT_LOCK, .peer = 1, .number = 7});
    wait_in(fixture, 1, (struct wait_note){.call = WAIT_LOCK, .peer = 0, .number = 7});
    struct diagnosis *now = look(fixture);
    assert_int_equal(now->rank[0].wait[0].note.peer, -1); /* seen while it changed */
    free(now);
}

static void expect_wait(const struct fixture *fixture, int rank, const char *text)
{
    struct diagnosis *now = look(fixture);
    struct diagnosis_text line = {.used = 0};
    diagnosis_wait_add(&line, now, rank, &now->rank[rank].wait[0]);
    assert_string_equal(line.text, text);
    free(now);
}

static void test_barrier(void **state)
{
    struct fixture *fixture = *state;
    struct wait_note note = {.call = WAIT_BARRIER, .peer = -1, .number = 6, .length = 10};
    join_set(fixture, 0, 6, SIZE, 10);
    join_set(fixture, 1, 6, SIZE, 9);
    join_set(fixture, 2, 6, SIZE, 11); /* has left this one already */
    wait_in(fixture, 0, note);
    expect_wait(fixture, 0, "barrier of set 6, missing ranks 1, 3");
    receive_from(fixture, 1, 0);
    assert_int_equal(deadlocked(fixture, all_look_again), 3); /* rank 3 cannot save them */
    join_set(fixture, 3, 6, SIZE, 10);
    expect_wait(fixture, 0, "barrier of set 6, missing rank 1");
    fixture->board[1].group[0].entered = 10;
    assert_int_equal(deadlocked(fixture, all_look_again),
                     0); /* all are there: it is about to end */
}

static void test_barrier_of_some(void **state)
{
    struct fixture *fixture = *state;
    struct wait_note note = {.call = WAIT_BARRIER, .peer = -1, .number = 6, .length = 1};
    join_set(fixture, 0, 6, 2, 1);
    wait_in(fixture, 0, note);
    expect_wait(fixture, 0, "barrier of set 6, missing 1 that has not made the set");
    fixture->board[0].wait[0].peer = 2;
    expect_wait(fixture, 0, "barrier of set 6, missing rank 2");
    receive_from(fixture, 2, 0);
    assert_int_equal(deadlocked(fixture, all_look_again), 5);
}

static void test_nonsense(void **state)
{
    struct fixture *fixture = *state;
    memset(fixture->board, 0xff, sizeof(fixture->board)); /* odd turns: being written */
    struct diagnosis *now = look(fixture);
    assert_int_equal(now->rank[0].wait_count, 0);
    free(now);
    unsigned seed = 1;
    for (int round = 0; round < 200; round++) {
        int *word = (void *)fixture->board;
        for (size_t left = sizeof(fixture->board); left > 0; left -= sizeof(int))
            *word++ = rand_r(&seed) % 160 - 16;
        fixture->roster->peer[round % SIZE].state = (uint32_t)rand_r(&seed) % 8;
        struct diagnosis *before = look(fixture);
        all_look_again(fixture);
        now = look(fixture);
        diagnosis_judge(now, before);
        for (int rank = 0; rank < SIZE; rank++) {
            struct diagnosis_text line = {.used = 0};
            diagnosis_state_add(&line, now, rank, true);
            if (now->rank[rank].is_deadlocked)
                diagnosis_circle_add(&line, now, rank);
            assert_true(line.used < DIAGNOSIS_LINE);
        }
        free(before);
        free(now);
    }
}

static void test_own_process(void **state)
{
    (void)state;
    struct process_look own = process_look(getpid());
    assert_int_equal(own.state, PROCESS_RUNNING);
    assert_true(own.thread_count >= 1);
    assert_int_equal(process_look(0).state, PROCESS_UNKNOWN);
    assert_int_equal(process_look(-1).state, PROCESS_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_circle, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_not_certain, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_somebody_computes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_part, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_any, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lock_queue, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lock_queue_in_a_ring, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_barrier, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_barrier_of_some, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nonsense, set_up, tear_down),
        cmocka_unit_test(test_own_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
