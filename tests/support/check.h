/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks for test programs. A check that does not hold keeps one line, "file:line: what, expected,
 * actual", and leaves the body at once, so that tests read straight. The running check belongs to
 * its thread: ranks that are threads do not disturb each other.
 */
#pragma once

#include <rhinet/error.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

enum check_outcome { CHECK_PASSED, CHECK_FAILED, CHECK_UNSUPPORTED, CHECK_SKIPPED };

#define CHECK_TEXT_MAX 400

/* Whether ThreadSanitizer watches: where ranks are threads it calls some things a race that
 * processes may do to each other's memory. */
#if defined(__SANITIZE_THREAD__)
#define CHECK_SEES_RACES 1
#elif defined(__has_feature)
#define CHECK_SEES_RACES __has_feature(thread_sanitizer)
#else
#define CHECK_SEES_RACES 0
#endif

struct check {
    enum check_outcome outcome;
    char text[CHECK_TEXT_MAX]; /* why it is not CHECK_PASSED */
    jmp_buf escape;
};

/* Run body to its end or to the first check that does not hold. */
enum check_outcome check_run(struct check *check, void (*body)(void *), void *argument);

/* Make another check the running one, and return the one that was; for ranks that share a
 * thread. */
struct check *check_swap(struct check *check);

/* Leave the running body with this outcome. Used by the macros; tests may call it themselves. */
_Noreturn void check_leave(enum check_outcome outcome, const char *file, int line,
                           const char *format, ...) __attribute__((format(printf, 4, 5)));

void check_code(int64_t actual, int64_t expected, const char *what, const char *file, int line);
void check_u64(uint64_t actual, uint64_t expected, const char *what, const char *file, int line);

/* Anything that is true or false. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            check_leave(CHECK_FAILED, __FILE__, __LINE__, "expected %s", #condition);              \
    } while (0)

/* A call that must return this code. RH_EUNSUP where something else was expected ends the body as
 * CHECK_UNSUPPORTED: whether that is allowed is not for the case to say. */
#define CHECK_CODE(call, expected) check_code((call), (expected), #call, __FILE__, __LINE__)
#define CHECK_OK(call)             CHECK_CODE(call, 0)

/* Two unsigned numbers that must be equal. */
#define CHECK_U64(actual, expected)                                                                \
    check_u64((uint64_t)(actual), (uint64_t)(expected), #actual, __FILE__, __LINE__)

#define FAIL(...) check_leave(CHECK_FAILED, __FILE__, __LINE__, __VA_ARGS__)
#define SKIP(...) check_leave(CHECK_SKIPPED, __FILE__, __LINE__, __VA_ARGS__)
