/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A simulated job whose network is a file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "simulated/simulated.h"

#include <rhinet/rma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A line of three switches, with a host at each end and in the middle. */
static const char line[] = "s1 s2\ns2 s3\nhosts s1 1\nhosts s2 1\nhosts s3 1\n";

struct place {
    char file[64];
    char setting[160];
};

static void place_make(struct place *place, const char *text, const char *more)
{
    snprintf(place->file, sizeof(place->file), "/tmp/martini-network-XXXXXX");
    int fd = mkstemp(place->file);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    snprintf(place->setting, sizeof(place->setting), "RHINET_MARTINI=topology=%s%s", place->file,
             more);
}

/* Each rank pushes into the next one's memory, and waits for its own. */
static int rank_main(struct rh_job *job, void *context)
{
    const uint64_t seven = 7;
    void *base;
    int next = (rh_rank(job) + 1) % rh_size(job);
    (void)context;
    int result = rh_segment_alloc(job, 1, 4096, &base);
    if (result < 0)
        return result;
    do
        result = rh_push(job, rh_at(next, 1, 0), &seven, sizeof(seven));
    while (result == RH_ENOSEG);
    struct rh_wait wait = {base, RH_EQUAL, seven, RH_ANY_RANK, RH_MILLISECONDS(1000)};
    return result < 0 ? result : rh_wait_word(job, &wait);
}

static int run(const struct place *place, int size, struct simulated_report *report)
{
    char *environment[] = {(char *)(uintptr_t)place->setting, NULL};
    struct simulated_options options = {
        .size = size, .environment = environment, .rank_main = rank_main};
    return simulated_run(&options, report);
}

static void test_line(void **state)
{
    struct simulated_report by_file, again, usual;
    struct place place;
    struct simulated_options options = {.size = 3, .rank_main = rank_main};
    (void)state;
    place_make(&place, line, ",routing=up-down");
    assert_int_equal(run(&place, 3, &by_file), 0);
    assert_int_equal(run(&place, 3, &again), 0);
    assert_int_equal(simulated_run(&options, &usual), 0);
    unlink(place.file);
    assert_true(by_file.hash == again.hash);
    assert_true(by_file.hash != usual.hash);
}

static void test_refusals(void **state)
{
    struct simulated_report report;
    struct place place;
    (void)state;
    place_make(&place, line, "");
    assert_int_equal(run(&place, 4, &report), RH_EINVALID);
    unlink(place.file);
    assert_non_null(strstr(rh_error_text(), "3 hosts, which is less than 4 ranks"));
    assert_non_null(strstr(rh_error_text(), place.file));
    assert_int_equal(run(&place, 3, &report), RH_EINVALID); /* it is not there any more */
    assert_non_null(strstr(rh_error_text(), place.file));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_line),
                                       cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
