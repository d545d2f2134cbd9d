/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the firmware adds to the hardware: locks, time-outs, what it does with modules that it has
 * stopped.
 */
#include "lock.h"
#include "node.h"

#include <errno.h>
#include <string.h>

#define NODES  4
#define ROUNDS 60
#define LOCKS  3

/* A switch with four nodes. */
struct star {
    struct network_link links[NODES];
    uint8_t ports[NODES];
    struct network_plan plan;
    struct nodes nodes;
};

static void star_open(struct star *star, const struct sim_constants *constants, uint64_t seed)
{
    for (uint32_t i = 0; i < NODES; i++) {
        star->ports[i] = (uint8_t)(i + 1);
        star->links[i] = (struct network_link){.a = {1 + i, 1}, .b = {0, (uint8_t)(i + 1)}};
    }
    star->plan = (struct network_plan){.switch_count = 1,
                                       .host_count = NODES,
                                       .link_count = NODES,
                                       .links = star->links,
                                       .port_to = star->ports};
    nodes_open_seeded(
        &star->nodes,
        (struct cluster_spec){.node_count = NODES, .plan = &star->plan, .constants = constants},
        true, seed);
}

struct user {
    struct star *star;
    uint32_t number;
    struct process_lock locks[LOCKS];
};

/* What a lock protects, outside of virtual time: nobody else may be inside. */
static struct {
    int inside;
    uint64_t entries;
} protected[LOCKS];

static void user_body(void *argument)
{
    struct user *user = argument;
    struct sim *sim = user->star->nodes.sim;
    for (uint32_t i = 0; i < LOCKS; i++) {
        user->locks[i] = (struct process_lock){.process = user->star->nodes.process[user->number],
                                               .manager = user->star->nodes.process[i],
                                               .id = i + 1,
                                               .grant = NODE_DATA + 8 * i};
        assert_int_equal(process_lock_open(&user->locks[i]), 0);
    }
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t which = (uint32_t)sim_random_below(sim, LOCKS);
        fiber_sleep(sim, (sim_time)sim_random_below(sim, 20) * SIM_US);
        assert_int_equal(process_lock_take(&user->locks[which], sim_now(sim) + SIM_S), 0);
        assert_int_equal(protected[which].inside++, 0);
        protected[which].entries++;
        fiber_sleep(sim, (sim_time)sim_random_below(sim, 5) * SIM_US);
        assert_int_equal(--protected[which].inside, 0);
        assert_int_equal(process_lock_give(&user->locks[which]), 0);
    }
}

/* Several locks with representatives on different nodes, used by all: one at a time, and everybody
 * gets through. */
static void test_locks(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct star star;
        struct user users[NODES];
        memset(protected, 0, sizeof(protected));
        star_open(&star, NULL, seed);
        for (uint32_t i = 0; i < NODES; i++) {
            users[i] = (struct user){.star = &star, .number = i};
            assert_int_equal(fiber_create(star.nodes.sim,
                                          &(struct fiber_spec){"user", user_body, &users[i], 0},
                                          NULL),
                             0);
        }
        nodes_run(&star.nodes);
        uint64_t entries = 0, packets = 0, discarded = 0;
        for (uint32_t i = 0; i < LOCKS; i++)
            entries += protected[i].entries;
        for (uint32_t i = 0; i < NODES; i++) {
            packets += chip_count(cluster_chip(star.nodes.cluster, i))->made;
            discarded += chip_count(cluster_chip(star.nodes.cluster, i))->discarded;
        }
        assert_int_equal(entries, NODES * ROUNDS);
        assert_true(packets <= 3 * entries);
        assert_int_equal(discarded, 0);
        nodes_close(&star.nodes);
    }
}

/* Who asks first gets it first, however long the others have waited elsewhere. */
static void queue_body(void *argument)
{
    struct user *user = argument;
    struct nodes *nodes = &user->star->nodes;
    struct process_lock lock = {.process = nodes->process[user->number],
                                .manager = nodes->process[0],
                                .id = 9,
                                .grant = NODE_DATA};
    assert_int_equal(process_lock_open(&lock), 0);
    /* nodes 3, 2, 1 ask, 50 us apart; the first holds it until all have asked */
    fiber_sleep(nodes->sim, (NODES - (sim_time)user->number) * 50 * SIM_US);
    assert_int_equal(process_lock_take(&lock, SIM_NEVER), 0);
    nodes->time[user->number] = sim_now(nodes->sim);
    fiber_sleep(nodes->sim, 300 * SIM_US);
    assert_int_equal(process_lock_give(&lock), 0);
    assert_int_equal(process_lock_give(&lock), -EACCES); /* what one has not, one cannot give */
}

static void test_lock_order(void **state)
{
    (void)state;
    struct star star;
    struct user users[NODES];
    star_open(&star, NULL, 1);
    for (uint32_t i = 0; i < NODES; i++) {
        users[i] = (struct user){.star = &star, .number = i};
        fiber_create(star.nodes.sim, &(struct fiber_spec){"user", queue_body, &users[i], 0}, NULL);
    }
    nodes_run(&star.nodes);
    for (uint32_t i = 1; i < NODES; i++)
        assert_true(star.nodes.time[i] < star.nodes.time[i - 1]);
    nodes_close(&star.nodes);
}

static void lock_twice(void *argument)
{
    struct nodes *nodes = argument;
    struct process_lock lock = {
        .process = nodes->process[0], .manager = nodes->process[0], .id = 2, .grant = NODE_DATA};
    *node_word(nodes, 0, NODE_DATA) = 0;
    assert_int_equal(process_lock_open(&lock), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(process_lock_take(&lock, sim_now(nodes->sim) + SIM_MS), 0);
        assert_int_equal(process_lock_give(&lock), 0);
    }
}

/* A process ends and another gets its number: it begins anew. */
static void test_lock_of_the_next(void **state)
{
    (void)state;
    struct nodes nodes;
    nodes_open(&nodes, (struct cluster_spec){0}, true);
    for (int i = 0; i < 2; i++) {
        nodes_start(&nodes, "user", lock_twice);
        nodes_run(&nodes);
        process_destroy(nodes.process[0]);
        assert_int_equal(
            process_create(&nodes.process[0],
                           &(struct process_spec){.cluster = nodes.cluster, .pgid = NODE_PGID}),
            0);
    }
    nodes_close(&nodes);
}

#define COUNTER (NODE_DATA + 64)

static void add_body(void *argument)
{
    struct nodes *nodes = argument;
    struct chip_header header = {
        .type = CHIP_PACKET_ATOMIC, .sid = PROCESS_SID, .offset = COUNTER, .length = 24};
    const uint64_t operands[] = {CHIP_FETCH_ADD, 1, 0};
    assert_int_equal(node_image(nodes, header, operands), 0);
}

/* The host changes a word while firmware adds to it, at any moment of that: both count. */
static void test_atomic(void **state)
{
    (void)state;
    bool is_late = false;
    uint32_t retried = 0;
    for (uint64_t moment = 1; !is_late; moment++) {
        struct nodes nodes;
        nodes_open(&nodes, (struct cluster_spec){0}, true);
        nodes_start(&nodes, "adder", add_body);
        is_late = sim_run(nodes.sim, SIM_NEVER, moment) == SIM_IDLE;
        *node_word(&nodes, 1, COUNTER) += 1000;
        nodes_run(&nodes);
        assert_int_equal(*node_word(&nodes, 1, COUNTER), 1001);
        uint64_t before = *node_word(&nodes, 0, NODE_ANSWER + 8);
        assert_true(before == 0 || before == 1000);
        retried += before == 1000;
        nodes_close(&nodes);
    }
    assert_true(retried > 0);
}

#define RING (NODE_DATA + 4096)

/* Nobody empties the ring of node 1: its RFend stands still, the network fills up, and node 0
 * cannot get rid of its packets. Its Initiator's time-out tells the process so. */
static void stuck_body(void *argument)
{
    struct nodes *nodes = argument;
    struct process_transfer transfer = {
        .peer = nodes->process[1], .sid = PROCESS_RING_SID, .local = NODE_DATA, .length = 2048};
    uint64_t result = CHIP_CONT_DONE;
    for (nodes->result[0] = 0; result == CHIP_CONT_DONE && nodes->result[0] < 1000;
         nodes->result[0]++)
        result = node_ask(nodes, 0, &transfer, CHIP_PUSH);
    nodes->result[1] = (int)result;
    for (int i = 0; i < nodes->result[0]; i++) { /* now it is emptied */
        fiber_sleep(nodes->sim, 100 * SIM_US);
        process_ring_release(nodes->process[1], *node_word(nodes, 1, RING - 8));
    }
    fiber_sleep(nodes->sim, 100 * SIM_US);
    transfer.sid = PROCESS_SID;
    transfer.remote = NODE_DATA;
    *node_word(nodes, 0, NODE_DATA) = 4711;
    assert_int_equal(node_ask(nodes, 0, &transfer, CHIP_PUSH), CHIP_CONT_DONE);
}

static void test_timeout(void **state)
{
    (void)state;
    struct sim_constants constants = sim_constants_default();
    struct star star;
    constants.timeout_cycles = 10000;
    star_open(&star, &constants, 1);
    process_ring_open(star.nodes.process[1], RING, 2);
    nodes_start(&star.nodes, "sender", stuck_body);
    nodes_run(&star.nodes);
    const struct chip_count *count = chip_count(cluster_chip(star.nodes.cluster, 0));
    assert_int_equal(star.nodes.result[1], CHIP_CONT_REFUSED);
    assert_true(star.nodes.result[0] > 2 && star.nodes.result[0] < 1000);
    assert_int_equal(count->exceptions[CHIP_TIMEOUT], 1);
    assert_int_equal(*node_word(&star.nodes, 1, NODE_DATA), 4711);
    nodes_close(&star.nodes);
}

/* Two messages: with a ring of one slot, the second waits. */
static void message_body(void *argument)
{
    struct nodes *nodes = argument;
    struct process_transfer transfer = {
        .peer = nodes->process[1], .sid = PROCESS_RING_SID, .local = NODE_DATA, .length = 64};
    for (int i = 0; i < 2; i++)
        assert_int_equal(node_ask(nodes, 0, &transfer, CHIP_PUSH), CHIP_CONT_DONE);
}

/* A ring may be closed at any moment, also while firmware looks at it: what comes for it then is
 * dropped, and RFend goes on. */
static void test_ring_closed(void **state)
{
    (void)state;
    uint32_t late = 0;
    for (uint64_t moment = 0; late == 0; moment++) {
        struct nodes nodes;
        nodes_open(&nodes, (struct cluster_spec){0}, true);
        struct chip *chip = cluster_chip(nodes.cluster, 1);
        process_ring_open(nodes.process[1], RING, 1);
        nodes_start(&nodes, "sender", message_body);
        while (!chip_is_suspended(chip, CHIP_RFEND))
            assert_int_equal(sim_run(nodes.sim, SIM_NEVER, 1), SIM_LIMIT);
        if (moment > 0)
            late = sim_run(nodes.sim, SIM_NEVER, moment) == SIM_IDLE;
        chip_ring_close(chip, 0); /* the only one */
        nodes_run(&nodes);
        assert_false(chip_is_suspended(chip, CHIP_RFEND));
        const struct chip_count *count = chip_count(chip);
        /* one that was on its way to its slot is not told of */
        assert_in_range(count->vpushes + count->discarded, 1, 2);
        nodes_close(&nodes);
    }
}

/* Stops RFend at RVA, which is then looked at as the firmware looks at it. */
static void push_once(void *argument)
{
    struct nodes *nodes = argument;
    struct process_transfer transfer = {.peer = nodes->process[1],
                                        .local = NODE_DATA,
                                        .remote = NODE_DATA + 64,
                                        .length = 8,
                                        .wants_flag = true};
    *node_word(nodes, 0, NODE_DATA) = 5;
    process_flag_clear(nodes->process[0]);
    process_push(nodes->process[0], &transfer);
    process_flag_wait(nodes->process[0], SIM_NEVER);
}

static void test_previous_state(void **state)
{
    (void)state;
    static const struct {
        enum chip_module module;
        const char *name;
        uint32_t node;
    } stops[] = {{CHIP_INITIATOR, "IPA2", 0},
                 {CHIP_RFEND, "RVA", 1},
                 {CHIP_RBEND, "PATLB", 1},
                 {CHIP_REPLIER, "IDLE", 1}};
    for (size_t i = 0; i < COUNT_OF(stops); i++) {
        struct nodes nodes;
        nodes_open(&nodes, (struct cluster_spec){0}, true);
        struct chip *chip = cluster_chip(nodes.cluster, stops[i].node);
        enum chip_module module = stops[i].module;
        chip_breakpoint_set(chip, module, chip_state_find(module, stops[i].name), true);
        nodes_start(&nodes, "push", push_once);
        while (!chip_is_suspended(chip, module))
            assert_int_equal(sim_run(nodes.sim, SIM_NEVER, 1), SIM_LIMIT);
        assert_string_equal(chip_state_name(chip, module), "MISS");
        assert_string_equal(chip_last_state_name(chip, module), stops[i].name);
        nodes_run(&nodes);
        assert_false(chip_is_suspended(chip, module));
        assert_int_equal(chip_count(chip)->exceptions[CHIP_BREAKPOINT], 1);
        assert_int_equal(*node_word(&nodes, 1, NODE_DATA + 64), 5);
        nodes_close(&nodes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_locks),
        cmocka_unit_test(test_lock_order),
        cmocka_unit_test(test_lock_of_the_next),
        cmocka_unit_test(test_atomic),
        cmocka_unit_test(test_timeout),
        cmocka_unit_test(test_ring_closed),
        cmocka_unit_test(test_previous_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
