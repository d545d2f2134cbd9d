/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A receiver has a large message and tells its sender, but the push that does so times out:
 * told_test CASE SEED, on two ranks or more, with RHINET_MSG_WAY=pull and RHINET_FAULT for the
 * first push of rank 1, and the first swap, which is lost.
 *
 *   landed  rank 0 sends to rank 1 and, when that was received, to the last rank. Only then rank 1
 *           tells again. Rank 0 must not take its second message for received before it is, and
 *           must hear when it is
 *   lost    rank 1 tells again at once, or rank 0 would never hear
 *   chunk   by RHINET_MSG_WAY=ring, and it is the first push of rank 0 that times out, a chunk that
 *           has landed. Rank 0 pushes it again only when rank 1 keeps the stream, and rank 1 does
 *           so until it is let go
 */
#include "member.h"
#include "msg/rendezvous/parts.h"

#define LENGTH   (2 * STREAM_BLOCK)
#define SID_TURN 9
#define FIRST    1 /* tags */
#define SECOND   2
#define LOOKS    100

#define PATIENCE_NS RH_MILLISECONDS(20000)

static uint64_t *turn_word;

/* Not by messages, which would let the large ones go on. */
static void tell(struct member *member, int rank, uint64_t turn)
{
    int result = rh_push(member->job, rh_at(rank, SID_TURN, 0), &turn, sizeof(turn));
    MEMBER_OK(member, result);
}

static void await(struct member *member, int from, uint64_t turn)
{
    struct rh_wait wait = {.word = turn_word,
                           .when = RH_AT_LEAST,
                           .value = turn,
                           .from = from,
                           .timeout_ns = PATIENCE_NS};
    MEMBER_OK(member, rh_wait_word(member->job, &wait));
}

static void look_often(struct member *member, struct rh_request *request)
{
    for (int i = 0; i < LOOKS; i++)
        MEMBER_CODE(member, rh_test_request(request, NULL), RH_EAGAIN);
}

static uint64_t counted(struct member *member, const char *name)
{
    uint64_t count = 0;
    MEMBER_OK(member, rh_counter(member->job, name, &count));
    return count;
}

static void send_both(struct member *member, char *data)
{
    int last = member->size - 1;
    struct rh_request *first, *second;
    MEMBER_OK(member, rh_isend(member->msg, 1, FIRST, data, LENGTH, &first));
    MEMBER_OK(member, rh_wait_request(first, NULL, PATIENCE_NS));
    MEMBER_OK(member, rh_isend(member->msg, last, SECOND, data, LENGTH, &second));
    MEMBER_CHECK(member, second->out.rts.send_id == SENDS_MAX); /* the same place */
    tell(member, last, 1);
    await(member, 1, 2);
    if (last == 1) {
        look_often(member, second);
        tell(member, 1, 3);
    }
    MEMBER_OK(member, rh_wait_request(second, NULL, PATIENCE_NS));
}

static void take_second(struct member *member, char *data)
{
    struct rh_status status;
    MEMBER_OK(member, rh_recv(member->msg, 0, SECOND, data, LENGTH, &status));
    MEMBER_CHECK(member, status.length == LENGTH && data[0] == 7 && data[LENGTH - 1] == 7);
}

/* Tells once, and again only when rank 0 has sent its second message; to somebody else, when that
 * was told, too. */
static void take_first(struct member *member, char *data, bool is_lost)
{
    struct rh_request *first;
    bool is_last = member->size == 2;
    MEMBER_OK(member, rh_probe(member->msg, 0, FIRST, NULL, PATIENCE_NS));
    MEMBER_CHECK(member, counted(member, "fault") == 0);
    MEMBER_OK(member, rh_irecv(member->msg, 0, FIRST, data, LENGTH, &first));
    MEMBER_CHECK(member, counted(member, "fault") >= 1);
    if (!is_lost)
        await(member, is_last ? 0 : 2, 1);
    if (is_last && !is_lost)
        MEMBER_OK(member, rh_probe(member->msg, 0, SECOND, NULL, PATIENCE_NS));
    MEMBER_OK(member, rh_wait_request(first, NULL, PATIENCE_NS));
    MEMBER_CHECK(member, data[0] == 7 && data[LENGTH - 1] == 7);
    for (int i = 0; i < LOOKS; i++)
        MEMBER_CODE(member, rh_probe(member->msg, 0, FIRST, NULL, 0), RH_EAGAIN);
    tell(member, 0, 2);
    if (is_last) {
        await(member, 0, 3);
        take_second(member, data);
    }
}

static void send_chunks(struct member *member, char *data)
{
    struct rh_request *first;
    MEMBER_OK(member, rh_isend(member->msg, 1, FIRST, data, STREAM_BLOCK, &first));
    while (counted(member, "fault") == 0)
        MEMBER_CODE(member, rh_test_request(first, NULL), RH_EAGAIN);
    uint64_t pushes = counted(member, "push");
    look_often(member, first);
    MEMBER_CHECK(member, counted(member, "push") == pushes);
    tell(member, 1, 1);
    await(member, 1, 2);
    MEMBER_OK(member, rh_wait_request(first, NULL, PATIENCE_NS));
    tell(member, 1, 3);
    MEMBER_OK(member, rh_send(member->msg, 1, SECOND, data, LENGTH));
}

static void take_chunks(struct member *member, char *data)
{
    struct rh_request *first;
    const struct stream *stream = &member->msg->mail->rendezvous->stream[0];
    MEMBER_OK(member, rh_probe(member->msg, 0, FIRST, NULL, PATIENCE_NS));
    MEMBER_OK(member, rh_irecv(member->msg, 0, FIRST, data, LENGTH, &first));
    await(member, 0, 1);
    MEMBER_OK(member, rh_wait_request(first, NULL, PATIENCE_NS));
    MEMBER_CHECK(member, data[0] == 7 && data[STREAM_BLOCK - 1] == 7 && data[STREAM_BLOCK] == 0);
    MEMBER_CHECK(member, stream->is_used && stream->is_held);
    tell(member, 0, 2);
    await(member, 0, 3);
    MEMBER_OK(member, rh_probe(member->msg, 0, SECOND, NULL, PATIENCE_NS));
    MEMBER_CHECK(member, !stream->is_used);
    take_second(member, data);
}

static int part(struct rh_job *job, const char *name, uint64_t seed)
{
    struct member member = {.job = job};
    member_start(&member, seed);
    char *data = calloc(1, LENGTH);
    MEMBER_CHECK(&member, data != NULL);
    MEMBER_OK(&member, rh_segment_alloc(member.job, SID_TURN, 8, (void **)&turn_word));
    for (int rank = 0; rank < member.size; rank++)
        MEMBER_OK(&member, rh_segment_wait(member.job, rank, SID_TURN, RH_TIMEOUT_DEFAULT));
    if (member.rank == 0) {
        memset(data, 7, LENGTH);
        if (strcmp(name, "chunk") == 0)
            send_chunks(&member, data);
        else
            send_both(&member, data);
    } else if (strcmp(name, "chunk") == 0) {
        take_chunks(&member, data);
    } else if (member.rank == 1) {
        take_first(&member, data, strcmp(name, "lost") == 0);
    } else {
        await(&member, 0, 1);
        take_second(&member, data);
        tell(&member, 1, 1);
    }
    free(data);
    member_end(&member);
    return 0;
}

int main(int count, char **words)
{
    return member_main(count, words, part);
}
