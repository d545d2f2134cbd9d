/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Four controllers, everything at once: each node writes and reads random pieces of all the others
 * by PUSH, PULL, BOTF and AOTF, with cold TLBs, several windows, long links and bit errors as
 * chance decides. In the end every memory is what it must be. A failing seed is named; it replays.
 */
#include "node.h"

#include "base/error.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define SEEDS   200
#define NODES   4
#define SLICE   16384 /* of each node's memory, for each writer */
#define OWN     (NODE_DATA + NODES * SLICE)
#define SCRATCH (OWN + SLICE)
#define STEPS   60

struct storm {
    struct nodes nodes;
    struct network_link links[NODES];
    uint8_t ports[NODES];
    struct network_plan plan;
    struct sim_constants constants;
    /* what each node must have in the slice of each writer */
    uint8_t expected[NODES][NODES][SLICE];
    uint64_t seed;
};

struct writer {
    struct storm *storm;
    uint32_t number;
};

static uint64_t slice_at(uint32_t writer)
{
    return NODE_DATA + (uint64_t)writer * SLICE;
}

static void push_random(struct writer *writer, uint32_t target, bool is_image)
{
    struct storm *storm = writer->storm;
    struct process *process = storm->nodes.process[writer->number];
    struct sim *sim = storm->nodes.sim;
    uint32_t length = 1 + (uint32_t)sim_random_below(sim, is_image ? PROCESS_IMAGE_MAX : 6000);
    uint64_t from = sim_random_below(sim, SLICE - length),
             to = sim_random_below(sim, SLICE - length);
    uint8_t *data = process_memory(process, OWN + from, length);
    for (uint32_t i = 0; i < length; i++)
        data[i] = (uint8_t)sim_random(sim);
    struct process_transfer transfer = {.peer = storm->nodes.process[target],
                                        .local = OWN + from,
                                        .remote = slice_at(writer->number) + to,
                                        .length = length,
                                        .wants_flag = sim_random_below(sim, 2)};
    memcpy(&storm->expected[target][writer->number][to], data, length);
    process_flag_clear(process);
    int result = is_image ? process_botf_push(process, &transfer)
                          : process_push(process, &transfer);
    if (result == 0)
        result = process_finish(process); /* the data may change only then */
    if (result == 0 && transfer.wants_flag)
        result = process_flag_wait(process, sim_now(sim) + 50 * SIM_MS);
    if (result < 0)
        fail_msg("seed %llu: a push ended with %d", (unsigned long long)storm->seed, result);
}

static void store_random(struct writer *writer, uint32_t target)
{
    struct storm *storm = writer->storm;
    struct process *process = storm->nodes.process[writer->number];
    struct sim *sim = storm->nodes.sim;
    uint64_t to = sim_random_below(sim, SLICE / 8) * 8, value = sim_random(sim);
    uint64_t remote = slice_at(writer->number) + to;
    process_page_open(process, target, storm->nodes.process[target], remote & ~4095ULL);
    process_store(process, &(struct chip_store){.page = target,
                                                .offset = (uint32_t)(remote & 4095),
                                                .length = sizeof(value),
                                                .value = value});
    memcpy(&storm->expected[target][writer->number][to], &value, sizeof(value));
    /* headers are registered anew for each store: the controller must have used this one */
    fiber_sleep(sim, 2 * SIM_US);
}

/* Reads back what we wrote there: a pull never sees anything else, once the push is complete. */
static void pull_random(struct writer *writer, uint32_t target)
{
    struct storm *storm = writer->storm;
    struct process *process = storm->nodes.process[writer->number];
    struct sim *sim = storm->nodes.sim;
    uint32_t length = 1 + (uint32_t)sim_random_below(sim, 6000);
    uint64_t from = sim_random_below(sim, SLICE - length);
    struct process_transfer transfer = {.peer = storm->nodes.process[target],
                                        .local = SCRATCH,
                                        .remote = slice_at(writer->number) + from,
                                        .length = length,
                                        .wants_flag = true};
    process_flag_clear(process);
    int result = sim_random_below(sim, 2) ? process_pull(process, &transfer)
                                          : process_botf_pull(process, &transfer);
    if (result == 0)
        result = process_flag_wait(process, sim_now(sim) + 50 * SIM_MS);
    if (result < 0)
        fail_msg("seed %llu: a pull ended with %d", (unsigned long long)storm->seed, result);
}

static void writer_body(void *argument)
{
    struct writer *writer = argument;
    struct sim *sim = writer->storm->nodes.sim;
    for (int i = 0; i < STEPS; i++) {
        uint32_t target = (writer->number + 1 + (uint32_t)sim_random_below(sim, NODES - 1)) % NODES;
        switch (sim_random_below(sim, 5)) {
        case 0:
            store_random(writer, target);
            break;
        case 1:
            pull_random(writer, target);
            break;
        default:
            push_random(writer, target, sim_random_below(sim, 3) == 0);
            break;
        }
    }
}

static void storm_open(struct storm *storm, uint64_t seed)
{
    for (uint32_t i = 0; i < NODES; i++) {
        storm->links[i] = (struct network_link){.a = {1 + i, 1}, .b = {0, (uint8_t)(i + 1)}};
        storm->ports[i] = (uint8_t)(i + 1);
    }
    storm->seed = seed;
    storm->constants = sim_constants_default();
    storm->constants.double_buffer = (int64_t)(seed / 2 % 2);
    storm->constants.soft_push = (int64_t)(seed / 4 % 2);
    storm->plan = (struct network_plan){.switch_count = 1,
                                        .host_count = NODES,
                                        .link_count = NODES,
                                        .links = storm->links,
                                        .port_to = storm->ports};
    struct cluster_spec spec = {.node_count = NODES,
                                .plan = &storm->plan,
                                .kind = seed % 2 ? NETWORK_RHINET3 : NETWORK_RHINET2,
                                .metres = (uint32_t)(seed * 13 % 200),
                                .bit_error_rate = seed % 2 ? 1e-6 : 0,
                                .constants = &storm->constants};
    nodes_open_seeded(&storm->nodes, spec, seed % 3 == 0, seed);
}

static uint64_t storm_run(uint64_t seed)
{
    struct storm *storm = calloc(1, sizeof(*storm));
    struct writer writers[NODES];
    assert_non_null(storm);
    storm_open(storm, seed);
    for (uint32_t i = 0; i < NODES; i++) {
        writers[i] = (struct writer){storm, i};
        struct fiber_spec spec = {.name = "writer", .body = writer_body, .argument = &writers[i]};
        assert_int_equal(fiber_create(storm->nodes.sim, &spec, NULL), 0);
    }
    nodes_run(&storm->nodes);
    for (uint32_t node = 0; node < NODES; node++) {
        for (uint32_t from = 0; from < NODES; from++) {
            const void *slice = process_memory(storm->nodes.process[node], slice_at(from), SLICE);
            if (memcmp(slice, storm->expected[node][from], SLICE) != 0)
                fail_msg("seed %llu: node %u has not what node %u wrote", (unsigned long long)seed,
                         node, from);
        }
        const struct chip_count *count = chip_count(cluster_chip(storm->nodes.cluster, node));
        assert_int_equal(count->discarded, 0);
        assert_int_equal(count->refused, 0);
    }
    uint64_t hash = sim_hash(storm->nodes.sim);
    nodes_close(&storm->nodes);
    free(storm);
    return hash;
}

static void test_storm(void **state)
{
    const uint64_t *seeds = *state;
    for (uint64_t seed = 1; seed <= *seeds; seed++) {
        uint64_t hash = storm_run(seed);
        if (seed % 8 == 0 && hash != storm_run(seed))
            fail_msg("seed %llu does not replay", (unsigned long long)seed);
    }
}

/* sim-storm [SEEDS]: more of them, for soaking. */
int main(int argc, char **argv)
{
    uint64_t seeds = SEEDS;
    if (argc > 1 && !text_to_u64(argv[1], &seeds))
        return 2;
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(test_storm, &seeds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
