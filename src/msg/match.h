/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What stands above the long messages, and is not called by them: match.c and progress.c.
 */
#pragma once

#include "msg/mail.h"

/* ---- match.c: bringing messages and receives together ---------------------------------------- */

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
void match_status_fill(const struct unexpected *message, struct rh_status *status);

/* A send to ourselves. */
void match_own(struct mail *mail, struct rh_request *send);

void match_own_forget(struct mail *mail, const struct rh_request *send);

/* A receive gives up before its long message has begun to move: somebody else may have it. */
void match_put_back(struct mail *mail, struct rh_request *receive);

/* Forget RTS of peers that are gone. */
void match_gone_drop(struct mail *mail);

void match_close(struct mail *mail);

/* ---- parcel.c: messages that somebody else matches ------------------------------------------- */

/* False: not now, for want of memory. */
bool parcel_hand(struct mail *mail, const struct arrived *arrived);

/* ---- progress.c: what goes on by itself whenever somebody calls ------------------------------ */

/* Start a send: at once, or when there is room. */
void progress_send(struct mail *mail, struct rh_request *send);
/* Everything that can go on without waiting. Also for whoever waits for something else
 * meanwhile. */
void progress(struct mail *mail);
/* End a request that is not complete: take it off its list. */
void progress_abort(struct mail *mail, struct rh_request *request, int result);
