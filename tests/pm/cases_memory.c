/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes and reads: handles travel in messages, as programs would send them.
 */
#include "suite.h"

#include <string.h>

#define LENGTH 100000

/* Register memory, give its handle to the next rank, get the previous one's. */
static struct pm_memory exchange(struct suite *suite, const struct pm_memory *own)
{
    struct pm_memory other;
    struct pm_message message;
    void *buffer;
    CHECK_OK(pmGetSendBuffer(suite->pm, suite_next(suite), sizeof(*own), &buffer));
    memcpy(buffer, own, sizeof(*own));
    CHECK_OK(pmSendWait(suite->pm, SUITE_WAIT_NS));
    CHECK_OK(pmReceiveWait(suite->pm, &message, SUITE_WAIT_NS));
    CHECK_U64(message.length, sizeof(other));
    memcpy(&other, message.data, sizeof(other));
    CHECK_OK(pmReleaseReceiveBuffer(suite->pm));
    CHECK_U64(other.length, own->length);
    return other;
}

static void write_and_read(struct suite *suite)
{
    char *memory = guarded_create(LENGTH), *local = guarded_create(LENGTH);
    struct pm_memory own, other;
    CHECK(memory != NULL);
    CHECK(local != NULL);
    CHECK_OK(pmRegisterMemory(suite->pm, memory, LENGTH, &own));
    other = exchange(suite, &own);
    pattern_fill(local, LENGTH, (uint64_t)suite->rank);
    struct pm_place start = {.memory = other}, middle = {.memory = other, .offset = 50001};
    CHECK_OK(pmTestDone(suite->pm));
    CHECK_OK(pmWrite(suite->pm, &start, local, 50001));
    CHECK_OK(pmWrite(suite->pm, &middle, local + 50001, LENGTH - 50001));
    CHECK_OK(pmWaitDone(suite->pm, SUITE_WAIT_NS));
    memset(local, 0, LENGTH);
    CHECK_OK(pmRead(suite->pm, &start, local, LENGTH));
    CHECK_OK(pmWaitDone(suite->pm, SUITE_WAIT_NS));
    CHECK_U64(pattern_find_difference(local, LENGTH, (uint64_t)suite->rank), LENGTH);
    suite_meet(suite);
    CHECK_U64(pattern_find_difference(memory, LENGTH, (uint64_t)suite_next(suite)), LENGTH);
    CHECK_OK(pmUnregisterMemory(suite->pm, &own));
    CHECK_OK(guarded_check(memory));
    CHECK_OK(guarded_check(local));
    guarded_destroy(memory);
    guarded_destroy(local);
}

static void many_under_way(struct suite *suite)
{
    uint64_t words[PM_UNDER_WAY_MAX] = {0}, values[PM_UNDER_WAY_MAX];
    struct pm_memory own;
    CHECK_OK(pmRegisterMemory(suite->pm, words, sizeof(words), &own));
    struct pm_place place = {.memory = exchange(suite, &own)};
    for (unsigned i = 0; i < PM_UNDER_WAY_MAX; i++) {
        values[i] = i + 1;
        place.offset = i * sizeof(uint64_t);
        CHECK_OK(pmWrite(suite->pm, &place, &values[i], sizeof(values[i])));
    }
    CHECK_CODE(pmWrite(suite->pm, &place, values, 8), RH_EAGAIN);
    CHECK_CODE(pmRead(suite->pm, &place, values, 8), RH_EAGAIN);
    CHECK_OK(pmWaitDone(suite->pm, SUITE_WAIT_NS));
    CHECK_OK(pmWrite(suite->pm, &place, &values[PM_UNDER_WAY_MAX - 1], 8));
    CHECK_OK(pmWaitDone(suite->pm, SUITE_WAIT_NS));
    suite_meet(suite);
    for (unsigned i = 0; i < PM_UNDER_WAY_MAX; i++)
        CHECK_U64(words[i], i + 1);
    CHECK_OK(pmUnregisterMemory(suite->pm, &own));
}

static void refusals(struct suite *suite)
{
    uint64_t word = 0, value = 5;
    struct pm_memory own, other;
    CHECK_CODE(pmRegisterMemory(suite->pm, NULL, 8, &own), RH_EINVALID);
    CHECK_CODE(pmRegisterMemory(suite->pm, &word, 0, &own), RH_EINVALID);
    CHECK_OK(pmRegisterMemory(suite->pm, &word, sizeof(word), &own));
    other = exchange(suite, &own);
    struct pm_place place = {.memory = other, .offset = 1};
    CHECK_CODE(pmWrite(suite->pm, &place, &value, 8), RH_EBOUNDS);
    CHECK_CODE(pmRead(suite->pm, &place, &value, 8), RH_EBOUNDS);
    CHECK_U64(word, 0);
    place.memory.rank = suite->size;
    CHECK_CODE(pmWrite(suite->pm, &place, &value, 4), RH_EINVALID);
    place.memory = other;
    place.memory.key = 5; /* a segment of the program is none of PM's business */
    CHECK_CODE(pmWrite(suite->pm, &place, &value, 4), RH_EINVALID);
    if (suite->size > 1)
        CHECK_CODE(pmUnregisterMemory(suite->pm, &other), RH_EINVALID);
    suite_meet(suite);
    CHECK_OK(pmUnregisterMemory(suite->pm, &own));
    CHECK_CODE(pmUnregisterMemory(suite->pm, &own), RH_EINVALID);
    suite_meet(suite);
    place = (struct pm_place){.memory = other};
    CHECK_CODE(pmWrite(suite->pm, &place, &value, 8), RH_ESTALE);
    CHECK(*pmErrorText() != '\0');
    CHECK_OK(pmTestDone(suite->pm));
}

/* What is still registered when the context is closed is given back: the next case can use it. */
static void left_registered(struct suite *suite)
{
    static char memory[4][64];
    struct pm_memory own;
    for (int i = 0; i < 3; i++)
        CHECK_OK(pmRegisterMemory(suite->pm, memory[i], sizeof(memory[i]), &own));
    exchange(suite, &own);
}

const struct suite_case memory_cases[] = {
    {"write-and-read", write_and_read, 0},
    {"many-under-way", many_under_way, 0},
    {"refusals", refusals, 0},
    {"left-registered", left_registered, 0},
    {NULL, NULL, 0},
};
