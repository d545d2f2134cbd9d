/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The options of a command: what each kind takes and refuses, how they may be written, what is left
 * of the words.
 */
#include "cli/cli.h"
#include "unit.h"

#include <string.h>

#define WORDS_MAX 12
#define BEHIND    0x5a5a5a5au

static struct {
    bool quiet, all;
    uint32_t narrow, behind; /* the second must not change with the first */
    uint64_t wide, bytes;
    int64_t pause_ns;
    double part;
    int colour;
    const char *file;
    struct cli_list list;
    char called[32];
} wishes;

static int take_call(char *text)
{
    snprintf(wishes.called, sizeof(wishes.called), "%s", text);
    return strcmp(text, "no") == 0 ? -1 : 0;
}

static const char *const colours[] = {"red", "green", "blue", NULL};

static const struct cli_option own[] = {
    CLI_FLAG("quiet", &wishes.quiet, "x", .letter = 'q'),
    CLI_FLAG("all", &wishes.all, "x", .letter = 'a'),
    CLI_NUMBER("narrow", "N", 1, 64, &wishes.narrow, "x", .letter = 'n', .standard = "7"),
    CLI_NUMBER("wide", "N", 0, UINT64_MAX, &wishes.wide, "x"),
    CLI_SIZE("bytes", "SIZE", &wishes.bytes, "x"),
    CLI_TIME("pause", "T", 1000000, 60000000000, &wishes.pause_ns, "x"),
    CLI_REAL("part", "X", 0, 0.5, &wishes.part, "x"),
    CLI_CHOICE("colour", NULL, colours, &wishes.colour, "x", .standard = "green"),
    CLI_OPTIONS_END,
};
static const struct cli_option shared[] = {
    CLI_FILE("file", "FILE", &wishes.file, "x"),
    CLI_FILE("files", "FILE", &wishes.file, "x"),
    CLI_LIST("list", "WORD", &wishes.list, "x"),
    CLI_CALL("call", "WORD", take_call, "x", .allowed = "anything but no"),
    CLI_OPTIONS_END,
};
static const struct cli_command command = {.name = "test", .options = own, .shared = shared};
static const struct cli_command stopping = {.name = "test", .options = own, .stops = true};

/* What the command stands below, with one that has another option. */
static const struct cli_option other_options[] = {CLI_FLAG("loud", &wishes.all, "x"),
                                                  CLI_OPTIONS_END};
static const struct cli_command other = {.name = "other", .options = other_options};
static const struct cli_command parent = {
    .name = "parent", .commands = (const struct cli_command *const[]){&command, &other, NULL}};

const struct cli_command *cli_above(void)
{
    return &parent;
}

struct words {
    const struct cli_command *command;
    int count;
    char text[WORDS_MAX][32];
    char *word[WORDS_MAX + 1];
};

/* "a b" as words, which the parser may change; '_' is an empty one. */
static struct words *split(const struct cli_command *of, const char *line)
{
    static struct words words;
    char copy[256], *rest = copy;
    snprintf(copy, sizeof(copy), "%s", line);
    words = (struct words){.command = of};
    for (char *word; line[0] && (word = strsep(&rest, " "));) {
        char *text = words.text[words.count];
        snprintf(text, sizeof(words.text[0]), "%s", strcmp(word, "_") == 0 ? "" : word);
        words.word[words.count++] = text;
    }
    return &words;
}

static struct words *take(const struct cli_command *of, const char *line)
{
    struct words *words = split(of, line);
    memset(&wishes, 0, sizeof(wishes));
    wishes.behind = BEHIND;
    if (cli_options_read(of, &words->count, words->word) != 0)
        fail_msg("\"%s\" is refused", line);
    assert_null(words->word[words->count]);
    return words;
}

static void test_kinds(void **state)
{
    (void)state;
    take(&command, "--narrow 64 --wide 18446744073709551615 --bytes 64K --pause 1.5s --part .5");
    assert_int_equal(wishes.narrow, 64);
    assert_int_equal(wishes.behind, BEHIND);
    assert_true(wishes.wide == UINT64_MAX);
    assert_int_equal(wishes.bytes, 65536);
    assert_int_equal(wishes.pause_ns, 1500000000);
    assert_true(wishes.part == 0.5);
    take(&command, "--colour blue --file f --list a --list b --call me");
    assert_int_equal(wishes.colour, 2);
    assert_string_equal(wishes.file, "f");
    assert_int_equal(wishes.list.count, 2);
    assert_string_equal(wishes.list.item[1], "b");
    assert_string_equal(wishes.called, "me");
}

static void test_standard_values(void **state)
{
    (void)state;
    take(&command, "");
    assert_int_equal(wishes.narrow, 7);
    assert_int_equal(wishes.colour, 1);
    assert_false(wishes.quiet);
    assert_null(wishes.file);
}

static void test_ways_of_writing(void **state)
{
    (void)state;
    static const char *const ways[] = {"--narrow 5", "--narrow=5", "--na 5", "--n=5",
                                       "-n 5",       "-n5",        "-qn5",   "-aqn 5"};
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        take(&command, ways[i]);
        assert_int_equal(wishes.narrow, 5);
        assert_int_equal(wishes.quiet, strchr(ways[i], 'q') != NULL);
        assert_int_equal(wishes.all, ways[i][1] == 'a');
    }
    take(&command, "--file x"); /* also the beginning of another */
    assert_string_equal(wishes.file, "x");
    take(&command, "--file=_");
    assert_string_equal(wishes.file, "_");
    take(&command, "--file _"); /* an empty value is one */
    assert_string_equal(wishes.file, "");
    take(&command, "--file --quiet");
    assert_string_equal(wishes.file, "--quiet");
}

static void test_operands(void **state)
{
    (void)state;
    struct words *words = take(&command, "one -q two - --narrow 3 -- --all -q");
    assert_int_equal(words->count, 5);
    assert_string_equal(words->word[1], "two");
    assert_string_equal(words->word[2], "-");
    assert_string_equal(words->word[3], "--all");
    assert_int_equal(wishes.narrow, 3);
    assert_false(wishes.all);
    words = take(&stopping, "-q program -a --frob");
    assert_int_equal(words->count, 3);
    assert_string_equal(words->word[2], "--frob");
    assert_true(wishes.quiet);
    assert_false(wishes.all);
    words = take(&stopping, "-q -- -a");
    assert_int_equal(words->count, 1);
    assert_string_equal(words->word[0], "-a");
}

static int read_words(void *argument)
{
    struct words *words = argument;
    return cli_options_read(words->command, &words->count, words->word) & 0xff;
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *line, *said;
    } cases[] = {
        {"--narrow 0", "--narrow is a number from 1 to 64, not '0'"},
        {"--narrow 65", "--narrow is a number from 1 to 64, not '65'"},
        {"--narrow 4294967297", "not '4294967297'"},
        {"--narrow _", "not ''"},
        {"-n x", "--narrow is a number from 1 to 64, not 'x'"},
        {"--wide -1", "--wide is a whole number, not '-1'"},
        {"--bytes 1Q", "--bytes is a size such as 64K or 1G, not '1Q'"},
        {"--pause 999us", "--pause is a duration from 1ms to 1m, not '999us'"},
        {"--pause 61s", "--pause is a duration from 1ms to 1m, not '61s'"},
        {"--part 0.6", "--part is a number from 0 to 0.5, not '0.6'"},
        {"--colour re", "--colour is red, green or blue, not 're'"},
        {"--call no", "--call is anything but no, not 'no'"},
        {"--narrow", "--narrow needs a value: a number from 1 to 64"},
        {"-n", "-n needs a value: a number from 1 to 64"},
        {"--file", "--file needs a value: FILE"},
        {"--quiet=1", "--quiet takes no value"},
        {"--fi x", "--fi may be --file or --files"},
        {"--qiet", "unknown option --qiet; did you mean --quiet?"},
        {"--colou=red --frob=1", "unknown option --frob; `"},
        {"--loud", "unknown option --loud; `other` has it"},
        {"-x", "unknown option -x"},
        {"-qx", "unknown option -x"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[512];
        struct words *words = split(&command, cases[i].line);
        assert_int_equal(unit_capture(NULL, read_words, words, text, sizeof(text)), 2);
        if (!strstr(text, cases[i].said))
            fail_msg("%s: \"%s\" is not in: %s", cases[i].line, cases[i].said, text);
    }
}

static void test_list_is_full(void **state)
{
    (void)state;
    char text[512];
    take(&command, "--list a");
    wishes.list.count = CLI_LIST_MAX - 1;
    struct words *words = split(&command, "--list b --list c");
    assert_int_equal(unit_capture(NULL, read_words, words, text, sizeof(text)), 2);
    assert_non_null(strstr(text, "--list c: it cannot be given more than 64 times"));
}

/* A mistake in a table is said, and writes nothing. */
static void test_wrong_standard_values(void **state)
{
    (void)state;
    static const struct cli_option call[] = {
        CLI_CALL("call", "WORD", take_call, "x", .allowed = "a word", .standard = "no"),
        CLI_OPTIONS_END};
    static const struct cli_option number[] = {
        CLI_NUMBER("narrow", "N", 1, 64, &wishes.narrow, "x", .standard = "65"), CLI_OPTIONS_END};
    const struct cli_command wrong[] = {{.name = "test", .options = call},
                                        {.name = "test", .options = number}};
    static const char *const said[] = {"--call is a word, not 'no'",
                                       "--narrow is a number from 1 to 64, not '65'"};
    for (size_t i = 0; i < 2; i++) {
        char text[512];
        struct words *words = split(&wrong[i], "");
        assert_int_equal(unit_capture(NULL, read_words, words, text, sizeof(text)), 2);
        assert_non_null(strstr(text, said[i]));
    }
}

/* More options than are looked through for the nearest name. */
static void test_many_options(void **state)
{
    (void)state;
    static struct cli_option many[300];
    const struct cli_command crowded = {.name = "test", .options = many};
    char text[512];
    for (size_t i = 0; i + 1 < sizeof(many) / sizeof(many[0]); i++)
        many[i] = (struct cli_option)CLI_FLAG("quiet", &wishes.quiet, "x");
    struct words *words = split(&crowded, "--frob");
    assert_int_equal(unit_capture(NULL, read_words, words, text, sizeof(text)), 2);
    assert_non_null(strstr(text, "unknown option --frob"));
}

static void test_help_comes_first(void **state)
{
    (void)state;
    static const char *const lines[] = {"--help", "-h", "-qh", "--narrow 3 --help --frob",
                                        "x --he"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char text[512];
        struct words *words = split(&command, lines[i]);
        assert_int_equal(unit_capture(NULL, read_words, words, text, sizeof(text)),
                         CLI_WANTS_HELP & 0xff);
        assert_string_equal(text, "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_standard_values),
        cmocka_unit_test(test_ways_of_writing),
        cmocka_unit_test(test_operands),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_list_is_full),
        cmocka_unit_test(test_many_options),
        cmocka_unit_test(test_wrong_standard_values),
        cmocka_unit_test(test_help_comes_first),
    };
    return cmocka_run_group_tests_name("option", tests, NULL, NULL);
}
