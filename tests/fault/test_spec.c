/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The reader of RHINET_FAULT, and the dice: what is accepted, what is refused and how, and that the
 * choice of operations is what the specification says.
 */
#include "nic/fault/fault_dice.h"
#include "nic/fault/fault_spec.h"

#include <math.h>
#include <rhinet/error.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define EVERY_KIND (FAULT_BIT(FAULT_KIND_COUNT) - 1)

static struct fault_spec parsed(const char *text)
{
    struct fault_spec spec;
    if (fault_spec_parse(text, &spec) != 0)
        fail_msg("\"%s\": %s", text, rh_error_text());
    return spec;
}

static void empty_is_no_fault(void **state)
{
    (void)state;
    struct fault_spec spec = parsed("");
    assert_int_equal(spec.item_count, 0);
    assert_int_equal(spec.rank, FAULT_EVERY_RANK);
}

static void every_form(void **state)
{
    (void)state;
    struct fault_spec spec = parsed("seed=7,rank=2,delay=0.1:200us,fail=push@17:EIO,"
                                    "fail=any%0.01:ETIMEDOUT,drop=0.01,kill@300,repeat=atomic%1,"
                                    "reorder=0.5,corrupt=pull@3+,lose%0.25,fail=wait@1");
    assert_int_equal(spec.seed, 7);
    assert_int_equal(spec.rank, 2);
    assert_int_equal(spec.item_count, 10);
    const struct fault_item *item = spec.item;
    assert_int_equal(item[0].kind, FAULT_DELAY);
    assert_int_equal(item[0].delay_ns, 200000);
    assert_true(item[0].rate == 0.1);
    assert_int_equal(item[0].operations, fault_kind_operations(FAULT_DELAY));
    assert_int_equal(item[1].kind, FAULT_FAIL);
    assert_int_equal(item[1].operations, FAULT_BIT(FAULT_ON_PUSH));
    assert_int_equal(item[1].first, 17);
    assert_false(item[1].onward);
    assert_int_equal(item[1].code, -EIO);
    assert_int_equal(item[2].code, RH_ETIMEOUT);
    assert_int_equal(item[2].operations, fault_kind_operations(FAULT_FAIL));
    assert_int_equal(item[4].kind, FAULT_KILL);
    assert_int_equal(item[4].first, 300);
    assert_int_equal(item[5].operations, FAULT_BIT(FAULT_ON_ATOMIC));
    assert_int_equal(item[7].first, 3);
    assert_true(item[7].onward);
    assert_true(item[8].rate == 0.25);
    assert_int_equal(item[9].code, -EIO); /* the default */
}

/* What is wrong, and a word that the message must contain. */
static const struct {
    const char *text;
    const char *item;
    const char *hint;
} bad[] = {
    {"drip=0.1", "drip=0.1", "drop"},
    {"drop", "drop", "rate"},
    {"drop=", "drop=", "rate"},
    {"drop=1.5", "drop=1.5", "0 to 1"},
    {"drop=-0.1", "drop=-0.1", "0 to 1"},
    {"drop=nan", "drop=nan", "0 to 1"},
    {"drop=0.1:5", "drop=0.1:5", "colon"},
    {"drop=push@0", "drop=push@0", "1 or more"},
    {"drop=push@", "drop=push@", "1 or more"},
    {"drop=push@x", "drop=push@x", "1 or more"},
    {"drop=push@1++", "drop=push@1++", "1 or more"},
    {"drop=poke@1", "drop=poke@1", "any, push, pull, store, atomic, append"},
    {"drop=wait@1", "drop=wait@1", "does not happen"},
    {"corrupt=atomic%0.1", "corrupt=atomic%0.1", "push, pull, store, append"},
    {"reorder=append%0.1", "reorder=append%0.1", "push, store"},
    {"delay=0.1", "delay=0.1", "time"},
    {"delay=0.1:", "delay=0.1:", "time"},
    {"delay=0.1:soon", "delay=0.1:soon", "time"},
    {"delay=0.1:2000h", "delay=0.1:2000h", "time"},
    {"delay=0.1:4000s", "delay=0.1:4000s", "hour"},
    {"fail=push@1:EWHAT", "fail=push@1:EWHAT", "ETIMEDOUT"},
    {"seed=seven", "seed=seven", "number"},
    {"seed=", "seed=", "number"},
    {"rank=-1", "rank=-1", "number"},
    {"rank=99999999999", "rank=99999999999", "2147483647"},
    {"seed", "seed", "no such fault"},
    {"drop=0.1,,kill@3", "", "no such fault"},
    {"drop=0.1,", "drop=0.1,", "comma"},
    {",", "", "no such fault"},
    {"=", "=", "no such fault"},
    {"@", "@", "no such fault"},
    {"seed=1,drop=0.1,oops=1", "oops=1", "allowed"},
};

static void bad_specifications(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char quoted[80];
        struct fault_spec spec = {.seed = 4711};
        assert_int_equal(fault_spec_parse(bad[i].text, &spec), RH_EINVALID);
        assert_int_equal(spec.seed, 4711); /* untouched */
        snprintf(quoted, sizeof(quoted), "\"%s\"", bad[i].item);
        if (!strstr(rh_error_text(), "RHINET_FAULT") || !strstr(rh_error_text(), quoted) ||
            !strstr(rh_error_text(), bad[i].hint))
            fail_msg("\"%s\": the message is \"%s\", without %s or \"%s\"", bad[i].text,
                     rh_error_text(), quoted, bad[i].hint);
    }
}

static void limits(void **state)
{
    (void)state;
    char text[400] = "";
    struct fault_spec spec;
    for (int i = 0; i < FAULT_ITEMS_MAX; i++)
        strcat(text, i ? ",kill@9" : "kill@9");
    assert_int_equal(fault_spec_parse(text, &spec), 0);
    strcat(text, ",kill@9");
    assert_int_equal(fault_spec_parse(text, &spec), RH_EINVALID);
    assert_non_null(strstr(rh_error_text(), "too many"));
    memset(text, 'x', 100);
    text[100] = '\0';
    assert_int_equal(fault_spec_parse(text, &spec), RH_EINVALID);
    assert_non_null(strstr(rh_error_text(), "too long"));
}

/* How many of `count` pushes are hit by anything. */
static int hits(const char *text, int rank, int count, char *which)
{
    struct fault_spec spec = parsed(text);
    struct fault_dice dice;
    int total = 0;
    fault_dice_init(&dice, &spec, rank);
    for (int i = 0; i < count; i++) {
        struct fault_plan plan = fault_dice_roll(&dice, FAULT_ON_PUSH, EVERY_KIND);
        bool is_hit = plan.effect != FAULT_NONE || plan.delay_ns > 0;
        total += is_hit;
        if (which)
            which[i] = is_hit ? '1' : '0';
    }
    return total;
}

static void rates(void **state)
{
    (void)state;
    static const double wanted[] = {0.001, 0.01, 0.1, 0.5, 0.9};
    int count = 200000;
    assert_int_equal(hits("drop=0", 0, count, NULL), 0);
    assert_int_equal(hits("drop=1", 0, count, NULL), count);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        for (int seed = 1; seed <= 5; seed++) {
            char text[64];
            snprintf(text, sizeof(text), "seed=%d,drop=%g", seed, wanted[i]);
            double sigma = sqrt(count * wanted[i] * (1 - wanted[i]));
            double distance = fabs(hits(text, seed, count, NULL) - count * wanted[i]);
            assert_true(distance < 5 * sigma); /* one in a million; and the seeds are fixed */
        }
    }
}

static void by_number(void **state)
{
    (void)state;
    char which[21] = {0};
    hits("drop=push@5", 0, 20, which);
    assert_string_equal(which, "00001000000000000000");
    hits("drop=@18+", 0, 20, which);
    assert_string_equal(which, "00000000000000000111");
    hits("drop=pull@1+", 0, 20, which);
    assert_string_equal(which, "00000000000000000000");
    hits("drop=push@2,fail=push@2,delay=@4:1s", 0, 20, which);
    assert_string_equal(which, "01010000000000000000");
}

static void repeats_itself(void **state)
{
    (void)state;
    static char first[5001], again[5001], other_seed[5001], other_rank[5001];
    hits("seed=3,drop=0.3", 0, 5000, first);
    hits("seed=3,drop=0.3", 0, 5000, again);
    hits("seed=4,drop=0.3", 0, 5000, other_seed);
    hits("seed=3,drop=0.3", 1, 5000, other_rank);
    assert_string_equal(first, again);
    assert_string_not_equal(first, other_seed);
    assert_string_not_equal(first, other_rank);
    assert_string_not_equal(other_seed, other_rank);
}

static void one_rank_only(void **state)
{
    (void)state;
    assert_int_equal(hits("rank=2,drop=1", 2, 100, NULL), 100);
    assert_int_equal(hits("rank=2,drop=1", 1, 100, NULL), 0);
}

/* Delays add up, and of the rest the first item wins. */
static void several_at_once(void **state)
{
    (void)state;
    struct fault_spec spec = parsed("delay=1:1ms,fail=1:ESTALE,delay=1:2ms,drop=1");
    struct fault_dice dice;
    fault_dice_init(&dice, &spec, 0);
    struct fault_plan plan = fault_dice_roll(&dice, FAULT_ON_PUSH, EVERY_KIND);
    assert_int_equal(plan.delay_ns, 3000000);
    assert_int_equal(plan.effect, FAULT_FAIL);
    assert_int_equal(plan.code, RH_ESTALE);
    plan = fault_dice_roll(&dice, FAULT_ON_PUSH, FAULT_BIT(FAULT_DROP));
    assert_int_equal(plan.effect, FAULT_DROP); /* where only that makes sense */
    assert_int_equal(plan.number, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_is_no_fault),
        cmocka_unit_test(every_form),
        cmocka_unit_test(bad_specifications),
        cmocka_unit_test(limits),
        cmocka_unit_test(rates),
        cmocka_unit_test(by_number),
        cmocka_unit_test(repeats_itself),
        cmocka_unit_test(one_rank_only),
        cmocka_unit_test(several_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
