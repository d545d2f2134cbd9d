/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ring of four switches: with shortest paths packets wait for each other in a circle, and the
 * detector says which; with every deadlock-free way the same traffic comes through.
 */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

/* Every host sends many packets to the host two switches on: all ways of the ring are crowded. */
static void ring_fill(struct inbox *inbox, uint32_t hosts)
{
    for (int round = 0; round < 60; round++) {
        for (uint32_t source = 0; source < 4 * hosts; source++)
            inbox_send(inbox, source, (source + 2 * hosts) % (4 * hosts), 262);
    }
}

static void ring_run(const char *algorithm, int kind, uint64_t seed, uint32_t *circles, char **text)
{
    struct routed routed;
    struct inbox inbox;
    size_t length = 0;
    routed_make(&routed, "ring", &(struct generate_options){.switches = 4, .hosts = 3}, algorithm);
    inbox_open(&inbox, &routed.plan.plan,
               (struct network_options){.kind = (enum network_kind)kind, .metres = 10}, seed);
    ring_fill(&inbox, 3);
    assert_int_equal(sim_run(inbox.sim, SIM_NEVER, 0), SIM_IDLE);
    assert_int_equal(network_check(inbox.network), 0);
    FILE *out = open_memstream(text, &length);
    *circles = network_deadlock(inbox.network, out);
    fclose(out);
    struct network_count count;
    network_count(inbox.network, &count);
    assert_int_equal(count.packets_inside > 0, *circles > 0);
    if (*circles == 0)
        assert_int_equal(count.packets_delivered, 60 * 12);
    inbox_close(&inbox);
    routed_free(&routed);
}

static void test_shortest_paths_deadlock(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        uint32_t circles;
        char *text;
        ring_run("shortest", kind, 1, &circles, &text);
        assert_true(circles > 0);
        assert_non_null(strstr(text, "deadlock: 4 buffers wait for each other in a circle"));
        assert_non_null(strstr(text, "and waits for room in"));
        char *again;
        ring_run("shortest", kind, 1, &circles, &again);
        assert_string_equal(text, again);
        free(text);
        free(again);
    }
}

static void test_others_do_not(void **state)
{
    (void)state;
    static const char *const names[] = {"up-down", "turn-prohibition", "turn-addition",
                                        "buffer-pool", "reduced-channels"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        for (int kind = 0; kind < 2; kind++) {
            uint32_t circles;
            char *text;
            ring_run(names[i], kind, 1, &circles, &text);
            if (circles > 0)
                fail_msg("%s deadlocks: %s", names[i], text);
            free(text);
        }
    }
}

/* Switches in the middle of a change, as the bits say: 0 still has the old table, 1 the new one.
 * The old one leads from switches 0 and 1 to the one across by the next switch, from 2 and 3 by the
 * one before; the new one the other way round. */
static uint32_t circles_while_changing(uint32_t changed)
{
    struct routed routed;
    struct sim_plan plan;
    struct inbox inbox;
    routed_make(&routed, "ring", &(struct generate_options){.switches = 4, .hosts = 3}, "shortest");
    const struct net *net = routed.net;
    for (uint32_t t = 0; t < net->host_count; t++) {
        for (uint32_t s = 0; s < 4; s++) {
            if ((net->target_switch[t] + 2) % 4 != s)
                continue;
            bool onward = (s < 2) != (changed >> s & 1);
            uint32_t c = net->first[s];
            while (net->head[c] != (s + (onward ? 1 : 3)) % 4)
                c++;
            lft_tree(routed.routing->lft, t)[s] = (uint8_t)net_slot_out(net, c);
        }
    }
    assert_int_equal(sim_plan_by_table(&plan, routed.routing->lft, ALGORITHM_ONE_LANE), 0);
    inbox_open(&inbox, &plan.plan, (struct network_options){.kind = NETWORK_RHINET2, .metres = 10},
               1);
    ring_fill(&inbox, 3);
    assert_int_equal(sim_run(inbox.sim, SIM_NEVER, 0), SIM_IDLE);
    uint32_t circles = network_deadlock(inbox.network, NULL);
    inbox_close(&inbox);
    sim_plan_free(&plan);
    routed_free(&routed);
    return circles;
}

/* What route's check of transitions says of this ring (tests/route/test_transition.c): both tables
 * are sound, and on the way from one to the other packets can wait in a circle. */
static void test_mixed_tables_deadlock(void **state)
{
    (void)state;
    assert_int_equal(circles_while_changing(0), 0);
    assert_int_equal(circles_while_changing(15), 0);
    assert_true(circles_while_changing(3) > 0);  /* all backward */
    assert_true(circles_while_changing(12) > 0); /* all onward */
}

/* What is only slow is no deadlock: the detector says so at every moment of a busy run. */
static void test_no_false_alarm(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        struct routed routed;
        struct inbox inbox;
        routed_make(&routed, "ring", &(struct generate_options){.switches = 4, .hosts = 3},
                    "buffer-pool");
        inbox_open(&inbox, &routed.plan.plan,
                   (struct network_options){.kind = (enum network_kind)kind, .metres = 100}, 1);
        ring_fill(&inbox, 3);
        while (sim_run(inbox.sim, SIM_NEVER, 37) == SIM_LIMIT)
            assert_int_equal(network_deadlock(inbox.network, NULL), 0);
        inbox_finish(&inbox);
        inbox_close(&inbox);
        routed_free(&routed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shortest_paths_deadlock),
        cmocka_unit_test(test_others_do_not),
        cmocka_unit_test(test_mixed_tables_deadlock),
        cmocka_unit_test(test_no_false_alarm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
