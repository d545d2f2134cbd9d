/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See plan.h.
 */
#include "plan.h"

#include "base/error.h"

#include <string.h>

void chain_make(struct chain *chain, uint32_t switches, uint32_t hosts)
{
    uint32_t count = 0, all = switches * hosts;
    memset(chain, 0, sizeof(*chain));
    assert_true(switches <= CHAIN_MAX && hosts <= 7);
    chain->switches = switches;
    chain->hosts = hosts;
    for (uint32_t s = 0; s + 1 < switches; s++)
        chain->links[count++] = (struct network_link){.a = {s, 2}, .b = {s + 1, 1}};
    for (uint32_t h = 0; h < all; h++)
        chain->links[count++] = (struct network_link){.a = {switches + h, 1},
                                                      .b = {h / hosts, (uint8_t)(3 + h % hosts)}};
    for (uint32_t s = 0; s < switches; s++) {
        for (uint32_t h = 0; h < all; h++)
            chain->port_to[s * all + h] = h / hosts < s   ? 1
                                          : h / hosts > s ? 2
                                                          : (uint8_t)(3 + h % hosts);
    }
    chain->plan = (struct network_plan){.switch_count = switches,
                                        .host_count = all,
                                        .link_count = count,
                                        .links = chain->links,
                                        .port_to = chain->port_to};
}

void routed_make(struct routed *routed, const char *kind, const struct generate_options *options,
                 const char *algorithm)
{
    const struct algorithm *found = algorithm_find(algorithm);
    memset(routed, 0, sizeof(*routed));
    assert_non_null(found);
    if (generate_fabric(&routed->fabric, kind, options) < 0 ||
        net_create(&routed->net, routed->fabric) < 0 ||
        traffic_uniform(&routed->traffic, routed->net) < 0 ||
        routing_create(&routed->routing, routed->traffic, found, NULL) < 0 ||
        sim_plan_by_table(&routed->plan, routed->routing->lft, found->lanes) < 0)
        fail_msg("%s", rh_error_text());
}

void routed_free(struct routed *routed)
{
    sim_plan_free(&routed->plan);
    routing_destroy(routed->routing);
    traffic_destroy(routed->traffic);
    net_destroy(routed->net);
    fabric_destroy(routed->fabric);
}

void inbox_deliver(void *context, const struct network_arrival *arrival)
{
    struct inbox *inbox = context;
    inbox->count++;
    inbox->last = *arrival;
    if (arrival->tail > inbox->last_tail)
        inbox->last_tail = arrival->tail;
    if (arrival->target < COUNT_OF(inbox->by_host))
        inbox->by_host[arrival->target]++;
    if (arrival->source >= 64 || arrival->target >= 64)
        return;
    uint64_t *last = &inbox->cookie[arrival->source * 64 + arrival->target];
    if (arrival->cookie <= *last)
        inbox->late_count++;
    *last = arrival->cookie;
}

void inbox_open(struct inbox *inbox, const struct network_plan *plan,
                struct network_options options, uint64_t seed)
{
    memset(inbox, 0, sizeof(*inbox));
    inbox->sim = world_make(seed);
    if (!options.deliver)
        options.deliver = inbox_deliver;
    if (!options.context)
        options.context = inbox;
    if (network_create(&inbox->network, inbox->sim, plan, &options) < 0)
        fail_msg("%s", rh_error_text());
}

void inbox_close(struct inbox *inbox)
{
    network_destroy(inbox->network);
    sim_destroy(inbox->sim);
}

void inbox_send(struct inbox *inbox, uint32_t source, uint32_t target, uint32_t flits)
{
    struct network_count count;
    network_count(inbox->network, &count);
    struct network_packet packet = {.source = source,
                                    .targets = &target,
                                    .target_count = 1,
                                    .flits = flits,
                                    .cookie = count.packets_sent + 1};
    if (network_send(inbox->network, &packet) < 0)
        fail_msg("%s", rh_error_text());
}

void inbox_finish(struct inbox *inbox)
{
    struct network_count count;
    assert_int_equal(sim_run(inbox->sim, SIM_NEVER, 0), SIM_IDLE);
    if (network_check(inbox->network) < 0)
        fail_msg("%s", rh_error_text());
    network_count(inbox->network, &count);
    assert_int_equal(count.packets_inside, 0);
    assert_int_equal(count.packets_sent, count.packets_delivered + count.packets_lost);
    assert_int_equal(inbox->count, count.packets_delivered);
    assert_int_equal(inbox->late_count, 0);
}
