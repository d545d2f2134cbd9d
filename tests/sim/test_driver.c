/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The driver: only task managers enter processes, windows have one owner, memory is in the chip's
 * tables exactly as long as it is pinned, headers are checked, closing takes everything back.
 */
#include "node.h"

#include <errno.h>
#include <string.h>

#define JOB   3
#define TASK  50
#define FIRST 40 /* a window that no process of the tests has */

static struct driver *driver_of(struct nodes *nodes)
{
    return cluster_driver(nodes->cluster, 0);
}

static int manager_open(struct driver *driver)
{
    return driver_open(driver, DRIVER_DEVICE_MANAGER, &(struct driver_caller){.is_manager = true});
}

static void test_entering(void **state)
{
    (void)state;
    struct nodes nodes;
    nodes_open(&nodes, (struct cluster_spec){0}, true);
    struct driver *driver = driver_of(&nodes);
    struct driver_caller task = {.task = TASK};
    struct driver_entry entry = {TASK, JOB, 1, FIRST, 2};
    assert_int_equal(driver_open(driver, DRIVER_DEVICE_MANAGER, &task), -EACCES);
    assert_int_equal(driver_open(driver, DRIVER_DEVICE_USER, &task), -EACCES); /* not entered */
    int manager = manager_open(driver);
    assert_true(manager >= 0);
    assert_int_equal(driver_map(driver, manager, 0, 64), -EPERM);
    assert_int_equal(driver_enter(driver, manager, &entry), 0);
    assert_int_equal(driver_enter(driver, manager, &entry), -EEXIST);
    struct driver_entry other = {TASK + 1, JOB, 2, FIRST + 1, 1};
    assert_int_equal(driver_enter(driver, manager, &other), -EBUSY);
    other.window_first = CHIP_WINDOWS - 1;
    other.window_count = 2;
    assert_int_equal(driver_enter(driver, manager, &other), -EINVAL);
    other.window_first = DRIVER_ANY_WINDOW;
    assert_int_equal(driver_enter(driver, manager, &other), 0);
    assert_true(other.window_first + 1 < FIRST || other.window_first > FIRST + 1);
    int file = driver_open(driver, DRIVER_DEVICE_USER, &task);
    assert_true(file >= 0);
    assert_int_equal(driver_open(driver, DRIVER_DEVICE_USER, &task), -EBUSY);
    assert_int_equal(driver_enter(driver, file, &(struct driver_entry){99, 1, 1, 0, 0}), -EPERM);
    driver_close(driver, manager);
    driver_close(driver, file);
    assert_int_equal(driver_open(driver, DRIVER_DEVICE_USER, &task), -EACCES);
    nodes_close(&nodes);
}

static void test_headers(void **state)
{
    (void)state;
    struct nodes nodes;
    nodes_open(&nodes, (struct cluster_spec){0}, true);
    struct driver *driver = driver_of(&nodes);
    int manager = manager_open(driver), files[2];
    for (uint32_t i = 0; i < 2; i++) {
        struct driver_entry entry = {TASK + i, JOB, (uint16_t)i, DRIVER_ANY_WINDOW, 1};
        assert_int_equal(driver_enter(driver, manager, &entry), 0);
        files[i] = driver_open(driver, DRIVER_DEVICE_USER,
                               &(struct driver_caller){.task = TASK + i});
    }
    const struct chip_header good = {
        .type = CHIP_PACKET_PUSH, .pgid = JOB, .source_pid = 0, .target_node = 1, .length = 8};
    struct chip_header bad[4] = {good, good, good, good};
    bad[0].pgid = JOB + 1;
    bad[1].source_pid = 1;
    bad[2].type = CHIP_PACKET_ACK;
    bad[3].length = 2048;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(driver_header(driver, files[0], 7, &bad[i]), -EACCES);
    assert_int_equal(driver_header(driver, files[0], CHIP_AOTF_PAGES, &good), -EINVAL);
    assert_int_equal(driver_header(driver, files[0], 7, &good), 0);
    assert_int_equal(driver_header(driver, files[0], 7, &good), 0); /* the own one, again */
    struct chip_header others = good;
    others.source_pid = 1;
    assert_int_equal(driver_header(driver, files[1], 7, &others), -EBUSY);
    driver_close(driver, files[0]);
    assert_int_equal(driver_header(driver, files[1], 7, &others), 0);
    nodes_close(&nodes);
}

/* A process of node 0 whose pages come and go, as the chip sees it. */
static void pinning_body(void *argument)
{
    struct nodes *nodes = argument;
    struct driver *driver = driver_of(nodes);
    struct process_transfer transfer = {
        .peer = nodes->process[1], .local = NODE_MEMORY, .remote = NODE_DATA, .length = 64};
    /* another page of the node under the address behind the process's memory */
    int manager = manager_open(driver);
    struct driver_entry entry = {TASK, NODE_PGID, 77, DRIVER_ANY_WINDOW, 0};
    struct driver_range range = {PROCESS_VIRTUAL + NODE_MEMORY, NODE_DATA, 8192};
    assert_int_equal(driver_enter(driver, manager, &entry), 0);
    int file = driver_open(driver, DRIVER_DEVICE_USER, &(struct driver_caller){.task = TASK});
    assert_int_equal(driver_pin(driver, file, &range), 0);
    assert_int_equal(driver_pin(driver, file, &range), -EEXIST);
    assert_true(driver_is_pinned(driver, file, range.virtual + 8191));
    assert_false(driver_is_pinned(driver, file, range.virtual + 8192));
    /* it is another process's: not ours to send */
    assert_int_equal(node_ask(nodes, 0, &transfer, CHIP_PUSH), CHIP_CONT_REFUSED);
    struct driver_range part = {.virtual = range.virtual, .length = 4096};
    assert_int_equal(driver_unpin(driver, file, &part), -ENOENT);
    assert_int_equal(driver_unpin(driver, file, &range), 0);
    assert_int_equal(driver_unpin(driver, file, &range), -ENOENT);
    driver_close(driver, file);
    driver_close(driver, manager);
}

static void test_pinning(void **state)
{
    (void)state;
    struct nodes nodes;
    nodes_open(&nodes, (struct cluster_spec){0}, true);
    nodes_start(&nodes, "pinning", pinning_body);
    nodes_run(&nodes);
    nodes_close(&nodes);
}

/* A process ends without unpinning anything: what others send it is dropped, and its windows do
 * nothing, also with full TLBs. */
static void after_close_body(void *argument)
{
    struct nodes *nodes = argument;
    struct process_transfer transfer = {
        .peer = nodes->process[1], .local = NODE_DATA, .remote = NODE_DATA, .length = 64};
    *node_word(nodes, 0, NODE_DATA) = 1;
    assert_int_equal(node_ask(nodes, 0, &transfer, CHIP_PUSH), CHIP_CONT_DONE);
    fiber_sleep(nodes->sim, 20 * SIM_US);
    void *memory = host_memory(cluster_host(nodes->cluster, 1), NODE_DATA, 8);
    assert_memory_equal(memory, &(uint64_t){1}, 8);
    struct chip *chip = process_chip(nodes->process[1]);
    uint64_t refused = chip_count(chip)->refused;
    driver_close(cluster_driver(nodes->cluster, 1),
                 1); /* as the kernel does; 0 was the manager's */
    *node_word(nodes, 0, NODE_DATA) = 2;
    assert_int_equal(node_ask(nodes, 0, &transfer, CHIP_PUSH), CHIP_CONT_DONE);
    fiber_sleep(nodes->sim, 100 * SIM_US);
    assert_memory_equal(memory, &(uint64_t){1}, 8);
    assert_int_equal(chip_count(chip)->discarded, 1);
    chip_window_kick(chip, 0, CHIP_PUSH);
    fiber_sleep(nodes->sim, 100 * SIM_US);
    assert_int_equal(chip_count(chip)->refused, refused + 1);
    assert_int_equal(chip_count(chip)->exceptions[CHIP_PROTECTION], 1);
}

static void test_close(void **state)
{
    (void)state;
    struct nodes nodes;
    nodes_open(&nodes, (struct cluster_spec){0}, true);
    nodes_start(&nodes, "close", after_close_body);
    nodes_run(&nodes);
    nodes_close(&nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entering),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_pinning),
        cmocka_unit_test(test_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
