/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The controller: data arrives where it should and nowhere else, whatever size and alignment;
 * times of the thesis's tables; exceptions, protection, take-over.
 */
#include "node.h"

#include <stdlib.h>
#include <string.h>

static void pattern_fill(struct nodes *nodes, uint32_t node, uint64_t physical, uint32_t length,
                         uint8_t seed)
{
    uint8_t *at = host_memory(cluster_host(nodes->cluster, node), physical, length);
    for (uint32_t i = 0; i < length; i++)
        at[i] = (uint8_t)(seed + i * 7 + i / 251);
}

#define TRIES 60
#define LIMIT 20000

/* PUSH or PULL of random size and place; the bytes around must not change. */
static void moves(struct nodes *nodes, enum chip_kick kick)
{
    uint8_t *source = host_memory(cluster_host(nodes->cluster, kick == CHIP_PUSH ? 0 : 1), 0,
                                  NODE_MEMORY);
    uint8_t *target = host_memory(cluster_host(nodes->cluster, kick == CHIP_PUSH ? 1 : 0), 0,
                                  NODE_MEMORY);
    static uint8_t expected[NODE_MEMORY];
    for (uint32_t i = 0; i < TRIES; i++) {
        uint32_t length = 1 + (uint32_t)sim_random_below(nodes->sim, i % 3 ? 300 : LIMIT);
        uint64_t from = NODE_DATA + sim_random_below(nodes->sim, 100000);
        uint64_t to = NODE_DATA + sim_random_below(nodes->sim, 100000);
        pattern_fill(nodes, kick == CHIP_PUSH ? 0 : 1, from, length, (uint8_t)i);
        memcpy(expected, target, NODE_MEMORY);
        memcpy(expected + to, source + from, length);
        *node_word(nodes, 0, NODE_FLAG) = 0;
        struct node_request request = {.node = 0,
                                       .target = 1,
                                       .kick = kick,
                                       .local = kick == CHIP_PUSH ? from : to,
                                       .offset = kick == CHIP_PUSH ? to : from,
                                       .length = length,
                                       .wants_flag = true};
        assert_int_equal(node_ask(nodes, &request), CHIP_CONT_DONE);
        assert_int_equal(host_poll(cluster_host(nodes->cluster, 0), NODE_FLAG, 1, false,
                                   sim_now(nodes->sim) + SIM_MS),
                         0);
        assert_memory_equal(target + NODE_DATA, expected + NODE_DATA, NODE_MEMORY - NODE_DATA);
    }
}

static void push_body(void *argument)
{
    moves(argument, CHIP_PUSH);
}

static void pull_body(void *argument)
{
    moves(argument, CHIP_PULL);
}

static void test_push(void **state)
{
    struct nodes nodes;
    (void)state;
    nodes_open(&nodes, (struct cluster_spec){0}, true);
    nodes_start(&nodes, "push", push_body);
    nodes_run(&nodes);
    assert_int_equal(chip_count(cluster_chip(nodes.cluster, 1))->acks, TRIES);
    assert_int_equal(chip_count(cluster_chip(nodes.cluster, 1))->discarded, 0);
    nodes_close(&nodes);
}

static void test_pull(void **state)
{
    struct nodes nodes;
    (void)state;
    nodes_open(&nodes, (struct cluster_spec){0}, true);
    nodes_start(&nodes, "pull", pull_body);
    nodes_run(&nodes);
    assert_int_equal(chip_count(cluster_chip(nodes.cluster, 0))->pulls, TRIES);
    nodes_close(&nodes);
}

/* The same with empty TLBs: the firmware fills them, once for each page. */
static void test_misses(void **state)
{
    struct nodes nodes;
    (void)state;
    nodes_open(&nodes, (struct cluster_spec){0}, false);
    nodes_start(&nodes, "push", push_body);
    nodes_run(&nodes);
    const struct chip_count *source = chip_count(cluster_chip(nodes.cluster, 0));
    const struct chip_count *target = chip_count(cluster_chip(nodes.cluster, 1));
    assert_in_range(source->exceptions[CHIP_PATLB_MISS], 1, 32);
    assert_in_range(target->exceptions[CHIP_PATLB_MISS], 1, 32);
    assert_int_equal(target->exceptions[CHIP_RVATLB_MISS], 1);
    assert_int_equal(target->discarded, 0);
    nodes_close(&nodes);
}

struct cell {
    const char *what;
    double thesis; /* us */
    sim_time simulated;
};

static void cells_check(const struct cell *cells, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double us = (double)cells[i].simulated / (double)SIM_US;
        if (us < cells[i].thesis * 0.99 || us > cells[i].thesis * 1.01)
            fail_msg("%s: %.3f us, the thesis has %.2f", cells[i].what, us, cells[i].thesis);
    }
}

/* One remote write of 8 bytes; when the target's program sees it. */
static void write_once(struct nodes *nodes, enum chip_kick kick)
{
    struct host *target = cluster_host(nodes->cluster, 1);
    nodes->time[0] = sim_now(nodes->sim);
    *node_word(nodes, 0, NODE_DATA) = 42;
    if (kick == CHIP_SOFTWARE) { /* stands for AOTF here */
        host_pio(cluster_host(nodes->cluster, 0), 1);
        chip_aotf_store(cluster_chip(nodes->cluster, 0), 3, 64, 42);
    } else {
        struct node_request request = {
            .target = 1, .kick = kick, .local = NODE_DATA, .offset = 8192 + 64, .length = 8};
        node_kick(nodes, &request);
    }
    host_poll(target, 8192 + 64, 42, false, SIM_NEVER);
    nodes->time[1] = sim_now(nodes->sim);
}

static void push_once(void *nodes)
{
    write_once(nodes, CHIP_PUSH);
}
static void botf_once(void *nodes)
{
    write_once(nodes, CHIP_BOTF);
}
static void aotf_once(void *nodes)
{
    write_once(nodes, CHIP_SOFTWARE);
}

static void test_table_62(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        void (*body)(void *);
        double thesis[6];
    } columns[] = {
        {"PUSH", push_once, {0.72, 1.48, 1.49, 1.73, 2.06, 2.48}},
        {"BOTF", botf_once, {0.79, 1.14, 1.15, 1.39, 1.72, 2.14}},
        {"AOTF", aotf_once, {0.39, 0.74, 0.75, 0.99, 1.32, 1.74}},
    };
    for (size_t i = 0; i < COUNT_OF(columns); i++) {
        struct nodes nodes;
        const double *thesis = columns[i].thesis;
        nodes_open(&nodes, (struct cluster_spec){0}, true);
        struct chip_header header = {
            .pgid = NODE_PGID, .target_node = 1, .target_pid = 1, .sid = NODE_SID, .offset = 8192};
        chip_aotf_register(cluster_chip(nodes.cluster, 0), 3, &header);
        nodes_start(&nodes, columns[i].name, columns[i].body);
        nodes_run(&nodes);
        const struct chip *source = cluster_chip(nodes.cluster, 0);
        const struct chip *target = cluster_chip(nodes.cluster, 1);
        struct cell cells[] = {
            {"accepted", thesis[0], chip_moment(source, CHIP_ACCEPTED)},
            {"transmission starts", thesis[1], chip_moment(source, CHIP_TX_START)},
            {"arrives", thesis[2], chip_moment(target, CHIP_ARRIVED)},
            {"processing starts", thesis[3], chip_moment(target, CHIP_RFEND_BEGIN)},
            {"PCI starts", thesis[4], chip_moment(target, CHIP_PCI_START)},
            {"complete", thesis[5], nodes.time[1]},
        };
        cells_check(cells, COUNT_OF(cells));
        nodes_close(&nodes);
    }
}

static void read_once(struct nodes *nodes, enum chip_kick kick)
{
    *node_word(nodes, 1, 16384) = 43;
    struct node_request request = {.target = 1,
                                   .kick = kick,
                                   .local = NODE_DATA,
                                   .offset = 16384,
                                   .length = 8,
                                   .wants_flag = true};
    node_kick(nodes, &request);
    host_poll(cluster_host(nodes->cluster, 0), NODE_DATA, 43, false, SIM_NEVER);
    nodes->time[1] = sim_now(nodes->sim);
}

static void pull_once(void *nodes)
{
    read_once(nodes, CHIP_PULL);
}

static void test_table_63(void **state)
{
    (void)state;
    struct nodes nodes;
    nodes_open(&nodes, (struct cluster_spec){0}, true);
    nodes_start(&nodes, "PULL", pull_once);
    nodes_run(&nodes);
    const struct chip *source = cluster_chip(nodes.cluster, 0);
    const struct chip *target = cluster_chip(nodes.cluster, 1);
    struct cell cells[] = {
        {"accepted", 0.72, chip_moment(source, CHIP_ACCEPTED)},
        {"request starts", 1.25, chip_moment(source, CHIP_TX_START)},
        {"request arrives", 1.26, chip_moment(target, CHIP_ARRIVED)},
        {"remote PCI starts", 1.97, chip_moment(target, CHIP_PCI_READ)},
        {"response starts", 2.26, chip_moment(target, CHIP_TX_START)},
        {"response arrives", 2.27, chip_moment(source, CHIP_ARRIVED)},
        {"local PCI starts", 2.84, chip_moment(source, CHIP_PCI_START)},
        {"complete", 3.26, nodes.time[1]},
    };
    cells_check(cells, COUNT_OF(cells));
    nodes_close(&nodes);
}

/* What a process must not do: a window that is not its own, pages that are not pinned, segments
 * that nobody has, another job's memory, nodes that do not exist. */
static void refused_body(void *argument)
{
    struct nodes *nodes = argument;
    struct chip *chip = cluster_chip(nodes->cluster, 0);
    struct node_request request = {
        .target = 1, .kick = CHIP_PUSH, .local = NODE_DATA, .offset = NODE_DATA, .length = 64};
    *node_word(nodes, 0, NODE_DATA) = 99;
    request.local = NODE_MEMORY; /* not pinned */
    assert_int_equal(node_ask(nodes, &request), CHIP_CONT_REFUSED);
    request.local = NODE_DATA;
    request.sid = 5; /* nobody has it: sent, and dropped there */
    assert_int_equal(node_ask(nodes, &request), CHIP_CONT_DONE);
    request.sid = NODE_SID;
    request.offset = NODE_MEMORY; /* beyond the segment: not pinned */
    assert_int_equal(node_ask(nodes, &request), CHIP_CONT_DONE);
    request.offset = NODE_DATA;
    request.target = 9; /* no such node */
    assert_int_equal(node_ask(nodes, &request), CHIP_CONT_DONE);
    request.target = 1;
    chip_window_set(chip, 0, NODE_PGID + 1, 0); /* another job: its pages are not here */
    assert_int_equal(node_ask(nodes, &request), CHIP_CONT_REFUSED);
    chip_window_clear(chip, 0);
    assert_int_equal(node_ask(nodes, &request), CHIP_CONT_REFUSED);
    request.kick = CHIP_SOFTWARE; /* the firmware knows none */
    assert_int_equal(node_ask(nodes, &request), CHIP_CONT_REFUSED);
    chip_window_set(chip, 0, NODE_PGID, 0);
    request.kick = CHIP_PUSH; /* and afterwards all is well */
    assert_int_equal(node_ask(nodes, &request), CHIP_CONT_DONE);
}

static void test_refused(void **state)
{
    (void)state;
    struct nodes nodes;
    nodes_open(&nodes, (struct cluster_spec){0}, true);
    nodes_start(&nodes, "refused", refused_body);
    nodes_run(&nodes);
    const struct chip_count *source = chip_count(cluster_chip(nodes.cluster, 0));
    const struct chip_count *target = chip_count(cluster_chip(nodes.cluster, 1));
    assert_int_equal(source->refused, 4);
    assert_int_equal(source->exceptions[CHIP_PROTECTION], 1);
    assert_int_equal(source->exceptions[CHIP_SPECIAL_REQUEST], 1);
    assert_int_equal(target->discarded, 2);
    assert_int_equal(*node_word(&nodes, 1, NODE_DATA), 99);
    nodes_close(&nodes);
}

/* A packet image of an unknown kind is dropped by the firmware; a forged PGID is overwritten. */
static void image_body(void *argument)
{
    struct nodes *nodes = argument;
    struct host *host = cluster_host(nodes->cluster, 0);
    struct chip *chip = cluster_chip(nodes->cluster, 0);
    uint64_t words[CHIP_HEADER_WORDS];
    for (uint8_t type = CHIP_PACKET_PUSH; type <= CHIP_PACKET_OTHER + 1; type++) {
        struct chip_header header = {.type = type,
                                     .pgid = NODE_PGID + 1,
                                     .target_node = 1,
                                     .target_pid = 1,
                                     .sid = NODE_SID,
                                     .offset = NODE_DATA,
                                     .local = NODE_VIRTUAL + NODE_DATA + 64,
                                     .length = 8};
        if (type == CHIP_PACKET_PULL_REQUEST)
            continue;
        chip_header_pack(&header, words);
        *node_word(nodes, 0, NODE_CONTFLAG) = 0;
        host_pio(host, CHIP_HEADER_WORDS + 1);
        for (uint32_t i = 0; i < CHIP_HEADER_WORDS; i++)
            chip_window_write(chip, 0, i, words[i]);
        chip_window_write(chip, 0, CHIP_HEADER_WORDS, 1000u + type);
        chip_window_kick(chip, 0, CHIP_BOTF);
        assert_int_equal(host_poll(host, NODE_CONTFLAG, CHIP_CONT_DONE, false, SIM_NEVER), 0);
    }
}

static void test_images(void **state)
{
    (void)state;
    struct nodes nodes;
    nodes_open(&nodes, (struct cluster_spec){0}, true);
    nodes_start(&nodes, "image", image_body);
    nodes_run(&nodes);
    const struct chip_count *target = chip_count(cluster_chip(nodes.cluster, 1));
    assert_int_equal(*node_word(&nodes, 1, NODE_DATA), 1000 + CHIP_PACKET_PUSH);
    assert_int_equal(*node_word(&nodes, 1, NODE_DATA + 64), 1000 + CHIP_PACKET_PULL_REPLY);
    assert_int_equal(target->exceptions[CHIP_SPECIAL_PACKET], 3);
    assert_int_equal(target->discarded, 3);
    nodes_close(&nodes);
}

/* Every suspendable state can be stopped at; the same data arrives, only later. */
static void test_breakpoints(void **state)
{
    (void)state;
    static const struct {
        enum chip_module module;
        const char *name;
        uint32_t node;
    } stops[] = {
        {CHIP_INITIATOR, "IDLE", 0}, {CHIP_INITIATOR, "PGID", 0}, {CHIP_INITIATOR, "IPA2", 0},
        {CHIP_RFEND, "FLIT1", 1},    {CHIP_RFEND, "FLIT3", 1},    {CHIP_RFEND, "RVA", 1},
        {CHIP_RBEND, "PATLB", 1},
    };
    for (size_t i = 0; i < COUNT_OF(stops); i++) {
        struct nodes nodes;
        nodes_open(&nodes, (struct cluster_spec){0}, true);
        struct chip *chip = cluster_chip(nodes.cluster, stops[i].node);
        uint32_t number = chip_state_find(stops[i].module, stops[i].name);
        assert_true(number != UINT32_MAX);
        chip_breakpoint_set(chip, stops[i].module, number, true);
        nodes_start(&nodes, "push", push_once);
        nodes_run(&nodes);
        assert_int_equal(chip_count(chip)->exceptions[CHIP_BREAKPOINT], 1);
        assert_true(nodes.time[1] > 3 * SIM_US);
        assert_string_equal(chip_state_name(chip, stops[i].module), "IDLE");
        nodes_close(&nodes);
    }
}

/* Both ways at once, pushes and pulls, until everything has been answered: no deadlock. */
static void both_body(void *argument)
{
    struct nodes *nodes = argument;
    uint32_t node = (uint32_t)nodes->result[0]++;
    for (int i = 0; i < 40; i++) {
        struct node_request request = {.node = node,
                                       .target = !node,
                                       .kick = i % 2 ? CHIP_PULL : CHIP_PUSH,
                                       .local = NODE_DATA,
                                       .offset = NODE_DATA + 200000,
                                       .length = 30000,
                                       .wants_flag = true};
        *node_word(nodes, node, NODE_FLAG) = 0;
        assert_int_equal(node_ask(nodes, &request), CHIP_CONT_DONE);
        assert_int_equal(host_poll(cluster_host(nodes->cluster, node), NODE_FLAG, 1, false,
                                   sim_now(nodes->sim) + 10 * SIM_MS),
                         0);
    }
}

static void test_both_ways(void **state)
{
    (void)state;
    uint64_t hash[2];
    for (int i = 0; i < 2; i++) {
        struct nodes nodes;
        nodes_open(&nodes, (struct cluster_spec){0}, i == 1);
        nodes_start(&nodes, "node 0", both_body);
        nodes_start(&nodes, "node 1", both_body);
        nodes_run(&nodes);
        hash[i] = sim_hash(nodes.sim);
        nodes_close(&nodes);
    }
    assert_true(hash[0] != hash[1]);
}

static void test_trace(void **state)
{
    (void)state;
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    struct trace *trace = trace_open(out);
    struct nodes nodes;
    nodes_open(&nodes, (struct cluster_spec){.trace = trace}, true);
    nodes_start(&nodes, "push", push_once);
    nodes_run(&nodes);
    nodes_close(&nodes);
    assert_int_equal(trace_close(trace), 0);
    fclose(out);
    static const char *const wanted[] = {"\"IPA2\"",      "\"RVA\"",       "\"DMA read\"",
                                         "\"DMA write\"", "\"Initiator\"", "\"node 1\""};
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        assert_non_null(strstr(text, wanted[i]));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_push),      cmocka_unit_test(test_pull),
        cmocka_unit_test(test_misses),    cmocka_unit_test(test_table_62),
        cmocka_unit_test(test_table_63),  cmocka_unit_test(test_refused),
        cmocka_unit_test(test_images),    cmocka_unit_test(test_breakpoints),
        cmocka_unit_test(test_both_ways), cmocka_unit_test(test_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
