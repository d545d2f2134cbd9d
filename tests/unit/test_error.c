/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The last failure: kept per thread, cut rather than overrun, and the same code given back.
 */
#include "base/error.h"
#include "unit.h"

#include <pthread.h>
#include <string.h>

static void *look_at_fresh_thread(void *unused)
{
    (void)unused;
    assert_string_equal(rh_error_text(), "");
    assert_int_equal(rh_error_rank(), -1);
    error_set(RH_EBOUNDS, 7, "inner");
    return NULL;
}

static void test_thread_local(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(error_set(RH_EDEAD, 3, "outer"), RH_EDEAD);
    assert_int_equal(pthread_create(&thread, NULL, look_at_fresh_thread, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_string_equal(rh_error_text(), "outer");
    assert_int_equal(rh_error_rank(), 3);
}

static void test_set(void **state)
{
    (void)state;
    assert_int_equal(error_set(RH_EINVALID, ERROR_NO_RANK, "%s is %d", "x", 5), RH_EINVALID);
    assert_string_equal(rh_error_text(), "x is 5");
    assert_int_equal(rh_error_rank(), -1);
    assert_int_equal(error_set(RH_EDEAD, 0, "rank 0 died"), RH_EDEAD);
    assert_string_equal(rh_error_text(), "rank 0 died");
    assert_int_equal(rh_error_rank(), 0);
}

static void test_no_memory(void **state)
{
    (void)state;
    assert_int_equal(error_no_memory("%d things", 5), RH_ENOSPACE);
    assert_string_equal(rh_error_text(), "no memory for 5 things");
    assert_int_equal(rh_error_rank(), -1);
}

static void test_long_text_is_cut(void **state)
{
    (void)state;
    char text[4096];
    memset(text, 'y', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    error_set(RH_ETOOBIG, ERROR_NO_RANK, "%s", text);
    size_t length = strlen(rh_error_text());
    assert_true(length > 100);
    assert_true(length < sizeof(text) - 1);
    assert_memory_equal(rh_error_text(), text, length);
}

static void test_names(void **state)
{
    (void)state;
    static const int codes[] = {RH_EDEAD,   RH_ENOSEG,   RH_ESTALE,   RH_EBOUNDS,  RH_ERIGHTS,
                                RH_EEXIST,  RH_EINVALID, RH_ETIMEOUT, RH_EAGAIN,   RH_ENOSPACE,
                                RH_ETOOBIG, RH_EUNSUP,   RH_EREFUSED, RH_ECORRUPT, RH_ECANCELED};
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        const char *name = rh_error_name(codes[i]);
        if (codes[i] >= 0 || strcmp(name, "unknown error") == 0)
            fail_msg("code %d has no name", codes[i]);
        for (size_t k = 0; k < i; k++) {
            if (codes[k] == codes[i] || strcmp(rh_error_name(codes[k]), name) == 0)
                fail_msg("codes %d and %d are not told apart", codes[k], codes[i]);
        }
    }
}

static void test_names_of_other_codes(void **state)
{
    (void)state;
    assert_string_equal(rh_error_name(0), "success");
    assert_string_equal(rh_error_name(-EIO), strerrordesc_np(EIO));
    assert_string_equal(rh_error_name(5), "unknown error");
    assert_string_equal(rh_error_name(-99999), "unknown error");
    assert_non_null(rh_error_name(INT32_MIN + 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set),          cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_thread_local), cmocka_unit_test(test_long_text_is_cut),
        cmocka_unit_test(test_names),        cmocka_unit_test(test_names_of_other_codes),
    };
    return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
