/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tables for people: widths, dropped columns, wrapped prose, and numbers with units.
 */
#include "cli/table.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

static const struct table_column columns[] = {
    {.title = "RANK", .is_number = true},
    {.title = "STATE", .rank = 1},
    {.title = "PID", .is_number = true, .rank = 2},
    {.title = "MEANING"},
};

static struct table *make(void)
{
    struct table *table = table_create(columns, COUNT_OF(columns));
    assert_non_null(table);
    table_cell(table, "%d", 7);
    table_cell(table, "joined");
    table_cell(table, "%d", 12345);
    table_cell(table, "a word and another word and one more word to wrap");
    table_cell(table, "%d", 1234567);
    table_cell(table, "left");
    table_cell(table, "%d", 2);
    table_cell(table, "short");
    return table;
}

static void check_print(const struct table *table, int width, const char *expected)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    table_print(table, out, width);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

static void test_print_wide(void **state)
{
    (void)state;
    struct table *table = make();
    check_print(table, 0,
                "   RANK  STATE     PID  MEANING\n"
                "      7  joined  12345  a word and another word and one more word to wrap\n"
                "1234567  left        2  short\n");
    table_destroy(table);
}

static void test_print_wrapped(void **state)
{
    (void)state;
    struct table *table = make();
    check_print(table, 50,
                "   RANK  STATE     PID  MEANING\n"
                "      7  joined  12345  a word and another word\n"
                "                        and one more word to wrap\n"
                "1234567  left        2  short\n");
    table_destroy(table);
}

static void test_print_narrow(void **state)
{
    (void)state;
    struct table *table = make();
    check_print(table, 44,
                "   RANK  STATE   MEANING\n"
                "      7  joined  a word and another word and\n"
                "                 one more word to wrap\n"
                "1234567  left    short\n");
    check_print(table, 36,
                "   RANK  MEANING\n"
                "      7  a word and another word and\n"
                "         one more word to wrap\n"
                "1234567  short\n");
    /* What must stay stays, even if it does not fit. */
    check_print(table, 5,
                "   RANK  MEANING\n"
                "      7  a word and another word and one more word to wrap\n"
                "1234567  short\n");
    table_destroy(table);
}

static void test_edges(void **state)
{
    (void)state;
    struct table *table = table_create(columns, COUNT_OF(columns));
    check_print(table, 0, "RANK  STATE  PID  MEANING\n");
    table_cell(table, "1"); /* a row that ends early is filled with nothing */
    check_print(table, 0, "RANK  STATE  PID  MEANING\n   1\n");
    table_destroy(table);
    static const struct table_column untitled[] = {{.title = NULL}, {.title = NULL}};
    table = table_create(untitled, COUNT_OF(untitled));
    table_cell(table, "a");
    table_cell(table, "b");
    check_print(table, 0, "a  b\n");
    table_destroy(table);
    assert_null(table_create(columns, TABLE_COLUMNS_MAX + 1));
    table_destroy(NULL);
    table_cell(NULL, "x");
    table_print(NULL, stdout, 0);
}

static void test_units(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *bytes;
        const char *count;
    } cases[] = {
        {0, "0 B", "0"},
        {1, "1 B", "1"},
        {999, "999 B", "999"},
        {999.9, "1000 B", "1.0k"},
        {1000, "1000 B", "1.0k"},
        {1023, "1023 B", "1.0k"},
        {1024, "1.0 KiB", "1.0k"},
        {1536, "1.5 KiB", "1.5k"},
        {999960, "976.5 KiB", "1.0M"},
        {1048576, "1.0 MiB", "1.0M"},
        {1e9, "953.7 MiB", "1.0G"},
        {1e12, "931.3 GiB", "1.0T"},
        {1e18, "888.2 PiB", "1000.0P"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[UNIT_TEXT_MAX];
        assert_string_equal(unit_bytes(text, cases[i].value), cases[i].bytes);
        assert_string_equal(unit_count(text, cases[i].value), cases[i].count);
    }
}

static void test_terminal_width(void **state)
{
    (void)state;
    setenv("COLUMNS", "123", 1);
    assert_int_equal(terminal_width(), 123);
    static const char *const bad[] = {"0", "-1", "wide", "10000", ""};
    unsetenv("COLUMNS");
    int plain = terminal_width();
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        setenv("COLUMNS", bad[i], 1);
        assert_int_equal(terminal_width(), plain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_print_wide),   cmocka_unit_test(test_print_wrapped),
        cmocka_unit_test(test_print_narrow), cmocka_unit_test(test_edges),
        cmocka_unit_test(test_units),        cmocka_unit_test(test_terminal_width),
    };
    return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
