/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The checks checked: a busy network's books are falsified, one entry at a time, and
 * network_check() must say so; put right again, it must be silent.
 */
#include "plan.h"

#include "base/error.h"
#include "sim/switch/network.h"

#include <errno.h>
#include <string.h>

/* A place whose buffer holds something, and the output that feeds it. */
static uint32_t place_busy(const struct network *network)
{
    for (uint32_t i = 0; i < network->link_count; i++) {
        uint32_t place = network->link_ports[i] * network->lane_count;
        if (network->lanes[place].held > 0 && network->lanes[place].leaving.count == 0)
            return place;
    }
    fail_msg("no buffer holds anything");
    return 0;
}

static void must_speak(const struct network *network, const char *what)
{
    assert_int_equal(network_check(network), -EIO);
    if (!strstr(rh_error_text(), what))
        fail_msg("it says '%s', nothing of '%s'", rh_error_text(), what);
}

static void books_falsify(struct network *network)
{
    uint32_t place = place_busy(network);
    uint32_t behind = network->ports[place / network->lane_count].peer * network->lane_count;
    struct lane *in = &network->lanes[place], *out = &network->lanes[behind];
    assert_int_equal(network_check(network), 0);
    network->delivered++; /* a packet out of nothing */
    must_speak(network, "packets sent");
    network->delivered--;
    network->overflows++;
    must_speak(network, "found no room");
    network->overflows--;
    in->held--; /* a flit vanishes */
    must_speak(network, "flits");
    in->held++;
    in->arrived = out->sent + 1; /* a flit that nobody sent */
    uint64_t arrived = in->freed + in->held;
    must_speak(network, "nowhere");
    in->arrived = arrived;
    if (network->options.kind == NETWORK_RHINET3) {
        out->credits++;
        must_speak(network, "credits");
        out->credits -= 2; /* one is lost */
        must_speak(network, "credits");
        out->credits++;
    }
    assert_int_equal(network_check(network), 0);
}

static void test_falsified(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        struct chain chain;
        struct inbox inbox;
        chain_make(&chain, 2, 3);
        inbox_open(&inbox, &chain.plan, (struct network_options){.kind = (enum network_kind)kind},
                   1);
        for (int i = 0; i < 30; i++) {
            for (uint32_t source = 0; source < 3; source++)
                inbox_send(&inbox, source, 3, 262);
        }
        sim_run(inbox.sim, 20 * SIM_US, 0);
        books_falsify(inbox.network);
        inbox_finish(&inbox);
        inbox_close(&inbox);
    }
}

/* Slack that is too small for the link: the buffer overflows, and that is noticed. */
static void test_overflow(void **state)
{
    (void)state;
    struct chain chain;
    struct inbox inbox;
    struct sim_constants constants = sim_constants_default();
    chain_make(&chain, 2, 3);
    inbox_open(&inbox, &chain.plan,
               (struct network_options){.constants = &constants, .metres = 200}, 1);
    inbox.network->constants.slack_flits = 0; /* after it was checked */
    inbox.network->constants.go_flits = 0;
    inbox.network->constants.stop_go_flits = 40;
    inbox.network->packet_flits_max = 20;
    for (int i = 0; i < 60; i++) {
        for (uint32_t source = 0; source < 3; source++)
            inbox_send(&inbox, source, 3, 20);
    }
    sim_run(inbox.sim, SIM_NEVER, 0);
    must_speak(inbox.network, "found no room");
    inbox_close(&inbox);
}

/* With as much as the rule asks for there is none, at the longest link. */
static void test_no_overflow(void **state)
{
    (void)state;
    struct chain chain;
    struct inbox inbox;
    struct sim_constants constants = sim_constants_default();
    constants.slack_flits = 2 * 200 * 5 / 10 + 10 + 2;
    constants.go_flits = 0;
    constants.stop_go_flits = 262 + constants.slack_flits;
    chain_make(&chain, 2, 3);
    inbox_open(&inbox, &chain.plan,
               (struct network_options){.constants = &constants, .metres = 200}, 1);
    for (int i = 0; i < 60; i++) {
        for (uint32_t source = 0; source < 3; source++)
            inbox_send(&inbox, source, 3, 1 + (uint32_t)sim_random_below(inbox.sim, 262));
    }
    inbox_finish(&inbox);
    inbox_close(&inbox);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_falsified),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_no_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
