/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What waits of people's programs say when they end in vain: awaited_test SEED, with two ranks and
 * a short RHINET_TIMEOUT. Rank 0 waits for what rank 1 does not do, tells it so, and leaves.
 */
#include "member.h"

#define SID_WORDS    1u
#define SID_EXCHANGE 2u
#define PATIENCE_NS  RH_MILLISECONDS(60000) /* longer than anything here takes */

enum { MAIL, TOLD, WORDS };

static void expect_text(const struct member *member, const char *part)
{
    if (!strstr(rh_error_text(), part))
        MEMBER_FAIL(member, "expected \"%s\" in the error's text", part);
}

static struct rh_exchange *meet(struct member *member, unsigned char *memory)
{
    struct rh_exchange *exchange;
    struct rh_side side = {.rank = 1 - member->rank, .in = 8, .length = 8};
    memset(memory, 7, 16);
    MEMBER_OK(member, rh_exchange_create(member->job, SID_EXCHANGE, &side, 1, &exchange));
    return exchange;
}

/* Nothing is in the memory, and the exchange is over. */
static void expect_broken(struct member *member, struct rh_exchange *exchange,
                          unsigned char *memory)
{
    MEMBER_CODE(member, rh_exchange(exchange, memory), RH_ETIMEOUT);
    MEMBER_CHECK(member, rh_error_rank() == 1);
    for (int i = 0; i < 16; i++)
        MEMBER_CHECK(member, memory[i] == 7);
    MEMBER_CODE(member, rh_exchange(exchange, memory), RH_EINVALID);
    expect_text(member, "destroy it");
    MEMBER_OK(member, rh_exchange_destroy(exchange));
}

static void wait_in_vain(struct member *member, const uint64_t *words)
{
    unsigned char memory[16];
    uint64_t one = 1;
    struct rh_exchange *exchange = meet(member, memory);
    MEMBER_CODE(member, rh_wait_for(member->job, &words[MAIL], 1, 1, "the mail of step 7"),
                RH_ETIMEOUT);
    MEMBER_CHECK(member, rh_error_rank() == 1);
    expect_text(member, "waiting for the mail of step 7: ");
    expect_text(member, "word is 0 and should be at least 1");
    expect_broken(member, exchange, memory);
    struct rh_wait done = {&words[TOLD], RH_EQUAL, 1, 1, PATIENCE_NS};
    MEMBER_OK(member, rh_push(member->job, rh_at(1, SID_WORDS, 8 * TOLD), &one, sizeof(one)));
    MEMBER_OK(member, rh_wait_word(member->job, &done));
}

static void be_waited_for(struct member *member, const uint64_t *words)
{
    unsigned char memory[16];
    uint64_t one = 1;
    struct rh_wait told = {&words[TOLD], RH_EQUAL, 1, 0, PATIENCE_NS};
    struct rh_exchange *exchange = meet(member, memory);
    MEMBER_OK(member, rh_wait_word(member->job, &told));
    MEMBER_OK(member, rh_wait_for(member->job, &words[TOLD], 1, 0, NULL));
    expect_broken(member, exchange, memory);
    MEMBER_OK(member, rh_push(member->job, rh_at(0, SID_WORDS, 8 * TOLD), &one, sizeof(one)));
    MEMBER_CODE(member, rh_wait_for(member->job, &words[MAIL], 1, 0, "an answer"), RH_EDEAD);
    MEMBER_CHECK(member, rh_error_rank() == 0);
    expect_text(member, "waiting for an answer: ");
    MEMBER_CODE(member, rh_wait_for(member->job, &words[MAIL], 1, 2, "nobody"), RH_EINVALID);
}

static int part(struct rh_job *job, const char *name, uint64_t seed)
{
    struct member member = {.job = job, .rank = -1};
    void *words;
    if (strcmp(name, "vain") != 0)
        return 2;
    member_start(&member, seed);
    MEMBER_OK(&member, rh_segment_alloc(member.job, SID_WORDS, sizeof(uint64_t[WORDS]), &words));
    MEMBER_OK(&member, rh_segment_wait_all(member.job, SID_WORDS, PATIENCE_NS));
    if (member.rank == 0)
        wait_in_vain(&member, words);
    else
        be_waited_for(&member, words);
    MEMBER_OK(&member, rh_leave(member.job));
    printf("ok %d\n", member.rank);
    return 0;
}

int main(int count, char **words)
{
    return member_main(count, words, part);
}
