/* SPDX-License-Identifier: BSD-3-Clause
 *
 * L10: a switch whose ports have different speeds.
 */
#include "experiment/thesis/session.h"
#include "sim/switch/switch.h"

#include <errno.h>
#include <math.h>

enum { HOSTS = 3, FLITS = 200 };
static const uint32_t speeds[HOSTS] = {1000, 2000, 8000}; /* Mbit/s */

/* When the last flit of the packet to each host was there. */
struct arrivals {
    sim_time tail[HOSTS];
};

static void deliver(void *context, const struct network_arrival *arrival)
{
    struct arrivals *arrivals = context;
    arrivals->tail[arrival->target] = arrival->tail;
}

/* One packet from the fastest port to each other one, in a world of its own. */
static int packet_run(const struct sim_constants *constants, uint32_t target,
                      struct arrivals *arrivals)
{
    static const uint8_t port_to[HOSTS] = {1, 2, 3};
    struct network_link links[HOSTS];
    struct network_plan plan = {.switch_count = 1,
                                .host_count = HOSTS,
                                .link_count = HOSTS,
                                .links = links,
                                .port_to = port_to};
    struct network_options options = {
        .constants = constants, .deliver = deliver, .context = arrivals};
    struct network_packet packet = {
        .source = HOSTS - 1, .targets = &target, .target_count = 1, .flits = FLITS};
    struct network *network = NULL;
    struct sim *sim;
    for (uint32_t i = 0; i < HOSTS; i++)
        links[i] = (struct network_link){
            .a = {0, (uint8_t)(i + 1)}, .b = {1 + i, 1}, .mbps = speeds[i]};
    int result = sim_create(&sim, 1);
    if (result < 0)
        return result;
    result = network_create(&network, sim, &plan, &options);
    if (result == 0)
        result = network_send(network, &packet);
    if (result == 0)
        result = sim_run(sim, SIM_NEVER, 0) < 0 ? -ENOMEM : 0;
    network_destroy(network);
    sim_destroy(sim);
    return result;
}

int ports(struct session *session)
{
    const struct sim_constants *c = &session->constants;
    struct arrivals arrivals = {{0}};
    bool holds = true;
    for (uint32_t i = 0; i + 1 < HOSTS; i++) {
        int result = packet_run(c, i, &arrivals);
        if (result < 0)
            return result;
    }
    for (uint32_t i = 0; i + 1 < HOSTS;
         i++) { /* its flits come no faster than the port takes them */
        double least = (double)FLITS * (double)c->flit_bits * 1e6 / speeds[i];
        holds = holds && fabs((double)arrivals.tail[i] / least - 1) < 0.1;
    }
    statement_settle(session, "L10", holds);
    return 0;
}
