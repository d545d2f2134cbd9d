/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files: what is written is read back the same, foreign formats are understood, and broken files
 * are refused with line and reason.
 */
#include "support.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

static int parse(struct fabric **fabric, const char *text)
{
    struct lines source;
    assert_int_equal(lines_from(&source, "f", text, strlen(text)), 0);
    int result = formats_fabric_parse(fabric, &source);
    lines_close(&source);
    return result;
}

static void same(const struct fabric *a, const struct fabric *b, bool with_lids)
{
    assert_int_equal(a->node_count, b->node_count);
    for (uint32_t i = 0; i < a->node_count; i++) {
        const struct fabric_node *x = &a->nodes[i];
        uint32_t at = fabric_node_find(b, x->name);
        assert_true(at != FABRIC_NONE);
        const struct fabric_node *y = &b->nodes[at];
        assert_int_equal(x->kind, y->kind);
        assert_int_equal(x->group, y->group);
        for (uint32_t p = 0; p <= x->port_count; p++) {
            if (x->ports[p].peer_node != FABRIC_NONE) {
                assert_string_equal(a->nodes[x->ports[p].peer_node].name,
                                    b->nodes[y->ports[p].peer_node].name);
                assert_int_equal(x->ports[p].peer_port, y->ports[p].peer_port);
            }
            if (with_lids && x->ports[p].lid)
                assert_int_equal(x->ports[p].lid, y->ports[p].lid);
        }
    }
}

static void round_trip(int (*write)(const struct fabric *, FILE *), const char *kind,
                       const struct generate_options *options, bool with_lids)
{
    struct fabric *fabric, *again;
    char *text = NULL;
    size_t length = 0;
    assert_int_equal(generate_fabric(&fabric, kind, options), 0);
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    assert_int_equal(write(fabric, out), 0);
    fclose(out);
    if (parse(&again, text) < 0)
        fail_msg("%s", rh_error_text());
    same(fabric, again, with_lids);
    fabric_destroy(fabric);
    fabric_destroy(again);
    free(text);
}

static void test_round_trips(void **state)
{
    (void)state;
    struct generate_options joined = {.ports = 4, .join = GENERATE_MIDDLE};
    struct generate_options random = {.switches = 9, .ports = 4, .hosts = 2, .seed = 5};
    round_trip(formats_ibnet_write, "joined", &joined, true);
    round_trip(formats_ibnet_write, "random", &random, true);
    round_trip(formats_edges_write, "joined", &joined, false);
    round_trip(formats_edges_write, "random", &random, false);
}

static void test_lft_round_trip(void **state)
{
    (void)state;
    struct generate_options options = {.ports = 4, .join = GENERATE_MIDDLE};
    struct fixture fixture;
    struct lines source;
    struct lft_dump dump;
    struct lft *again;
    char *text = NULL;
    size_t length = 0;
    fixture_generate(&fixture, "joined", &options);
    struct routing *routing = fixture_route(&fixture, "turn-addition");
    FILE *out = open_memstream(&text, &length);
    assert_int_equal(lft_export(&dump, routing->lft), 0);
    assert_int_equal(lft_dump_write(&dump, fixture.fabric, out, NULL), 0);
    lft_dump_free(&dump);
    fclose(out);
    assert_int_equal(lines_from(&source, "t", text, length), 0);
    assert_int_equal(lft_dump_parse(&dump, fixture.fabric, &source), 0);
    assert_int_equal(lft_import(&again, fixture.net, &dump), 0);
    assert_true(lft_difference(routing->lft, again) == 0);
    lft_destroy(again);
    lft_dump_free(&dump);
    lines_close(&source);
    free(text);
    routing_destroy(routing);
    fixture_close(&fixture);
}

static void test_foreign(void **state)
{
    (void)state;
    static const char lst[] =
        "{ CA Ports:01 SystemGUID:0002c90300000010 NodeGUID:0002c90300000010 "
        "PortGUID:0002c90300000011 VenID:000002C9 DevID:673C0000 Rev:00000000 {node 1} LID:0005 "
        "PN:01 } { SW Ports:24 SystemGUID:0002c90200000001 NodeGUID:0002c90200000001 "
        "PortGUID:0002c90200000001 VenID:000002C9 DevID:B9240000 Rev:00000000 {leaf} LID:000A "
        "PN:03 "
        "} PHY=4x LOG=ACT SPD=5\n";
    static const char topo[] = "MT47396 leaf1\n   P1 -4x-5G-> HCA_1 node1 P1\n   P2 -> HCA_1 node2 "
                               "P1\n   P3 -> MT47396 leaf2 P3\n";
    struct fabric *fabric;
    assert_int_equal(parse(&fabric, lst), 0);
    uint32_t host = fabric_node_find(fabric, "node 1"), leaf = fabric_node_find(fabric, "leaf");
    assert_int_equal(fabric->nodes[host].ports[1].lid, 5);
    assert_int_equal(fabric->nodes[leaf].ports[0].lid, 10);
    assert_int_equal(fabric->nodes[leaf].ports[3].peer_node, host);
    fabric_destroy(fabric);
    assert_int_equal(parse(&fabric, topo), 0);
    assert_int_equal(fabric_count(fabric, FABRIC_SWITCH), 2);
    assert_int_equal(fabric_count(fabric, FABRIC_HOST), 2);
    fabric_destroy(fabric);
}

static void test_broken_files(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"", "no fabric"},
        {"# nothing\n\n", "no fabric"},
        {"a b c\n", "f:1: the line should end before this: 'c'"},
        {"switch a b\n", "f:1: the line should end before this: 'b'"},
        {"hosts a 2 b\n", "f:1: the line should end before this: 'b'"},
        {"MT47396 a\n P1 -> MT47396 b P1 P2\n", "f:2: the line should end before this: 'P2'"},
        {"a b\na:1 c\n", "f:2: 'a' port 1 is cabled to 'b'"},
        {"a:0 b\n", "f:1: port 0"},
        {"a:255 b\n", "f:1: port 255"},
        {"hosts s 999\n", "f:1: a number of hosts"},
        {"Switch\t24 S-1\n", "f:1: a quoted name"},
        {"Switch\tx \"S-1\"\n", "f:1: a number of ports"},
        {"Switch\t900 \"S-1\"\n", "f:1: 'S-1' has 900 ports"},
        {"Switch\t4 \"S-1\"\n[1]\t\"S-1\"[1]\n", "f:2: port 1 is cabled to itself"},
        {"Switch\t4 \"S-1\"\n[1]\t\"S-2\"[1]\n[1]\t\"S-3\"[1]\n", "f:3: 'S-1' port 1"},
        {"Switch\t4 \"S-1\"\nnonsense\n", "f:2: neither a port"},
        {"vendid=0x1\n[1]\t\"S-2\"[1]\n", "f:2: a port before the first"},
        {"{ XX }\n", "f:1: 'SW' or 'CA'"},
        {"{ SW Ports:04 {a} LID:1 PN:01 }\n", "f:1: Ports, NodeGUID"},
        {"MT47396 leaf1\n  L1/P1 -> HCA_1 h P1\n", "f:2: port 'L1/P1' belongs to a board"},
        {"MT47396 leaf1\n  P1 == HCA_1 h P1\n  P2 -> HCA_1 i P1\n", "f:2: '->' must follow"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fabric *fabric;
        if (parse(&fabric, cases[i].text) == 0)
            fail_msg("case %zu was accepted", i);
        if (!strstr(rh_error_text(), cases[i].reason))
            fail_msg("case %zu: '%s' does not say '%s'", i, rh_error_text(), cases[i].reason);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_lft_round_trip),
        cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_broken_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
