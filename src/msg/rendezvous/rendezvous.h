/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Long messages, by rendezvous: nothing moves before the receiver has a buffer.
 *
 *   sender                                        receiver
 *   names the message, opens its memory
 *   if it offers that                  -- RTS ->  in order with short messages; matched as they are
 *                                                 picks the way, once:
 *                                                   ring       through blocks of a stream's memory
 *                                                   pull       alone, out of the sender's memory
 *                                                   both ends  each copies what the other has not
 *   pushes (ring, both ends)           <- CTS --  unless it pulls alone; names a stream
 *   ...                                <- done -  how many chunks it has copied out, or: all
 *   is over, its name is free                     is over, its stream is free
 *
 * RTS is a slot like any message. CTS is a control slot. `done` is a word in the sender's memory
 * that names its message (layout.h), so the end of a message needs no slot and no room. A receiver
 * has a few streams, each for one message at a time; chunk numbers of a stream only grow, so what
 * is left of an earlier message never looks like something of this one. No free stream: the message
 * waits (ring) or is pulled (both ends).
 *
 * Either side may give up at any time. A sender closes its memory and keeps the name out of use
 * until the receiver has been heard: it says `withdraw` if the receiver counts on it, which is once
 * the CTS has come, and the receiver answers. A receiver that gives up before anything has moved
 * puts the RTS back; later, it closes its buffer and goes on dropping what comes, and the stream is
 * free only when the sender is known to write no more. Whoever is gone has given up.
 *
 * A push that timed out may have landed, and whose memory it then is the sender does not know; it
 * may be lost, too, and must be made again. So the receiver is first asked to keep the stream
 * (`hold`, `held`) until the sender lets go of it; also by a sender that then gives up.
 *
 * Models: tests/model/pulled.pml (the word), both_ends.pml (both ends), hold.pml (pushes in doubt).
 *
 *   rendezvous.c  opening, news, progress      name.c       names of messages, and withdrawals
 *   send.c        the sender: RTS to done      ring.c       chunks through blocks, both sides
 *   receive.c     the receiver: picks, pulls   both_ends.c  chunks that each end takes on
 *
 * send.c and receive.c decide; the ways move bytes when asked and return how far it is, and nobody
 * here calls back into matching or progress.
 */
#pragma once

#include "msg/request.h"

struct mail;

int rendezvous_open(struct mail *mail);
void rendezvous_close(struct mail *mail);

/* Send the RTS of a message. 0: the rest goes by itself; RH_EAGAIN: not now; else it has failed. */
int rendezvous_send(struct mail *mail, struct rh_request *send);
/* A send that has not ended gives up. */
void rendezvous_withdraw(struct mail *mail, struct rh_request *send);

/* An RTS has found its receive, which has in.rts and the status: begin to move. An error: it cannot
 * be moved, and the RTS is still the caller's. */
int rendezvous_receive(struct mail *mail, struct rh_request *receive);
/* The receive gives up. True: nothing has moved, somebody else may have the message. */
bool rendezvous_abandon(struct mail *mail, struct rh_request *receive);

/* A control slot has come. False: not now, there is no memory to answer. */
bool rendezvous_control(struct mail *mail, int source, enum slot_kind kind, const void *data);

/* Whatever can move, moves; to be called while mail->long_count is not 0. */
void rendezvous_progress(struct mail *mail);
/* Bytes of a message that have moved so far. */
uint64_t rendezvous_moved(const struct rh_request *request);
/* End what hangs on peers that are gone. */
void rendezvous_gone_end(struct mail *mail);
