/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rules of the calls: what alternates, what is refused, and with which words.
 */
#include "suite.h"

#include <string.h>

static void expect_text(const char *part)
{
    if (!strstr(pmErrorText(), part))
        FAIL("expected \"%s\" in \"%s\"", part, pmErrorText());
}

static void send_alternates(struct suite *suite)
{
    void *buffer = NULL, *second = NULL;
    CHECK_CODE(pmSend(suite->pm), RH_EINVALID);
    expect_text("pmGetSendBuffer() first");
    CHECK_CODE(pmSendWait(suite->pm, 0), RH_EINVALID);
    CHECK_CODE(pmCancelSend(suite->pm), RH_EINVALID);
    CHECK_OK(pmGetSendBuffer(suite->pm, suite->rank, 8, &buffer));
    CHECK_CODE(pmGetSendBuffer(suite->pm, suite->rank, 8, &second), RH_EINVALID);
    expect_text("not sent yet");
    CHECK(second == NULL);
    CHECK_OK(pmCancelSend(suite->pm));
    CHECK_CODE(pmSend(suite->pm), RH_EINVALID);
    suite_send(suite, suite->rank, 8, 1);
    CHECK_CODE(pmSend(suite->pm), RH_EINVALID);
    suite_take(suite, suite->rank, 8, 1);
}

static void receive_alternates(struct suite *suite)
{
    struct pm_message message = {.source = 77};
    CHECK_CODE(pmReleaseReceiveBuffer(suite->pm), RH_EINVALID);
    expect_text("pmReceive() first");
    CHECK_CODE(pmReceive(suite->pm, &message), RH_EAGAIN);
    CHECK_U64(message.source, 77);
    CHECK_CODE(pmReleaseReceiveBuffer(suite->pm), RH_EINVALID);
    suite_send(suite, suite->rank, 16, 2);
    suite_send(suite, suite->rank, 24, 3);
    CHECK_OK(pmReceiveWait(suite->pm, &message, SUITE_WAIT_NS));
    suite_check_message(&message, suite->rank, 16, 2);
    CHECK_CODE(pmReceive(suite->pm, &message), RH_EINVALID);
    expect_text("pmReleaseReceiveBuffer() first");
    CHECK_CODE(pmReceiveWait(suite->pm, &message, 0), RH_EINVALID);
    suite_check_message(&message, suite->rank, 16, 2);
    CHECK_OK(pmReleaseReceiveBuffer(suite->pm));
    CHECK_CODE(pmReleaseReceiveBuffer(suite->pm), RH_EINVALID);
    CHECK_OK(pmReceive(suite->pm, &message));
    suite_check_message(&message, suite->rank, 24, 3);
    CHECK_OK(pmReleaseReceiveBuffer(suite->pm));
}

static void limits(struct suite *suite)
{
    void *buffer = NULL;
    size_t most = suite->info.message_max;
    CHECK_U64(most, suite_is(suite, "pm-queue") ? 2040 : 8184);
    CHECK_CODE(pmGetSendBuffer(suite->pm, 0, most + 1, &buffer), RH_ETOOBIG);
    expect_text(suite->info.implementation);
    CHECK_CODE(pmGetSendBuffer(suite->pm, 0, SIZE_MAX, &buffer), RH_ETOOBIG);
    CHECK_CODE(pmGetSendBuffer(suite->pm, -1, 8, &buffer), RH_EINVALID);
    CHECK_CODE(pmGetSendBuffer(suite->pm, suite->size, 8, &buffer), RH_EINVALID);
    expect_text("outside the job");
    CHECK(buffer == NULL);
    suite_send(suite, suite->rank, most, 4);
    suite_take(suite, suite->rank, most, 4);
    suite_send(suite, suite->rank, 0, 0);
    suite_take(suite, suite->rank, 0, 0);
}

static void options_are_checked(struct suite *suite)
{
    struct pm_context *other = NULL;
    struct pm_options options = {.struct_size = sizeof(options), .implementation = "pm-pigeon"};
    CHECK_CODE(pmOpenContext(&other, suite->job, &options), RH_EINVALID);
    expect_text("pm-pigeon");
    options.implementation = suite->info.implementation;
    CHECK_CODE(pmOpenContext(&other, suite->job, &options), RH_EEXIST);
    CHECK(*pmErrorText() != '\0');
    options.flags = 64;
    CHECK_CODE(pmOpenContext(&other, suite->job, &options), RH_EINVALID);
    options.implementation = "pm-queue";
    options.flags = PM_SPLIT_PUSHES;
    CHECK_CODE(pmOpenContext(&other, suite->job, &options), RH_EINVALID);
    options = (struct pm_options){.struct_size = 1, .implementation = "pm-ring"};
    CHECK_CODE(pmOpenContext(&other, suite->job, &options), RH_EINVALID);
    expect_text("struct_size");
    struct pm_info info = {0};
    CHECK_CODE(pmGetInfo(suite->pm, &info), RH_EINVALID);
    CHECK(other == NULL);
}

/* Two implementations side by side do not disturb each other. */
static void two_contexts(struct suite *suite)
{
    struct pm_context *first = suite->pm;
    struct pm_options options = {.struct_size = sizeof(options),
                                 .implementation = suite_is(suite, "pm-ring") ? "pm-queue"
                                                                              : "pm-ring"};
    int from = (suite->rank + suite->size - 1) % suite->size;
    struct pm_context *second = NULL;
    CHECK_OK(pmOpenContext(&second, suite->job, &options));
    suite_send(suite, suite_next(suite), 100, 1);
    suite->pm = second;
    suite_send(suite, suite_next(suite), 200, 2);
    suite_take(suite, from, 200, 2);
    suite->pm = first;
    suite_take(suite, from, 100, 1);
    suite_meet(suite);
    CHECK_OK(pmCloseContext(second));
}

/* A rank that only sends gets no message, and needs no memory for them. */
static void send_only(struct suite *suite)
{
    struct pm_options options = {.struct_size = sizeof(options), .flags = PM_SEND_ONLY};
    suite_meet(suite);
    if (suite->rank == 1) {
        struct pm_info info = {.struct_size = sizeof(info)};
        CHECK_OK(pmCloseContext(suite->pm));
        suite->pm = NULL;
        CHECK_OK(pmOpenContext(&suite->pm, suite->job, &options));
        CHECK_OK(pmGetInfo(suite->pm, &info));
        CHECK(info.memory < 32768);
    }
    suite_meet(suite);
    if (suite->rank == 1) {
        struct pm_message message;
        suite_send(suite, 0, 40, 9);
        CHECK_CODE(pmReceive(suite->pm, &message), RH_EAGAIN);
        CHECK_CODE(pmReceiveWait(suite->pm, &message, RH_MILLISECONDS(2)), RH_ETIMEOUT);
    } else if (suite->rank == 0) {
        void *buffer;
        suite_take(suite, 1, 40, 9);
        CHECK_OK(pmGetSendBuffer(suite->pm, 1, 8, &buffer));
        CHECK_CODE(pmSend(suite->pm), RH_EAGAIN);
        CHECK_CODE(pmSendWait(suite->pm, RH_MILLISECONDS(2)), RH_ETIMEOUT);
        CHECK_OK(pmCancelSend(suite->pm));
    }
}

const struct suite_case rule_cases[] = {
    {"send-alternates", send_alternates, 0},
    {"receive-alternates", receive_alternates, 0},
    {"limits", limits, 0},
    {"options", options_are_checked, 0},
    {"two-contexts", two_contexts, 0},
    {"send-only", send_only, 0},
    {NULL, NULL, 0},
};
