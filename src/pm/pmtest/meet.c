/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the tests share: words that ranks write to each other, meetings, time.
 */
#include "pm/pmtest/pmtest.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_SID 1u

int pmtest_open(struct pmtest *test)
{
    void *base;
    int result = rh_segment_alloc(test->job, WORDS_SID, sizeof(struct pmtest_words), &base);
    test->words = base;
    for (int rank = 0; rank < test->size && result == 0; rank++) {
        if (rank == 0 || test->rank < 2) /* the others are in touch with rank 0 only */
            result = rh_segment_wait(test->job, rank, WORDS_SID, RH_TIMEOUT_DEFAULT);
    }
    return result < 0 ? result : pmtest_meet(test);
}

int pmtest_add(struct pmtest *test, size_t offset)
{
    return rh_fetch_add(test->job, rh_at(0, WORDS_SID, offset), 1, NULL);
}

int pmtest_tell(struct pmtest *test, int rank, size_t offset, uint64_t value)
{
    struct rh_notice notice = {.word = rh_at(rank, WORDS_SID, offset), .value = value};
    return rh_push_notify(test->job, notice.word, NULL, 0, &notice);
}

int pmtest_await(struct pmtest *test, const uint64_t *word, uint64_t value)
{
    struct rh_wait wait = {.word = word,
                           .when = RH_AT_LEAST,
                           .value = value,
                           .from = RH_ANY_RANK,
                           .timeout_ns = RH_TIMEOUT_DEFAULT};
    return rh_wait_word(test->job, &wait);
}

int pmtest_meet(struct pmtest *test)
{
    uint64_t number = ++test->meetings;
    int result = pmtest_add(test, offsetof(struct pmtest_words, arrived));
    if (result == 0 && test->rank == 0)
        result = pmtest_await(test, &test->words->arrived, number * (uint64_t)test->size);
    for (int rank = 0; test->rank == 0 && rank < test->size && result == 0; rank++)
        result = pmtest_tell(test, rank, offsetof(struct pmtest_words, released), number);
    return result < 0 ? result : pmtest_await(test, &test->words->released, number);
}

struct pmtest_words *pmtest_words_of(struct pmtest *test, int rank)
{
    return rh_remote_ptr(test->job, rh_at(rank, WORDS_SID, 0), sizeof(struct pmtest_words));
}

int64_t pmtest_now_ns(const struct pmtest *test)
{
    return rh_clock_ns(test->job);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double pmtest_median(double *values, unsigned count)
{
    qsort(values, count, sizeof(*values), compare);
    return values[count / 2];
}

int pmtest_send(struct pm_context *pm, int rank, size_t length)
{
    void *buffer;
    int result = pmGetSendBuffer(pm, rank, length, &buffer);
    if (result < 0)
        return result;
    memset(buffer, 1, length < 8 ? length : 8); /* the message is made, not only moved */
    return pmSendWait(pm, RH_TIMEOUT_DEFAULT);
}

static int wrong_length(const struct pm_message *message, size_t length)
{
    fprintf(stderr, "pmtest: %zu bytes arrived from rank %d in place of %zu\n", message->length,
            message->source, length);
    return RH_ECORRUPT;
}

int pmtest_take(struct pm_context *pm, size_t length)
{
    struct pm_message message;
    int result = pmReceiveWait(pm, &message, RH_TIMEOUT_DEFAULT);
    if (result < 0)
        return result;
    if (message.length != length)
        return wrong_length(&message, length);
    uint64_t sum = 0;
    for (size_t at = 0; at + 8 <= length; at += 64) /* the message is read, not only passed by */
        sum += *(const uint64_t *)(const void *)((const char *)message.data + at);
    __asm__ volatile("" ::"r"(sum));
    return pmReleaseReceiveBuffer(pm);
}
