/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Slots to peers and from peers: wire.c.
 */
#ifndef MSG_WIRE_H
#define MSG_WIRE_H

#include "msg/mail.h"

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

/* The longest message that wire_block() takes for a peer that is prepared. */
static inline size_t wire_block_most(const struct mail *mail, int rank)
{
    return mail->peer[rank].lane < 0 ? INBOX_LENGTH : BLOCK_LENGTH;
}

/* The same for a middle message. */
int wire_block(struct mail *mail, int rank, int tag, const void *data, size_t length);

/* The short way of a receive: if the next message in the lane of this rank is small and the one
 * that is wanted, and nothing older stands in between, take it straight. Looks for it for a
 * moment. */
bool wire_take_next(struct mail *mail, const struct rh_request *receive, struct rh_status *status);

/* Close what wire_prepare() opened. */
void wire_close(struct mail *mail);

/* Look at one's own lanes and inbox; hands what is there to match_arrival(). */
void wire_poll(struct mail *mail);

/* The program has taken a message that came by the inbox: give credit back. */
void wire_consumed(struct mail *mail, int source, bool by_inbox);

#endif
