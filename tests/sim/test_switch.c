/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulated network: times to the picosecond, flow control, errors, multicast, lanes, and that
 * nothing is lost uncounted.
 */
#include "plan.h"

#include "base/error.h"

#include <errno.h>
#include <string.h>

#define NS SIM_NS

/* One packet through 1 … 6 switches: the closed formula, by hand and as the network says it. */
static void test_latency_is_the_formula(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 2, 7, 64, 262}, metres[] = {0, 1, 30, 200};
    for (int kind = 0; kind < 2; kind++) {
        sim_time flit = kind == NETWORK_RHINET2 ? 10 * NS : 8 * NS;
        for (uint32_t switches = 1; switches <= 6; switches++) {
            for (size_t i = 0; i < COUNT_OF(sizes) * COUNT_OF(metres); i++) {
                uint32_t flits = sizes[i % COUNT_OF(sizes)], length = metres[i / COUNT_OF(sizes)];
                struct chain chain;
                struct inbox inbox;
                sim_time said, by_hand = (switches + 1) * (flit + length * 5 * NS) +
                                         switches * 100 * NS + (flits - 1) * flit;
                chain_make(&chain, switches, 2);
                inbox_open(
                    &inbox, &chain.plan,
                    (struct network_options){.kind = (enum network_kind)kind, .metres = length}, 1);
                uint32_t last = chain.plan.host_count - 1;
                assert_int_equal(network_latency(inbox.network, 0, last, flits, &said), 0);
                assert_int_equal(said, by_hand);
                inbox_send(&inbox, 0, last, flits);
                inbox_finish(&inbox);
                assert_int_equal(inbox.last.tail, by_hand);
                inbox_close(&inbox);
            }
        }
    }
}

/* The slowest link sets the pace of the tail, wherever it lies. */
static void test_latency_of_mixed_links(void **state)
{
    (void)state;
    static const uint32_t speeds[] = {1000, 2000, 8000};
    for (int variant = 0; variant < 27; variant++) {
        struct chain chain;
        struct inbox inbox;
        sim_time said, sum = 2 * 100 * NS, slowest = 0;
        chain_make(&chain, 2, 1); /* links: switch-switch, host 0, host 1 */
        for (uint32_t i = 0, rest = (uint32_t)variant; i < 3; i++, rest /= 3) {
            chain.links[i].mbps = speeds[rest % 3];
            chain.links[i].metres = 10 * (i + 1);
            sim_time flit = 80000000 / speeds[rest % 3];
            sum += flit + chain.links[i].metres * 5 * NS;
            slowest = flit > slowest ? flit : slowest;
        }
        inbox_open(&inbox, &chain.plan, (struct network_options){0}, 1);
        inbox_send(&inbox, 0, 1, 100);
        inbox_finish(&inbox);
        assert_int_equal(network_latency(inbox.network, 0, 1, 100, &said), 0);
        assert_int_equal(inbox.last.tail, sum + 99 * slowest);
        assert_int_equal(said, sum + 99 * slowest);
        inbox_close(&inbox);
    }
}

/* Three hosts send to a fourth: its link never rests, all are served alike, nothing overflows. */
static void test_crowded_output(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        for (uint32_t metres = 1; metres <= 200; metres += 199) {
            struct chain chain;
            struct inbox inbox;
            struct network_count count;
            chain_make(&chain, 2, 3);
            inbox_open(&inbox, &chain.plan,
                       (struct network_options){.kind = (enum network_kind)kind, .metres = metres},
                       1);
            for (int i = 0; i < 300; i++) {
                for (uint32_t source = 0; source < 3; source++)
                    inbox_send(&inbox, source, 3, 262);
            }
            sim_run(inbox.sim, 100 * SIM_US, 0);
            if (network_check(inbox.network) < 0)
                fail_msg("%s", rh_error_text());
            inbox_finish(&inbox);
            network_count(inbox.network, &count);
            assert_int_equal(inbox.count, 900);
            if (kind == NETWORK_RHINET2)
                assert_true(count.stops > 0);
            sim_time alone;
            network_latency(inbox.network, 0, 3, 262, &alone);
            sim_time flit = network_flit_time(inbox.network);
            assert_int_equal(inbox.last_tail, alone + 899 * 262 * flit);
            inbox_close(&inbox);
        }
    }
}

/* Credits for less than a round trip: the link rests until they are back. */
static void test_credits_limit(void **state)
{
    (void)state;
    struct chain chain;
    struct inbox inbox;
    struct sim_constants constants = sim_constants_default();
    constants.credit_flits = 262;
    chain_make(&chain, 2, 1);
    inbox_open(
        &inbox, &chain.plan,
        (struct network_options){.kind = NETWORK_RHINET3, .metres = 1000, .constants = &constants},
        1);
    for (int i = 0; i < 100; i++)
        inbox_send(&inbox, 0, 1, 262);
    inbox_finish(&inbox);
    /* one packet for each: out 5 us + header + switch, all flits, back 5 us */
    sim_time period = 2 * 5000 * NS + 8 * NS + 100 * NS + 262 * 8 * NS;
    sim_time alone;
    network_latency(inbox.network, 0, 1, 262, &alone);
    assert_int_equal(inbox.last_tail, alone + 99 * period);
    inbox_close(&inbox);
}

static void test_long_links_are_refused(void **state)
{
    (void)state;
    struct chain chain;
    struct network *network;
    struct sim *sim = world_make(1);
    chain_make(&chain, 2, 1);
    struct network_options options = {.kind = NETWORK_RHINET2, .metres = 1000};
    assert_int_equal(network_create(&network, sim, &chain.plan, &options), -EINVAL);
    assert_non_null(strstr(rh_error_text(), "slack_flits"));
    options.kind = NETWORK_RHINET3;
    assert_int_equal(network_create(&network, sim, &chain.plan, &options), 0);
    network_destroy(network);
    options.metres = 3000;
    assert_int_equal(network_create(&network, sim, &chain.plan, &options), -EINVAL);
    chain.links[2] = chain.links[1];
    options.metres = 0;
    assert_int_equal(network_create(&network, sim, &chain.plan, &options), -EINVAL);
    sim_destroy(sim);
}

/* Wrong bits: RHiNET-3 sends again and delivers all, RHiNET-2 mends what it can and counts. */
static void test_errors(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        struct chain chain;
        struct inbox inbox;
        struct network_count count;
        chain_make(&chain, 3, 2);
        inbox_open(&inbox, &chain.plan,
                   (struct network_options){
                       .kind = (enum network_kind)kind, .metres = 50, .bit_error_rate = 1e-4},
                   7);
        for (uint32_t i = 0; i < 600; i++)
            inbox_send(&inbox, i % 6, (i + 1 + i / 6 % 5) % 6, 1 + i % 262);
        inbox_finish(&inbox);
        network_count(inbox.network, &count);
        if (kind == NETWORK_RHINET3) {
            assert_int_equal(count.packets_delivered, 600);
            assert_true(count.flits_resent > 100);
        } else {
            assert_true(count.bits_corrected > 100);
            assert_true(count.packets_lost > 0 && count.packets_lost < 300);
        }
        inbox_close(&inbox);
    }
}

static void test_hopeless_link_is_lost(void **state)
{
    (void)state;
    struct chain chain;
    struct inbox inbox;
    struct sim_constants constants = sim_constants_default();
    constants.retry_limit = 10;
    chain_make(&chain, 2, 1);
    inbox_open(&inbox, &chain.plan,
               (struct network_options){
                   .kind = NETWORK_RHINET3, .bit_error_rate = 0.5, .constants = &constants},
               7);
    for (int i = 0; i < 10; i++)
        inbox_send(&inbox, 0, 1, 100);
    inbox_finish(&inbox);
    assert_int_equal(inbox.count, 0);
    inbox_close(&inbox);
}

static void test_multicast(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        struct chain chain;
        struct inbox inbox;
        uint32_t targets[16];
        chain_make(&chain, 4, 4);
        inbox_open(&inbox, &chain.plan, (struct network_options){.kind = (enum network_kind)kind},
                   1);
        for (uint64_t i = 1; i <= 200; i++) {
            uint32_t source = (uint32_t)sim_random_below(inbox.sim, 16), count = 0;
            for (uint32_t h = 0; h < 16; h++) {
                if (sim_random_below(inbox.sim, 2))
                    targets[count++] = h;
            }
            if (count == 0)
                targets[count++] = 3;
            struct network_packet packet = {.source = source,
                                            .targets = targets,
                                            .target_count = count,
                                            .flits = 40,
                                            .cookie = i};
            assert_int_equal(network_send(inbox.network, &packet), 0);
            if (i % 50 == 0)
                assert_int_equal(network_check(inbox.network), 0);
        }
        inbox_finish(&inbox);
        inbox_close(&inbox);
    }
}

/* Alone in the network, a multicast to all arrives everywhere as if it were sent to each alone. */
static void test_multicast_time(void **state)
{
    (void)state;
    struct chain chain;
    struct inbox inbox;
    uint32_t targets[] = {1, 2, 3, 4, 5};
    sim_time alone;
    chain_make(&chain, 3, 2);
    inbox_open(&inbox, &chain.plan, (struct network_options){0}, 1);
    struct network_packet packet = {.targets = targets, .target_count = 5, .flits = 9, .cookie = 1};
    assert_int_equal(network_send(inbox.network, &packet), 0);
    inbox_finish(&inbox);
    assert_int_equal(inbox.count, 5);
    network_latency(inbox.network, 0, 5, 9, &alone);
    assert_int_equal(inbox.last_tail, alone);
    inbox_close(&inbox);
}

static void test_no_way_is_counted(void **state)
{
    (void)state;
    struct chain chain;
    struct inbox inbox;
    struct network_count count;
    sim_time latency;
    chain_make(&chain, 3, 1);
    chain.port_to[1 * 3 + 2] = NETWORK_NO_PORT; /* the second switch does not know the third host */
    inbox_open(&inbox, &chain.plan, (struct network_options){0}, 1);
    assert_int_equal(network_latency(inbox.network, 0, 2, 1, &latency), -ENETUNREACH);
    for (int i = 0; i < 50; i++) {
        inbox_send(&inbox, 0, 2, 100);
        inbox_send(&inbox, 0, 1, 100);
    }
    inbox_finish(&inbox);
    network_count(inbox.network, &count);
    assert_int_equal(count.packets_lost, 50);
    assert_int_equal(count.packets_delivered, 50);
    inbox_close(&inbox);
}

/* Hosts that take their packets late hold up the sender, and nothing overflows. */
struct lazy {
    struct inbox inbox;
    uint32_t actor;
    uint32_t stays[64];
    uint32_t first, count;
};

static void lazy_drain(void *context, uint32_t kind, uint64_t argument)
{
    struct lazy *lazy = context;
    struct sim *sim = lazy->inbox.sim;
    (void)argument;
    lazy->first += kind; /* 1: the one before is done */
    if (lazy->first == lazy->count)
        return;
    network_drain(lazy->inbox.network, lazy->stays[lazy->first], sim_now(sim) + 10 * SIM_US);
    sim_post(sim, sim_now(sim) + 10 * SIM_US, (struct sim_event){lazy->actor, 1, 0});
}

static void lazy_deliver(void *context, const struct network_arrival *arrival)
{
    struct lazy *lazy = context;
    inbox_deliver(&lazy->inbox, arrival);
    lazy->stays[lazy->count++] = arrival->stay;
    if (lazy->count == lazy->first + 1)
        lazy_drain(lazy, 0, 0);
}

static void test_hosts_drain(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        struct chain chain;
        struct lazy lazy = {.first = 0};
        chain_make(&chain, 2, 1);
        inbox_open(&lazy.inbox, &chain.plan,
                   (struct network_options){.kind = (enum network_kind)kind,
                                            .metres = 100,
                                            .deliver = lazy_deliver,
                                            .context = &lazy,
                                            .hosts_drain = true},
                   1);
        lazy.actor = (uint32_t)sim_actor_add(
            lazy.inbox.sim,
            &(struct sim_actor){.name = "lazy", .handle = lazy_drain, .context = &lazy});
        for (int i = 0; i < 60; i++)
            inbox_send(&lazy.inbox, 0, 1, 262);
        inbox_finish(&lazy.inbox);
        assert_int_equal(lazy.inbox.count, 60);
        assert_true(sim_now(lazy.inbox.sim) >= 600 * SIM_US);
        inbox_close(&lazy.inbox);
    }
}

/* Chance decides fabric, kind, lengths, errors and traffic; all checks hold at random moments. */
static uint64_t random_run(uint64_t seed)
{
    static const char *const algorithms_used[] = {"turn-addition", "up-down", "buffer-pool",
                                                  "reduced-channels"};
    struct routed routed;
    struct inbox inbox;
    struct generate_options options = {.switches = 8, .ports = 3, .hosts = 3, .seed = seed};
    routed_make(&routed, "random", &options, algorithms_used[seed % 4]);
    inbox_open(&inbox, &routed.plan.plan,
               (struct network_options){.kind = (enum network_kind)(seed / 4 % 2),
                                        .metres = (uint32_t)(seed % 200),
                                        .bit_error_rate = seed % 3 == 0 ? 1e-6 : 0},
               seed);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 40; i++) {
            uint32_t source = (uint32_t)sim_random_below(inbox.sim, 24);
            uint32_t target = (uint32_t)sim_random_below(inbox.sim, round % 2 ? 24 : 2);
            inbox_send(&inbox, source, target, 1 + (uint32_t)sim_random_below(inbox.sim, 262));
        }
        sim_run(inbox.sim, sim_now(inbox.sim) + (sim_time)sim_random_below(inbox.sim, 40 * SIM_US),
                0);
        if (network_check(inbox.network) < 0)
            fail_msg("%s", rh_error_text());
        assert_int_equal(network_deadlock(inbox.network, NULL), 0);
    }
    inbox_finish(&inbox);
    uint64_t hash = sim_hash(inbox.sim);
    inbox_close(&inbox);
    routed_free(&routed);
    return hash;
}

static void test_random(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 48; seed++) {
        uint64_t hash = random_run(seed);
        if (seed % 8 == 0)
            assert_true(hash == random_run(seed));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_latency_is_the_formula),
        cmocka_unit_test(test_latency_of_mixed_links),
        cmocka_unit_test(test_crowded_output),
        cmocka_unit_test(test_credits_limit),
        cmocka_unit_test(test_long_links_are_refused),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_hopeless_link_is_lost),
        cmocka_unit_test(test_multicast),
        cmocka_unit_test(test_multicast_time),
        cmocka_unit_test(test_no_way_is_counted),
        cmocka_unit_test(test_hosts_drain),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
