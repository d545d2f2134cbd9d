/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parcels: messages whose receives are matched by somebody else, the libfabric provider. They
 * travel as all messages do, with an envelope of a few bytes before the data, in the slot or beside
 * the RTS. A mailbox is either the program's own calls' or somebody's who takes parcels; then every
 * message is handed to that one's sink as it comes, and nothing is kept here.
 *
 * Whoever has the parcels takes the mailbox's turn before each of these calls, and calls progress
 * when it wants some. Requests that are over are queued, in order, and not looked at any more, so
 * that nobody is called back from the middle of things.
 */
#pragma once

#include "msg/layout.h"
#include "msg/request.h"

#include <string.h>

#define ENVELOPE_MAX (SLOT_INLINE - sizeof(struct rts))

/* One that has come. */
struct parcel {
    int source;
    uint32_t label;   /* what the sender has put on it */
    bool is_long;     /* by rendezvous: ask for it by parcel_fetch() */
    const char *data; /* envelope, and data unless it is long; until the sink returns */
    size_t length;    /* of that */
    struct rts rts;   /* of a long one */
};

/* Takes a parcel over. False: not now, there is no memory; it is handed in again later. */
typedef bool (*parcel_sink)(void *context, const struct parcel *parcel);

struct parcels {
    parcel_sink sink;
    void *context;
    struct rh_request *over_first, **over_end;
    uint32_t looks;
    char whole[BLOCK_LENGTH]; /* an envelope and its data, on their way */
};

struct mail;

/* The mailbox's messages are parcels from now on; before any has been sent. */
int parcels_open(struct mail *mail, parcel_sink sink, void *context);
void parcels_close(struct mail *mail);

/* Send one; the request has rank, tag (the label), buffer, length and envelope, is_parcel, and
 * lives until it is over. Not to ourselves. */
void parcel_send(struct mail *mail, struct rh_request *send);

/* The short way: whether a parcel of at most SLOT_INLINE bytes has gone, envelope and data in
 * one. */
bool parcel_send_short(struct mail *mail, int rank, uint32_t label, const void *whole,
                       size_t length);

/* Bring a long parcel into the request's buffer, which may be too short for it. */
void parcel_fetch(struct mail *mail, struct rh_request *receive, int source, const struct rts *rts);

/* End a request that is not over: it will be, with an error, and its memory is its program's. True:
 * its sender has not been told to begin, and waits until the message is fetched once more. */
bool parcel_abort(struct mail *mail, struct rh_request *request);

/* Let everything go on that can, without waiting. */
void parcels_progress(struct mail *mail);
/* The same, for who calls again and again and wants to see quickly what comes by a lane: looks at
 * everything else now and then, and says whether it has. */
bool parcels_look(struct mail *mail);

/* The next request that is over, or NULL. */
static inline struct rh_request *parcels_over(struct parcels *parcels)
{
    struct rh_request *request = parcels->over_first;
    if (likely(!request))
        return NULL;
    parcels->over_first = request->over_next;
    if (!parcels->over_first)
        parcels->over_end = &parcels->over_first;
    return request;
}

/* ---- For the mailbox ------------------------------------------------------------------------ */

static inline void parcel_over(struct parcels *parcels, struct rh_request *request)
{
    request->over_next = NULL;
    *parcels->over_end = request;
    parcels->over_end = &request->over_next;
}

/* What travels: the data, behind the envelope if it has one. */
static inline const void *parcel_whole(const struct rh_request *send, char *room)
{
    if (likely(send->envelope_length == 0))
        return send->buffer;
    memcpy(room, send->envelope, send->envelope_length);
    if (send->length > 0)
        memcpy(room + send->envelope_length, send->buffer, send->length);
    return room;
}
