/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The worked example of docs/firmware.md: firmware with a primitive that the chip has not, fetch
 * and add. With SIM_TIMELINE=FILE its time line is written there, for Perfetto.
 */
#include "node.h"

#include <stdio.h>
#include <stdlib.h>

#define COUNTER (NODE_DATA + 64)
#define ADDS    20

/* A packet image of a type that only this firmware knows; waits for its answer, or until a
 * deadline. */
static int fetch_add(struct nodes *nodes, uint64_t offset, uint64_t number)
{
    struct chip_header header = {
        .type = CHIP_PACKET_OTHER, .sid = PROCESS_SID, .offset = offset, .length = 8};
    return node_image(nodes, header, &number);
}

static void adder(void *argument)
{
    struct nodes *nodes = argument;
    for (uint64_t i = 0; i < ADDS; i++) {
        sim_time begin = sim_now(nodes->sim);
        assert_int_equal(fetch_add(nodes, COUNTER, 1), 0);
        assert_int_equal(*node_word(nodes, 0, NODE_ANSWER + 8), 1000 + i);
        nodes->time[0] = sim_now(nodes->sim) - begin;
    }
}

static void test_fetch_add(void **state)
{
    (void)state;
    char path[4096];
    const char *folder = getenv("SIM_EXAMPLES"), *picture = getenv("SIM_TIMELINE");
    if (!folder)
        skip();
    snprintf(path, sizeof(path), "%s/fetch_add.elf", folder);
    struct sim_constants constants = sim_constants_default();
    struct nodes nodes;
    FILE *file = picture ? fopen(picture, "we") : NULL;
    struct trace *trace = file ? trace_open(&(struct trace_files){.timeline = file}) : NULL;
    constants.firmware = path;
    nodes_open(&nodes, (struct cluster_spec){.constants = &constants, .trace = trace}, true);
    *node_word(&nodes, 1, COUNTER) = 1000;
    nodes_start(&nodes, "adder", adder);
    nodes_run(&nodes);
    assert_int_equal(*node_word(&nodes, 1, COUNTER), 1000 + ADDS);
    assert_int_equal(*node_word(&nodes, 0, NODE_ANSWER + 8), 1000 + ADDS - 1);
    const struct chip_count *count = chip_count(cluster_chip(nodes.cluster, 1));
    assert_int_equal(count->exceptions[CHIP_SPECIAL_PACKET], ADDS);
    assert_int_equal(count->discarded, 0);
    print_message("# a fetch and add takes %.2f us, %.2f of them the firmware's\n",
                  (double)nodes.time[0] / (double)SIM_US,
                  (double)count->cpu / ADDS / (double)SIM_US);
    nodes_close(&nodes);
    if (file) {
        assert_int_equal(trace_close(trace), 0);
        fclose(file);
    }
}

static void refused_body(void *argument)
{
    struct nodes *nodes = argument;
    assert_true(fetch_add(nodes, COUNTER + 4, 1) < 0);                /* not a whole word */
    assert_true(fetch_add(nodes, 16 * (uint64_t)NODE_MEMORY, 1) < 0); /* not pinned */
}

/* What makes no sense is dropped, and nothing is changed. */
static void test_refused(void **state)
{
    (void)state;
    char path[4096];
    const char *folder = getenv("SIM_EXAMPLES");
    if (!folder)
        skip();
    snprintf(path, sizeof(path), "%s/fetch_add.elf", folder);
    struct sim_constants constants = sim_constants_default();
    struct nodes nodes;
    constants.firmware = path;
    nodes_open(&nodes, (struct cluster_spec){.constants = &constants}, true);
    nodes_start(&nodes, "refused", refused_body);
    nodes_run(&nodes);
    assert_int_equal(*node_word(&nodes, 1, COUNTER), 0);
    assert_int_equal(chip_count(cluster_chip(nodes.cluster, 1))->discarded, 2);
    nodes_close(&nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fetch_add),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
