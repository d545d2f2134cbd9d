/* SPDX-License-Identifier: BSD-3-Clause
 *
 * LIDs as fabric files give them: taken from the right place, all of an LMC routed, and what cannot
 * be is refused with file, line and value. Fabrics that have fallen apart.
 */
#include "support.h"

#include "base/error.h"
#include "route/fabric/guids.h"

#include <stdlib.h>
#include <string.h>

/* Two switches with a host each, as ibnetdiscover prints them. */
#define LEAF_LINE(comment) "Switch\t8 \"S-01\"\t\t# " comment "\n"
#define LEAF_CABLES                                                                                \
    "[1]\t\"H-11\"[1](11)\t\t# \"node 1\" lid 8 4xQDR\n"                                           \
    "[8]\t\"S-02\"[8]\t\t# \"spine\" lid 2 4xQDR\n\n"
#define SPINE                                                                                      \
    "Switch\t8 \"S-02\"\t\t# \"spine\" base port 0 lid 2 lmc 0\n"                                  \
    "[1]\t\"H-12\"[1](12)\t\t# \"node 2\" lid 12 4xQDR\n"                                          \
    "[8]\t\"S-01\"[8]\t\t# \"leaf\" lid 1 4xQDR\n\n"
#define HOST(number, comment, peer)                                                                \
    "Ca\t1 \"H-" number "\"\t\t# \"node\"\n[1](" number ")\t\"" peer "\"[1]\t\t# " comment "\n\n"

static int parse(struct fabric **fabric, const char *text)
{
    struct lines source;
    assert_int_equal(lines_from(&source, "f", text, strlen(text)), 0);
    int result = formats_fabric_parse(fabric, &source);
    lines_close(&source);
    return result;
}

static void refused(const char *text, const char *reason)
{
    struct fabric *fabric = NULL;
    assert_true(parse(&fabric, text) < 0);
    if (!strstr(rh_error_text(), reason))
        fail_msg("'%s' is not in '%s'", reason, rh_error_text());
}

static uint32_t lid_of(const char *text, const char *name, uint32_t port)
{
    struct fabric *fabric = NULL;
    if (parse(&fabric, text) < 0)
        fail_msg("%s", rh_error_text());
    uint32_t node = fabric_node_find(fabric, name);
    assert_true(node != FABRIC_NONE && port <= fabric->nodes[node].port_count);
    uint32_t lid = fabric->nodes[node].ports[port].lid;
    fabric_destroy(fabric);
    return lid;
}

/* Descriptions may hold anything, also what looks like a LID. */
static void test_not_from_descriptions(void **state)
{
    (void)state;
    assert_int_equal(
        lid_of(LEAF_LINE("\"Euclid 7 leaf\" base port 0 lid 1 lmc 0") LEAF_CABLES SPINE, "S-01", 0),
        1);
    assert_int_equal(
        lid_of(LEAF_LINE("\"my lid 7\" base port 0 lid 1 lmc 0") LEAF_CABLES SPINE, "S-01", 0), 1);
    assert_int_equal(lid_of(LEAF_LINE("\"Euclid 7 leaf\"") LEAF_CABLES SPINE, "S-01", 0), 0);
    assert_int_equal(lid_of(LEAF_LINE("Euclid 7 leaf") LEAF_CABLES SPINE, "S-01", 0), 0);
    static const char own[] =
        LEAF_LINE("\"leaf\" base port 0 lid 1 lmc 0") "[1]\t\"H-11\"[1](11)\n\n" HOST(
            "11", "solid 9 lid 8 lmc 0 \"lid 3\" lid 1 4xQDR", "S-01");
    assert_int_equal(lid_of(own, "H-11", 1), 8);
    static const char beside[] = LEAF_LINE(
        "\"leaf\" base port 0 lid 1 lmc 0") "[1]\t\"H-11\"[1](11)\t\t# \"Euclid 7\" lid 8 4xQDR\n";
    assert_int_equal(lid_of(beside, "H-11", 1), 8);
}

static void test_impossible_lids(void **state)
{
    (void)state;
    static const char leaf[] = LEAF_LINE("\"leaf\" base port 0 lid 1 lmc 0") LEAF_CABLES;
    char text[2048];
    /* host 2 has the LID of host 1 */
    snprintf(text, sizeof(text), "%s%s", leaf,
             "Switch\t8 \"S-02\"\t\t# \"spine\" base port 0 lid 2 lmc 0\n"
             "[1]\t\"H-12\"[1](12)\t\t# \"node 2\" lid 8 4xQDR\n");
    refused(text, "f:6: LID 8 belongs to both 'H-11' port 1 and 'H-12' port 1 (line 2)");
    /* a host has that of a switch */
    refused(LEAF_LINE("\"leaf\" base port 0 lid 8 lmc 0") LEAF_CABLES SPINE,
            "LID 8 belongs to both");
    /* the LIDs of an LMC run into another's */
    snprintf(text, sizeof(text), "%s%s%s", leaf, SPINE,
             HOST("11", "lid 8 lmc 3 \"leaf\" lid 1 4xQDR", "S-01"));
    refused(text, "LID 12 belongs to both");
    snprintf(text, sizeof(text), "%s%s", leaf, HOST("11", "lid 9 lmc 0 \"leaf\" lid 1", "S-01"));
    refused(text, "f:6: 'H-11' port 1 has LID 9 here and LID 8 in line 2");
    snprintf(text, sizeof(text), "%s%s", leaf, HOST("11", "lid 8 lmc 9 \"leaf\" lid 1", "S-01"));
    refused(text, "f:6: 'H-11' port 1: LMC 9");
    refused(LEAF_LINE("\"leaf\" base port 0 lid 6 lmc 2"),
            "f:1: 'S-01' port 0: LID 6 is no multiple");
    refused(LEAF_LINE("\"leaf\" base port 0 lid 49152 lmc 0"), "f:1: 'S-01' port 0: LID 49152");
    refused(LEAF_LINE("\"leaf\" base port 0 lid 49148 lmc 3"), "(LMC 3) is no unicast LID");
    /* none yet */
    assert_int_equal(lid_of(LEAF_LINE("\"leaf\" base port 0 lid 65535 lmc 0"), "S-01", 0), 0);
    assert_int_equal(lid_of(LEAF_LINE("\"leaf\" base port 0 lid 49151 lmc 0"), "S-01", 0), 49151);
}

#define LST_END(kind, guid, name, lid, port)                                                       \
    "{ " kind " Ports:08 NodeGUID:" guid " PortGUID:" guid " {" name "} LID:" lid " PN:" port " } "

static void test_impossible_lids_in_lists(void **state)
{
    (void)state;
    refused(LST_END("CA", "11", "a", "0005", "01")
                LST_END("SW", "01", "s", "0001", "01") "\n" LST_END("CA", "12", "b", "0005", "01")
                    LST_END("SW", "01", "s", "0001", "02") "\n",
            "f:2: LID 5 belongs to both 'a' port 1 and 'b' port 1 (line 1)");
    refused(LST_END("CA", "11", "a", "C000", "01") LST_END("SW", "01", "s", "0001", "01") "\n",
            "f:1: 'a' port 1: LID 49152");
    refused(LST_END("CA", "11", "a", "10005", "01") LST_END("SW", "01", "s", "0001", "01") "\n",
            "f:1: LID 0x10005");
    refused(LST_END("CA", "11", "a", "0005", "01")
                LST_END("SW", "01", "s", "0001", "01") "\n" LST_END("SW", "01", "s", "0002", "01")
                    LST_END("CA", "11", "a", "0005", "01") "\n",
            "f:2: 's' port 0 has LID 2 here and LID 1 in line 1");
}

/* Longer than there is room for: two such names would become one node. */
static void test_long_names(void **state)
{
    (void)state;
    char text[1024], name[201];
    memset(name, 'x', 200);
    name[200] = '\0';
    snprintf(text, sizeof(text), "Switch\t8 \"%s\"\n", name);
    refused(text, "f:1: a quoted name must follow here");
    snprintf(text, sizeof(text), "%s a\n", name);
    refused(text, "f:1: a node's name must follow here");
}

static const char lmc_text[] = LEAF_LINE("\"leaf\" base port 0 lid 1 lmc 0")
    LEAF_CABLES SPINE HOST("11", "lid 8 lmc 2 \"leaf\" lid 1 4xQDR", "S-01")
        HOST("12", "lid 12 lmc 1 \"spine\" lid 2 4xQDR", "S-02");

/* All LIDs of a port have entries at all switches, files carry them, and one that lacks is seen. */
static void test_lmc(void **state)
{
    (void)state;
    struct fixture fixture;
    struct lft_dump dump;
    struct check_report report;
    fixture_parse(&fixture, lmc_text);
    struct routing *routing = fixture_route(&fixture, "turn-addition");
    assert_int_equal(lft_export(&dump, routing->lft), 0);
    assert_int_equal(dump.lid_count, 14);
    for (uint32_t s = 0; s < 2; s++) {
        const uint8_t *row = dump.port + (size_t)s * dump.lid_count;
        for (uint32_t lid = 8; lid < 14; lid++)
            assert_int_equal(row[lid], (lid < 12) == (s == 0) ? 1 : 8);
    }
    assert_int_equal(check_tables(fixture.fabric, &dump, NULL, &report), 0);
    assert_true(check_passed(&report));
    assert_int_equal(report.pairs, 2);
    assert_int_equal(report.lids_unknown, 0);
    dump.port[5] = 1; /* a LID that no port has */
    assert_int_equal(check_tables(fixture.fabric, &dump, NULL, &report), 0);
    assert_true(check_passed(&report));
    assert_int_equal(report.lids_unknown, 1);
    assert_int_equal(report.lid_unknown, 5);
    dump.port[11] = 255; /* at the leaf, the last LID of its host */
    assert_int_equal(check_tables(fixture.fabric, &dump, NULL, &report), 0);
    assert_false(check_passed(&report));
    assert_non_null(strstr(report.problem, "LID 11"));
    lft_dump_free(&dump);
    routing_destroy(routing);
    fixture_close(&fixture);
}

/* A table read for a fabric whose file does not tell the LMC. */
static void test_table_has_more_lids(void **state)
{
    (void)state;
    static const char table[] = "Unicast lids [0x0-0xb] of switch Lid 1 guid 0x01 ('s'):\n"
                                "0x0001 000\n0x0008 001\n0x0009 001\n0x000b 001 : \n0x0bad 255\n";
    struct fixture fixture;
    struct lines source;
    struct lft_dump dump;
    struct check_report report;
    fixture_parse(&fixture, LST_END("CA", "11", "a", "0008", "01")
                                LST_END("SW", "01", "s", "0001", "01") "\n");
    assert_int_equal(lines_from(&source, "t", table, strlen(table)), 0);
    assert_int_equal(lft_dump_parse(&dump, fixture.fabric, &source), 0);
    lines_close(&source);
    assert_int_equal(dump.lids_beyond, 2);
    assert_int_equal(check_tables(fixture.fabric, &dump, NULL, &report), 0);
    assert_int_equal(report.lids_unknown, 2);
    assert_int_equal(report.lid_unknown, 9);
    lft_dump_free(&dump);
    fixture_close(&fixture);
}

static void test_lmc_in_files(void **state)
{
    (void)state;
    struct fixture fixture;
    struct fabric *again;
    char *text = NULL;
    size_t length = 0;
    fixture_parse(&fixture, lmc_text);
    FILE *out = open_memstream(&text, &length);
    assert_int_equal(formats_guid2lid_write(fixture.fabric, out), 0);
    fclose(out);
    assert_non_null(strstr(text, "0x0000000000000011 0x0008 0x000b\n"));
    free(text);
    out = open_memstream(&text, &length);
    assert_int_equal(formats_ibnet_write(fixture.fabric, out), 0);
    fclose(out);
    assert_int_equal(parse(&again, text), 0);
    uint32_t host = fabric_node_find(again, "H-11");
    assert_int_equal(again->nodes[host].ports[1].lmc, 2);
    fabric_destroy(again);
    free(text);
    fixture_close(&fixture);
}

/* LIDs that are given to ports without one keep clear of those that an LMC takes. */
static void test_assigned_beside_lmc(void **state)
{
    (void)state;
    struct fabric *fabric;
    uint32_t line;
    assert_int_equal(parse(&fabric, "Switch\t8 \"S-01\"\n"
                                    "[1]\t\"H-11\"[1](11)\n[2]\t\"H-12\"[1](12)\n\n" HOST(
                                        "11", "lid 4 lmc 2 \"leaf\" lid 0", "S-01")),
                     0);
    assert_int_equal(fabric_lids_assign(fabric), 2);
    assert_int_equal(fabric_lids_check(fabric, &line), 0);
    assert_true(fabric_lids_fit(fabric));
    fabric_destroy(fabric);
}

static void test_same_guid(void **state)
{
    (void)state;
    struct fabric *fabric;
    struct guids guids;
    assert_int_equal(parse(&fabric, "switchguid=0x5(5)\nSwitch\t8 \"a\"\n[1]\t\"b\"[1]\n\n"
                                    "switchguid=0x5(5)\nSwitch\t8 \"b\"\n[1]\t\"a\"[1]\n"),
                     0);
    assert_int_equal(guids_create(&guids, fabric), -EEXIST);
    assert_non_null(strstr(rh_error_text(), "0x0000000000000005"));
    fabric_destroy(fabric);
}

/* The part with most hosts stays; a host with a leg in both stays on one. */
static void test_cut_off(void **state)
{
    (void)state;
    struct fabric *fabric;
    struct fabric_cut cut;
    struct net *net;
    assert_int_equal(parse(&fabric, "lost far\nhosts lost 1\nhost both\nlost both:1\na b\nb c\n"
                                    "hosts a 1\nhosts c 1\nc both:2\nhost unplugged\n"),
                     0);
    fabric_lids_assign(fabric);
    uint32_t lid = fabric->nodes[fabric_node_find(fabric, "c")].ports[0].lid;
    assert_int_equal(net_create(&net, fabric), -ENETUNREACH);
    assert_int_equal(fabric_part_keep(fabric, &cut), 0);
    assert_int_equal(cut.switches, 2);
    assert_int_equal(cut.hosts, 1);
    assert_string_equal(cut.first, "lost");
    assert_int_equal(fabric_node_find(fabric, "lost"), FABRIC_NONE);
    assert_int_equal(fabric_node_find(fabric, "hlost.0"), FABRIC_NONE);
    uint32_t c = fabric_node_find(fabric, "c"), both = fabric_node_find(fabric, "both");
    assert_int_equal(fabric->nodes[c].ports[0].lid, lid);
    assert_int_equal(fabric->nodes[both].ports[1].peer_node, FABRIC_NONE);
    assert_int_equal(fabric->nodes[both].ports[2].peer_node, c);
    assert_int_equal(net_create(&net, fabric), 0);
    assert_int_equal(net->host_count, 3);
    net_destroy(net);
    assert_int_equal(fabric_part_keep(fabric, &cut), 0);
    assert_int_equal(cut.switches + cut.hosts, 0);
    fabric_destroy(fabric);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_not_from_descriptions),
        cmocka_unit_test(test_impossible_lids),
        cmocka_unit_test(test_impossible_lids_in_lists),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_lmc),
        cmocka_unit_test(test_table_has_more_lids),
        cmocka_unit_test(test_lmc_in_files),
        cmocka_unit_test(test_assigned_beside_lmc),
        cmocka_unit_test(test_same_guid),
        cmocka_unit_test(test_cut_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
