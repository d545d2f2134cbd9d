/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Failures: every cable of small fabrics is cut in turn, and the mended table must pass the
 * checker, alone and together with the old one.
 */
#include "support.h"

#include "base/error.h"
#include "route/repair.h"

#include <string.h>

/* Mends the table of `old` on the fabric as it is now. Returns false where a gentle change is
 * impossible, which is allowed, but must be said. */
static bool mend_and_check(const struct world *world, const struct lft_dump *old,
                           struct repair_result *result)
{
    struct net *net;
    struct traffic *traffic;
    struct lft *lft;
    struct turns *turns = NULL;
    struct load *load;
    uint32_t dead;
    if (net_create(&net, world->fabric) == -ENETUNREACH)
        return true; /* the cable was the only one: nothing to mend */
    assert_int_equal(traffic_groups(&traffic, net, 0.01), 0);
    assert_int_equal(formats_lft_import(&lft, net, old, &dead), 0);
    int code = repair_turns(&turns, lft, traffic, NULL);
    if (code == 0) {
        struct lft_dump mended;
        struct check_report report, transition;
        assert_int_equal(load_create(&load, traffic), 0);
        assert_int_equal(load_of_table(load, lft), 0);
        assert_int_equal(repair_table(lft, turns, load, result), 0);
        assert_int_equal(formats_lft_export(&mended, lft), 0);
        assert_int_equal(check_tables(world->fabric, &mended, NULL, &report), 0);
        if (!check_passed(&report))
            fail_msg("%s %s", report.problem, report.witness);
        assert_int_equal(check_transition(world->fabric, old, &mended, &transition), 0);
        assert_true(transition.loop_free);
        formats_lft_free(&mended);
        load_destroy(load);
        turns_destroy(turns);
    }
    lft_destroy(lft);
    traffic_destroy(traffic);
    net_destroy(net);
    return code == 0;
}

/* Cuts each cable between switches, mends, and plugs it in again. */
static void every_cable(const char *kind, const struct generate_options *options,
                        uint32_t least_percent)
{
    struct world world;
    struct lft_dump old;
    uint32_t gentle = 0, tried = 0;
    world_generate(&world, kind, options);
    struct routing *routing = world_route(&world, "turn-addition");
    assert_int_equal(formats_lft_export(&old, routing->lft), 0);
    for (uint32_t c = 0; c < world.net->channel_count; c++) {
        struct fabric_end here = {world.net->node[world.net->tail[c]], world.net->port[c]};
        struct fabric_port cable = world.fabric->nodes[here.node].ports[here.port];
        struct fabric_end there = {cable.peer_node, cable.peer_port};
        struct repair_result result;
        if (c > world.net->reverse[c])
            continue;
        fabric_link_cut(world.fabric, here);
        gentle += mend_and_check(&world, &old, &result);
        tried++;
        assert_int_equal(fabric_link_add(world.fabric, here, there), 0);
    }
    if (gentle * 100 < tried * least_percent)
        fail_msg("only %u of %u without interruption", gentle, tried);
    formats_lft_free(&old);
    routing_destroy(routing);
    world_close(&world);
}

static void test_fat_tree(void **state)
{
    (void)state;
    every_cable("fat-tree", &(struct generate_options){.ports = 4}, 90);
}

static void test_joined(void **state)
{
    (void)state;
    every_cable("joined", &(struct generate_options){.ports = 4, .join = GENERATE_MIDDLE}, 90);
}

static void test_random(void **state)
{
    (void)state;
    every_cable("random",
                &(struct generate_options){.switches = 30, .ports = 6, .hosts = 3, .seed = 3}, 90);
}

static void test_nothing_broken_nothing_changed(void **state)
{
    (void)state;
    struct generate_options options = {.ports = 8, .join = GENERATE_MIDDLE};
    struct world world;
    struct lft_dump old;
    struct repair_result result;
    world_generate(&world, "joined", &options);
    struct routing *routing = world_route(&world, "turn-addition");
    assert_int_equal(formats_lft_export(&old, routing->lft), 0);
    assert_true(mend_and_check(&world, &old, &result));
    assert_true(result.entries_changed <= 200); /* only ways between switches without hosts */
    formats_lft_free(&old);
    routing_destroy(routing);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fat_tree),
        cmocka_unit_test(test_joined),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_nothing_broken_nothing_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
