/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The environment is parsed once and checked: good values arrive, bad ones are refused with a text
 * that names them, unknown names are warned about with the nearest.
 */
#include "base/error.h"
#include "base/settings.h"
#include "job/job_layer.h"
#include "msg/msg_layer.h"
#include "nic/nic_layer.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

/* The type of environ has no const; settings_load() does not write to it all the same. */
static int load(struct settings *settings, const char *const *environment)
{
    return settings_load(settings, (char *const *)environment);
}

static void test_table(void **state)
{
    (void)state;
    const struct setting_spec *spec;
    size_t count = 0;
    for (int i = 0; i < LAYER_COUNT; i++)
        count += layers[i]->setting_count;
    assert_in_range(count, 1, SETTINGS_MAX);
    assert_null(setting_at(count));
    for (size_t i = 0; i < count; i++) {
        spec = setting_at(i);
        if (!spec->name || strncmp(spec->name, "RHINET_", 7) != 0)
            fail_msg("setting %zu has no proper name", i);
        if (!spec->initial || !spec->help || !spec->help[0])
            fail_msg("%s has no default or no help", spec->name);
        if ((spec->kind == SETTING_CHOICE) != (spec->choices != NULL))
            fail_msg("%s: choices and kind do not agree", spec->name);
        if (spec->was && (!spec->choices || strstr(spec->choices, spec->was)))
            fail_msg("%s: %s is no old name of a choice", spec->name, spec->was);
        for (size_t k = 0; k < i; k++) {
            if (strcmp(setting_at(k)->name, spec->name) == 0)
                fail_msg("%s is there twice", spec->name);
        }
    }
}

/* Every default must itself be acceptable: it is parsed like a user's value. */
static void test_defaults(void **state)
{
    (void)state;
    struct settings settings;
    assert_int_equal(load(&settings, NULL), 0);
    const struct setting_spec *spec;
    for (size_t i = 0; (spec = setting_at(i)); i++) {
        assert_string_equal(settings.value[i].text, spec->initial);
        assert_int_equal(settings.value[i].from_environment, 0);
    }
    char entry[512];
    for (size_t i = 0; (spec = setting_at(i)); i++) {
        snprintf(entry, sizeof(entry), "%s=%s", spec->name, spec->initial);
        const char *environment[] = {entry, NULL};
        if (load(&settings, environment) < 0)
            fail_msg("default refused: %s", rh_error_text());
        assert_int_equal(settings.value[i].from_environment, 1);
    }
}

static void test_good_values(void **state)
{
    (void)state;
    static const struct {
        const char *entry;
        unsigned which;
        const char *text;
        uint64_t number;
    } cases[] = {
        {"RHINET_NIC=fault(shm)", SETTING_NIC, "fault(shm)", 0},
        {"RHINET_NIC=", SETTING_NIC, "", 0},
        {"RHINET_TIMEOUT=5ms", SETTING_TIMEOUT, "5ms", 5000000},
        {"RHINET_TIMEOUT=2", SETTING_TIMEOUT, "2", 2000000000},
        {"RHINET_TIMEOUT=1us", SETTING_TIMEOUT, "1us", 1000},
        {"RHINET_SPIN=0", SETTING_SPIN, "0", 0},
        {"RHINET_SPIN=10s", SETTING_SPIN, "10s", 10000000000},
        {"RHINET_SEGMENTS=8", SETTING_SEGMENTS, "8", 8},
        {"RHINET_SEGMENTS=65536", SETTING_SEGMENTS, "65536", 65536},
        {"RHINET_SEGMENTS=0x100", SETTING_SEGMENTS, "0x100", 256},
        {"RHINET_HUGE_PAGES=no", SETTING_HUGE_PAGES, "no", 0},
        {"RHINET_HUGE_PAGES=try", SETTING_HUGE_PAGES, "try", 1},
        {"RHINET_CMA=off", SETTING_CMA, "off", 1},
        {"RHINET_LOG=debug", LAYER_FIRST(LAYER_BASE), "debug", 3},
        {"RHINET_FAULT=a=b=c", SETTING_FAULT, "a=b=c", 0},
        {"RHINET_MSG_WAY=both", SETTING_MSG_WAY, "both", 4},
        {"RHINET_MSG_WAY=joint", SETTING_MSG_WAY, "joint", 4}, /* its name once */
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct settings settings;
        const char *environment[] = {"HOME=/", cases[i].entry, "PATH=/bin", NULL};
        if (load(&settings, environment) != 0)
            fail_msg("%s: %s", cases[i].entry, rh_error_text());
        assert_string_equal(setting_text(&settings, cases[i].which), cases[i].text);
        if (setting_number(&settings, cases[i].which) != cases[i].number)
            fail_msg("%s gave %llu", cases[i].entry,
                     (unsigned long long)setting_number(&settings, cases[i].which));
        assert_int_equal(setting_value(&settings, cases[i].which)->from_environment, 1);
    }
}

static void test_bad_values(void **state)
{
    (void)state;
    static const struct {
        const char *entry;
        const char *told; /* must be in the text, besides name and value */
    } cases[] = {
        {"RHINET_TIMEOUT=", "a time such as"},
        {"RHINET_TIMEOUT=soon", "a time such as"},
        {"RHINET_TIMEOUT=-1s", "a time such as"},
        {"RHINET_TIMEOUT=0", "a time from"},
        {"RHINET_TIMEOUT=999ns", "a time from"},
        {"RHINET_SPIN=10.1s", "a time from"},
        {"RHINET_SEGMENTS=7", "from 8 to 65536"},
        {"RHINET_SEGMENTS=65537", "from 8 to 65536"},
        {"RHINET_SEGMENTS=many", "a whole number"},
        {"RHINET_SEGMENTS=99999999999999999999", "a whole number"},
        {"RHINET_HUGE_PAGES=yes", "no|try"},
        {"RHINET_HUGE_PAGES=", "no|try"},
        {"RHINET_HUGE_PAGES=no|try", "no|try"},
        {"RHINET_HUGE_PAGES=NO", "no|try"},
        {"RHINET_CMA=of", "auto|off"},
        {"RHINET_CMA=offf", "auto|off"},
        {"RHINET_MSG_WAY=joints", "auto|push|ring|pull|both"},
        {"RHINET_LOG=warn", "error|warning|info|debug"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct settings settings;
        const char *environment[] = {cases[i].entry, NULL};
        assert_int_equal(load(&settings, environment), RH_EINVALID);
        if (!strstr(rh_error_text(), cases[i].entry) || !strstr(rh_error_text(), cases[i].told))
            fail_msg("%s is explained as: %s", cases[i].entry, rh_error_text());
    }
}

static void test_too_long(void **state)
{
    (void)state;
    struct settings settings;
    char entry[600] = "RHINET_FAULT=";
    size_t prefix = strlen(entry);
    const char *environment[] = {entry, NULL};
    memset(entry + prefix, 'a', 255);
    assert_int_equal(load(&settings, environment), 0);
    assert_int_equal(strlen(setting_text(&settings, SETTING_FAULT)), 255);
    memset(entry + prefix, 'a', 256);
    assert_int_equal(load(&settings, environment), RH_EINVALID);
    assert_non_null(strstr(rh_error_text(), "RHINET_FAULT is longer"));
}

static void test_foreign_entries(void **state)
{
    (void)state;
    struct settings settings;
    const char *environment[] = {
        "", "=", "RHINET_NIC", "rhinet_nic=x", "XRHINET_NIC=x", "RHINETNIC=x", "FOO=BAR", NULL};
    assert_int_equal(load(&settings, environment), 0);
    assert_string_equal(setting_text(&settings, SETTING_NIC), "shm");
}

static int load_entry(void *entry)
{
    struct settings settings;
    const char *environment[] = {*(const char *const *)entry, NULL};
    settings_warn((char *const *)environment);
    return load(&settings, environment) == 0 ? 0 : 1;
}

static void test_unknown_names(void **state)
{
    (void)state;
    static const struct {
        const char *entry;
        const char *warning;
    } cases[] = {
        {"RHINET_TIMOUT=5s",
         "rhinet: warning: RHINET_TIMOUT is not a setting; did you mean RHINET_TIMEOUT?\n"},
        {"RHINET_NICS=shm",
         "rhinet: warning: RHINET_NICS is not a setting; did you mean RHINET_NIC?\n"},
        {"RHINET_SOMETHING_ELSE=1", "rhinet: warning: RHINET_SOMETHING_ELSE is not a setting; "
                                    "`rhinet info --settings` lists them\n"},
        {"RHINET_NIC=shm", ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[512];
        assert_int_equal(
            unit_capture(NULL, load_entry, (void *)&cases[i].entry, text, sizeof(text)), 0);
        assert_string_equal(text, cases[i].warning);
    }
}

static void test_last_entry_wins(void **state)
{
    (void)state;
    struct settings settings;
    const char *environment[] = {"RHINET_NIC=a", "RHINET_NIC=b", NULL};
    assert_int_equal(load(&settings, environment), 0);
    assert_string_equal(setting_text(&settings, SETTING_NIC), "b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),         cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_good_values),   cmocka_unit_test(test_bad_values),
        cmocka_unit_test(test_too_long),      cmocka_unit_test(test_foreign_entries),
        cmocka_unit_test(test_unknown_names), cmocka_unit_test(test_last_entry_wins),
    };
    return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
