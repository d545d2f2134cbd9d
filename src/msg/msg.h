/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a mailbox is made of, and what the files of src/msg share.
 *
 * A message is announced to its receiver by a slot of one cache line. The first few senders of a
 * receiver get a lane each: a ring of slots that only they write, so that a slot costs one notified
 * push and nothing else; all others append to the receiver's one inbox. So receiving costs the same
 * however many senders there are, and a busy pair is as fast as the memory allows.
 *
 * Short messages travel inside the slot; middle ones are pushed into a block of the lane first (or
 * appended whole); of long ones the slot only says that they are there (RTS), and they move once
 * the receiver has a place for them: rendezvous/rendezvous.h tells how. Which of the three it is is
 * decided once per message, by choose() in progress.c. A lane that is full, an inbox without
 * credit, a stream without blocks: each makes the sender wait, so a receiver that does not receive
 * needs bounded memory.
 *
 *   layout.h    what peers write                 request.h   sends and receives
 *   mail.h      what a mailbox knows             mailbox.c   open and close
 *   send_receive.c, request.c                    the public calls
 *   progress.c  what arrives, what can go on
 *   wire.c      slots: lanes and inbox           match.c     posted receives, unexpected messages
 *   post.c      to peers that may be stopped     control.c   slots that are no messages
 *   parcel.h    a mailbox that the libfabric provider has instead of the program
 *   matching.h  how messages with tags of 64 bits find their receives
 *
 *   rendezvous/  long messages
 *   lock/, set/  each with memory of its own, not part of this
 */
#pragma once

#include "base/assert.h"
#include "base/error.h"
#include "base/likely.h"
#include "msg/msg_layer.h"
#include "rma/inside.h"

#include <rhinet/msg.h>
#include <stdalign.h>
#include <stdatomic.h>

/* ---- The mailbox ---------------------------------------------------------------------------- */

struct mail;    /* send and receive: mail.h */
struct locks;   /* lock/lock.h */
struct set_hub; /* set/set.h */

struct rh_msg {
    struct rh_job *job;
    bool is_lent;       /* to the program, which closes it */
    struct rh_set *all; /* of rh_barrier_all(), or NULL */
    struct mail *mail;
    struct locks *locks;
    struct set_hub *sets;
};

/* Open the mailbox for ourselves; rh_msg_open() lends it to the program. */
int mailbox_open(struct rh_msg **msg, struct rh_job *job);

/* Each part opens and closes its own memory; mailbox.c calls them in this order and back. */
int locks_open(struct rh_msg *msg);
void locks_close(struct rh_msg *msg);
int sets_open(struct rh_msg *msg);
void sets_close(struct rh_msg *msg);

/* Wait for a word as rma_wait_word() does, but let messages that are under way go on meanwhile: who
 * has started a send, and then waits at a barrier, must not keep the receiver from coming there. */
struct stall_watch;
int mail_wait_word(struct rh_msg *msg, const struct rh_wait *wait, struct stall_watch *stall);
