/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A large message that its sender gives up while it moves: withdraw_test CASE SEED, on two ranks,
 * with RHINET_MSG_WAY=ring.
 *
 *   again   the receiver gets RH_ECANCELED and says that it has heard, so that the sender's name of
 *           the message is free again: there are SENDS_MAX of them, and one more is sent
 *
 * And one whose RTS gets in only when there is a lane, by which the message could have gone in a
 * block (RHINET_FAULT keeps rank 0 from appending):
 *
 *   late    it goes as was decided, and leaves no name in use
 *
 * And with RHINET_FAULT, which makes a push time out, so that it may still come (name.c):
 *
 *   doubt   the sender's push of a chunk. The stream is kept for it until it has let go
 *   told    the receiver's push that says what has been copied out, and all that is tried to say it
 *           again: the sender's name is not free, or it would be told of another message
 */
#include "job/job.h"
#include "member.h"
#include "msg/match.h"
#include "msg/rendezvous/parts.h"

#define LENGTH   (2 * STREAM_BLOCKS * STREAM_BLOCK) /* more than fits: it does not end by itself */
#define MIDDLE   4000
#define TAG      3
#define ROUNDS   5
#define SID_TURN 9

/* Tell the other one how far we are, or wait for it: not by messages, which would let the large one
 * go on. */
static void tell(struct member *member, uint64_t turn)
{
    struct rh_remote word = rh_at(1 - member->rank, SID_TURN, 0);
    MEMBER_OK(member, rh_push(member->job, word, &turn, sizeof(turn)));
}

static void await(struct member *member, const uint64_t *word, uint64_t turn)
{
    struct rh_wait wait = {.word = word,
                           .when = RH_AT_LEAST,
                           .value = turn,
                           .from = 1 - member->rank,
                           .timeout_ns = RH_TIMEOUT_DEFAULT};
    MEMBER_OK(member, rh_wait_word(member->job, &wait));
}

/* Answering what the other one asks meanwhile: it may hear of the message only now. */
static void await_politely(struct member *member, const uint64_t *word, uint64_t turn)
{
    int64_t end_ms = member_now_ms() + 20000;
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < turn) {
        MEMBER_CHECK(member, member_now_ms() < end_ms);
        MEMBER_CODE(member, rh_probe(member->msg, 1, TAG, NULL, 0), RH_EAGAIN);
    }
}

static bool has_names_out(const struct mail *mail)
{
    for (int i = 0; i < SENDS_MAX / 64; i++) {
        if (mail->rendezvous->names[i] != 0)
            return true;
    }
    return false;
}

static void await_end(struct member *member, struct rh_request *receive)
{
    MEMBER_CODE(member, rh_wait_request(receive, NULL, RH_TIMEOUT_DEFAULT), RH_ECANCELED);
}

static void look_until(struct member *member, bool (*is_so)(const struct mail *mail))
{
    for (int64_t end_ms = member_now_ms() + 20000; !is_so(member->msg->mail);) {
        MEMBER_CHECK(member, member_now_ms() < end_ms);
        MEMBER_CODE(member, rh_probe(member->msg, 1 - member->rank, TAG + 1, NULL, 0), RH_EAGAIN);
    }
}

static bool has_no_names_out(const struct mail *mail)
{
    return !has_names_out(mail);
}

static bool has_pushed(const struct mail *mail)
{
    uint64_t faults = 0;
    return rh_counter(mail->job, "fault", &faults) == 0 && faults > 0;
}

static bool has_free_stream(const struct mail *mail)
{
    return !mail->rendezvous->stream[0].is_used;
}

static bool has_told(const struct mail *mail)
{
    return mail->rendezvous->stream[0].told.is_in_doubt;
}

/* Give up as a call does whose time is over. */
static void give_up(struct member *member, struct rh_request *send, uint64_t turn)
{
    struct mail *mail = member->msg->mail;
    mail_take(mail);
    progress_abort(mail, send, RH_ETIMEOUT);
    mail_give(mail);
    MEMBER_CODE(member, rh_wait_request(send, NULL, 0), RH_ETIMEOUT);
    tell(member, turn);
}

/* Each time when the receiver has begun to take it. */
static void give_up_sends(struct member *member, char *data, const uint64_t *word)
{
    struct rh_request *send;
    for (uint64_t turn = 1; turn < 2 * ROUNDS; turn += 2) {
        MEMBER_OK(member, rh_isend(member->msg, 1, TAG, data, LENGTH, &send));
        await_politely(member, word, turn);
        give_up(member, send, turn);
        await_politely(member, word, turn + 1);
    }
    look_until(member, has_no_names_out);
}

static void lose_receives(struct member *member, char *data, const uint64_t *word)
{
    struct rh_request *receive;
    for (uint64_t turn = 1; turn < 2 * ROUNDS; turn += 2) {
        MEMBER_OK(member, rh_irecv(member->msg, 0, TAG, data, LENGTH, &receive));
        for (int64_t end_ms = member_now_ms() + 20000; !receive->in.stream;) {
            MEMBER_CHECK(member, member_now_ms() < end_ms);
            MEMBER_CODE(member, rh_test_request(receive, NULL), RH_EAGAIN);
        }
        tell(member, turn);
        await(member, word, turn);
        await_end(member, receive);
        tell(member, turn + 1);
    }
}

static void push_in_doubt(struct member *member, char *data, const uint64_t *word)
{
    struct rh_request *send, *receive;
    if (member->rank == 0) {
        MEMBER_OK(member, rh_isend(member->msg, 1, TAG, data, LENGTH, &send));
        look_until(member, has_pushed);
        give_up(member, send, 1);
        await(member, word, 1);
        look_until(member, has_no_names_out);
        tell(member, 2);
        return;
    }
    const struct stream *stream = &member->msg->mail->rendezvous->stream[0];
    MEMBER_OK(member, rh_probe(member->msg, 0, TAG, NULL, RH_TIMEOUT_DEFAULT));
    MEMBER_OK(member, rh_irecv(member->msg, 0, TAG, data, LENGTH, &receive));
    await(member, word, 1); /* and answer nothing meanwhile */
    await_end(member, receive);
    MEMBER_CHECK(member, stream->is_used && stream->is_held);
    tell(member, 1);
    look_until(member, has_free_stream);
    await(member, word, 2);
}

static void told_in_doubt(struct member *member, char *data, const uint64_t *word)
{
    struct rh_request *send, *receive;
    if (member->rank == 0) {
        MEMBER_OK(member, rh_isend(member->msg, 1, TAG, data, LENGTH, &send));
        await_politely(member, word, 1);
        give_up(member, send, 1);
        await_politely(member, word, 2);
        MEMBER_CHECK(member, has_names_out(member->msg->mail));
        return;
    }
    MEMBER_OK(member, rh_irecv(member->msg, 0, TAG, data, LENGTH, &receive));
    look_until(member, has_told);
    tell(member, 1);
    await_end(member, receive);
    MEMBER_CHECK(member, member->msg->mail->rendezvous->stream[0].owes_ack);
    tell(member, 2);
    await(member, word, 1);
}

static void send_late(struct member *member, char *data)
{
    _Static_assert(MIDDLE > INBOX_LENGTH && MIDDLE <= BLOCK_LENGTH, "its way depends on the lane");
    if (member->rank == 0) {
        MEMBER_OK(member, rh_send(member->msg, 1, TAG, data, MIDDLE));
        MEMBER_CHECK(member, member->msg->mail->peer[1].lane >= 0);
        MEMBER_CHECK(member, !has_names_out(member->msg->mail));
    } else {
        MEMBER_OK(member, rh_recv(member->msg, 0, TAG, data, MIDDLE, NULL));
    }
}

static int part(struct rh_job *job, const char *name, uint64_t seed)
{
    struct member member = {.job = job};
    struct rh_status status;
    member_start(&member, seed);
    char *data = calloc(1, LENGTH);
    uint64_t *word;
    MEMBER_CHECK(&member, data != NULL);
    MEMBER_OK(&member, rh_segment_alloc(member.job, SID_TURN, 8, (void **)&word));
    MEMBER_OK(&member, rh_segment_wait(member.job, 1 - member.rank, SID_TURN, RH_TIMEOUT_DEFAULT));
    if (strcmp(name, "late") == 0) {
        send_late(&member, data);
    } else if (strcmp(name, "doubt") == 0) {
        push_in_doubt(&member, data, word);
    } else if (strcmp(name, "told") == 0) {
        told_in_doubt(&member, data, word);
    } else if (member.rank == 0) {
        give_up_sends(&member, data, word);
        memset(data, 7, LENGTH);
        MEMBER_OK(&member, rh_send(member.msg, 1, TAG, data, LENGTH));
    } else {
        lose_receives(&member, data, word);
        MEMBER_OK(&member, rh_recv(member.msg, 0, TAG, data, LENGTH, &status));
        MEMBER_CHECK(&member, status.length == LENGTH && data[LENGTH - 1] == 7);
    }
    tell(&member, 2 * ROUNDS + 1);
    await(&member, word, 2 * ROUNDS + 1);
    if (strcmp(name, "told") != 0) /* or short ones would go slowly */
        MEMBER_CHECK(&member, member.msg->mail->long_count == 0);
    free(data);
    member_end(&member);
    return 0;
}

int main(int count, char **words)
{
    return member_main(count, words, part);
}
