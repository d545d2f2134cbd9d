/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Send and receive: the structs that its files share. How it works is told in msg.h.
 */
#ifndef MSG_MAIL_H
#define MSG_MAIL_H

#include "base/turn.h"
#include "msg/msg.h"

#include <stdlib.h>

/* ---- What travels --------------------------------------------------------------------------- */

#define SLOT_INLINE   48 /* bytes of a message inside a slot */
#define LANE_COUNT    4  /* senders of one receiver that get a lane */
#define LANE_SLOTS    64
#define LANE_BLOCKS   8 /* of which this many at a time may have a block */
#define BLOCK_LENGTH  8192
#define INBOX_SLOTS   128
#define INBOX_LENGTH  2048 /* longest message that is appended whole */
#define INBOX_CREDIT  32   /* messages of one sender that may lie unreceived */
#define HELD_MOST     1024 /* unexpected messages of one lane before it is left alone */
#define STREAM_COUNT  4    /* large messages that one receiver takes in at a time */
#define STREAM_BLOCKS 8
#define STREAM_BLOCK  32768
#define SENDS_MOST    1024 /* announced messages of one sender at a time */
#define LANE_AFTER    4    /* messages to one receiver before a lane is asked for */

/* Values of RHINET_MSG_WAY. */
enum way { WAY_AUTO, WAY_PUSH, WAY_RING, WAY_PULL, WAY_JOINT };

enum slot_kind {
    SLOT_INLINED = 1, /* the message is in the slot */
    SLOT_BLOCK,       /* in the lane's block, or behind the head in the inbox */
    SLOT_ANNOUNCE,    /* it is large: see struct announcement */
    /* Control, by the inbox only and without credit, so that no message stands in its way: */
    SLOT_PROCEED,   /* to a sender: stream it, see struct go_ahead */
    SLOT_FINISHED,  /* to a sender: its withdrawal is known */
    SLOT_WITHDRAWN, /* to a receiver: the sender has given up */
    /* A push of its timed out, and it must make it again, see tests/model/hold.pml: */
    SLOT_HOLD,  /* to a receiver: keep the stream */
    SLOT_HELD,  /* to a sender: it is kept, push */
    SLOT_LET_GO /* to a receiver: all that was pushed is there */
};

/* Without the slot's number this is also what is appended to an inbox; there the kind has a number
 * of its own in its upper bits, by which a receiver knows an append that was made twice
 * (post.c). */
struct slot_head {
    int32_t tag;
    uint16_t kind;
    uint16_t length; /* of what follows */
};

struct slot {
    alignas(64) uint64_t number; /* position in the lane + 1; the notice, so it arrives last */
    struct slot_head head;
    char data[SLOT_INLINE];
};
_Static_assert(sizeof(struct slot) == 64, "a slot is one cache line");

#define KIND_BITS   4
#define NUMBER_MASK (UINT16_MAX >> KIND_BITS)
_Static_assert(SLOT_LET_GO < 1 << KIND_BITS, "a kind and a number share 16 bits");

struct announcement {
    uint64_t length;
    uint64_t send_id;  /* the sender's name for it, which is never used again */
    uint32_t pull_sid; /* where to pull it from, or 0: it must be streamed */
    uint32_t is_joint; /* and the sender helps, if it is told where to push */
};

struct go_ahead {
    uint64_t send_id;
    uint64_t first_chunk; /* chunks are numbered on from here */
    uint32_t stream;
    uint32_t is_joint; /* through MSG_SID_JOINT + stream; else through the stream's blocks */
};

/* ---- Memory that peers write ---------------------------------------------------------------- */

struct lanes {
    alignas(64) uint64_t taken; /* lanes asked for so far; may exceed LANE_COUNT */
    struct {
        alignas(64) uint64_t owner; /* rank + 1 | messages it sent by the inbox before << 32 */
    } info[LANE_COUNT];
    struct slot slot[LANE_COUNT][LANE_SLOTS];
    char block[LANE_COUNT][LANE_BLOCKS][BLOCK_LENGTH];
};

/* What receivers give back to this sender. */
struct returns {
    uint64_t chunks_done[SENDS_MOST]; /* of announced messages, by their place: see done_word() */
    struct {
        alignas(64) uint64_t lane_done;
        uint64_t inbox_done;
        uint64_t blocks_done;
    } peer[];
};

struct stream_memory {
    alignas(64) uint64_t claimed;                /* joint: chunks that one end has taken on */
    alignas(64) uint64_t pushed;                 /* joint: the sender's chunks that are there */
    alignas(64) uint64_t arrived[STREAM_BLOCKS]; /* chunk number + 1 in this block */
    char block[STREAM_BLOCKS][STREAM_BLOCK];
};

/* ---- This process --------------------------------------------------------------------------- */

struct list {
    struct rh_request *first, *last;
};

/* Which word of struct returns a receiver gives back. */
enum return_field { RETURN_LANE, RETURN_INBOX, RETURN_BLOCKS, RETURN_FIELDS };

/* A word on its way to a peer: a count that only grows, in a word that is ours for good, or what is
 * told of one message, in a word that is another message's once its sender has heard. */
struct posted_word {
    uint64_t value; /* what travels */
    uint64_t known; /* what the peer has */
    struct rh_done done;
    bool is_underway;
    bool is_of_message;
    bool is_in_doubt;         /* of a message: its push timed out, so it is not pushed again */
    struct nic_ticket ticket; /* of the swap that follows, see post.c */
};

/* What a receiver tells of a message: which one, and how many chunks it has done. The sender writes
 * the word without any chunk when it announces the message. A name is a place and a count; after
 * 2^32 messages the word could be mistaken, if one of the first was still being told. */
static inline uint64_t done_word(uint64_t send_id, uint32_t chunks)
{
    return send_id / SENDS_MOST << 32 | chunks;
}

static inline bool is_same_message(uint64_t word, uint64_t other)
{
    return word >> 32 == other >> 32;
}

/* A rank we exchange messages with. */
struct peer {
    /* As receiver of ours. */
    bool is_open;              /* its mailbox is there */
    bool is_direct;            /* and its memory in reach of our loads and stores */
    bool wants_no_lane;        /* all lanes were taken */
    int lane;                  /* ours there, or -1 */
    uint64_t lane_next;        /* slots used so far */
    uint64_t lane_known;       /* of which the receiver is done with, at least */
    uint64_t blocks_sent;      /* blocks used so far */
    struct slot *lane_slots;   /* ours there, where the NIC lets us write it directly */
    struct rh_page *lane_page; /* the same, for the notices */
    uint64_t inbox_sent;       /* messages appended so far, for which we need credit */
    uint32_t sent;
    struct list pending;           /* sends that could not start yet, in order */
    struct list controls;          /* the same for control slots, which go first */
    struct doubt *doubt;           /* an append that may have arrived or not, see post.c; or NULL */
    struct telling *tellings;      /* words on their way to it, see post_once() */
    struct nic_ticket lane_ticket; /* of a lane that was asked for and not answered yet */
    int64_t patience_ns;           /* with the next block; 0: little */
    uint16_t post_number;          /* of the last append */
    /* As sender to us. */
    uint16_t taken_number;   /* of the last append that came */
    bool has_taken;          /* and one has come */
    int lane_in;             /* which of our lanes is its, or -1 */
    uint64_t inbox_taken;    /* messages received by the inbox, arrival order */
    uint64_t inbox_done;     /* of which consumed */
    uint64_t inbox_returned; /* of which the sender knows */
    struct posted_word posted[RETURN_FIELDS];
    uint32_t held; /* unexpected messages of its that we keep */
    bool is_gone;  /* died or left, and what it did before has been looked at */
};

/* A lane as its receiver sees it. */
struct lane_in {
    int source;        /* -1: nobody's yet */
    uint64_t next;     /* slots taken so far */
    uint64_t returned; /* of which the sender knows */
    uint64_t blocks_taken;
    uint64_t blocks_returned;
};

/* One end's part in moving a message jointly. */
struct joint {
    int owner;       /* receiver, who has the words */
    uint32_t stream; /* and which */
    uint64_t length; /* of the message */
    uint64_t first;  /* number of its first chunk */
    uint64_t next;   /* chunks that are taken for sure */
    uint64_t done;   /* by this end */
    bool has_claim;  /* we have taken chunk `claim`, and it has not moved yet */
    uint64_t claim;
    struct nic_ticket ticket; /* of a claim that is not answered yet */
};

enum request_kind { REQUEST_SEND, REQUEST_RECEIVE, REQUEST_CONTROL };

enum request_state {
    STATE_PENDING,   /* send: not announced; receive: posted, unmatched */
    STATE_ANNOUNCED, /* send: the receiver knows of it */
    STATE_MATCHED,   /* receive: large message, waiting for a stream or a pull */
    STATE_STREAMING,
    STATE_COMPLETE
};

/* Whether the receiver keeps a stream until we let go of it. */
enum hold { HOLD_NONE, HOLD_ASKED, HOLD_GIVEN };

struct rh_request {
    struct rh_msg *msg;
    enum request_kind kind_of;
    enum request_state state;
    int rank;
    int tag;
    char *buffer;
    size_t length; /* to send, or room */
    int result;
    struct rh_status status;
    bool has_send_id;
    uint64_t send_id;
    struct announcement announced; /* receive: what was matched */
    uint64_t arrival;              /* receive: the message's number, see struct unexpected */
    struct unexpected *record;     /* receive: of the announced message, to put it back */
    bool is_pulled;                /* receive: its sender is to be told */
    int pull_result;
    uint32_t stream;
    uint64_t first_chunk; /* send: number of its first chunk in the stream */
    uint64_t chunk;       /* send: next to push */
    bool is_pushing;      /* send: that one is under way */
    struct rh_done push;  /* send: and this says when it is there */
    bool is_in_doubt;     /* send: the push of the chunk timed out */
    enum hold hold;       /* send: of the stream */
    bool is_joint;        /* send: the receiver has told us where to push */
    struct rh_request *next, *previous;
    union {
        struct slot control; /* of REQUEST_CONTROL */
        struct joint joint;  /* of a send */
    };
};

/* A message that came before its receive. */
struct unexpected {
    struct unexpected *next;
    uint64_t arrival; /* messages are kept in this order */
    int source;
    bool by_inbox;
    struct slot_head head;
    struct rh_request *own_send; /* a send to ourselves */
    size_t length;
    char data[];
};

/* Stays in use until its sender is known to write no more, even if the receive gives up before. */
struct stream_in {
    bool is_used;
    struct rh_request *receive; /* NULL: nobody wants it any more, what comes is dropped */
    int source;
    struct announcement announced;
    uint64_t first_chunk;
    uint64_t chunk;          /* next to copy out */
    uint64_t next_chunk;     /* numbers used so far */
    struct posted_word told; /* chunks that the sender knows to be copied out */
    bool is_held; /* the sender may push something again, and will say when it does not */
    bool is_over; /* the message is, but not that */
    bool is_joint;
    bool is_attached;  /* joint: the buffer is open to the sender */
    bool is_withdrawn; /* joint: the sender has given up, and will say so */
    struct joint joint;
};

struct mail {
    struct rh_msg *msg;
    struct rh_job *job;
    struct counters *counters;
    const _Atomic bool *is_crowded; /* rma_is_crowded() */
    const _Atomic uint32_t *deaths;
    struct turn turn; /* one thread at a time */
    enum way way;
    int rank, size;
    struct lanes *lanes;
    struct returns *returns;
    struct stream_memory *streams; /* STREAM_COUNT of them, made at the first large message */
    struct rh_queue *inbox;
    struct lane_in lane_in[LANE_COUNT];
    struct stream_in stream_in[STREAM_COUNT];
    struct peer *peer;
    struct list posted;  /* receives, oldest first */
    struct list matched; /* receives waiting for a stream or a pull */
    struct list sending; /* sends that are announced or streaming */
    struct unexpected *unexpected_first, **unexpected_end;
    uint32_t pending_count;             /* sends and controls, over all peers */
    uint32_t active_in;                 /* streams in use */
    uint64_t send_ids[SENDS_MOST / 64]; /* set: in use */
    uint64_t send_count;                /* announced so far: makes the names differ */
    struct {
        int rank; /* + 1: given up, but that receiver does not know yet; 0: not so */
        uint64_t send_id;
        bool is_untold; /* there was no memory to tell it */
    } withdrawn[SENDS_MOST];
    uint32_t untold_count;
    bool owes_credit;  /* some inbox_done could not be told */
    uint64_t arrivals; /* messages that came, including own ones */
    uint64_t events;   /* completions and arrivals that somebody may wait for */
    uint32_t waiters;  /* threads that wait long, and may sleep */
    uint32_t deaths_seen;
    uint32_t looks;
};

/* ---- Taking turns --------------------------------------------------------------------------- */

static inline void mail_take(struct mail *mail)
{
    turn_take(&mail->turn);
}

static inline void mail_give(struct mail *mail)
{
    turn_give(&mail->turn);
}

/* ---- Lists of requests ---------------------------------------------------------------------- */

static inline void list_append(struct list *list, struct rh_request *request)
{
    ASSERT((list->first == NULL) == (list->last == NULL));
    ASSERT(!list->last || !list->last->next);
    ASSERT(list->last != request);
    request->next = NULL;
    request->previous = list->last;
    if (list->last)
        list->last->next = request;
    else
        list->first = request;
    list->last = request;
}

static inline void list_remove(struct list *list, struct rh_request *request)
{
    ASSERT((request->previous ? request->previous->next : list->first) == request);
    ASSERT((request->next ? request->next->previous : list->last) == request);
    if (request->previous)
        request->previous->next = request->next;
    else
        list->first = request->next;
    if (request->next)
        request->next->previous = request->previous;
    else
        list->last = request->previous;
}

/* Never with RH_EAGAIN or, but for blocking calls, RH_ETIMEOUT: those mean "still under way". The
 * text of an error is made where it is asked for, since that may be another thread: request.c. */
static inline void request_complete(struct rh_request *request, int result)
{
    ASSERT(turn_is_taken(&request->msg->mail->turn));
    ASSERT(request->state != STATE_COMPLETE);
    ASSERT(result != RH_EAGAIN);
    request->result = result;
    request->state = STATE_COMPLETE;
    if (unlikely(request->record != NULL)) {
        free(request->record);
        request->record = NULL;
    }
    request->msg->mail->events++;
}

/* ---- wire.c: slots to peers ----------------------------------------------------------------- */

static inline bool lane_has_room(const struct mail *mail, int rank)
{
    struct peer *peer = &mail->peer[rank];
    if (likely(peer->lane_next - peer->lane_known < LANE_SLOTS))
        return true;
    /* Only now, because the line comes from another core. acquire: the receiver is done with the
     * slot; pairs with its push of lane_done. */
    peer->lane_known = __atomic_load_n(&mail->returns->peer[rank].lane_done, __ATOMIC_ACQUIRE);
    return peer->lane_next - peer->lane_known < LANE_SLOTS;
}

/* See whether a peer's mailbox is there, and what it is like. RH_ENOSEG: not yet. */
int wire_meet(struct mail *mail, int rank);

/* Push one slot of `head.length` bytes at data into our lane at rank; there must be room. */
int wire_lane(struct mail *mail, int rank, const struct slot_head *head, const void *data);

/* Try to get a message to a peer, by lane or inbox. RH_EAGAIN if there is no room now, the peer is
 * not there yet or the network did not take it. */
int wire_slot(struct mail *mail, int rank, const struct slot_head *head, const void *data);

/* The same for a control slot. */
int wire_control(struct mail *mail, int rank, const struct slot_head *head, const void *data);

/* Try to send a middle message; RH_ETOOBIG if it does not fit this peer's way. */
int wire_block(struct mail *mail, int rank, int tag, const void *data, size_t length);

/* The short way of a receive: if the next message in the lane of this rank is small and the one
 * that is wanted, and nothing older stands in between, take it straight. Looks for it for a
 * moment. */
bool wire_take_next(struct mail *mail, const struct rh_request *receive, struct rh_status *status);

/* Close what ask_for_lane() opened. */
void wire_close(struct mail *mail);

/* Look at one's own lanes and inbox; hands what is there to match_arrival(). */
void wire_poll(struct mail *mail);

/* The program has taken a message that came by the inbox: give credit back. */
void wire_consumed(struct mail *mail, int source, bool by_inbox);

/* ---- post.c: getting things to peers that may be stopped ------------------------------------ */

/* Append a slot to a peer's inbox. 0: it is there, or will be; RH_EAGAIN: not now. */
int post_append(struct mail *mail, int rank, const struct slot_head *head, const void *data);
/* Whether an append is the next of its sender, and not one that was made twice; takes the number
 * out of its head. */
bool post_is_next(struct mail *mail, int source, struct slot_head *head);
/* It has been dealt with. */
void post_taken(struct mail *mail, int source, uint16_t number);
/* Go on with what could not be decided before; whether the inbox takes something else. */
bool post_settle(struct mail *mail, int rank);
/* Push a block. RH_EAGAIN: not now, and the same must be pushed there again. */
int post_block(struct mail *mail, struct rh_remote block, const void *data, size_t length);
/* Write a peer's word, from memory that stays. False if it must be asked for again. */
bool post_word(struct mail *mail, struct posted_word *word, struct rh_remote target,
               uint64_t value);
/* The word's memory goes away. */
void post_withdraw(struct mail *mail, struct posted_word *word);

/* Make a message's word, which is `before` now, `value`, whenever that is; it needs no room there,
 * nor this process to look after it unless the network loses it. False: not now, and nothing was
 * begun. */
bool post_once(struct mail *mail, struct rh_remote target, uint64_t before, uint64_t value);

/* Whether all of these have come, or the peer is gone. */
bool post_tellings(struct mail *mail, int rank);
/* Tell a sender how far we are if it is behind by so many, one count at a time. Returns how far it
 * is known to know. */
uint64_t post_count(struct mail *mail, int rank, enum return_field field, uint64_t count,
                    uint64_t behind);
/* What was taken for sent gets its chance; the rest is withdrawn. */
void post_close(struct mail *mail);

/* ---- match.c: receives and unexpected messages ---------------------------------------------- */

struct arrived {
    int source;
    bool by_inbox;
    uint64_t arrival;
    const struct slot_head *head;
    const char *data;
    size_t length;
};

/* A slot for us: a message, or news about one. False: there is no memory to deal with it now; it
 * stays where it is, and so does what comes behind it. */
bool match_arrival(struct mail *mail, struct arrived *arrived);

/* Let a receive take a message that is there already; false if there is none, then it is posted. */
bool match_receive(struct mail *mail, struct rh_request *receive);

/* The unexpected message a receive with this envelope would take, or NULL. */
const struct unexpected *match_find(const struct mail *mail, int rank, int tag);
void match_fill_status(const struct unexpected *message, struct rh_status *status);

/* A send to ourselves. */
void match_own(struct mail *mail, struct rh_request *send);

void match_forget_own(struct mail *mail, const struct rh_request *send);

/* A receive gives up before its announced message has begun to move: somebody else may have it. */
void match_put_back(struct mail *mail, struct rh_request *receive);

/* Forget announced messages of peers that are gone. */
void match_drop_gone(struct mail *mail);

void match_close(struct mail *mail);

/* ---- stream.c: large messages --------------------------------------------------------------- */

/* Give a send its number and make its announcement. RH_EAGAIN if all numbers are in use. */
int stream_announce(struct mail *mail, struct rh_request *send);
/* Give a send's number back: it is over, or was never announced. */
void stream_release(struct mail *mail, struct rh_request *send);
/* An announced send gives up. Its number stays in use until the receiver has heard of it. */
void stream_withdraw(struct mail *mail, struct rh_request *send);

/* The receiver has a place for an announced message: start moving it. */
void stream_receive(struct mail *mail, struct rh_request *receive);
/* A receive in STATE_STREAMING gives up: what still comes is dropped. */
void stream_abandon(struct mail *mail, struct rh_request *receive);

/* News for an announced send, or for its receiver. False: not now, there is no memory to answer. */
bool stream_proceed(struct mail *mail, int source, const struct go_ahead *go_ahead);
void stream_finished(struct mail *mail, int source, uint64_t send_id);
bool stream_withdrawn(struct mail *mail, int source, uint64_t send_id);
bool stream_hold(struct mail *mail, int source, uint64_t send_id);
bool stream_held(struct mail *mail, int source, uint64_t send_id);
void stream_let_go(struct mail *mail, int source, uint64_t send_id);

/* Move chunks, start what waits for a stream. */
void stream_progress(struct mail *mail);
/* Bytes of a large message that have moved so far. */
uint64_t stream_moved(const struct mail *mail, const struct rh_request *request);
/* End what hangs on peers that are gone. */
void stream_end_gone(struct mail *mail);

/* For joint.c: whether a chunk whose push timed out may be pushed again; if not, ask again. */
bool stream_may_repeat(struct mail *mail, struct rh_request *send);
/* A free stream for this receive, NULL if there is none. */
struct stream_in *stream_take(struct mail *mail, struct rh_request *receive, uint64_t chunk_count);
void stream_give_back(struct mail *mail, struct stream_in *stream);
bool stream_tell_go_ahead(struct mail *mail, const struct stream_in *stream);
void stream_end_send(struct mail *mail, struct rh_request *send, unsigned way);
/* The whole message is where it belongs, or nobody wants it. False: the sender cannot be told
 * now. */
bool stream_finish(struct mail *mail, struct stream_in *stream);

/* ---- joint.c: large messages by both ends together ------------------------------------------ */

/* Whether a sender should offer it. */
bool joint_is_wise(const struct mail *mail, const struct rh_request *send);
/* The receiver begins. False: it cannot, the message is to be moved otherwise. */
bool joint_open(struct mail *mail, struct rh_request *receive);
void joint_proceed(struct rh_request *send, const struct go_ahead *go_ahead);
/* Move at most one chunk. */
void joint_progress_out(struct mail *mail, struct rh_request *send);
void joint_progress_in(struct mail *mail, struct stream_in *stream);
/* The receiver's buffer is its program's again. */
void joint_detach(struct mail *mail, struct stream_in *stream);
uint64_t joint_moved(const struct joint *joint);

/* ---- progress.c ----------------------------------------------------------------------------- */

/* Start a send: at once, or when there is room. */
void progress_send(struct mail *mail, struct rh_request *send);
/* Get a control slot to a peer, now or later. False: neither, there is no memory to remember it. */
bool progress_control(struct mail *mail, int rank, const struct slot_head *head, const void *data);
/* Go on with those that could not be sent yet; whether all are with the peer now. */
bool progress_controls(struct mail *mail, int rank);
void progress_drop_controls(struct mail *mail, int rank);
/* Everything that can go on without waiting. Also for whoever waits for something else
 * meanwhile. */
void progress(struct mail *mail);
/* End a request that is not complete: take it off its list. */
void progress_abort(struct mail *mail, struct rh_request *request, int result);

#endif
