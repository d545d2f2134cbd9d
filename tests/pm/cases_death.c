/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank dies, or closes its context: the others are told, and go on without it.
 */
#include "suite.h"

#include <signal.h>
#include <unistd.h>

static int victim(const struct suite *suite)
{
    return suite->size - 1;
}

static void die(void)
{
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

/* Survivors exchange messages as if nothing had been. */
static void go_on(struct suite *suite)
{
    int count = suite->size - 1;
    suite->meeting.is_gone[victim(suite)] = true;
    rh_deaths_acknowledge(suite->job);
    suite_meet(suite);
    for (unsigned i = 0; i < 200; i++) {
        suite_send(suite, (suite->rank + 1) % count, i, i);
        suite_take(suite, (suite->rank + count - 1) % count, i, i);
    }
}

/* What it sent before arrives, then its death is told. */
static void sender_dies(struct suite *suite)
{
    struct pm_message message;
    unsigned received = 0;
    int result;
    if (suite->rank == victim(suite)) {
        for (unsigned i = 0; i < 50; i++)
            suite_send(suite, 0, i, i);
        suite_meet(suite);
        die();
    }
    suite_meet(suite);
    while ((result = pmReceiveWait(suite->pm, &message, SUITE_WAIT_NS)) == 0) {
        suite_check_message(&message, victim(suite), received, received);
        received++;
        CHECK_OK(pmReleaseReceiveBuffer(suite->pm));
    }
    CHECK_CODE(result, RH_EDEAD);
    CHECK_U64(rh_error_rank(), victim(suite));
    CHECK_U64(received, suite->rank == 0 ? 50 : 0);
    CHECK_CODE(pmReceive(suite->pm, &message), RH_EDEAD);
    go_on(suite);
}

/* It dies somewhere in a stream: a prefix of it arrives, whole. */
static void sender_dies_in_stream(struct suite *suite)
{
    struct pm_message message;
    unsigned received = 0;
    int result;
    if (suite->rank == victim(suite)) {
        suite_meet(suite);
        suite_send(suite, 0, 0, 0); /* this one arrives, whenever the rest ends */
        if (fork() == 0) {
            usleep(20000);
            kill(getppid(), SIGKILL);
            _exit(0);
        }
        for (unsigned i = 1;; i++)
            suite_send(suite, 0, i % 2000, i);
    }
    suite_meet(suite);
    while ((result = pmReceiveWait(suite->pm, &message, SUITE_WAIT_NS)) == 0) {
        suite_check_message(&message, victim(suite), received % 2000, received);
        received++;
        CHECK_OK(pmReleaseReceiveBuffer(suite->pm));
    }
    CHECK_CODE(result, RH_EDEAD);
    CHECK(suite->rank != 0 || received > 0);
    go_on(suite);
}

/* Who waits for room at a dead rank is told; so is who sends to it, and his buffer is free. */
static void receiver_dies(struct suite *suite)
{
    void *buffer;
    int result = 0;
    if (suite->rank == victim(suite)) {
        suite_meet(suite);
        usleep(50000);
        die();
    }
    suite_meet(suite);
    for (unsigned i = 0; result == 0; i++) {
        CHECK_OK(pmGetSendBuffer(suite->pm, victim(suite), 1000, &buffer));
        result = pmSendWait(suite->pm, SUITE_WAIT_NS);
        CHECK(i < 100000);
    }
    CHECK_CODE(result, RH_EDEAD);
    CHECK(*pmErrorText() != '\0');
    CHECK_OK(pmGetSendBuffer(suite->pm, victim(suite), 8, &buffer));
    CHECK_CODE(pmSend(suite->pm), RH_EDEAD);
    CHECK_CODE(pmSend(suite->pm), RH_EINVALID);
    go_on(suite);
}

static void closes(struct suite *suite)
{
    void *buffer;
    if (suite->rank != 0)
        suite_send(suite, 0, 8, 1);
    for (int i = 1; suite->rank == 0 && i < suite->size; i++) {
        struct pm_message message;
        CHECK_OK(pmReceiveWait(suite->pm, &message, SUITE_WAIT_NS));
        CHECK_OK(pmReleaseReceiveBuffer(suite->pm));
    }
    suite_meet(suite);
    if (suite->rank == 0) {
        CHECK_OK(pmCloseContext(suite->pm));
        suite->pm = NULL;
    }
    suite_meet(suite);
    if (suite->rank != 0) {
        CHECK_OK(pmGetSendBuffer(suite->pm, 0, 8, &buffer));
        CHECK_CODE(pmSend(suite->pm), RH_ESTALE);
        CHECK_CODE(pmSend(suite->pm), RH_EINVALID);
    }
}

const struct suite_case death_cases[] = {
    {"closes", closes, 0},
    {"sender-dies", sender_dies, CASE_DIES},
    {"sender-dies-in-stream", sender_dies_in_stream, CASE_DIES},
    {"receiver-dies", receiver_dies, CASE_DIES},
    {NULL, NULL, 0},
};
