/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers with units and nearest names: what is accepted, what is refused, and that a refusal
 * leaves the output alone.
 */
#include "base/text.h"
#include "unit.h"

#include <math.h>
#include <string.h>

#define UNTOUCHED 0x5a5a5a5a5a5a5a5aULL

struct whole_case {
    const char *text;
    bool accepted;
    uint64_t value;
};

static void check_whole(bool (*parse)(const char *, uint64_t *), const struct whole_case *cases,
                        size_t case_count)
{
    for (size_t i = 0; i < case_count; i++) {
        uint64_t value = UNTOUCHED;
        bool accepted = parse(cases[i].text, &value);
        if (accepted != cases[i].accepted)
            fail_msg("\"%s\" was %s", cases[i].text, accepted ? "accepted" : "refused");
        uint64_t expected = accepted ? cases[i].value : UNTOUCHED;
        if (value != expected)
            fail_msg("\"%s\" gave %llu, not %llu", cases[i].text, (unsigned long long)value,
                     (unsigned long long)expected);
    }
}

static void test_u64(void **state)
{
    (void)state;
    static const struct whole_case cases[] = {
        {"0", true, 0},
        {"1", true, 1},
        {"42", true, 42},
        {"0x10", true, 16},
        {"0xffffffffffffffff", true, UINT64_MAX},
        {"18446744073709551615", true, UINT64_MAX},
        {"18446744073709551616", false, 0},
        {"99999999999999999999999", false, 0},
        {"", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
        {"+1", false, 0},
        {"-1", false, 0},
        {"1.5", false, 0},
        {"1e3", false, 0},
        {"12a", false, 0},
        {"a12", false, 0},
        {"0x", false, 0},
        {"0xg", false, 0},
        {"1\n", false, 0},
    };
    check_whole(text_to_u64, cases, COUNT_OF(cases));
}

static void test_size(void **state)
{
    (void)state;
    static const struct whole_case cases[] = {
        {"0", true, 0},
        {"4096", true, 4096},
        {"1K", true, 1024},
        {"1k", true, 1024},
        {"64K", true, 65536},
        {"1M", true, 1048576},
        {"1MiB", true, 1048576},
        {"1MB", true, 1048576},
        {"2G", true, 2147483648},
        {"1T", true, 1099511627776},
        {"16777215T", true, 16777215ULL << 40},
        {"16777216T", false, 0},
        {"18446744073709551615", true, UINT64_MAX},
        {"18446744073709551616", false, 0},
        {"18014398509481983K", true, 18014398509481983ULL << 10},
        {"18014398509481984K", false, 0},
        {"", false, 0},
        {"K", false, 0},
        {"-1K", false, 0},
        {"1.5K", false, 0},
        {"1KK", false, 0},
        {"1Ki", false, 0},
        {"1 K", false, 0},
        {"1P", false, 0},
        {"1KiBx", false, 0},
        {" 1K", false, 0},
    };
    check_whole(text_to_size, cases, COUNT_OF(cases));
}

static void test_duration(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool accepted;
        int64_t value_ns;
    } cases[] = {
        {"0", true, 0},
        {"0ns", true, 0},
        {"250ns", true, 250},
        {"10us", true, 10000},
        {"5ms", true, 5000000},
        {"2s", true, 2000000000},
        {"2", true, 2000000000},
        {"1.5s", true, 1500000000},
        {"0.25", true, 250000000},
        {"1.5us", true, 1500},
        {"2m", true, 120000000000},
        {"1e3us", true, 1000000},
        {"9e18ns", false, 0},
        {"8.9e18ns", true, 8900000000000000000},
        {"9000000001", false, 0},
        {"1e400s", false, 0},
        {"", false, 0},
        {"s", false, 0},
        {"-1s", false, 0},
        {"+1s", false, 0},
        {"nan", false, 0},
        {"inf", false, 0},
        {".5s", false, 0},
        {"1 s", false, 0},
        {"1sec", false, 0},
        {"1S", false, 0},
        {"1h", false, 0},
        {"1s ", false, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int64_t value_ns = -7;
        bool accepted = text_to_duration(cases[i].text, &value_ns);
        if (accepted != cases[i].accepted)
            fail_msg("\"%s\" was %s", cases[i].text, accepted ? "accepted" : "refused");
        if (value_ns != (accepted ? cases[i].value_ns : -7))
            fail_msg("\"%s\" gave %lld ns", cases[i].text, (long long)value_ns);
    }
}

static void test_real(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool accepted;
        double value;
    } cases[] = {
        {"0", true, 0},         {"1.25", true, 1.25}, {".5", true, 0.5}, {"1e-3", true, 1e-3},
        {"1e308", true, 1e308}, {"1e309", false, 0},  {"", false, 0},    {".", false, 0},
        {"-1", false, 0},       {"+1", false, 0},     {"nan", false, 0}, {"inf", false, 0},
        {"1x", false, 0},       {" 1", false, 0},     {"1 ", false, 0},  {"1,5", false, 0},
        {"1.2.3", false, 0},    {"..5", false, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        double value = -7;
        bool accepted = text_to_real(cases[i].text, &value);
        if (accepted != cases[i].accepted)
            fail_msg("\"%s\" was %s", cases[i].text, accepted ? "accepted" : "refused");
        double expected = accepted ? cases[i].value : -7;
        if (fabs(value - expected) > fabs(expected) * 1e-12)
            fail_msg("\"%s\" gave %g", cases[i].text, value);
    }
}

static void test_nearest(void **state)
{
    (void)state;
    static const char *const names[] = {"run", "top", "info", "bench", "completion", "help"};
    static const struct {
        const char *text;
        const char *nearest; /* NULL: too far from all */
    } cases[] = {
        {"run", "run"},
        {"rnu", "run"},
        {"runn", "run"},
        {"ru", "run"},
        {"tpo", "top"},
        {"tip", "top"},
        {"inof", "info"},
        {"inf", "info"},
        {"infos", "info"},
        {"benhc", "bench"},
        {"bnch", "bench"},
        {"complete", "completion"},
        {"completoin", "completion"},
        {"hepl", "help"},
        {"xyzzy", NULL},
        {"", NULL},
        {"frobnicate", NULL},
        {"RUN", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *nearest = text_nearest(cases[i].text, names, COUNT_OF(names));
        const char *expected = cases[i].nearest;
        if (!nearest != !expected || (nearest && strcmp(nearest, expected) != 0))
            fail_msg("nearest to \"%s\" is %s, not %s", cases[i].text, nearest ? nearest : "none",
                     expected ? expected : "none");
    }
}

static void test_nearest_edges(void **state)
{
    (void)state;
    char endless[200];
    memset(endless, 'x', sizeof(endless) - 1);
    endless[sizeof(endless) - 1] = '\0';
    const char *const long_name[] = {endless};
    assert_null(text_nearest("x", NULL, 0));
    assert_null(text_nearest("x", long_name, 1));
    assert_null(text_nearest(endless, (const char *const[]){"x"}, 1));
    /* Of two equally near the first wins, so that messages do not change by themselves. */
    assert_string_equal(text_nearest("aab", (const char *const[]){"aac", "aad"}, 2), "aac");
    /* An exact hit wins over an earlier near miss. */
    assert_string_equal(text_nearest("aad", (const char *const[]){"aac", "aad"}, 2), "aad");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_u64),      cmocka_unit_test(test_size),
        cmocka_unit_test(test_duration), cmocka_unit_test(test_real),
        cmocka_unit_test(test_nearest),  cmocka_unit_test(test_nearest_edges),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
