/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fibers: time passes while they sleep, conditions wake them in order, deadlines end waits, stacks
 * are guarded, and fibers are part of the event log.
 */
#include "support.h"

#include <errno.h>
#include <fenv.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct world {
    struct sim *sim;
    struct sim_condition condition;
    int turn;
    char order[64];
    int results[4];
};

static void start(struct world *world, const char *name, void (*body)(void *))
{
    struct fiber_spec spec = {.name = name, .body = body, .argument = world};
    assert_int_equal(fiber_create(world->sim, &spec, NULL), 0);
}

static void note(struct world *world)
{
    strncat(world->order, fiber_name(fiber_current(world->sim)), 1);
}

static void sleeper(void *argument)
{
    struct world *world = argument;
    note(world);
    fiber_sleep(world->sim, fiber_name(fiber_current(world->sim))[0] == 'a' ? 20 : 10);
    note(world);
}

static void test_sleep(void **state)
{
    (void)state;
    struct world world = {.sim = world_make(1)};
    start(&world, "a", sleeper);
    start(&world, "b", sleeper);
    assert_int_equal(fiber_count(world.sim), 2);
    assert_int_equal(sim_run(world.sim, SIM_NEVER, 0), SIM_IDLE);
    assert_string_equal(world.order, "abba");
    assert_int_equal(sim_now(world.sim), 20);
    assert_int_equal(fiber_count(world.sim), 0);
    assert_null(fiber_current(world.sim));
    sim_destroy(world.sim);
}

static void waiter(void *argument)
{
    struct world *world = argument;
    while (world->turn == 0)
        assert_int_equal(fiber_wait(world->sim, &world->condition, SIM_NEVER), 0);
    note(world);
}

static void signaller(void *argument)
{
    struct world *world = argument;
    fiber_sleep(world->sim, SIM_US);
    sim_condition_signal(world->sim, &world->condition); /* in vain: they look and wait again */
    fiber_sleep(world->sim, SIM_US);
    world->turn = 1;
    sim_condition_signal(world->sim, &world->condition);
    note(world);
}

static void test_condition(void **state)
{
    (void)state;
    struct world world = {.sim = world_make(1)};
    start(&world, "a", waiter);
    start(&world, "b", waiter);
    start(&world, "s", signaller);
    start(&world, "c", waiter);
    assert_int_equal(sim_run(world.sim, SIM_NEVER, 0), SIM_IDLE);
    assert_string_equal(world.order, "sabc");
    assert_int_equal(sim_now(world.sim), 2 * SIM_US);
    sim_destroy(world.sim);
}

static void impatient(void *argument)
{
    struct world *world = argument;
    world->results[0] = fiber_wait(world->sim, &world->condition, 5 * SIM_US);
    world->results[1] = fiber_wait(world->sim, &world->condition, 5 * SIM_US);
    world->results[2] = fiber_wait(world->sim, &world->condition, 50 * SIM_US);
}

static void late_signal(void *argument)
{
    struct world *world = argument;
    fiber_sleep(world->sim, 20 * SIM_US);
    sim_condition_signal(world->sim, &world->condition);
}

static void test_deadline(void **state)
{
    (void)state;
    struct world world = {.sim = world_make(1)};
    start(&world, "i", impatient);
    start(&world, "l", late_signal);
    assert_int_equal(sim_run(world.sim, SIM_NEVER, 0), SIM_IDLE);
    assert_int_equal(world.results[0], -ETIMEDOUT);
    assert_int_equal(world.results[1], -ETIMEDOUT); /* its deadline has passed already */
    assert_int_equal(world.results[2], 0);
    assert_int_equal(sim_now(world.sim), 20 * SIM_US); /* the third deadline was taken back */
    sim_destroy(world.sim);
}

static void test_blocked_are_named(void **state)
{
    (void)state;
    struct world world = {.sim = world_make(1), .condition = {.name = "godot"}};
    char *text = NULL;
    size_t length = 0;
    start(&world, "estragon", waiter);
    assert_int_equal(sim_run(world.sim, SIM_NEVER, 0), SIM_IDLE);
    assert_int_equal(fiber_count(world.sim), 1);
    FILE *out = open_memstream(&text, &length);
    fiber_list_print(world.sim, out);
    fclose(out);
    assert_string_equal(text, "fiber estragon waits for godot since 0 ps\n");
    free(text);
    sim_destroy(world.sim); /* while it still waits */
}

static void child_maker(void *argument)
{
    struct world *world = argument;
    if (world->turn++ < 200)
        start(world, "child", child_maker);
    fiber_sleep(world->sim, 1 + world->turn % 3);
}

static void test_numbers_are_used_again(void **state)
{
    (void)state;
    struct world world = {.sim = world_make(1)};
    start(&world, "first", child_maker);
    assert_int_equal(sim_run(world.sim, SIM_NEVER, 0), SIM_IDLE);
    assert_int_equal(world.turn, 201);
    assert_int_equal(fiber_count(world.sim), 0);
    sim_destroy(world.sim);
}

static void computes(void *argument)
{
    struct world *world = argument;
    volatile double part = 3;
    double sum = 0;
    for (int i = 0; i < 50; i++) {
        sum += 1 / part;
        fiber_sleep(world->sim, 1);
    }
    world->results[world->turn++] = (int)(sum * 1000);
    assert_int_equal(fegetround(), FE_TONEAREST);
}

static void test_registers_survive(void **state)
{
    (void)state;
    struct world world = {.sim = world_make(1)};
    for (int i = 0; i < 4; i++)
        start(&world, "c", computes);
    assert_int_equal(sim_run(world.sim, SIM_NEVER, 0), SIM_IDLE);
    for (int i = 0; i < 4; i++)
        assert_int_equal(world.results[i], 16666);
    sim_destroy(world.sim);
}

static int dig(int depth)
{
    volatile char room[1024];
    room[0] = (char)depth;
    return depth == 0 ? room[0] : dig(depth - 1) + room[0];
}

static void digger(void *argument)
{
    (void)argument;
    dig(1 << 20);
}

/* Running over the end of a stack must be a fault. */
static void test_guard_page(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGSEGV, SIG_DFL);
        close(STDERR_FILENO); /* a sanitizer would tell all about it */
        struct world world = {0};
        sim_create(&world.sim, 1);
        struct fiber_spec spec = {.name = "d", .body = digger, .argument = &world};
        fiber_create(world.sim, &spec, NULL);
        sim_run(world.sim, SIM_NEVER, 0);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
}

static void dice(void *argument)
{
    struct world *world = argument;
    for (int i = 0; i < 20; i++)
        fiber_sleep(world->sim, (sim_time)sim_random_below(world->sim, 1000));
}

static uint64_t dice_hash(uint64_t seed)
{
    struct world world = {.sim = world_make(seed)};
    for (int i = 0; i < 50; i++)
        start(&world, "dice", dice);
    assert_int_equal(sim_run(world.sim, SIM_NEVER, 0), SIM_IDLE);
    uint64_t hash = sim_hash(world.sim);
    sim_destroy(world.sim);
    return hash;
}

static void test_replay(void **state)
{
    (void)state;
    assert_true(dice_hash(11) == dice_hash(11));
    assert_true(dice_hash(11) != dice_hash(12));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sleep),
        cmocka_unit_test(test_condition),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_blocked_are_named),
        cmocka_unit_test(test_numbers_are_used_again),
        cmocka_unit_test(test_registers_survive),
        cmocka_unit_test(test_guard_page),
        cmocka_unit_test(test_replay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
