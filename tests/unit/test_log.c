/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the library says by itself: which levels are heard, and that a line stays one line.
 */
#include "base/log.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

static int say_all(void *unused)
{
    (void)unused;
    log_error("e%d", 1);
    log_warning("w%d", 2);
    log_info("i%d", 3);
    log_debug("d%d", 4);
    return 0;
}

static void test_levels(void **state)
{
    (void)state;
    static const struct {
        const char *level;
        const char *heard;
    } cases[] = {
        {NULL, "rhinet: error: e1\nrhinet: warning: w2\n"},
        {"", "rhinet: error: e1\nrhinet: warning: w2\n"},
        {"nonsense", "rhinet: error: e1\nrhinet: warning: w2\n"},
        {"WARNING", "rhinet: error: e1\nrhinet: warning: w2\n"},
        {"error", "rhinet: error: e1\n"},
        {"warning", "rhinet: error: e1\nrhinet: warning: w2\n"},
        {"info", "rhinet: error: e1\nrhinet: warning: w2\nrhinet: info: i3\n"},
        {"debug", "rhinet: error: e1\nrhinet: warning: w2\nrhinet: info: i3\nrhinet: debug: d4\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[1024];
        assert_int_equal(unit_capture(cases[i].level, say_all, NULL, text, sizeof(text)), 0);
        assert_string_equal(text, cases[i].heard);
    }
}

static int say_long(void *unused)
{
    (void)unused;
    char text[5000];
    memset(text, 'z', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    log_error("%s", text);
    log_error("%s", "");
    return 0;
}

static void test_long_line_is_cut(void **state)
{
    (void)state;
    char text[8192];
    assert_int_equal(unit_capture(NULL, say_long, NULL, text, sizeof(text)), 0);
    char *end = strchr(text, '\n');
    assert_non_null(end);
    assert_true(end - text < 1100);
    assert_true(end - text > 900);
    assert_string_equal(end + 1, "rhinet: error: \n");
}

static int change_mind(void *unused)
{
    (void)unused;
    log_error("first");
    setenv("RHINET_LOG", "debug", 1);
    return log_enabled(LOG_LEVEL_DEBUG) ? 1 : 0;
}

static void test_level_is_read_once(void **state)
{
    (void)state;
    char text[256];
    assert_int_equal(unit_capture("error", change_mind, NULL, text, sizeof(text)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_long_line_is_cut),
        cmocka_unit_test(test_level_is_read_once),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
