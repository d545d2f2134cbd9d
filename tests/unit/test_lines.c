/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Small text files, line by line: what counts as a line, where it stands, and that a file that
 * cannot be read to its end is not taken for a short one.
 */
#include "base/error.h"
#include "base/lines.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct taken {
    char text[4][32];
    unsigned line[4];
    size_t longest;
    int count;
    int result_at; /* the line at which the reader is stopped; 0: at none */
};

static int take(void *context, const struct lines_place *place, char *line)
{
    struct taken *taken = context;
    size_t length = strlen(line);
    assert_true(taken->count < 4);
    taken->longest = length > taken->longest ? length : taken->longest;
    snprintf(taken->text[taken->count], sizeof(taken->text[0]), "%s", line);
    taken->line[taken->count++] = place->line;
    return (int)place->line == taken->result_at ? 42 : 0;
}

static int read_bytes(struct taken *taken, const char *bytes, size_t length)
{
    char path[] = "/tmp/rhinet-lines-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, length), length);
    close(fd);
    int result = lines_read(path, taken, take);
    unlink(path);
    return result;
}

static int read_text(struct taken *taken, const char *text)
{
    return read_bytes(taken, text, strlen(text));
}

static void test_what_is_a_line(void **state)
{
    (void)state;
    struct taken taken = {.count = 0};
    assert_int_equal(read_text(&taken, "# no\n\n one # rest\r\n \t \ntwo"), 0);
    assert_int_equal(taken.count, 2);
    assert_string_equal(taken.text[0], " one ");
    assert_int_equal(taken.line[0], 3);
    assert_string_equal(taken.text[1], "two");
    assert_int_equal(taken.line[1], 5);
}

static void test_stops(void **state)
{
    (void)state;
    struct taken taken = {.result_at = 2};
    assert_int_equal(read_text(&taken, "a\nb\nc\n"), 42);
    assert_int_equal(taken.count, 2);
}

static void test_long_line(void **state)
{
    (void)state;
    struct taken taken = {.count = 0};
    char *text = malloc(100001);
    assert_non_null(text);
    memset(text, 'x', 100000);
    text[100000] = '\0';
    assert_int_equal(read_text(&taken, text), 0);
    assert_int_equal(taken.count, 1);
    assert_int_equal(taken.longest, 100000);
    free(text);
}

static void test_no_text(void **state)
{
    (void)state;
    struct taken taken = {.count = 0};
    assert_int_equal(read_bytes(&taken, "a\nb\0c\nd\n", 8), -EINVAL);
    assert_int_equal(taken.count, 1);
    assert_non_null(strstr(rh_error_text(), ":2: "));
}

static void test_one_by_one(void **state)
{
    (void)state;
    struct lines lines;
    assert_int_equal(lines_from(&lines, "bytes", "a # b \t\r\n\nc", 11), 0);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(lines_next(&lines), 1);
        assert_string_equal(lines.line, "a # b"); /* what a comment is, the reader decides */
        lines.line[0] = '\0';                     /* may be cut up */
        assert_int_equal(lines_next(&lines), 1);
        assert_string_equal(lines.line, "");
        assert_int_equal(lines_next(&lines), 1);
        assert_string_equal(lines.line, "c");
        assert_int_equal(lines.place.line, 3);
        assert_int_equal(lines_next(&lines), 0);
        lines_rewind(&lines);
    }
    lines_close(&lines);
    assert_int_equal(lines_from(&lines, "bytes", "", 0), 0);
    assert_int_equal(lines_next(&lines), 0);
    lines_close(&lines);
}

static void test_cannot_be_read(void **state)
{
    (void)state;
    struct taken taken = {.count = 0};
    assert_int_equal(lines_read("/nowhere/at/all", &taken, take), -ENOENT);
    assert_non_null(strstr(rh_error_text(), "cannot read /nowhere/at/all"));
    assert_int_equal(lines_read("/tmp", &taken, take), -EISDIR); /* opens, but has no lines */
    assert_non_null(strstr(rh_error_text(), "cannot read /tmp"));
    assert_int_equal(taken.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_a_line), cmocka_unit_test(test_stops),
        cmocka_unit_test(test_long_line),      cmocka_unit_test(test_no_text),
        cmocka_unit_test(test_one_by_one),     cmocka_unit_test(test_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
