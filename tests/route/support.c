/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See support.h.
 */
#include "support.h"

#include "base/error.h"

#include <string.h>

static void must(int result, const char *what)
{
    if (result < 0)
        fail_msg("%s: %s", what, rh_error_text());
}

static void world_finish(struct world *world)
{
    must(net_create(&world->net, world->fabric), "network");
    must(traffic_groups(&world->traffic, world->net, 0.01), "traffic");
}

void world_generate(struct world *world, const char *kind, const struct generate_options *options)
{
    must(generate_fabric(&world->fabric, kind, options), kind);
    must(generate_fabric(&world->before, kind, options), kind);
    world_finish(world);
}

void world_parse(struct world *world, const char *text)
{
    struct lines source;
    must(lines_from(&source, "test", text, strlen(text)), "text");
    must(formats_fabric_parse(&world->fabric, &source), "fabric");
    world->before = NULL;
    lines_close(&source);
    fabric_lids_assign(world->fabric);
    world_finish(world);
}

void world_close(struct world *world)
{
    traffic_destroy(world->traffic);
    net_destroy(world->net);
    fabric_destroy(world->fabric);
    fabric_destroy(world->before);
}

struct routing *world_route(const struct world *world, const char *algorithm)
{
    struct routing *routing = NULL;
    must(routing_create(&routing, world->traffic, algorithm_find(algorithm), NULL), algorithm);
    return routing;
}

struct check_report world_check(const struct routing *routing)
{
    struct lft_dump dump;
    struct check_report report;
    struct check_options options = {.lanes = (enum check_lanes)routing->algorithm->lanes};
    must(lft_export(&dump, routing->lft), "export");
    must(check_tables(routing->net->fabric, &dump, &options, &report), "check");
    lft_dump_free(&dump);
    return report;
}

uint32_t world_switch(const struct world *world, const char *name)
{
    uint32_t node = fabric_node_find(world->fabric, name);
    assert_true(node != FABRIC_NONE);
    return world->net->switch_index[node];
}

uint32_t world_channel(const struct world *world, const char *from, const char *to)
{
    uint32_t a = world_switch(world, from), b = world_switch(world, to);
    for (uint32_t c = world->net->first[a]; c < world->net->first[a + 1]; c++) {
        if (world->net->head[c] == b)
            return c;
    }
    fail_msg("no cable from %s to %s", from, to);
    return 0;
}

void world_cut(struct world *world, const char *from, const char *to)
{
    uint32_t channel = world_channel(world, from, to);
    struct fabric_end end = {fabric_node_find(world->fabric, from), world->net->port[channel]};
    fabric_link_cut(world->fabric, end);
    traffic_destroy(world->traffic);
    net_destroy(world->net);
    world_finish(world);
}
