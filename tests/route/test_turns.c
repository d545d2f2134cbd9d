/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Turn addition: the paper's worked example, the two flaws of the paper with their
 * counter-examples, and table 2.
 */
#include "support.h"

#include "route/turns/order.h"
#include "route/turns/reach.h"
#include "route/turns/turn_addition.h"

#include <stdlib.h>
#include <string.h>

/* Tries turns one after the other; accepted[i] says what became of each. Turns that are not listed
 * stay prohibited. */
static void add_in_order(struct turns *turns, const struct turn_pair *pairs, size_t pair_count,
                         bool *accepted)
{
    double *initial = calloc(turns->net->channel_count + 1, sizeof(*initial));
    struct order *order;
    assert_non_null(initial);
    assert_int_equal(order_create(&order, turns, initial), 0);
    for (size_t i = 0; i < pair_count; i++)
        accepted[i] = order_turn_add(order, pairs[i].in, pairs[i].out);
    order_destroy(order);
    free(initial);
}

/* Figure 16: A-B-C over D-E-F, with cables down at each column. */
static const char figure_16[] =
    "A B\nB C\nD E\nE F\nA D\nB E\nC F\n"
    "hosts A 1\nhosts B 1\nhosts C 1\nhosts D 1\nhosts E 1\nhosts F 1\n";

static void test_worked_example(void **state)
{
    (void)state;
    static const char *const order[] = {"DAB", "ABE", "EDA", "BED", "ABC",
                                        "DEF", "EBC", "CFE", "FEB", "BCF"};
    static const bool expected[] = {true, true, true, false, true, true, true, true, true, false};
    struct fixture fixture;
    struct turn_pair pairs[COUNT_OF(order)];
    bool accepted[COUNT_OF(order)];
    struct turns *turns;
    fixture_parse(&fixture, figure_16);
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        char a[2] = {order[i][0], 0}, b[2] = {order[i][1], 0}, c[2] = {order[i][2], 0};
        pairs[i] = (struct turn_pair){fixture_channel(&fixture, a, b),
                                      fixture_channel(&fixture, b, c)};
    }
    assert_int_equal(turns_create(&turns, fixture.net), 0);
    add_in_order(turns, pairs, COUNT_OF(order), accepted);
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        if (accepted[i] != expected[i])
            fail_msg("turn %s was %s", order[i], accepted[i] ? "allowed" : "prohibited");
    }
    turns_destroy(turns);
    fixture_close(&fixture);
}

/* Two triangles joined by one cable. With all turns of both triangles that touch the joint allowed,
 * the turn a-x-y closes no loop in one direction, but with its reverse it does: around one
 * triangle, over the cable, around the other and back. */
static const char dumbbell[] = "x a\na b\nb x\nx y\ny c\nc d\nd y\n"
                               "hosts a 1\nhosts b 1\nhosts c 1\nhosts d 1\nhosts x 1\nhosts y 1\n";

static void test_dumbbell_both_directions(void **state)
{
    (void)state;
    struct fixture fixture;
    struct turns *turns;
    bool accepted[8];
    fixture_parse(&fixture, dumbbell);
    const struct turn_pair pairs[] = {
        /* each triangle: two turns around it, so that what leaves y comes back to y */
        {fixture_channel(&fixture, "x", "a"), fixture_channel(&fixture, "a", "b")},
        {fixture_channel(&fixture, "a", "b"), fixture_channel(&fixture, "b", "x")},
        {fixture_channel(&fixture, "y", "c"), fixture_channel(&fixture, "c", "d")},
        {fixture_channel(&fixture, "c", "d"), fixture_channel(&fixture, "d", "y")},
        /* in and out of the left one */
        {fixture_channel(&fixture, "y", "x"), fixture_channel(&fixture, "x", "a")},
        {fixture_channel(&fixture, "b", "x"), fixture_channel(&fixture, "x", "y")},
        /* in and out of the right one: the second closes the big loop */
        {fixture_channel(&fixture, "x", "y"), fixture_channel(&fixture, "y", "c")},
        {fixture_channel(&fixture, "d", "y"), fixture_channel(&fixture, "y", "x")},
    };
    assert_int_equal(turns_create(&turns, fixture.net), 0);
    add_in_order(turns, pairs, COUNT_OF(pairs), accepted);
    uint32_t refused = 0;
    for (size_t i = 0; i < COUNT_OF(pairs); i++)
        refused += !accepted[i];
    assert_true(refused > 0);
    uint32_t order[64];
    assert_int_equal(reach_order(turns, order), 0); /* what was accepted has no loop */
    turns_destroy(turns);
    fixture_close(&fixture);
}

static void test_dumbbell_connected(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_parse(&fixture, dumbbell);
    struct routing *routing = fixture_route(&fixture, "turn-addition");
    struct check_report report = fixture_check(routing);
    assert_true(check_passed(&report));
    assert_true(report.loop_free_strict);
    routing_destroy(routing);
    fixture_close(&fixture);
}

static double joining_prohibited(uint32_t ports)
{
    struct generate_options options = {.ports = ports, .join = GENERATE_MIDDLE};
    struct routing_options turns_only = {.no_tables = true};
    struct fixture fixture;
    struct routing *routing;
    fixture_generate(&fixture, "joined", &options);
    assert_int_equal(
        routing_create(&routing, fixture.traffic, algorithm_find("turn-addition"), &turns_only), 0);
    uint32_t prohibited = 0;
    for (uint32_t c = 0; c < fixture.net->channel_count; c++) {
        uint32_t a = fixture.net->node[fixture.net->tail[c]],
                 b = fixture.net->node[fixture.net->head[c]];
        if (fixture.fabric->nodes[a].group != fixture.fabric->nodes[b].group)
            prohibited += ports - turns_in_count(routing->turns, c);
    }
    routing_destroy(routing);
    fixture_close(&fixture);
    return prohibited;
}

static void test_table_2(void **state)
{
    (void)state;
    assert_int_equal(joining_prohibited(4), 2);    /*  6.25 %, as the paper */
    assert_int_equal(joining_prohibited(8), 36);   /* 14.06 %, the paper has 39 = 15.23 % */
    assert_int_equal(joining_prohibited(16), 405); /* 19.78 %, as the paper */
}

/* Three in a row, and no turn in the middle: the first does not reach the last. */
static void test_unreached(void **state)
{
    (void)state;
    struct fixture fixture;
    struct turns *turns;
    struct reach *reach;
    uint32_t from = 9, to = 9;
    fixture_parse(&fixture, "a b\nb c\nhosts a 1\nhosts b 1\nhosts c 1\n");
    assert_int_equal(turns_create(&turns, fixture.net), 0);
    assert_int_equal(reach_create(&reach, turns), 0);
    assert_false(reach_complete(reach, &from, &to));
    assert_int_equal(from, fixture_switch(&fixture, "a"));
    assert_int_equal(to, fixture_switch(&fixture, "c"));
    reach_destroy(reach);
    turns_allow(turns, fixture_channel(&fixture, "a", "b"), fixture_channel(&fixture, "b", "c"));
    assert_int_equal(reach_create(&reach, turns), 0);
    assert_true(reach_complete(reach, &from, &to));
    reach_destroy(reach);
    turns_destroy(turns);
    fixture_close(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worked_example),     cmocka_unit_test(test_dumbbell_both_directions),
        cmocka_unit_test(test_dumbbell_connected), cmocka_unit_test(test_table_2),
        cmocka_unit_test(test_unreached),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
