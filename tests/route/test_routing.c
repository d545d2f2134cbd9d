/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All algorithms on all kinds of fabrics, judged by the checker; what must be reached on joined
 * trees and random networks; and that threads change nothing.
 */
#include "support.h"

#include "base/parallel.h"
#include "route/routing/paths.h"
#include "route/trees/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *kind;
    struct generate_options options;
} shapes[] = {
    {"fat-tree", {.ports = 4}},
    {"fat-tree", {.ports = 6, .levels = 2, .over = 2}},
    {"fat-tree", {.ports = 4, .levels = 4}},
    {"joined", {.ports = 4, .join = GENERATE_TOP}},
    {"joined", {.ports = 4, .join = GENERATE_MIDDLE}},
    {"joined", {.ports = 4, .join = GENERATE_BOTTOM}},
    {"random", {.switches = 20, .ports = 4, .hosts = 2, .seed = 7}},
    {"ring", {.switches = 5}},
    {"ring", {.switches = 2}},
    {"mesh", {.size = {3, 4}}},
    {"torus", {.size = {3, 4, 3}}},
    {"hypercube", {.dimensions = 4}},
    {"dragonfly", {.routers = 4, .global = 1}},
    {"slim-fly", {.prime = 5, .hosts = 1}},
};

static void test_every_algorithm_everywhere(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        struct fixture fixture;
        fixture_generate(&fixture, shapes[i].kind, &shapes[i].options);
        for (const struct algorithm *at = algorithms; at->name; at++) {
            struct routing *routing;
            int result = routing_create(&routing, fixture.traffic, at, NULL);
            if (result == -ENETUNREACH && strcmp(at->name, "fat-tree") == 0)
                continue; /* says so itself where the shape is no tree */
            assert_int_equal(result, 0);
            struct check_report report = fixture_check(routing);
            assert_true(report.pairs == report.pairs_connected);
            assert_true(report.entries_missing == 0);
            if (report.lanes_used > routing->lane_count)
                fail_msg("%s on %s: %u lanes used, %u announced", at->name, shapes[i].kind,
                         report.lanes_used, routing->lane_count);
            if (at->loop_free || at->lanes != ALGORITHM_ONE_LANE) {
                if (!report.loop_free)
                    fail_msg("%s on %s: %s", at->name, shapes[i].kind, report.witness);
                assert_true(report.loop_free_strict);
            }
            routing_destroy(routing);
        }
        fixture_close(&fixture);
    }
}

static void test_deadlock_is_seen(void **state)
{
    (void)state;
    struct generate_options options = {.switches = 5};
    struct fixture fixture;
    fixture_generate(&fixture, "ring", &options);
    struct routing *routing = fixture_route(&fixture, "shortest");
    struct check_report report = fixture_check(routing);
    assert_false(report.loop_free);
    assert_non_null(strstr(report.witness, "5 buffers in a circle"));
    routing_destroy(routing);
    fixture_close(&fixture);
}

static void joined_reach(uint32_t ports, double inside, double between)
{
    struct generate_options options = {.ports = ports, .join = GENERATE_MIDDLE};
    struct fixture fixture;
    fixture_generate(&fixture, "joined", &options);
    struct routing *routing = fixture_route(&fixture, "turn-addition");
    double got_inside = load_throughput(routing->load, 0);
    double got_between = load_throughput(routing->load, 1);
    if (got_inside < inside || got_between < between)
        fail_msg("k = %u: %.4f inside, %.4f between", ports, got_inside, got_between);
    struct check_report report = fixture_check(routing);
    assert_true(check_passed(&report));
    struct load *again; /* the load kept up while building is the load of the table */
    assert_int_equal(load_create(&again, fixture.traffic), 0);
    assert_int_equal(load_of_table(again, routing->lft), 0);
    for (uint32_t k = 0; k < 2; k++) {
        double difference = load_max(again, k) - load_max(routing->load, k);
        assert_true(difference < 1e-3 && difference > -1e-3);
    }
    load_destroy(again);
    routing_destroy(routing);
    fixture_close(&fixture);
}

static void test_joined_trees_in_balance(void **state)
{
    (void)state;
    joined_reach(4, 0.95, 0.9);
    joined_reach(8, 0.95, 0.9);
    joined_reach(16, 0.95, 0.9);
}

/* Grows all trees of a fat tree that lacks a cable, without tuning, and counts the channels that
 * are much too full. */
static uint32_t crowded_count(uint32_t ports, const char *from, const char *to)
{
    struct generate_options options = {.ports = ports};
    struct fixture cut;
    struct turns *turns;
    struct reach *reach;
    struct demand *demand;
    struct load *load;
    struct grow *grow;
    fixture_generate(&cut, "fat-tree", &options);
    fixture_cut(&cut, from, to);
    assert_int_equal(demand_create(&demand, cut.traffic), 0);
    assert_int_equal(turns_create(&turns, cut.net), 0);
    assert_int_equal(algorithm_turn_addition(turns, &reach, demand, NULL), 0);
    assert_int_equal(load_create(&load, cut.traffic), 0);
    assert_int_equal(grow_create(&grow, turns, NULL, load), 0);
    uint8_t *next = malloc(cut.net->switch_count);
    for (uint32_t t = 0; t < cut.net->host_count; t++) {
        grow_tree(grow, t, next);
        grow_tree_load(grow, t, next);
    }
    uint32_t crowded = 0;
    for (uint32_t c = 0; c < cut.net->channel_count; c++)
        crowded += load->channel[0][c] > 1.25f;
    free(next);
    grow_destroy(grow);
    reach_destroy(reach);
    load_destroy(load);
    turns_destroy(turns);
    demand_destroy(demand);
    fixture_close(&cut);
    return crowded;
}

/* One cable less must not end the step in which sources choose: only what lies beside the gap may
 * be too full, and tuning has little to do. */
static void test_one_cable_less(void **state)
{
    (void)state;
    assert_true(crowded_count(16, "b(0,0)", "m(0,0)") <= 2);
    assert_true(crowded_count(16, "m(0,0)", "t(0,0)") <= 4);
}

static void test_random_in_balance(void **state)
{
    (void)state;
    double sum = 0;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct generate_options options = {.switches = 100, .ports = 10, .hosts = 10, .seed = seed};
        struct fixture fixture;
        fixture_generate(&fixture, "random", &options);
        struct routing *routing = fixture_route(&fixture, "turn-addition");
        sum += load_throughput(routing->load, 0) / 3;
        routing_destroy(routing);
        fixture_close(&fixture);
    }
    if (sum < 0.33)
        fail_msg("%.4f", sum);
}

/* Draws a network: from hardly connected to dense, few switches to many. */
static struct generate_options random_options(uint64_t seed)
{
    struct generate_options options = {.seed = seed};
    options.switches = 2 + (uint32_t)(seed * 7 % 29);
    options.ports = 2 + (uint32_t)(seed * 3 % 7);
    options.hosts = 1 + (uint32_t)(seed % 3);
    if (options.switches > 12 && options.ports < 3)
        options.ports = 3; /* two cables each: large ones are hardly ever connected */
    return options;
}

static void test_random_networks(void **state)
{
    (void)state;
    const char *wanted = getenv("ROUTE_TEST_NETWORKS");
    uint64_t count = wanted ? strtoull(wanted, NULL, 10) : 1000;
    for (uint64_t seed = 1; seed <= count; seed++) {
        struct generate_options options = random_options(seed);
        struct fixture fixture = {0};
        struct routing *routing;
        if (generate_fabric(&fixture.fabric, "random", &options) < 0)
            continue;
        assert_int_equal(net_create(&fixture.net, fixture.fabric), 0);
        assert_int_equal(traffic_uniform(&fixture.traffic, fixture.net), 0);
        routing = fixture_route(&fixture, "turn-addition");
        struct check_report report = fixture_check(routing);
        if (!check_passed(&report) || !report.loop_free_strict)
            fail_msg("seed %lu: %s %s", (unsigned long)seed, report.problem, report.witness);
        routing_destroy(routing);
        fixture_close(&fixture);
    }
}

static void test_threads_change_nothing(void **state)
{
    (void)state;
    struct generate_options options = {.ports = 16, .join = GENERATE_MIDDLE};
    struct fixture fixture;
    struct routing *routing[2];
    fixture_generate(&fixture, "joined", &options);
    for (uint32_t i = 0; i < 2; i++) {
        parallel_threads_set(i + 1);
        routing[i] = fixture_route(&fixture, "turn-addition");
    }
    parallel_threads_set(0);
    assert_true(lft_difference(routing[0]->lft, routing[1]->lft) == 0);
    for (uint32_t i = 0; i < 2; i++)
        routing_destroy(routing[i]);
    fixture_close(&fixture);
}

static void test_paths(void **state)
{
    (void)state;
    struct generate_options options = {.ports = 8, .join = GENERATE_MIDDLE};
    struct fixture fixture;
    struct load *load;
    fixture_generate(&fixture, "joined", &options);
    struct routing *routing = fixture_route(&fixture, "turn-addition");
    assert_int_equal(load_create(&load, fixture.traffic), 0);
    assert_int_equal(paths_route(routing, load, NULL), 0);
    assert_true(load_throughput(load, 0) > 0.999);
    assert_true(load_throughput(load, 1) > 0.9);
    load_destroy(load);
    routing_destroy(routing);
    fixture_close(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_algorithm_everywhere), cmocka_unit_test(test_deadlock_is_seen),
        cmocka_unit_test(test_joined_trees_in_balance),    cmocka_unit_test(test_one_cable_less),
        cmocka_unit_test(test_random_in_balance),          cmocka_unit_test(test_random_networks),
        cmocka_unit_test(test_threads_change_nothing),     cmocka_unit_test(test_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
