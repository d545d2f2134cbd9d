/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Send and receive: what a mailbox knows of itself and of its peers. How it works is told in msg.h.
 */
#pragma once

#include "base/fetch.h"
#include "base/small_copy.h"
#include "base/turn.h"
#include "msg/layout.h"
#include "msg/msg.h"
#include "msg/parcel.h"
#include "msg/post.h"
#include "msg/request.h"

#include <stdlib.h>
#include <string.h>

#define HELD_MAX   1024 /* unexpected messages of one lane before it is left alone */
#define LANE_AFTER 4    /* messages to one receiver before a lane is asked for */
/* Slots in a row that mean a stream, and how many ahead their lines are asked for then. */
#define STREAM_STREAK 8
#define STREAM_AHEAD  8

/* A rank we exchange messages with. */
struct peer {
    /* As receiver of ours. */
    bool is_open;                /* its mailbox is there */
    bool is_direct;              /* and its memory in reach of our loads and stores */
    bool wants_no_lane;          /* all lanes were taken */
    int lane;                    /* ours there, or -1 */
    uint64_t lane_next;          /* slots used so far */
    uint64_t lane_known;         /* of which the receiver is done with, at least */
    uint64_t blocks_sent;        /* blocks used so far */
    uint32_t streak;             /* short sends since something of its was received */
    struct slot *lane_slots;     /* ours there, where the NIC lets us write it directly */
    struct rh_page *lane_page;   /* the same, for the notices */
    struct rma_words lane_words; /* and for those that are stored without a call */
    uint64_t inbox_sent;         /* messages appended so far, for which we need credit */
    uint32_t sent;
    struct list pending;           /* sends that could not start yet, in order */
    struct control *controls;      /* the same for control slots, which go first: control.c */
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
    uint32_t streak;   /* slots in a row that were there at the first look */
    uint64_t blocks_taken;
    uint64_t blocks_returned;
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

struct mail {
    struct rh_msg *msg;
    struct rh_job *job;
    struct counters *counters;
    const _Atomic bool *is_crowded; /* rma_is_crowded() */
    const _Atomic uint32_t *deaths;
    const _Atomic uint32_t *joins; /* rma_joins() */
    struct turn turn;              /* one thread at a time */
    enum way way;
    int rank, size;
    struct lanes *lanes;
    struct returns *returns;
    struct rh_queue *inbox;
    struct lane_in lane_in[LANE_COUNT];
    struct peer *peer;
    struct list posted; /* receives, oldest first */
    struct unexpected *unexpected_first, **unexpected_end;
    struct rendezvous *rendezvous; /* long messages: rendezvous/rendezvous.h */
    uint32_t long_count;           /* of which something is to be done, either way */
    uint32_t pending_count;        /* sends and controls, over all peers */
    bool owes_credit;              /* some inbox_done could not be told */
    uint64_t arrivals;             /* messages that came, including own ones */
    uint64_t events;               /* completions and arrivals that somebody may wait for */
    uint32_t waiters;              /* threads that wait long, and may sleep */
    uint32_t deaths_seen, joins_seen;
    uint32_t looks;
    struct parcels *parcels; /* whose mailbox this is, if not the program's own calls': parcel.h */
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

/* ---- The end of a request ------------------------------------------------------------------- */

/* Never with RH_EAGAIN or, but for blocking calls, RH_ETIMEOUT: those mean "still under way". The
 * text of an error is made where it is asked for, since that may be another thread: request.c. */
static inline void request_complete(struct rh_request *request, int result)
{
    ASSERT(turn_is_taken(&request->msg->mail->turn));
    ASSERT(request->state != STATE_COMPLETE);
    ASSERT(result != RH_EAGAIN);
    request->result = result;
    request->state = STATE_COMPLETE;
    if (unlikely(!request->is_send && request->in.record)) {
        free(request->in.record);
        request->in.record = NULL;
    }
    request->msg->mail->events++;
    if (unlikely(request->is_parcel))
        parcel_over(request->msg->mail->parcels, request);
}

/* What a receive asks for. */
struct wanted {
    int rank, tag;
    void *buffer;
    size_t room;
};

/* ---- wire.c: slots to peers and from peers --------------------------------------------------- */

/* Small copies of a length that is mostly 8. */
static inline void slot_copy(char *target, const void *source, size_t length)
{
    ASSERT(length <= SLOT_INLINE);
    if (likely(length == 8))
        memcpy(target, source, 8);
    else
        small_copy(target, source, length);
}

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

/* Before a slot to a peer that has no lane for us: see whether its mailbox is there, and ask for a
 * lane if it is worth one. RH_ENOSEG or RH_EAGAIN: not yet. */
int wire_prepare(struct mail *mail, int rank);

/* Push one slot of `head.length` bytes at data into our lane at rank; there must be room. */
int wire_lane(struct mail *mail, int rank, const struct slot_head *head, const void *data);

/* Try to get a slot to a peer that is prepared, by lane or inbox. RH_EAGAIN if there is no room now
 * or the network did not take it. */
int wire_slot(struct mail *mail, int rank, const struct slot_head *head, const void *data);

/* The same for a middle message, of INBOX_LENGTH at most where there is no lane. */
int wire_block(struct mail *mail, int rank, int tag, const void *data, size_t length);

/* The short way of a small message by a lane that the NIC must write. Whether it has gone.
 * progress.c has it. */
bool wire_short_far(struct mail *mail, int rank, int32_t tag, const void *data, size_t length);

/* The short way of a small message: a slot in a lane that is there and in reach and has room, or
 * NULL. The caller writes its data, then calls wire_slot_send(): plain stores, then the number, all
 * in one line. */
static inline struct slot *wire_slot_take(struct mail *mail, int rank)
{
    struct peer *peer = &mail->peer[rank];
    if (unlikely(!peer->lane_slots || peer->pending.first || !lane_has_room(mail, rank) ||
                 !rma_words_stand(&peer->lane_words)))
        return NULL;
    if (++peer->streak > STREAM_STREAK) /* else the receiver looks at them, waiting */
        fetch_to_write(&peer->lane_slots[(peer->lane_next + STREAM_AHEAD) % LANE_SLOTS]);
    return &peer->lane_slots[peer->lane_next % LANE_SLOTS];
}

static inline void wire_slot_send(struct mail *mail, int rank, struct slot *slot, int32_t tag,
                                  size_t length)
{
    struct peer *peer = &mail->peer[rank];
    struct slot_head head = {.tag = tag, .kind = SLOT_INLINED, .length = (uint16_t)length};
    ASSERT(length <= SLOT_INLINE);
    memcpy(&slot->head, &head, sizeof(head));
    rma_words_store(&peer->lane_words, &slot->number, ++peer->lane_next);
    counter_add(mail->counters, COUNTER_MSG_INLINE, 1);
    counter_add(mail->counters, COUNTER_MSG_BYTES, length);
}

/* All of it. Whether it has gone. */
static inline bool wire_short(struct mail *mail, int rank, int32_t tag, const void *data,
                              size_t length)
{
    struct slot *slot = wire_slot_take(mail, rank);
    if (unlikely(!slot))
        return wire_short_far(mail, rank, tag, data, length);
    slot_copy(slot->data, data, length);
    wire_slot_send(mail, rank, slot, tag, length);
    return true;
}

/* The short way of a receive: if the next message in the lane of this rank is small and the one
 * that is wanted, and nothing older stands in between, take it straight. Looks for it for a
 * moment. */
bool wire_next_take(struct mail *mail, const struct wanted *wanted, struct rh_status *status);

/* Close what wire_prepare() opened. */
void wire_close(struct mail *mail);

/* Look at one's own lanes and inbox; hands what is there to match_arrival(). */
void wire_poll(struct mail *mail);
/* At the lanes only. */
void wire_lanes_poll(struct mail *mail);

/* The program has taken a message that came by the inbox: give credit back. */
void wire_consumed(struct mail *mail, int source, bool by_inbox);
