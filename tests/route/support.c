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

static void fixture_finish(struct fixture *fixture)
{
    must(net_create(&fixture->net, fixture->fabric), "network");
    must(traffic_groups(&fixture->traffic, fixture->net, 0.01), "traffic");
}

void fixture_generate(struct fixture *fixture, const char *kind,
                      const struct generate_options *options)
{
    must(generate_fabric(&fixture->fabric, kind, options), kind);
    must(generate_fabric(&fixture->before, kind, options), kind);
    fixture_finish(fixture);
}

void fixture_parse(struct fixture *fixture, const char *text)
{
    struct lines source;
    must(lines_from(&source, "test", text, strlen(text)), "text");
    must(formats_fabric_parse(&fixture->fabric, &source), "fabric");
    fixture->before = NULL;
    lines_close(&source);
    fabric_lids_assign(fixture->fabric);
    fixture_finish(fixture);
}

void fixture_close(struct fixture *fixture)
{
    traffic_destroy(fixture->traffic);
    net_destroy(fixture->net);
    fabric_destroy(fixture->fabric);
    fabric_destroy(fixture->before);
}

struct routing *fixture_route(const struct fixture *fixture, const char *algorithm)
{
    struct routing *routing = NULL;
    must(routing_create(&routing, fixture->traffic, algorithm_find(algorithm), NULL), algorithm);
    return routing;
}

struct check_report fixture_check(const struct routing *routing)
{
    struct lft_dump dump;
    struct check_report report;
    struct check_options options = {.lanes = (enum check_lanes)routing->algorithm->lanes};
    must(lft_export(&dump, routing->lft), "export");
    must(check_tables(routing->net->fabric, &dump, &options, &report), "check");
    lft_dump_free(&dump);
    return report;
}

uint32_t fixture_switch(const struct fixture *fixture, const char *name)
{
    uint32_t node = fabric_node_find(fixture->fabric, name);
    assert_true(node != FABRIC_NONE);
    return fixture->net->switch_index[node];
}

uint32_t fixture_channel(const struct fixture *fixture, const char *from, const char *to)
{
    uint32_t a = fixture_switch(fixture, from), b = fixture_switch(fixture, to);
    for (uint32_t c = fixture->net->first[a]; c < fixture->net->first[a + 1]; c++) {
        if (fixture->net->head[c] == b)
            return c;
    }
    fail_msg("no cable from %s to %s", from, to);
    return 0;
}

void fixture_cut(struct fixture *fixture, const char *from, const char *to)
{
    uint32_t channel = fixture_channel(fixture, from, to);
    struct fabric_end end = {fabric_node_find(fixture->fabric, from), fixture->net->port[channel]};
    fabric_link_cut(fixture->fabric, end);
    traffic_destroy(fixture->traffic);
    net_destroy(fixture->net);
    fixture_finish(fixture);
}
