/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random networks as in the paper: free ports of two different switches are chosen and joined until
 * none is left. Two switches may be joined by several cables.
 */
#include "route/generate/generate.h"

#include "base/error.h"
#include "base/splitmix.h"

#include <stdlib.h>

struct stubs {
    uint32_t *at; /* switch of each free port */
    uint32_t count;
};

static uint32_t stub_take(struct stubs *stubs, uint32_t index)
{
    uint32_t at = stubs->at[index];
    stubs->at[index] = stubs->at[--stubs->count];
    return at;
}

/* Joins free ports until only ports of one switch are left. */
static int stubs_join(struct fabric *fabric, struct stubs *stubs, uint64_t *state)
{
    uint32_t failed = 0;
    while (stubs->count > 1 && failed < 64) {
        uint32_t i = (uint32_t)(splitmix_next(state) % stubs->count);
        uint32_t j = (uint32_t)(splitmix_next(state) % stubs->count);
        if (stubs->at[i] == stubs->at[j]) {
            failed++; /* the same switch: draw again, but not for ever */
            continue;
        }
        failed = 0;
        uint32_t a = stub_take(stubs, i > j ? i : j), b = stub_take(stubs, i > j ? j : i);
        int result = fabric_link_add(fabric, (struct fabric_end){a, 0}, (struct fabric_end){b, 0});
        if (result < 0)
            return result;
    }
    return 0;
}

static bool connected(const struct fabric *fabric, uint32_t switch_count)
{
    uint32_t *queue = malloc(switch_count * sizeof(*queue));
    uint8_t *seen = calloc(switch_count, 1);
    uint32_t count = 0;
    if (queue && seen) {
        queue[count++] = 0;
        seen[0] = 1;
        for (uint32_t i = 0; i < count; i++) {
            const struct fabric_node *node = &fabric->nodes[queue[i]];
            for (uint32_t p = 1; p <= node->port_count; p++) {
                uint32_t peer = node->ports[p].peer_node;
                if (peer < switch_count && !seen[peer]) {
                    seen[peer] = 1;
                    queue[count++] = peer;
                }
            }
        }
    }
    free(queue);
    free(seen);
    return count == switch_count;
}

static void cables_remove(struct fabric *fabric, uint32_t switch_count)
{
    for (uint32_t i = 0; i < switch_count; i++) {
        for (uint32_t p = 1; p <= fabric->nodes[i].port_count; p++) {
            if (fabric->nodes[i].ports[p].peer_node < switch_count)
                fabric_link_cut(fabric, (struct fabric_end){i, (uint16_t)p});
        }
    }
}

static int cables_draw(struct fabric *fabric, uint32_t switches, uint32_t ports, uint64_t *state)
{
    struct stubs stubs = {.at = malloc((size_t)switches * ports * sizeof(uint32_t))};
    if (!stubs.at)
        return error_fail(-ENOMEM, "no memory for %u switches", switches);
    int result = 0;
    bool done = false;
    for (int attempt = 0; attempt < 1000 && result == 0 && !done; attempt++) {
        cables_remove(fabric, switches);
        stubs.count = 0;
        for (uint32_t i = 0; i < switches * ports; i++)
            stubs.at[stubs.count++] = i / ports;
        result = stubs_join(fabric, &stubs, state);
        done = connected(fabric, switches);
    }
    free(stubs.at);
    if (result == 0 && !done)
        result = error_fail(-EINVAL,
                            "no connected network of %u switches with %u cables each was found in "
                            "1000 draws; use more --ports",
                            switches, ports);
    return result;
}

int generate_random(struct fabric *fabric, const struct generate_options *options)
{
    uint32_t switches = options->switches ? options->switches : 10;
    uint32_t ports = options->ports ? options->ports : 10;
    uint32_t hosts = options->hosts ? options->hosts : 10;
    if (switches < 2 || switches > 100000 || ports + hosts > FABRIC_PORTS_MAX)
        return error_fail(-EINVAL,
                          "a random network needs 2 to 100000 switches of at most %d ports; asked "
                          "for %u with %u + %u ports",
                          FABRIC_PORTS_MAX, switches, ports, hosts);
    uint64_t state = options->seed;
    for (uint32_t i = 0; i < switches; i++) {
        char name[32];
        uint32_t index;
        snprintf(name, sizeof(name), "s%u", i);
        int result = fabric_node_add(fabric, FABRIC_SWITCH, name, &index);
        if (result < 0)
            return result;
    }
    for (uint32_t i = 0; i < switches; i++) {
        int result = generate_hosts_add(fabric, i, hosts);
        if (result < 0)
            return result;
    }
    return cables_draw(fabric, switches, ports, &state);
}
