/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which task manager a member takes: the program's own, else the library's of its own version.
 * LD_LIBRARY_PATH leads to one of another version.
 */
#include "job/member/parts.h"
#include "unit.h"

#include <rhinet/error.h>
#include <string.h>

static void test_another_version(void **state)
{
    const struct manager_process_body *body;
    void *library;
    (void)state;
    assert_int_equal(manager_process_load(&body, &library), RH_EUNSUP);
    assert_null(library);
    assert_non_null(strstr(rh_error_text(), "version 9.9.9"));
}

static void test_the_program_s_own(void **state)
{
    static const struct manager_process_body own = {.version = "own"};
    const struct manager_process_body *body;
    void *library;
    (void)state;
    manager_process_bring(&own);
    assert_int_equal(manager_process_load(&body, &library), 0);
    assert_ptr_equal(body, &own);
    assert_null(library);
    manager_process_unload(library);
    manager_process_bring(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_another_version),
        cmocka_unit_test(test_the_program_s_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
