/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Failures: every cable of small fabrics is cut in turn, and the mended table must pass the
 * checker, alone and together with the old one.
 */
#include "support.h"

#include "base/error.h"
#include "route/check/transition.h"
#include "route/repair/repair.h"
#include "route/repair/stages.h"

#include <stdlib.h>
#include <string.h>

/* A table in use, and the memo of it. */
struct in_use {
    struct lft_dump table;
    char *memo; /* as text; NULL: made by others */
    size_t memo_size;
    bool circles; /* the table is unsafe by itself */
};

/* What compute and repair write beside a table; before: the memo of the table that it replaces. */
static void memo_take(struct in_use *use, const struct lft *lft, const struct turns *turns,
                      const struct load *load, const struct memo *before)
{
    struct memo *memo;
    FILE *file = open_memstream(&use->memo, &use->memo_size);
    assert_non_null(file);
    assert_int_equal(memo_of_table(&memo, lft, turns, load), 0);
    for (size_t i = 0; before && i < before->gone_count; i++)
        assert_int_equal(memo_gone_add(memo, before->gone[i]), 0);
    assert_int_equal(memo_write(memo, file), 0);
    fclose(file);
    memo_destroy(memo);
}

/* The memo on the net as it is now; NULL if there is a cable that it does not know. */
static struct memo *memo_carry(const struct in_use *old, const struct net *net)
{
    struct lines source;
    struct memo *memo = NULL;
    assert_int_equal(lines_from(&source, "memo", old->memo, old->memo_size), 0);
    if (memo_parse(&memo, net, &source) < 0)
        memo = NULL;
    lines_close(&source);
    return memo;
}

/* Loads as the memo has them, without what is lost, are those of the table as it is. */
static void loads_compare(const struct load *load, const struct lft *lft)
{
    struct load *exact;
    assert_int_equal(load_create(&exact, load->traffic), 0);
    assert_int_equal(load_of_table(exact, lft), 0);
    for (uint32_t c = 0; c < load->net->channel_count; c++) {
        float difference = load->channel[0][c] - exact->channel[0][c];
        if (difference > 1e-4f || difference < -1e-4f)
            fail_msg("channel %u: %f by the memo, %f by the table", c, (double)load->channel[0][c],
                     (double)exact->channel[0][c]);
    }
    load_destroy(exact);
}

/* How gentle the changes of a fabric were. */
static struct {
    uint32_t changes;
    uint32_t at_once;      /* one stage was found to be enough */
    uint32_t in_any_order; /* it would have been, by the check */
    uint64_t dropped;      /* entries */
} gentleness;

/* May switches go from the table of one stage, 0 is what they have, to that of another? */
static bool step_safe(const struct fixture *fixture, const struct stages *stages, uint32_t from,
                      uint32_t to)
{
    struct lft_dump before = {0}, after;
    struct transition_report report;
    if (from > 0)
        assert_int_equal(stages_table(stages, from, &before), 0);
    assert_int_equal(stages_table(stages, to, &after), 0);
    assert_int_equal(
        check_transition(fixture->fabric, from > 0 ? &before : stages->held, &after, &report), 0);
    lft_dump_free(&before);
    lft_dump_free(&after);
    return transition_safe(&report);
}

/* Each stage after the one before it. Any order at once would often not have been safe. */
static void steps_check(const struct fixture *fixture, const struct stages *stages)
{
    for (uint32_t i = 1; i <= stages->count; i++) {
        if (!step_safe(fixture, stages, i - 1, i))
            fail_msg("stage %u of %u is not safe", i, stages->count);
    }
    gentleness.changes++;
    gentleness.in_any_order += stages->count == 1 || step_safe(fixture, stages, 0, stages->count);
    gentleness.at_once += stages->count == 1;
    gentleness.dropped += stages->dropped;
    assert_true(stages->count <= STAGES_MAX);
}

static void mended_check(const struct fixture *fixture, const struct in_use *old,
                         const struct lft *lft, const struct turns *turns)
{
    struct lft_dump mended;
    struct check_report report;
    struct stages stages;
    assert_int_equal(lft_export(&mended, lft), 0);
    assert_int_equal(check_tables(fixture->fabric, &mended, NULL, &report), 0);
    if (!check_passed(&report))
        fail_msg("%s %s", report.problem, report.witness);
    lft_dump_free(&mended);
    assert_int_equal(stages_find(&stages, &old->table, lft, turns), 0);
    if (!old->circles)
        steps_check(fixture, &stages);
    stages_free(&stages);
}

/* Mends the table on the fabric as it is now. Returns false where a gentle change is impossible,
 * which is allowed, but must be said. mended (may be NULL) gets the new table. */
static bool mend_and_check(const struct fixture *fixture, const struct in_use *old,
                           struct repair_result *result, struct in_use *mended)
{
    struct net *net;
    struct traffic *traffic;
    struct lft *lft;
    struct dead_list dead;
    struct repair_room room;
    struct load *load;
    if (net_create(&net, fixture->fabric) == -ENETUNREACH)
        return true; /* the cable was the only one: nothing to mend */
    assert_int_equal(traffic_groups(&traffic, net, 0.01), 0);
    assert_int_equal(lft_import(&lft, net, &old->table), 0);
    if (!old->memo)
        lft_circles_break(lft);
    assert_int_equal(dead_list_create(&dead, lft, &old->table, fixture->before), 0);
    struct memo *memo = old->memo ? memo_carry(old, net) : NULL;
    int code = repair_room_find(&room, lft, traffic, memo, &dead);
    if (code == 0) {
        assert_int_equal(load_create(&load, traffic), 0);
        assert_int_equal(repair_load_find(load, lft, memo, &dead), 0);
        loads_compare(load, lft);
        assert_int_equal(repair_table(lft, &room, load, &dead, result), 0);
        loads_compare(load, lft);
        mended_check(fixture, old, lft, room.turns);
        if (mended) {
            assert_int_equal(lft_export(&mended->table, lft), 0);
            memo_take(mended, lft, room.turns, load, memo);
        }
        load_destroy(load);
        repair_room_free(&room);
    }
    memo_destroy(memo);
    dead_list_destroy(&dead);
    lft_destroy(lft);
    traffic_destroy(traffic);
    net_destroy(net);
    return code == 0;
}

/* Cuts one cable, mends with and without ranks, plugs it in again and mends the mended table. */
static bool cable_try(const struct fixture *fixture, const struct in_use *old, uint32_t channel)
{
    const struct net *net = fixture->net;
    struct fabric_end here = {net->node[net->tail[channel]], net->port[channel]};
    struct fabric_port cable = fixture->fabric->nodes[here.node].ports[here.port];
    struct fabric_end there = {cable.peer_node, cable.peer_port};
    struct repair_result result;
    struct in_use foreign = {.table = old->table}, mended = {.memo = NULL};
    fabric_link_cut(fixture->fabric, here);
    bool gentle = mend_and_check(fixture, &foreign, &result, NULL);
    mend_and_check(fixture, old, &result, &mended);
    assert_int_equal(fabric_link_add(fixture->fabric, here, there), 0);
    if (mended.table.port) {
        struct memo *back = memo_carry(&mended, net);
        assert_non_null(back); /* it has kept the rank of the cable that was away */
        memo_destroy(back);
        mend_and_check(fixture, &mended, &result, NULL);
    }
    lft_dump_free(&mended.table);
    free(mended.memo);
    return gentle;
}

/* Tries each cable between switches. */
static void every_cable(const char *kind, const struct generate_options *options,
                        uint32_t least_percent, uint64_t dropped_max)
{
    memset(&gentleness, 0, sizeof(gentleness));
    struct fixture fixture;
    struct in_use old = {0};
    uint32_t gentle = 0, tried = 0;
    fixture_generate(&fixture, kind, options);
    struct routing *routing = fixture_route(&fixture, "turn-addition");
    memo_take(&old, routing->lft, routing->turns, routing->load, NULL);
    assert_int_equal(lft_export(&old.table, routing->lft), 0);
    for (uint32_t c = 0; c < fixture.net->channel_count; c++) {
        if (c > fixture.net->reverse[c])
            continue;
        gentle += cable_try(&fixture, &old, c);
        tried++;
    }
    if (gentle * 100 < tried * least_percent)
        fail_msg("only %u of %u without interruption", gentle, tried);
    /* what the stages spare must be worth it, and they must not be asked for without need */
    assert_true(gentleness.in_any_order < gentleness.changes);
    if (gentleness.at_once + 5 < gentleness.in_any_order)
        fail_msg("%u of %u changes were made at once, %u could have been", gentleness.at_once,
                 gentleness.changes, gentleness.in_any_order);
    if (gentleness.dropped > dropped_max)
        fail_msg("%lu working entries dropped", (unsigned long)gentleness.dropped);
    lft_dump_free(&old.table);
    free(old.memo);
    routing_destroy(routing);
    fixture_close(&fixture);
}

static void test_fat_tree(void **state)
{
    (void)state;
    every_cable("fat-tree", &(struct generate_options){.ports = 4}, 90, 0);
}

static void test_joined(void **state)
{
    (void)state;
    every_cable("joined", &(struct generate_options){.ports = 4, .join = GENERATE_MIDDLE}, 90, 600);
}

static void test_random(void **state)
{
    (void)state;
    every_cable("random",
                &(struct generate_options){.switches = 30, .ports = 6, .hosts = 3, .seed = 3}, 90,
                60);
}

/* Few entries change, and the balance stays near what a new computation gives. */
static void test_little_changes(void **state)
{
    (void)state;
    struct generate_options options = {.ports = 8, .join = GENERATE_MIDDLE};
    struct fixture fixture;
    struct in_use old = {0};
    struct repair_result result;
    fixture_generate(&fixture, "joined", &options);
    struct routing *routing = fixture_route(&fixture, "turn-addition");
    memo_take(&old, routing->lft, routing->turns, routing->load, NULL);
    assert_int_equal(lft_export(&old.table, routing->lft), 0);
    struct fabric_end cable = {fabric_node_find(fixture.fabric, "T0.m(0,1)"), 5}; /* to a top */
    fabric_link_cut(fixture.fabric, cable);
    assert_true(mend_and_check(&fixture, &old, &result, NULL));
    if (result.entries_changed > 2 * result.entries_forced)
        fail_msg("%lu changed, %lu had to", (unsigned long)result.entries_changed,
                 (unsigned long)result.entries_forced);
    lft_dump_free(&old.table);
    free(old.memo);
    routing_destroy(routing);
    fixture_close(&fixture);
}

/* A switch goes with all its cables, and comes back. */
static void test_switch_gone_and_back(void **state)
{
    (void)state;
    struct generate_options options = {.ports = 4, .join = GENERATE_MIDDLE};
    struct fixture fixture;
    struct in_use old = {0}, mended = {.memo = NULL};
    struct repair_result result;
    struct fabric_port cables[8];
    fixture_generate(&fixture, "joined", &options);
    struct routing *routing = fixture_route(&fixture, "turn-addition");
    uint32_t node = fabric_node_find(fixture.fabric, "T0.m(0,1)");
    uint16_t ports = fixture.fabric->nodes[node].port_count;
    memo_take(&old, routing->lft, routing->turns, routing->load, NULL);
    assert_int_equal(lft_export(&old.table, routing->lft), 0);
    for (uint16_t p = 1; p <= ports; p++) {
        cables[p] = fixture.fabric->nodes[node].ports[p];
        if (p > 1 && cables[p].peer_node != FABRIC_NONE) /* one is left, or the net falls apart */
            fabric_link_cut(fixture.fabric, (struct fabric_end){node, p});
    }
    assert_true(mend_and_check(&fixture, &old, &result, &mended));
    for (uint16_t p = 2; p <= ports; p++) {
        struct fabric_end there = {cables[p].peer_node, cables[p].peer_port};
        if (there.node != FABRIC_NONE)
            assert_int_equal(fabric_link_add(fixture.fabric, (struct fabric_end){node, p}, there),
                             0);
    }
    assert_true(mend_and_check(&fixture, &mended, &result, NULL));
    lft_dump_free(&old.table);
    free(old.memo);
    lft_dump_free(&mended.table);
    free(mended.memo);
    routing_destroy(routing);
    fixture_close(&fixture);
}

static void test_nothing_broken_nothing_changed(void **state)
{
    (void)state;
    struct generate_options options = {.ports = 8, .join = GENERATE_MIDDLE};
    struct fixture fixture;
    struct in_use old = {.memo = NULL};
    struct repair_result result;
    fixture_generate(&fixture, "joined", &options);
    struct routing *routing = fixture_route(&fixture, "turn-addition");
    assert_int_equal(lft_export(&old.table, routing->lft), 0);
    assert_true(mend_and_check(&fixture, &old, &result, NULL));
    assert_true(result.entries_changed <= 200); /* only ways between switches without hosts */
    lft_dump_free(&old.table);
    free(old.memo);
    routing_destroy(routing);
    fixture_close(&fixture);
}

/* Others' tables may lead packets round in a circle: two switches that point at each other. */
static void test_circle_of_others(void **state)
{
    (void)state;
    struct generate_options options = {.ports = 4, .join = GENERATE_MIDDLE};
    struct fixture fixture;
    struct in_use old = {.memo = NULL, .circles = true};
    struct repair_result result;
    fixture_generate(&fixture, "joined", &options);
    struct routing *routing = fixture_route(&fixture, "turn-addition");
    uint32_t down = fixture_channel(&fixture, "T0.m(0,0)", "T0.b(0,1)");
    uint8_t *next = lft_tree(routing->lft, 0); /* a host of T0.b(0,0) */
    next[fixture.net->tail[down]] = (uint8_t)net_slot_out(fixture.net, down);
    next[fixture.net->head[down]] = (uint8_t)net_slot_in(fixture.net, down);
    assert_int_equal(lft_export(&old.table, routing->lft), 0);
    assert_true(mend_and_check(&fixture, &old, &result, NULL));
    assert_true(result.entries_changed >= 2);
    lft_dump_free(&old.table);
    routing_destroy(routing);
    fixture_close(&fixture);
}

/* A memo whose ranks leave no room for turns that the table uses, such as one that was written for
 * another: its ranks must not be taken. The table keeps to Up-Down from one root of a ring, the
 * ranks come from another. */
static void test_ranks_that_do_not_fit(void **state)
{
    (void)state;
    struct generate_options options = {.switches = 6, .hosts = 2};
    struct fixture fixture;
    struct repair_room room;
    struct memo *memo;
    struct dead_list dead = {.complete = true};
    fixture_generate(&fixture, "ring", &options);
    struct routing *ours = fixture_route(&fixture, "turn-addition"), *other = NULL;
    uint32_t unfit = 0;
    for (uint32_t root = 0; root < fixture.net->switch_count; root++) {
        struct routing_options up = {.algorithm = {.roots = &root, .root_count = 1}};
        assert_int_equal(routing_create(&other, fixture.traffic, algorithm_find("up-down"), &up),
                         0);
        assert_int_equal(memo_of_table(&memo, other->lft, ours->turns, ours->load), 0);
        assert_int_equal(repair_room_find(&room, other->lft, fixture.traffic, memo, &dead), 0);
        size_t words = (size_t)fixture.net->channel_count * memo->used->words;
        for (size_t i = 0; i < words; i++) {
            assert_int_equal(memo->used->rows[i] & ~room.turns->rows[i], 0);
            unfit += (memo->used->rows[i] & ~ours->turns->rows[i]) != 0;
        }
        repair_room_free(&room);
        memo_destroy(memo);
        routing_destroy(other);
    }
    assert_true(unfit > 0); /* else this test says nothing */
    routing_destroy(ours);
    fixture_close(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fat_tree),
        cmocka_unit_test(test_joined),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_little_changes),
        cmocka_unit_test(test_switch_gone_and_back),
        cmocka_unit_test(test_nothing_broken_nothing_changed),
        cmocka_unit_test(test_circle_of_others),
        cmocka_unit_test(test_ranks_that_do_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
