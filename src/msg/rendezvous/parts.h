/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of src/msg/rendezvous share; rendezvous.h tells what they do.
 */
#pragma once

#include "msg/mail.h"
#include "msg/rendezvous/rendezvous.h"

#define STREAM_COUNT  4 /* long messages that one receiver takes in at a time */
#define STREAM_BLOCKS 8
#define STREAM_BLOCK  32768

/* Written by senders: MSG_SID_BLOCKS. */
struct stream_memory {
    alignas(64) uint64_t claimed;                /* both ends: chunks that one has taken on */
    alignas(64) uint64_t pushed;                 /* both ends: the sender's that are there */
    alignas(64) uint64_t arrived[STREAM_BLOCKS]; /* ring: chunk number + 1 in this block */
    char block[STREAM_BLOCKS][STREAM_BLOCK];
};

/* Stays in use until its sender is known to write no more, even if the receive gives up before. */
struct stream {
    bool is_used;
    bool is_held;      /* the sender may push something again, and will say when it does not */
    bool is_over;      /* the message is, but not that, or a word of ours is under way */
    bool owes_ack;     /* the sender has given up, and is told so when that has come */
    bool is_attached;  /* both ends: the buffer is open to the sender */
    bool is_withdrawn; /* both ends: the sender has given up, and will say so */
    enum way way;
    struct rh_request *receive; /* NULL: nobody wants it any more, what comes is dropped */
    int source;
    struct rts rts;
    uint64_t first_chunk;
    uint64_t next_chunk;     /* numbers used so far */
    uint64_t chunk;          /* ring: next to copy out */
    struct posted_word told; /* ring: chunks that the sender knows to be copied out */
    struct both_ends both_ends;
};

/* Memory of a stream that a push in doubt may still write. */
struct doubtful {
    uint64_t at, length; /* in MSG_SID_BLOCKS */
    uint64_t notice_at;
};

/* A message that its sender has given up. */
struct withdrawal {
    int rank; /* + 1: of the receiver, until that has been heard; 0: there is none */
    enum withdrawal_step {
        WITHDRAW_WAIT, /* for a CTS, or for the answer */
        WITHDRAW_HOLD,
        WITHDRAW_TELL,
        WITHDRAW_OVERWRITE,
        WITHDRAW_LET_GO
    } step; /* what is to be done next */
    enum hold hold;
    uint64_t send_id;
    struct doubtful doubtful; /* nothing if its length is 0 */
    bool is_pushing;          /* over that */
    struct rh_done push;
};

struct rendezvous {
    struct stream_memory *memory; /* STREAM_COUNT of them, made for the first message */
    struct stream stream[STREAM_COUNT];
    struct list matched;            /* receives waiting for a stream or a pull */
    struct list sending;            /* sends whose RTS is out */
    uint64_t names[SENDS_MAX / 64]; /* set: place is in use */
    uint64_t name_count;            /* given so far: makes the names differ */
    struct withdrawal withdrawn[SENDS_MAX];
    uint32_t withdraw_count; /* of which something is to be done */
};

/* ---- name.c --------------------------------------------------------------------------------- */

#define DONE_ALL UINT32_MAX /* in a done_word(): the receiver has the whole message */

/* A name is a place, which is used again soon, and a count, so that news of an earlier message in
 * the same place are not taken for news of this. */
static inline uint32_t name_place(uint64_t send_id)
{
    return (uint32_t)(send_id % SENDS_MAX);
}

/* The sender's word for a message; other messages use it later. */
static inline struct rh_remote done_at(int source, uint64_t send_id)
{
    return rh_at(source, MSG_SID_RETURNS, (uint64_t)name_place(send_id) * sizeof(uint64_t));
}

/* RH_EAGAIN: all are in use. */
int name_take(struct mail *mail, uint64_t *send_id);
void name_give(struct mail *mail, uint64_t send_id);
/* Chunks of a message of ours that its receiver is done with, or DONE_ALL. */
uint32_t name_done(const struct mail *mail, uint64_t send_id);

/* The message is given up, and its receiver told if it counts on it; its name is free when that has
 * been heard, and nothing of it is in doubt. */
void name_withdraw(struct mail *mail, const struct rh_request *send);
/* One that is under way, or NULL. */
struct withdrawal *name_withdrawn(struct mail *mail, int rank, uint64_t send_id);
/* Its receiver has heard. */
void name_take_ack(struct mail *mail, int rank, uint64_t send_id);
/* Go on with withdrawals. */
void name_progress(struct mail *mail);
/* Those that wait for ranks that are gone. */
void name_gone_end(struct mail *mail);
void name_close(struct mail *mail);

/* Post a control slot that says no more than a name. False: there is no memory to remember it. */
bool name_post(struct mail *mail, int rank, enum slot_kind kind, uint64_t send_id);

/* ---- send.c, receive.c: news and progress --------------------------------------------------- */

bool send_cts_take(struct mail *mail, int source, const struct cts *cts);
bool send_held_take(struct mail *mail, int source, uint64_t send_id);
void send_progress(struct mail *mail);
void send_gone_end(struct mail *mail);

bool receive_withdraw_take(struct mail *mail, int source, uint64_t send_id);
bool receive_hold_take(struct mail *mail, int source, uint64_t send_id);
void receive_let_go_take(struct mail *mail, int source, uint64_t send_id);
void receive_progress(struct mail *mail);
void receive_gone_end(struct mail *mail);
void receive_close(struct mail *mail);

/* ---- The ways ------------------------------------------------------------------------------- */

/* Each moves what it can now and returns 0 when this end has done its part, RH_EAGAIN when it has
 * not yet, or the error that ends the message. A push that timed out sets out.is_in_doubt; it is
 * made again when the way is called again. */

/* What the network did not take is tried again while somebody waits. */
static inline bool is_for_later(int result)
{
    return result == RH_EAGAIN || result == RH_ETIMEOUT || result == RH_ENOSPACE;
}

/* The other end has closed its memory: it has given up. */
static inline bool is_closed(int result)
{
    return result == RH_ESTALE || result == RH_ENOSEG;
}

uint64_t ring_chunk_count(uint64_t length);
int ring_push(struct mail *mail, struct rh_request *send);
/* Whether a chunk whose only push is in doubt has come, as its receiver counts; then it is over. */
bool ring_has_come(const struct mail *mail, struct rh_request *send);
/* What a push of the next chunk writes. */
struct doubtful ring_place(const struct rh_request *send);
/* Tell the sender what has been copied out; whether it knows. */
bool ring_tell(struct mail *mail, struct stream *stream);
/* 0: copied out, and the sender knows. */
int ring_take(struct mail *mail, struct stream *stream);

uint64_t both_ends_chunk_count(uint64_t length);
/* Whether the sender should offer its help. */
bool both_ends_pays(const struct mail *mail, const struct rh_request *send);
void both_ends_begin(struct rh_request *send, const struct cts *cts);
int both_ends_push(struct mail *mail, struct rh_request *send);
/* What the push of a chunk writes beside the buffer, which its receiver closes. */
struct doubtful both_ends_place(const struct rh_request *send);
/* Open the receive's buffer to the sender. */
int both_ends_attach(struct mail *mail, struct stream *stream);
/* It is its program's again. */
void both_ends_detach(struct mail *mail, struct stream *stream);
int both_ends_pull(struct mail *mail, struct stream *stream);
uint64_t both_ends_moved(const struct both_ends *part);
