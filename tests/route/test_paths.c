/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Per-pair paths: what the router writes passes the checker, and what is spoilt does not.
 */
#include "support.h"

#include "route/routing/paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The paths of an algorithm as text; the caller frees it. */
static char *paths_text(const struct routing *routing)
{
    char *text = NULL;
    size_t size = 0;
    struct load *load;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    assert_int_equal(load_create(&load, routing->traffic), 0);
    assert_int_equal(paths_route(routing, load, file), 0);
    load_destroy(load);
    fclose(file);
    return text;
}

static int text_check(const struct fixture *fixture, const char *text, enum check_lanes lanes,
                      struct check_report *report)
{
    struct lines source;
    struct check_options options = {.lanes = lanes};
    assert_int_equal(lines_from(&source, "paths", text, strlen(text)), 0);
    int result = check_paths(fixture->fabric, &source, &options, report);
    lines_close(&source);
    return result;
}

static void kind_check(const char *kind, const struct generate_options *options,
                       const char *algorithm, bool loop_free)
{
    struct fixture fixture;
    struct check_report report;
    fixture_generate(&fixture, kind, options);
    struct routing *routing = fixture_route(&fixture, algorithm);
    char *text = paths_text(routing);
    assert_int_equal(
        text_check(&fixture, text, (enum check_lanes)routing->algorithm->lanes, &report), 0);
    assert_true(report.pairs > 0);
    assert_true(report.pairs_connected == report.pairs);
    assert_int_equal(report.loop_free, loop_free);
    assert_int_equal(report.witness[0] == '\0', loop_free);
    free(text);
    routing_destroy(routing);
    fixture_close(&fixture);
}

static void test_good(void **state)
{
    (void)state;
    struct generate_options joined = {.ports = 4, .join = GENERATE_MIDDLE};
    struct generate_options ring = {.switches = 5, .hosts = 2};
    kind_check("joined", &joined, "turn-addition", true);
    kind_check("joined", &joined, "up-down", true);
    kind_check("ring", &ring, "turn-addition", true);
    kind_check("ring", &ring, "buffer-pool", true);
    kind_check("ring", &ring, "reduced-channels", true);
    kind_check("ring", &ring, "shortest", false);
}

static void test_spoilt(void **state)
{
    (void)state;
    struct generate_options ring = {.switches = 4, .hosts = 1};
    struct fixture fixture;
    struct check_report report;
    fixture_generate(&fixture, "ring", &ring);
    struct routing *routing = fixture_route(&fixture, "turn-addition");
    char *text = paths_text(routing), *second = strchr(text, '\n') + 1;
    /* a path is missing */
    assert_int_equal(text_check(&fixture, second, CHECK_ONE_LANE, &report), 0);
    assert_true(report.pairs_connected < report.pairs);
    assert_false(check_passed(&report));
    /* a path leads to somebody else, over a port without a cable, or behind a host */
    char line[256], *ports = strrchr(strtok(text, "\n"), ' ');
    snprintf(line, sizeof(line), "%.*s", (int)(ports - text), text);
    assert_int_equal(text_check(&fixture, line, CHECK_ONE_LANE, &report), -EINVAL);
    snprintf(line, sizeof(line), "%.*s 99", (int)(ports - text), text);
    assert_int_equal(text_check(&fixture, line, CHECK_ONE_LANE, &report), -EINVAL);
    snprintf(line, sizeof(line), "%s 1", text);
    assert_int_equal(text_check(&fixture, line, CHECK_ONE_LANE, &report), -EINVAL);
    free(text);
    routing_destroy(routing);
    fixture_close(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_spoilt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
