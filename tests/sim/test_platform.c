/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Platforms: the program's own are what they say, files are read to the letter, mistakes are named
 * by file and line, nodes may be different machines.
 */
#include "node.h"

#include "base/error.h"
#include "base/splitmix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void platform_must_open(struct platform *platform, const char *name)
{
    if (platform_open(platform, name) < 0)
        fail_msg("%s", rh_error_text());
}

static void test_default(void **state)
{
    (void)state;
    struct platform platform;
    struct sim_constants wanted = sim_constants_default();
    platform_must_open(&platform, PLATFORM_DEFAULT);
    for (size_t i = 0; i < sim_constant_count(); i++) {
        if (sim_constant_get(&platform.constants, i) != sim_constant_get(&wanted, i))
            fail_msg("%s", sim_constant_list[i].name);
    }
    assert_memory_equal(&platform.constants, &wanted, sizeof(wanted));
    platform_close(&platform);
}

/* The file says in full what the thesis's rows of DIMMnet-1 are measured with. */
static void test_dimmnet(void **state)
{
    (void)state;
    struct sim_constants pci = sim_constants_default(), wanted = sim_constants_dimm(&pci),
                         got = pci;
    assert_int_equal(platform_constants(&got, "dimmnet-1"), 0);
    for (size_t i = 0; i < sim_constant_count(); i++) {
        if (sim_constant_get(&got, i) != sim_constant_get(&wanted, i))
            fail_msg("%s", sim_constant_list[i].name);
    }
}

static char *printed(const struct platform *platform, size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    platform_print(platform, out);
    fclose(out);
    return text;
}

static void test_printed_is_read_again(void **state)
{
    (void)state;
    for (const struct platform_file *at = platform_files; at->name; at++) {
        struct platform first, second;
        size_t length, again;
        platform_must_open(&first, at->name);
        assert_true(first.title[0] != '\0');
        char *text = printed(&first, &length);
        assert_int_equal(platform_parse(&second, "again", text, length), 0);
        char *more = printed(&second, &again);
        assert_string_equal(text, more);
        assert_memory_equal(&first.constants, &second.constants, sizeof(first.constants));
        free(text);
        free(more);
        platform_close(&first);
        platform_close(&second);
    }
}

#define BASE "include rhinet2-le\n"

static void test_lines(void **state)
{
    (void)state;
    static const char text[] = "# Mine\n" BASE
                               "  core_ps=7519 ps ;calibrated on P9 x; my book # fast\n"
                               "retry_limit = 3 -; assumed;\n";
    struct platform platform;
    size_t index;
    assert_int_equal(platform_parse(&platform, "mine", text, strlen(text)), 0);
    assert_string_equal(platform.title, "Mine");
    assert_int_equal(platform.constants.core_ps, 7519);
    assert_int_equal(platform.constants.retry_limit, 3);
    assert_int_equal(platform.constants.pci_ps, sim_constants_default().pci_ps);
    assert_true(sim_constant_find("core_ps", &index));
    const struct platform_origin *origin = &platform.origins[index];
    assert_int_equal(origin->class, PLATFORM_CALIBRATED);
    assert_string_equal(origin->row, "P9 x");
    assert_string_equal(origin->source, "my book");
    assert_string_equal(origin->file, "mine");
    assert_int_equal(origin->line, 3);
    platform_close(&platform);
}

static void test_mistakes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {BASE "cor_ps = 1 ps; assumed;\n", "mine:2: there is a constant core_ps"},
        {BASE "zzz = 1 ps; assumed;\n", "mine:2: `rhinet sim constants` does not list 'zzz'"},
        {BASE "\ncore_ps = 1 ns; assumed;\n", "mine:3: the unit of core_ps is ps, not 'ns'"},
        {BASE "core_ps = 1; assumed;\n", "mine:2: the unit of core_ps is ps, not ''"},
        {BASE "core_ps = fast ps; assumed;\n", "a value is a whole number, not 'fast'"},
        {BASE "core_ps = -1 ps; assumed;\n", "a value is a whole number, not '-1'"},
        {BASE "core_ps = 1 ps; guessed;\n", "a class is known, calibrated on ROW"},
        {BASE "core_ps = 1 ps; calibrated on;\n", "a class is known, calibrated on ROW"},
        {BASE "core_ps = 1 ps; knownish; x\n", "a class is known, calibrated on ROW"},
        {BASE "core_ps = 1 ps; known;\n", "which is missing for 'core_ps'"},
        {BASE "core_ps = 1 ps\n", "mine:2: a line is NAME = VALUE UNIT; CLASS; SOURCE"},
        {BASE "core_ps = 2 ps; assumed;\ncore_ps = 1 ps; assumed;\n", "mine:3: line 2 has said"},
        {BASE "core_ps = 0 ps; assumed;\n", "platform mine: core_ps is 1 to"},
        {BASE "post_cycles = 2000000000000 clk; assumed;\n", "post_cycles is 0 to"},
        {"include nothing\n" BASE, "mine:1: no file and no platform"},
        {"core_ps = 1 ps; assumed;\n", "begin with a line 'include rhinet2-le'"},
        {"", "mine does not say"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct platform platform;
        assert_int_equal(platform_parse(&platform, "mine", cases[i].text, strlen(cases[i].text)),
                         -EINVAL);
        if (!strstr(rh_error_text(), cases[i].says))
            fail_msg("%s: %s", cases[i].says, rh_error_text());
    }
}

static void file_write(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
}

/* Files beside each other; a circle is found. */
static void test_includes(void **state)
{
    (void)state;
    char folder[] = "/tmp/platform-XXXXXX", one[64], two[64];
    struct sim_constants constants = sim_constants_default();
    assert_non_null(mkdtemp(folder));
    snprintf(one, sizeof(one), "%s/one", folder);
    snprintf(two, sizeof(two), "%s/two", folder);
    file_write(one, BASE "core_ps = 11 ps; assumed;\npci_ps = 12 ps; assumed;\n");
    file_write(two, "include one\ncore_ps = 13 ps; assumed;\n");
    assert_int_equal(platform_constants(&constants, two), 0);
    assert_int_equal(constants.core_ps, 13);
    assert_int_equal(constants.pci_ps, 12);
    file_write(one, "include two\n");
    assert_int_equal(platform_constants(&constants, two), -EINVAL);
    assert_non_null(strstr(rh_error_text(), "circle"));
    assert_int_equal(constants.core_ps, 13); /* nothing is written when it fails */
    assert_int_equal(remove(one), 0);
    assert_int_equal(remove(two), 0);
    assert_int_equal(remove(folder), 0);
}

/* One that means something every other time. */
static char byte_choose(uint64_t *chance)
{
    uint64_t number = splitmix_next(chance);
    return number % 2 ? "=;#\n 0"[number / 2 % 6] : (char)(number / 2 % 256);
}

/* Any bytes: an error or a platform, never worse. */
static void test_fuzz(void **state)
{
    (void)state;
    const struct platform_file *own = &platform_files[0];
    char *text = malloc(own->length);
    uint64_t chance = 1;
    uint32_t good = 0;
    assert_non_null(text);
    for (int round = 0; round < 1500; round++) {
        struct platform platform;
        memcpy(text, own->text, own->length);
        uint64_t changes = splitmix_next(&chance) % 4;
        for (uint64_t i = 0; i < changes; i++)
            text[splitmix_next(&chance) % own->length] = byte_choose(&chance);
        size_t length = round % 2 ? own->length : splitmix_next(&chance) % own->length;
        if (platform_parse(&platform, "fuzz", text, length) == 0) {
            good++;
            platform_close(&platform);
        }
    }
    assert_true(good > 10); /* most changes are in comments */
    free(text);
}

static void ping(void *argument)
{
    struct nodes *nodes = argument;
    for (int from = 0; from < 2; from++) {
        struct process_transfer transfer = {
            .peer = nodes->process[!from], .local = NODE_DATA, .remote = NODE_DATA, .length = 8};
        sim_time before = sim_now(nodes->sim);
        process_ask(nodes->process[from], &transfer, CHIP_PUSH);
        nodes->result[from] = process_finish(nodes->process[from]);
        nodes->time[from] = sim_now(nodes->sim) - before;
    }
}

/* A node in a memory slot among others: its requests take less of its time. */
static void test_nodes_differ(void **state)
{
    (void)state;
    struct sim_constants constants = sim_constants_default();
    struct platform_ranges ranges = {0};
    struct nodes nodes;
    assert_int_equal(platform_take(&constants, &ranges, "1-7:dimmnet-1"), 0);
    assert_int_equal(ranges.count, 1);
    assert_null(platform_range_of(&ranges, 0));
    assert_null(platform_range_of(&ranges, 8));
    assert_ptr_equal(platform_range_of(&ranges, 7), &ranges.range[0]);
    assert_int_equal(platform_take(&constants, &ranges, "1:rhinet2-he-sl"), 0);
    assert_ptr_equal(platform_range_of(&ranges, 1), &ranges.range[1]);
    ranges.count = 1;
    nodes_open(&nodes, (struct cluster_spec){.ranges = &ranges}, true);
    nodes_start(&nodes, "ping", ping);
    nodes_run(&nodes);
    assert_int_equal(cluster_constants(nodes.cluster, 0)->core_ps, constants.core_ps);
    assert_int_equal(cluster_constants(nodes.cluster, 1)->core_ps, 20000);
    /* the network is one */
    assert_int_equal(cluster_constants(nodes.cluster, 1)->cluster_mbps, constants.cluster_mbps);
    assert_int_equal(nodes.result[0], 0);
    assert_int_equal(nodes.result[1], 0);
    assert_true(nodes.time[1] < nodes.time[0]);
    nodes_close(&nodes);
}

static void test_ranges_wrong(void **state)
{
    (void)state;
    static const char *const wrong[] = {"5-2:dimmnet-1", "-2:dimmnet-1",          "2-:dimmnet-1",
                                        "2:nothing",     "99999999999:dimmnet-1", "2-5"};
    struct sim_constants constants = sim_constants_default();
    struct platform_ranges ranges = {0};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(platform_take(&constants, &ranges, wrong[i]), -ENOENT);
    assert_int_equal(ranges.count, 0);
    for (int i = 0; i < PLATFORM_RANGES_MAX; i++)
        assert_int_equal(platform_take(&constants, &ranges, "2:dimmnet-1"), 0);
    assert_int_equal(platform_take(&constants, &ranges, "2:dimmnet-1"), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default),
        cmocka_unit_test(test_dimmnet),
        cmocka_unit_test(test_printed_is_read_again),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_includes),
        cmocka_unit_test(test_fuzz),
        cmocka_unit_test(test_nodes_differ),
        cmocka_unit_test(test_ranges_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
