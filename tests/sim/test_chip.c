/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The controller: data arrives where it should and nowhere else, whatever size and alignment;
 * times of the thesis's tables; exceptions, protection, take-over.
 *
 * Longer than most files: a case for each instruction and exception, on one small cluster.
 */
#include "node.h"

#include "experiment/thesis/thesis.h"
#include "sim/chip/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void pattern_fill(struct nodes *nodes, uint32_t node, uint64_t physical, uint32_t length,
                         uint8_t seed)
{
    uint8_t *at = process_memory(nodes->process[node], physical, length);
    for (uint32_t i = 0; i < length; i++)
        at[i] = (uint8_t)(seed + i * 7 + i / 251);
}

/* Three nodes on one switch. */
static const struct network_link star_links[] = {
    {.a = {1, 1}, .b = {0, 1}}, {.a = {2, 1}, .b = {0, 2}}, {.a = {3, 1}, .b = {0, 3}}};
static const uint8_t star_ports[] = {1, 2, 3};
static const struct network_plan star = {.switch_count = 1,
                                         .host_count = 3,
                                         .link_count = 3,
                                         .links = star_links,
                                         .port_to = star_ports};

#define TRIES 60
#define LIMIT 20000

/* PUSH or PULL of random size and place; the bytes around must not change. */
static void moves(struct nodes *nodes, enum chip_kick kick)
{
    uint32_t from_node = kick == CHIP_PUSH ? 0 : 1;
    uint8_t *source = process_memory(nodes->process[from_node], 0, NODE_MEMORY);
    uint8_t *target = process_memory(nodes->process[!from_node], 0, NODE_MEMORY);
    static uint8_t expected[NODE_MEMORY];
    for (uint32_t i = 0; i < TRIES; i++) {
        uint32_t length = 1 + (uint32_t)sim_random_below(nodes->sim, i % 3 ? 300 : LIMIT);
        uint64_t from = NODE_DATA + sim_random_below(nodes->sim, 100000);
        uint64_t to = NODE_DATA + sim_random_below(nodes->sim, 100000);
        pattern_fill(nodes, from_node, from, length, (uint8_t)i);
        memcpy(expected, target, NODE_MEMORY);
        memcpy(expected + to, source + from, length);
        process_flag_clear(nodes->process[0]);
        struct process_transfer transfer = {.peer = nodes->process[1],
                                            .local = kick == CHIP_PUSH ? from : to,
                                            .remote = kick == CHIP_PUSH ? to : from,
                                            .length = length,
                                            .wants_flag = true};
        assert_int_equal(node_ask(nodes, 0, &transfer, kick), CHIP_CONT_DONE);
        assert_int_equal(process_flag_wait(nodes->process[0], sim_now(nodes->sim) + SIM_MS), 0);
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

/* One remote write of 8 bytes; when the target's program sees it. */
static void push_once(void *argument)
{
    struct nodes *nodes = argument;
    *node_word(nodes, 0, NODE_DATA) = 42;
    struct process_transfer transfer = {
        .peer = nodes->process[1], .local = NODE_DATA, .remote = NODE_DATA + 64, .length = 8};
    assert_int_equal(process_push(nodes->process[0], &transfer), 0);
    process_poll(nodes->process[1], NODE_DATA + 64, 42, SIM_NEVER);
    nodes->time[1] = sim_now(nodes->sim);
}

#define FEW_AT 2048

static void store_body(void *argument)
{
    struct nodes *nodes = argument;
    process_page_open(nodes->process[0], 3, nodes->process[1], NODE_DATA);
    for (uint32_t i = 1; i < 8; i++) /* few bytes, behind one that stays */
        process_store(nodes->process[0], &(struct chip_store){.page = 3,
                                                              .offset = FEW_AT + i * 16 + 1,
                                                              .length = i,
                                                              .value = UINT64_MAX});
    for (uint32_t i = 0; i < 200; i++)
        process_store(
            nodes->process[0],
            &(struct chip_store){.page = 3, .offset = i * 8, .length = 8, .value = 500 + i});
}

/* A remote page written as if it were local. */
static void test_store(void **state)
{
    (void)state;
    struct nodes nodes;
    nodes_open(&nodes, (struct cluster_spec){0}, false);
    nodes_start(&nodes, "store", store_body);
    nodes_run(&nodes);
    for (uint32_t i = 0; i < 200; i++)
        assert_int_equal(*node_word(&nodes, 1, NODE_DATA + i * 8), 500 + i);
    for (uint32_t i = 1; i < 8; i++)
        assert_int_equal(*node_word(&nodes, 1, NODE_DATA + FEW_AT + i * 16), ((1ULL << 8 * i) - 1)
                                                                                 << 8);
    assert_int_equal(chip_count(cluster_chip(nodes.cluster, 0))->aotfs, 207);
    nodes_close(&nodes);
}

/* C rows hold to 1 %: tables 6.2 and 6.3, cell by cell. */
static void test_tables(void **state)
{
    (void)state;
    static struct thesis_report report;
    struct thesis_hosts hosts;
    static const char *const groups[] = {"table-6.2", "table-6.3"};
    static const uint32_t rows[] = {19, 17};
    assert_int_equal(thesis_hosts_usual(&hosts), 0);
    for (size_t i = 0; i < COUNT_OF(groups); i++) {
        assert_int_equal(thesis_run(&report, groups[i], &hosts, NULL), 0);
        assert_int_equal(report.result_count, rows[i]);
        for (uint32_t k = 0; k < report.result_count; k++) {
            const struct thesis_result *result = &report.results[k];
            if (!result->is_simulated || !result->holds)
                fail_msg("%s: %.3f, the thesis has %.2f", result->row->id, result->simulated,
                         result->row->thesis);
        }
    }
}

/* What a process must not do: a window that is not its own, pages that are not pinned, segments
 * that nobody has, another job's memory, nodes that do not exist. */
static void refused_body(void *argument)
{
    struct nodes *nodes = argument;
    struct chip *chip = cluster_chip(nodes->cluster, 0);
    struct process_transfer transfer = {
        .peer = nodes->process[1], .local = NODE_DATA, .remote = NODE_DATA, .length = 64};
    *node_word(nodes, 0, NODE_DATA) = 99;
    transfer.local = NODE_MEMORY; /* not pinned */
    assert_int_equal(node_ask(nodes, 0, &transfer, CHIP_PUSH), CHIP_CONT_REFUSED);
    transfer.local = NODE_DATA;
    transfer.sid = 5; /* nobody has it: sent, and dropped there */
    assert_int_equal(node_ask(nodes, 0, &transfer, CHIP_PUSH), CHIP_CONT_DONE);
    transfer.sid = PROCESS_SID;
    transfer.remote = NODE_MEMORY; /* beyond the segment: not pinned */
    assert_int_equal(node_ask(nodes, 0, &transfer, CHIP_PUSH), CHIP_CONT_DONE);
    transfer.remote = NODE_DATA;
    chip_window_set(chip, 0, NODE_PGID + 1, 0); /* another job: its pages are not here */
    assert_int_equal(node_ask(nodes, 0, &transfer, CHIP_PUSH), CHIP_CONT_REFUSED);
    chip_window_clear(chip, 0);
    assert_int_equal(node_ask(nodes, 0, &transfer, CHIP_PUSH), CHIP_CONT_REFUSED);
    /* the firmware knows no such request */
    assert_int_equal(node_ask(nodes, 0, &transfer, CHIP_SOFTWARE), CHIP_CONT_REFUSED);
    chip_window_set(chip, 0, NODE_PGID, 0); /* and afterwards all is well */
    assert_int_equal(node_ask(nodes, 0, &transfer, CHIP_PUSH), CHIP_CONT_DONE);
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

#define OWN_CONTFLAG 4096 /* physical */

/* A packet image of an unknown kind is dropped by the firmware; a forged PGID is overwritten; a
 * node that does not exist gets nothing. */
static void image_body(void *argument)
{
    struct nodes *nodes = argument;
    struct host *host = cluster_host(nodes->cluster, 0);
    struct chip *chip = cluster_chip(nodes->cluster, 0);
    uint64_t words[CHIP_HEADER_WORDS];
    chip_contflag_set(chip, 0, OWN_CONTFLAG);
    for (uint8_t type = CHIP_PACKET_PUSH; type <= CHIP_PACKET_OTHER + 2; type++) {
        struct chip_header header = {.type = type,
                                     .pgid = NODE_PGID + 1,
                                     .target_node = type > CHIP_PACKET_OTHER + 1 ? 9 : 1,
                                     .target_pid = 1,
                                     .sid = PROCESS_SID,
                                     .offset = NODE_DATA,
                                     .local = 0x40000000 + NODE_DATA + 64,
                                     .length = 8};
        if (type == CHIP_PACKET_PULL_REQUEST)
            continue;
        chip_header_pack(&header, words);
        *node_word(nodes, 0, OWN_CONTFLAG) = 0;
        host_pio(host, CHIP_HEADER_WORDS + 1, false);
        for (uint32_t i = 0; i < CHIP_HEADER_WORDS; i++)
            chip_window_write(chip, 0, i, words[i]);
        chip_window_write(chip, 0, CHIP_HEADER_WORDS, 1000u + type);
        chip_window_kick(chip, 0, CHIP_BOTF);
        assert_int_equal(host_poll(host, OWN_CONTFLAG, CHIP_CONT_DONE, false, SIM_NEVER), 0);
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
    struct nodes plain;
    nodes_open(&plain, (struct cluster_spec){0}, true);
    nodes_start(&plain, "push", push_once);
    nodes_run(&plain);
    for (size_t i = 0; i < COUNT_OF(stops); i++) {
        struct nodes nodes;
        nodes_open(&nodes, (struct cluster_spec){0}, true);
        struct chip *chip = cluster_chip(nodes.cluster, stops[i].node);
        uint32_t number = chip_state_find(stops[i].module, stops[i].name);
        assert_true(number != UINT32_MAX);
        assert_int_equal(chip_breakpoint_set(chip, stops[i].module, number, true), 0);
        nodes_start(&nodes, "push", push_once);
        nodes_run(&nodes);
        assert_int_equal(chip_count(chip)->exceptions[CHIP_BREAKPOINT], 1);
        /* by what the firmware's code takes, which is some tens of cycles */
        assert_true(nodes.time[1] > plain.time[1] + 300 * SIM_NS);
        assert_string_equal(chip_state_name(chip, stops[i].module), "IDLE");
        nodes_close(&nodes);
    }
    /* no other state is suspendable */
    static const struct {
        enum chip_module module;
        const char *name;
    } never[] = {
        {CHIP_INITIATOR, "CHK2"}, {CHIP_REPLIER, "ACK"}, {CHIP_RFEND, "SET3"}, {CHIP_RBEND, "DMA"}};
    struct chip *chip = cluster_chip(plain.cluster, 0);
    for (size_t i = 0; i < COUNT_OF(never); i++)
        assert_int_equal(chip_breakpoint_set(chip, never[i].module,
                                             chip_state_find(never[i].module, never[i].name), true),
                         -EINVAL);
    nodes_close(&plain);
}

/* PATLB of 64-bit hosts has one way: pages that meet in a set drive each other out. */
static void two_pages(void *argument)
{
    struct nodes *nodes = argument;
    for (uint32_t i = 0; i < 6; i++) {
        struct process_transfer transfer = {.peer = nodes->process[1],
                                            .local = NODE_DATA + i % 2 * 8 * 4096ULL,
                                            .remote = NODE_DATA,
                                            .length = 8};
        assert_int_equal(node_ask(nodes, 0, &transfer, CHIP_PUSH), CHIP_CONT_DONE);
    }
}

static void test_direct_mapped(void **state)
{
    (void)state;
    uint64_t misses[2];
    for (int i = 0; i < 2; i++) {
        struct sim_constants constants = sim_constants_default();
        struct nodes nodes;
        constants.patlb_sets = 8;
        constants.patlb_ways = 2 - i;
        nodes_open(&nodes, (struct cluster_spec){.constants = &constants}, false);
        nodes_start(&nodes, "pages", two_pages);
        nodes_run(&nodes);
        misses[i] = chip_count(cluster_chip(nodes.cluster, 0))->exceptions[CHIP_PATLB_MISS];
        nodes_close(&nodes);
    }
    assert_int_equal(misses[0], 2);
    assert_int_equal(misses[1], 6);
}

#define RING       (NODE_DATA + 4096)
#define RING_SLOTS 4
#define MESSAGES   50

static void ring_sender(void *argument)
{
    struct nodes *nodes = argument;
    uint32_t node = (uint32_t)nodes->result[0]++;
    for (uint32_t i = 0; i < MESSAGES; i++) {
        *node_word(nodes, node, NODE_DATA) = (uint64_t)node << 32 | i;
        struct process_transfer transfer = {.peer = nodes->process[2],
                                            .sid = PROCESS_RING_SID,
                                            .local = NODE_DATA,
                                            .length = i % 2 ? 8 : 2048};
        assert_int_equal(node_ask(nodes, node, &transfer, CHIP_PUSH), CHIP_CONT_DONE);
    }
}

/* Takes slowly, so that the ring is full most of the time. */
static void ring_receiver(void *argument)
{
    struct nodes *nodes = argument;
    struct process *process = nodes->process[2];
    uint64_t next[2] = {0};
    for (uint64_t taken = 0; taken < 2ULL * MESSAGES * CHIP_RING_SLOT; taken += CHIP_RING_SLOT) {
        /* other words of the first page may change too: look at the pointer itself */
        while (*node_word(nodes, 2, RING - 8) <= taken)
            assert_int_equal(
                process_ring_wait(process, RING, taken, sim_now(nodes->sim) + 10 * SIM_MS), 0);
        uint64_t word = *node_word(nodes, 2, RING + taken % (RING_SLOTS * CHIP_RING_SLOT));
        uint64_t node = word >> 32;
        assert_true(node < 2);
        assert_int_equal((uint32_t)word, next[node]++);
        fiber_sleep(nodes->sim, taken % 3 * 10 * SIM_US);
        process_ring_release(process, taken + CHIP_RING_SLOT);
    }
}

/* Two senders, one ring: all arrive, each sender's in order, whatever the receiver's pace. */
static void vpush_by(const struct sim_constants *constants)
{
    struct nodes nodes;
    nodes_open(&nodes,
               (struct cluster_spec){.node_count = 3, .plan = &star, .constants = constants}, true);
    process_ring_open(nodes.process[2], RING, RING_SLOTS);
    nodes_start(&nodes, "sender 0", ring_sender);
    nodes_start(&nodes, "sender 1", ring_sender);
    nodes_start(&nodes, "receiver", ring_receiver);
    nodes_run(&nodes);
    const struct chip_count *count = chip_count(cluster_chip(nodes.cluster, 2));
    assert_int_equal(count->vpushes, 2 * MESSAGES);
    assert_int_equal(count->discarded, 0);
    assert_int_equal(count->exceptions[CHIP_RVATLB_MISS] > 0, !constants->hardware_vpush);
    nodes_close(&nodes);
}

static void test_vpush(void **state)
{
    (void)state;
    struct sim_constants taken_over = sim_constants_default(), soft = taken_over, hard = taken_over;
    soft.soft_vpush = 1;
    hard.hardware_vpush = 1;
    vpush_by(&taken_over);
    vpush_by(&soft);
    vpush_by(&hard);
}

/* Both ways at once, pushes and pulls, until everything has been answered: no deadlock. */
static void both_body(void *argument)
{
    struct nodes *nodes = argument;
    uint32_t node = (uint32_t)nodes->result[0]++;
    struct process *process = nodes->process[node];
    for (int i = 0; i < 40; i++) {
        struct process_transfer transfer = {.peer = nodes->process[!node],
                                            .local = NODE_DATA,
                                            .remote = NODE_DATA + 200000,
                                            .length = 30000,
                                            .wants_flag = true};
        process_flag_clear(process);
        assert_int_equal(node_ask(nodes, node, &transfer, i % 2 ? CHIP_PULL : CHIP_PUSH),
                         CHIP_CONT_DONE);
        assert_int_equal(process_flag_wait(process, sim_now(nodes->sim) + 10 * SIM_MS), 0);
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

/* Nodes 0 and 2 keep node 1 busy with answers, replies and acks mixed; node 0 pushes too. */
static void crowd_body(void *argument)
{
    struct nodes *nodes = argument;
    uint32_t node = nodes->result[0]++ ? 2 : 0;
    struct process *process = nodes->process[node];
    for (uint32_t i = 0; i < 40; i++) {
        bool is_pull = node == 0 && i % 4;
        struct process_transfer transfer = {.peer = nodes->process[1],
                                            .local = NODE_DATA,
                                            .remote = NODE_DATA + 65536,
                                            .length = node == 0 ? 20000 : 8,
                                            .wants_flag = true};
        process_flag_clear(process);
        assert_int_equal(node_ask(nodes, node, &transfer, is_pull ? CHIP_PULL : CHIP_PUSH),
                         CHIP_CONT_DONE);
        assert_int_equal(process_flag_wait(process, sim_now(nodes->sim) + 10 * SIM_MS), 0);
    }
}

/* The Send FIFOs fill up and hold no packet more than they have room for. */
static void test_fifos(void **state)
{
    (void)state;
    struct nodes nodes;
    uint32_t most[2] = {0, 0};
    nodes_open(&nodes, (struct cluster_spec){.node_count = 3, .plan = &star}, true);
    nodes_start(&nodes, "node 0", crowd_body);
    nodes_start(&nodes, "node 2", crowd_body);
    while (sim_run(nodes.sim, SIM_NEVER, 1) == SIM_LIMIT) {
        for (uint32_t i = 0; i < 3; i++) {
            const struct chip *chip = cluster_chip(nodes.cluster, i);
            const uint32_t held[2] = {chip->initiator.fifo, chip->replier.fifo};
            for (int k = 0; k < 2; k++) {
                assert_true(held[k] <= chip->constants->send_fifo_packets);
                most[k] = held[k] > most[k] ? held[k] : most[k];
            }
        }
    }
    assert_int_equal(most[0], sim_constants_default().send_fifo_packets);
    assert_int_equal(most[1], sim_constants_default().send_fifo_packets);
    nodes_run(&nodes);
    nodes_close(&nodes);
}

/* Entries of a table that others were taken out beside are still found. */
static void test_table_after_removals(void **state)
{
    (void)state;
    struct table table = {0};
    uint64_t value;
    for (uint64_t tag = 0; tag < 200; tag++)
        assert_int_equal(table_put(&table, 7, tag, tag + 1), 0);
    for (uint64_t tag = 0; tag < 200; tag += 2)
        table_drop(&table, 7, tag);
    for (uint64_t tag = 0; tag < 200; tag++) {
        assert_int_equal(table_find(&table, 7, tag, &value), tag % 2 == 1);
        if (tag % 2)
            assert_int_equal(value, tag + 1);
        assert_false(table_find(&table, 8, tag, &value));
    }
    free(table.slots);
}

static void test_trace(void **state)
{
    (void)state;
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    struct trace *trace = trace_open(&(struct trace_files){.timeline = out});
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
        cmocka_unit_test(test_push),        cmocka_unit_test(test_pull),
        cmocka_unit_test(test_misses),      cmocka_unit_test(test_direct_mapped),
        cmocka_unit_test(test_tables),      cmocka_unit_test(test_store),
        cmocka_unit_test(test_refused),     cmocka_unit_test(test_images),
        cmocka_unit_test(test_breakpoints), cmocka_unit_test(test_both_ways),
        cmocka_unit_test(test_vpush),       cmocka_unit_test(test_trace),
        cmocka_unit_test(test_fifos),       cmocka_unit_test(test_table_after_removals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
