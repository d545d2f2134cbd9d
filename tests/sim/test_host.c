/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulated host: stores take the time of the thesis's line, combined ones less; the bus
 * carries one transaction at a time, in order; polls end by change or by deadline.
 */
#include "support.h"

#include "sim/host/host.h"

#include <errno.h>

struct world {
    struct sim *sim;
    struct host *host;
    struct sim_constants constants;
    sim_time times[8];
    uint32_t count;
    int result;
};

static void world_open(struct world *world)
{
    *world = (struct world){.sim = world_make(1), .constants = sim_constants_default()};
    struct host_spec spec = {.memory = 8192, .constants = &world->constants};
    assert_int_equal(host_create(&world->host, world->sim, &spec), 0);
}

static void world_run(struct world *world, void (*body)(void *))
{
    struct fiber_spec spec = {.name = "program", .body = body, .argument = world};
    if (body)
        assert_int_equal(fiber_create(world->sim, &spec, NULL), 0);
    assert_int_equal(sim_run(world->sim, SIM_NEVER, 0), SIM_IDLE);
    host_destroy(world->host);
    sim_destroy(world->sim);
}

static void stores(void *argument)
{
    struct world *world = argument;
    static const uint32_t words[] = {1, 6, 7};
    for (int i = 0; i < 6; i++) {
        /* apart, so that no transaction waits for the turn-around of the one before */
        fiber_sleep(world->sim, SIM_US);
        sim_time before = sim_now(world->sim);
        host_pio(world->host, words[i % 3], i >= 3);
        world->times[i] = sim_now(world->sim) - before;
    }
}

static void test_stores(void **state)
{
    (void)state;
    struct world world;
    world_open(&world);
    world_run(&world, stores);
    assert_int_equal(world.times[0], 390 * SIM_NS);
    assert_int_equal(world.times[1], 720 * SIM_NS);
    assert_int_equal(world.times[2], 786 * SIM_NS);
    /* two lines of 32 bytes: 6 cycles each besides the 7 words */
    assert_int_equal(world.times[5], 324 * SIM_NS + (2 * 6 + 7) * world.constants.core_ps);
    for (int i = 1; i < 3; i++)
        assert_true(world.times[3 + i] < world.times[i]);
}

static void ended(void *context, struct pci_request *request)
{
    struct world *world = context;
    assert_int_equal(sim_now(world->sim), request->end);
    world->times[world->count++] = request->end - request->start;
}

static void test_bus(void **state)
{
    (void)state;
    struct world world;
    world_open(&world);
    sim_time cycle = world.constants.core_ps;
    struct pci_request requests[] = {
        {.kind = PCI_READ, .bytes = 2048, .ended = ended, .context = &world},
        {.kind = PCI_WRITE, .bytes = 8, .ended = ended, .context = &world},
        {.kind = PCI_WRITE,
         .bytes = 8,
         .data_ready = 20 * SIM_US,
         .ended = ended,
         .context = &world},
    };
    for (int i = 0; i < 3; i++)
        pci_ask(world.host, &requests[i]);
    world_run(&world, NULL);
    assert_int_equal(world.count, 3);
    assert_int_equal(requests[0].start, 2 * cycle); /* arbitration */
    assert_int_equal(world.times[0], (1 + 13 + 256) * cycle);
    assert_int_equal(requests[1].start, requests[0].end + 2 * cycle); /* turn-around only */
    assert_int_equal(world.times[1], (1 + 3 + 1) * cycle);
    assert_int_equal(requests[2].end, 20 * SIM_US); /* waits for its data, and holds the bus */
}

static void poller(void *argument)
{
    struct world *world = argument;
    uint64_t *word = host_memory(world->host, 64, 8);
    world->result = host_poll(world->host, 64, 5, false, 3 * SIM_US);
    world->times[0] = sim_now(world->sim);
    *word = 5;
    assert_int_equal(host_poll(world->host, 64, 5, false, 3 * SIM_US), 0);
    assert_int_equal(host_poll(world->host, 64, 4, true, 3 * SIM_US), 0);
    world->times[1] = sim_now(world->sim);
}

static void test_poll(void **state)
{
    (void)state;
    struct world world;
    world_open(&world);
    world_run(&world, poller);
    assert_int_equal(world.result, -ETIMEDOUT);
    assert_int_equal(world.times[0], 3 * SIM_US);
    assert_int_equal(world.times[1], 3 * SIM_US);
}

static void test_attach(void **state)
{
    (void)state;
    struct world world;
    static uint8_t memory[3][10000];
    uint64_t physical[3], none = 5;
    world_open(&world);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(host_memory_attach(world.host, memory[i] + i, 9000, &physical[i]), 0);
        assert_int_equal(physical[i] % 4096, (uintptr_t)(memory[i] + i) % 4096);
    }
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(host_memory(world.host, physical[i], 9000), memory[i] + i);
        assert_ptr_equal(host_memory(world.host, physical[i] + 8999, 1), memory[i] + i + 8999);
    }
    assert_int_equal(host_memory_detach(world.host, physical[1]), 0);
    assert_int_equal(host_memory_detach(world.host, physical[1]), -ENOENT);
    assert_int_equal(host_memory_detach(world.host, none), -ENOENT);
    assert_ptr_equal(host_memory(world.host, physical[2], 1), memory[2] + 2);
    assert_ptr_equal(host_memory(world.host, physical[0], 1), memory[0]);
    world_run(&world, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stores),
        cmocka_unit_test(test_bus),
        cmocka_unit_test(test_poll),
        cmocka_unit_test(test_attach),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
