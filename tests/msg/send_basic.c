/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plain sends and receives: lengths, tags, wildcards, order, truncation, sends to oneself.
 */
#include "send_suite.h"

#include <stdlib.h>
#include <string.h>

static const size_t lengths[] = {
    0,       1,     7,     8,     9,     47,     48,     49,     63,     64,      65,
    2040,    2047,  2048,  2049,  4096,  8191,   8192,   8193,   32767,  32768,   32769,
    65535,   65536, 65537, 98303, 98305, 262143, 262144, 262145, 294912, 1 << 20, (1 << 20) + 1,
    3000017,
};

static uint64_t seed_of(int source, int target, uint64_t number)
{
    return ((uint64_t)(source + 1) << 48) ^ ((uint64_t)(target + 1) << 40) ^ number;
}

/* Round the ring, sent without waiting, received in order. Alone, a rank is its own neighbour. */
static void ring_of_lengths(struct mail_test *test)
{
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        struct rh_request *send = NULL;
        char *data = mail_alloc(lengths[i]);
        pattern_fill(data, lengths[i], seed_of(test->rank, test->next, i));
        CHECK_OK(rh_isend(test->msg, test->next, (int)i, data, lengths[i], &send));
        mail_receive(test, test->previous, (int)i, lengths[i],
                     seed_of(test->previous, test->rank, i));
        CHECK_OK(rh_wait_request(send, NULL, LONG_NS));
        CHECK_MESSAGE(data, lengths[i], seed_of(test->rank, test->next, i)); /* not touched */
        mail_free(data);
    }
}

/* Blocking sends between neighbours that take turns. */
static void blocking_lengths(struct mail_test *test)
{
    int pair = test->rank ^ 1;
    if (pair >= test->size)
        return;
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        for (int turn = 0; turn < 2; turn++) {
            if ((test->rank & 1) == turn)
                mail_send(test, pair, 5, lengths[i], seed_of(test->rank, pair, i));
            else
                mail_receive(test, pair, 5, lengths[i], seed_of(pair, test->rank, i));
        }
    }
}

/* All of them before anybody receives, so that each is unexpected. */
static void unexpected(struct mail_test *test)
{
    struct rh_request *sends[COUNT_OF(lengths)];
    char *data[COUNT_OF(lengths)];
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        data[i] = mail_alloc(lengths[i]);
        pattern_fill(data[i], lengths[i], seed_of(test->rank, test->next, i));
        CHECK_OK(rh_isend(test->msg, test->next, (int)i, data[i], lengths[i], &sends[i]));
    }
    mail_meet(test);
    CHECK_CODE(rh_probe(test->msg, test->previous, 4711, NULL, RH_MILLISECONDS(5)), RH_ETIMEOUT);
    for (size_t i = 0; i < COUNT_OF(lengths); i++)
        mail_receive(test, test->previous, (int)i, lengths[i],
                     seed_of(test->previous, test->rank, i));
    CHECK_OK(rh_wait_all(sends, COUNT_OF(lengths), LONG_NS));
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        CHECK(sends[i] == NULL);
        mail_free(data[i]);
    }
}

static void tags_backwards(struct mail_test *test)
{
    struct rh_request *sends[20];
    char *data = mail_alloc(2000);
    pattern_fill(data, 2000, seed_of(test->rank, test->next, 0));
    for (int tag = 0; tag < 20; tag++)
        CHECK_OK(rh_isend(test->msg, test->next, tag, data, (size_t)(tag * 100), &sends[tag]));
    for (int tag = 19; tag >= 0; tag--)
        mail_receive(test, test->previous, tag, (size_t)(tag * 100),
                     seed_of(test->previous, test->rank, 0));
    CHECK_OK(rh_wait_all(sends, 20, LONG_NS));
    mail_send(test, test->next, INT32_MAX, 3, 1);
    mail_receive(test, test->previous, INT32_MAX, 3, 1);
    mail_free(data);
}

/* Every rank to rank 0, ways mixed; whoever's message comes, its own number is the next. */
static void any_source(struct mail_test *test)
{
    static const size_t mixed[] = {8, 100, 8192, 0, 5000, 48, 40000, 16, 2048, 300};
    const int count = 120;
    if (test->rank != 0) {
        for (int i = 0; i < count; i++)
            mail_send(test, 0, i, mixed[i % 10], seed_of(test->rank, 0, (uint64_t)i));
        return;
    }
    int *expected = calloc((size_t)test->size, sizeof(int));
    char *data = mail_alloc(40000);
    for (int i = 0; i < count * (test->size - 1); i++) {
        struct rh_status status;
        CHECK_OK(rh_recv(test->msg, RH_ANY_RANK, RH_ANY_TAG, data, 40000, &status));
        CHECK(status.source > 0 && status.source < test->size);
        CHECK_U64(status.tag, expected[status.source]++);
        CHECK_U64(status.length, mixed[status.tag % 10]);
        CHECK_MESSAGE(data, status.length, seed_of(status.source, 0, (uint64_t)status.tag));
    }
    mail_free(data);
    free(expected);
}

/* Many messages on each pair at once, in all ways: nothing overtakes. */
static void order_of_pairs(struct mail_test *test)
{
    const int count = test->size > 8 ? 50 : 150;
    size_t pair_count = (size_t)(test->size * count), done = 0;
    struct rh_request **sends = calloc(pair_count, sizeof(*sends));
    char *data = mail_alloc(100000), *buffer = mail_alloc(100000);
    struct prng prng = test->prng;
    memset(data, test->rank, 100000);
    for (int i = 0; i < count; i++) {
        size_t limit = (size_t[]){49, 9000, 49, 100000}[prng_below(&prng, 4)];
        size_t length = (size_t)prng_below(&prng, limit);
        for (int rank = 0; rank < test->size; rank++)
            CHECK_OK(rh_isend(test->msg, rank, i, data, length, &sends[done++]));
    }
    prng = test->prng;
    for (int i = 0; i < count; i++) {
        size_t limit = (size_t[]){49, 9000, 49, 100000}[prng_below(&prng, 4)];
        size_t length = (size_t)prng_below(&prng, limit);
        for (int rank = 0; rank < test->size; rank++) {
            struct rh_status status;
            CHECK_OK(rh_recv(test->msg, rank, RH_ANY_TAG, buffer, 100000, &status));
            CHECK_U64(status.tag, i);
            CHECK_U64(status.length, length);
            CHECK(pattern_find_other(buffer, length, (unsigned char)rank) == length);
        }
    }
    CHECK_OK(rh_wait_all(sends, pair_count, LONG_NS));
    mail_free(data);
    mail_free(buffer);
    free(sends);
}

/* From the inbox to the lane in the middle of a burst. */
static void switch_over(struct mail_test *test)
{
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 20; i++)
            mail_send(test, test->next, i, (size_t)(i % 3 * 24), (uint64_t)i);
        if (round == 1)
            mail_meet(test);
        for (int i = 0; i < 20; i++) {
            struct rh_status status;
            char data[80];
            CHECK_OK(rh_recv(test->msg, test->previous, RH_ANY_TAG, data, sizeof(data), &status));
            CHECK_U64(status.tag, i);
            CHECK_MESSAGE(data, (size_t)(i % 3 * 24), (uint64_t)i);
        }
    }
}

static void cut_one(struct mail_test *test, size_t length, size_t room, bool is_posted)
{
    struct rh_request *send = NULL, *receive = NULL;
    struct rh_status status = {0};
    char *data = mail_alloc(length), *buffer = mail_alloc(room);
    pattern_fill(data, length, 99);
    if (is_posted)
        CHECK_OK(rh_irecv(test->msg, test->previous, 1, buffer, room, &receive));
    mail_meet(test);
    CHECK_OK(rh_isend(test->msg, test->next, 1, data, length, &send));
    if (is_posted)
        CHECK_CODE(rh_wait_request(receive, &status, LONG_NS), RH_ETOOBIG);
    else
        CHECK_CODE(rh_recv(test->msg, test->previous, 1, buffer, room, &status), RH_ETOOBIG);
    CHECK_CODE(rh_error_rank(), test->previous);
    CHECK_U64(status.length, length);
    CHECK_U64(status.source, test->previous);
    CHECK_U64(status.tag, 1);
    CHECK_MESSAGE(buffer, room, 99);
    CHECK_OK(rh_wait_request(send, NULL, LONG_NS));
    mail_free(data);
    mail_free(buffer);
    mail_send(test, test->next, 2, 10, 7); /* the next one is whole */
    mail_receive(test, test->previous, 2, 10, 7);
}

static void truncation(struct mail_test *test)
{
    static const size_t cut[][2] = {
        {10, 4},      {48, 47},     {1, 0},          {49, 48},       {2049, 100},
        {8192, 8191}, {100000, 50}, {100000, 32768}, {65536, 65535}, {1000000, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cut); i++) {
        cut_one(test, cut[i][0], cut[i][1], false);
        cut_one(test, cut[i][0], cut[i][1], true);
    }
}

/* Posted receives are served in the order in which they were posted, whatever they ask for. */
static void wildcards_posted(struct mail_test *test)
{
    struct rh_request *receives[4];
    struct rh_status status[4];
    uint64_t got[4] = {0};
    int from[4] = {RH_ANY_RANK, test->previous, RH_ANY_RANK, test->previous};
    int tags[4] = {7, RH_ANY_TAG, RH_ANY_TAG, 7};
    for (int i = 0; i < 4; i++)
        CHECK_OK(rh_irecv(test->msg, from[i], tags[i], &got[i], 8, &receives[i]));
    mail_meet(test);
    for (uint64_t i = 0; i < 4; i++) /* tags 9, 7, 7, 7 */
        CHECK_OK(rh_send(test->msg, test->next, i == 0 ? 9 : 7, &i, 8));
    for (int i = 0; i < 4; i++)
        CHECK_OK(rh_wait_request(receives[i], &status[i], LONG_NS));
    CHECK_U64(got[1], 0); /* the first that fits tag 9 */
    CHECK_U64(status[1].tag, 9);
    CHECK_U64(got[0], 1);
    CHECK_U64(got[2], 2);
    CHECK_U64(got[3], 3);
    for (int i = 0; i < 4; i++)
        CHECK_U64(status[i].source, test->previous);
}

/* Messages that lie there are taken in the order in which they came. */
static void wildcards_after(struct mail_test *test)
{
    for (uint64_t i = 0; i < 4; i++)
        CHECK_OK(rh_send(test->msg, test->next, i == 0 ? 9 : 7, &i, 8));
    mail_meet(test);
    static const int tags[4] = {7, RH_ANY_TAG, RH_ANY_TAG, 7};
    static const uint64_t wanted[4] = {1, 0, 2, 3};
    for (int i = 0; i < 4; i++) {
        uint64_t got = 99;
        CHECK_OK(rh_recv(test->msg, i % 2 ? RH_ANY_RANK : test->previous, tags[i], &got, 8, NULL));
        CHECK_U64(got, wanted[i]);
    }
}

static void to_self(struct mail_test *test)
{
    struct rh_request *request = NULL, *other = NULL;
    struct rh_status status;
    char small[8] = {0}, *large = mail_alloc(200000), *buffer = mail_alloc(200000);
    mail_send(test, test->rank, 1, 8000, 5); /* small enough not to wait for the receive */
    mail_receive(test, test->rank, 1, 8000, 5);
    CHECK_OK(rh_irecv(test->msg, RH_ANY_RANK, RH_ANY_TAG, small, 8, &request));
    CHECK_OK(rh_send(test->msg, test->rank, 3, "itself", 7));
    CHECK_OK(rh_wait_request(request, &status, LONG_NS));
    CHECK(strcmp(small, "itself") == 0 && status.source == test->rank && status.length == 7);
    pattern_fill(large, 200000, 11);
    CHECK_OK(rh_isend(test->msg, test->rank, 4, large, 200000, &request));
    CHECK_OK(rh_isend(test->msg, test->rank, 4, large, 10, &other));
    CHECK_CODE(rh_test_request(request, NULL), RH_EAGAIN);
    CHECK_OK(rh_probe(test->msg, test->rank, 4, &status, RH_TIMEOUT_NONE));
    CHECK_U64(status.length, 200000);
    mail_receive(test, test->rank, RH_ANY_TAG, 200000, 11); /* in order */
    CHECK_OK(rh_recv(test->msg, test->rank, 4, buffer, 5, &status) == RH_ETOOBIG ? 0 : -1);
    CHECK_OK(rh_wait_request(request, NULL, LONG_NS));
    CHECK_OK(rh_wait_request(other, NULL, LONG_NS));
    CHECK_OK(rh_isend(test->msg, test->rank, 5, large, 200000, &request));
    CHECK_OK(rh_cancel(request));
    CHECK_CODE(rh_probe(test->msg, RH_ANY_RANK, RH_ANY_TAG, &status, RH_TIMEOUT_NONE), RH_EAGAIN);
    mail_free(large);
    mail_free(buffer);
}

/* Small ones from all to all at once; large ones from each in turn, to the others. */
static void multicast(struct mail_test *test)
{
    static const size_t sizes[] = {3000, 100000};
    int *ranks = calloc((size_t)test->size + 1, sizeof(int));
    struct rh_recipients to = {.ranks = ranks, .rank_count = (size_t)test->size};
    char *data = mail_alloc(100000);
    for (int rank = 0; rank < test->size; rank++)
        ranks[rank] = (test->rank + rank) % test->size;
    pattern_fill(data, 100000, (uint64_t)test->rank);
    CHECK_OK(rh_multicast(test->msg, &to, 3, data, 40));
    for (int rank = 0; rank < test->size; rank++)
        mail_receive(test, rank, 3, 40, (uint64_t)rank);
    to = (struct rh_recipients){.ranks = ranks + 1, .rank_count = (size_t)test->size - 1};
    for (int root = 0; root < 2 * test->size; root++) {
        size_t length = sizes[root / test->size];
        if (root % test->size == test->rank)
            CHECK_OK(rh_multicast(test->msg, &to, 5, data, length));
        else
            mail_receive(test, root % test->size, 5, length, (uint64_t)(root % test->size));
    }
    ranks[test->size] = ranks[0];
    ranks[0] = test->size;
    to = (struct rh_recipients){.ranks = ranks, .rank_count = (size_t)test->size + 1};
    CHECK_CODE(rh_multicast(test->msg, &to, 4, data, 10), RH_EINVALID); /* and tries all */
    for (int rank = 0; rank < test->size; rank++)
        mail_receive(test, rank, 4, 10, (uint64_t)rank);
    mail_free(data);
    free(ranks);
}

static void bad_arguments(struct mail_test *test)
{
    struct rh_request *request = (void *)1;
    struct rh_msg *second = NULL;
    char data[8] = {0};
    int size = test->size;
    CHECK_CODE(rh_send(test->msg, size, 0, data, 8), RH_EINVALID);
    CHECK_CODE(rh_send(test->msg, RH_ANY_RANK, 0, data, 8), RH_EINVALID);
    CHECK_CODE(rh_send(test->msg, 0, -1, data, 8), RH_EINVALID);
    CHECK_CODE(rh_isend(test->msg, -7, 0, data, 8, &request), RH_EINVALID);
    CHECK_CODE(rh_recv(test->msg, size, 0, data, 8, NULL), RH_EINVALID);
    CHECK_CODE(rh_recv(test->msg, 0, -2, data, 8, NULL), RH_EINVALID);
    CHECK_CODE(rh_irecv(test->msg, -2, 0, data, 8, &request), RH_EINVALID);
    CHECK_CODE(rh_probe(test->msg, size, 0, NULL, 0), RH_EINVALID);
    CHECK(request == (void *)1); /* outputs only on success */
    CHECK_CODE(rh_msg_open(&second, test->job), RH_EEXIST);
    CHECK(second == NULL);
    mail_send(test, test->next, 1, 8, 1); /* and all is well */
    mail_receive(test, test->previous, 1, 8, 1);
}

/* The others send before rank 0 has opened its mailbox. */
static void late(struct mail_test *test)
{
    if (test->rank == 0)
        mail_sleep_us(150000);
    CHECK_OK(rh_msg_open(&test->msg, test->job));
    if (test->rank != 0) {
        mail_send(test, 0, 1, 8, 1);
        mail_send(test, 0, 1, 20000, 2);
        mail_receive(test, 0, 1, 8, 3);
        return;
    }
    for (int rank = 1; rank < test->size; rank++) {
        mail_receive(test, rank, 1, 8, 1);
        mail_receive(test, rank, 1, 20000, 2);
        mail_send(test, rank, 1, 8, 3);
    }
}

const struct mail_case send_basic_cases[] = {
    {.name = "send-lengths", .run = ring_of_lengths},
    {.name = "send-lengths-blocking", .run = blocking_lengths, .least_size = 2},
    {.name = "send-unexpected", .run = unexpected},
    {.name = "send-tags-backwards", .run = tags_backwards},
    {.name = "send-any-source", .run = any_source, .least_size = 2},
    {.name = "send-order-of-pairs", .run = order_of_pairs},
    {.name = "send-switch-over", .run = switch_over},
    {.name = "send-truncation", .run = truncation},
    {.name = "send-wildcards-posted", .run = wildcards_posted},
    {.name = "send-wildcards-after", .run = wildcards_after},
    {.name = "send-to-self", .run = to_self},
    {.name = "send-multicast", .run = multicast},
    {.name = "send-bad-arguments", .run = bad_arguments},
    {.name = "send-late-receiver", .run = late, .least_size = 2, .flags = CASE_LATE},
    {.name = NULL},
};
