/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sends and receives that are not over yet: what they have in common, and a part of their own for
 * each, which is mostly about long messages (rendezvous/rendezvous.h).
 */
#pragma once

#include "msg/layout.h"

/* How a message goes, by its length and what its receiver has for us: in the slot, in a block that
 * the slot tells of, or by an RTS. */
enum protocol { PROTOCOL_UNDECIDED, PROTOCOL_INLINE, PROTOCOL_BLOCK, PROTOCOL_RENDEZVOUS };

/* Values of RHINET_MSG_WAY; the last three are also how a long message moves. */
enum way { WAY_AUTO, WAY_PUSH, WAY_RING, WAY_PULL, WAY_BOTH_ENDS };

/* The sender's pushes through the blocks of a stream. */
struct ring_out {
    uint32_t stream;
    uint64_t first_chunk; /* number of its first chunk in the stream */
    uint64_t chunk;       /* next to push */
    bool is_pushing;      /* that one is under way */
    struct rh_done push;  /* and this says when it is there */
};

/* One end's part in moving a message by both. */
struct both_ends {
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

/* Whether the receiver keeps a stream until we let go of it. */
enum hold { HOLD_NONE, HOLD_ASKED, HOLD_GIVEN };

struct send_part {
    enum protocol protocol;
    bool has_rts; /* and with it a name, and perhaps a segment */
    bool has_cts;
    enum way way;     /* as the CTS says */
    bool is_in_doubt; /* the push of a chunk timed out */
    enum hold hold;   /* of the stream, because of that */
    struct rts rts;
    union {
        struct ring_out ring;
        struct both_ends both_ends;
    };
};

struct receive_part {
    enum way way;   /* as the receiver has picked it, once */
    bool is_pulled; /* but its sender could not be told yet */
    int pull_result;
    struct rts rts;            /* what was matched */
    struct unexpected *record; /* of the RTS, to put it back */
    struct stream *stream;     /* by which it moves, or NULL */
};

enum request_state {
    STATE_PENDING,  /* send: not begun; receive: posted, unmatched */
    STATE_UNDERWAY, /* a long message; or a send to ourselves that has no receive yet */
    STATE_COMPLETE
};

struct rh_request {
    struct rh_msg *msg;
    struct rh_request *next, *previous;
    bool is_send;
    enum request_state state;
    int rank;
    int tag;
    char *buffer;
    size_t length; /* to send, or room */
    int result;
    struct rh_status status; /* of a receive */
    /* Of parcels only, see parcel.h: */
    bool is_parcel;
    uint16_t envelope_length;
    const void *envelope;         /* goes before the data */
    struct rh_request *over_next; /* complete, and not looked at yet */
    union {
        struct send_part out;
        struct receive_part in;
    };
};

/* ---- Lists of requests ---------------------------------------------------------------------- */

struct list {
    struct rh_request *first, *last;
};

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
