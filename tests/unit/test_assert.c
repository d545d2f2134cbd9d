/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Assertions: one that does not hold ends a debug or sanitizer build with what, where and who, and
 * never what users build; there it is not even looked at.
 */
#include "base/assert.h"
#include "unit.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int looks;

static bool look(bool answer)
{
    looks++;
    return answer;
}

static void test_what_holds(void **state)
{
    (void)state;
    assert_true(look(true));
    looks = 0;
    ASSERT(look(true));
#ifdef RHINET_ASSERTIONS
    assert_int_equal(looks, 1);
#else
    assert_int_equal(looks, 0);
#endif
}

static int ends(void *argument)
{
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    pid_t child = fork();
    if (child == 0) {
        ASSERT(argument != NULL && "words");
        _exit(7);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? 1 : WEXITSTATUS(status);
}

static void test_what_does_not_hold(void **state)
{
    (void)state;
    char text[512];
    int status = unit_capture(NULL, ends, NULL, text, sizeof(text));
#ifdef RHINET_ASSERTIONS
    assert_int_equal(status, 1);
    assert_non_null(strstr(text, "test_assert.c:"));
    assert_non_null(strstr(text, "ends(): this should hold: argument != NULL"));
#else
    assert_int_equal(status, 7);
    assert_string_equal(text, "");
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_holds),
        cmocka_unit_test(test_what_does_not_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
