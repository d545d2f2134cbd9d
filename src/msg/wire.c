/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Slots to peers and from peers: lanes and inbox.
 *
 * The sender knows its own position in a lane and, from `lane_done`, how far the receiver is; the
 * receiver finds the next slot by its number, which only the right position can have. Order between
 * the messages that a sender sent by the inbox and those it sent by its lane later: the lane says
 * how many of the former there were, and is left alone until they have been taken.
 */
#include "base/clock.h"
#include "msg/match.h"
#include "rma/inside.h"

#include <stddef.h>
#include <string.h>

#define RETURN_EVERY (LANE_SLOTS / 4)
#define CREDIT_EVERY (INBOX_CREDIT / 4)
/* For a message that is about to come, before anything else is done. */
#define EAGER_LOOKS         1024
#define EAGER_LOOKS_CROWDED 16
#define LANE_SOON_NS        (5 * NS_PER_MS)

/* ---- Sending -------------------------------------------------------------------------------- */

/* RH_ETIMEOUT of a store or of an inline push means that the network did not take it: worth another
 * try, while the caller waits. */
static inline int or_again(int result)
{
    return unlikely(result == RH_ETIMEOUT) ? RH_EAGAIN : result;
}

static uint64_t slot_offset(int lane, uint64_t position)
{
    return offsetof(struct lanes, slot) +
           ((uint64_t)lane * LANE_SLOTS + position % LANE_SLOTS) * sizeof(struct slot);
}

static uint64_t block_offset(int lane, uint64_t number)
{
    return offsetof(struct lanes, block) +
           ((uint64_t)lane * LANE_BLOCKS + number % LANE_BLOCKS) * BLOCK_LENGTH;
}

static bool has_block(const struct mail *mail, int rank)
{
    /* acquire: the receiver has copied the block out; pairs with its push of blocks_done */
    uint64_t done = __atomic_load_n(&mail->returns->peer[rank].blocks_done, __ATOMIC_ACQUIRE);
    return mail->peer[rank].blocks_sent - done < LANE_BLOCKS;
}

/* Where the lane is in reach: plain stores, then the notice, all in one line. */
static inline int write_lane(struct peer *peer, const struct slot_head *head, const void *data)
{
    uint64_t index = peer->lane_next % LANE_SLOTS;
    struct slot *slot = &peer->lane_slots[index];
    slot->head = *head;
    slot_copy(slot->data, data, head->kind == SLOT_BLOCK ? 0 : head->length);
    return rh_store(peer->lane_page, index * sizeof(*slot), peer->lane_next + 1, 8);
}

static int push_lane(struct mail *mail, int rank, const struct slot_head *head, const void *data)
{
    struct peer *peer = &mail->peer[rank];
    uint64_t at = slot_offset(peer->lane, peer->lane_next);
    struct {
        struct slot_head head;
        char data[SLOT_INLINE];
    } body;
    body.head = *head;
    size_t length = head->kind == SLOT_BLOCK ? 0 : head->length;
    slot_copy(body.data, data, length);
    struct rh_notice notice = {.word = rh_at(rank, MSG_SID_LANES, at),
                               .value = peer->lane_next + 1};
    return rma_push_notify_inline(mail->job,
                                  rh_at(rank, MSG_SID_LANES, at + offsetof(struct slot, head)),
                                  &body, sizeof(body.head) + length, &notice);
}

int wire_lane(struct mail *mail, int rank, const struct slot_head *head, const void *data)
{
    struct peer *peer = &mail->peer[rank];
    ASSERT(peer->lane >= 0);
    ASSERT(peer->lane_next - peer->lane_known < LANE_SLOTS);
    ASSERT(head->kind == SLOT_BLOCK || head->length <= SLOT_INLINE);
    int result = likely(peer->lane_slots) ? write_lane(peer, head, data)
                                          : push_lane(mail, rank, head, data);
    if (unlikely(result < 0))
        return or_again(result);
    peer->lane_next++;
    return 0;
}

/* The peer's mailbox, once it is there; asking is not an access, so nothing is counted as
 * denied. */
static int meet(struct mail *mail, int rank)
{
    struct peer *peer = &mail->peer[rank];
    if (peer->is_open)
        return 0;
    int result = rh_segment_wait(mail->job, rank, MSG_SID_INBOX, RH_TIMEOUT_NONE);
    if (result < 0)
        return or_again(result);
    peer->is_open = true;
    peer->is_direct = rh_remote_ptr(mail->job, rh_at(rank, MSG_SID_LANES, 0), 8) != NULL;
    return 0;
}

/* A receiver we talk to a lot: ask for a lane. Whatever goes wrong, the inbox is still there. */
static void ask_for_lane(struct mail *mail, int rank)
{
    struct peer *peer = &mail->peer[rank];
    uint64_t taken = LANE_COUNT;
    struct nic_atomic_operands one_more = {
        .operation = NIC_FETCH_ADD, .operand = 1, .ticket = &peer->lane_ticket};
    peer->lane_ticket.deadline_ns = rma_deadline_ns(mail->job, LANE_SOON_NS);
    int result = rma_atomic(mail->job, rh_at(rank, MSG_SID_LANES, offsetof(struct lanes, taken)),
                            &one_more, &taken);
    if (result == RH_ETIMEOUT && peer->lane_ticket.is_open)
        return; /* it is asked on */
    peer->wants_no_lane = true;
    if (result < 0 || taken >= LANE_COUNT)
        return;
    uint64_t owner = (uint64_t)(uint32_t)(mail->rank + 1) | peer->inbox_sent << 32;
    uint64_t at = offsetof(struct lanes, info) + taken * sizeof(((struct lanes *)0)->info[0]);
    result = rh_push_inline(mail->job, rh_at(rank, MSG_SID_LANES, at), &owner, sizeof(owner));
    if (result < 0)
        return;
    peer->lane = (int)taken;
    struct rh_remote slots = rh_at(rank, MSG_SID_LANES, slot_offset(peer->lane, 0));
    uint64_t length = LANE_SLOTS * sizeof(struct slot);
    if (rh_page_open(mail->job, slots, length, &peer->lane_page) < 0)
        return;
    rma_page_words(peer->lane_page, &peer->lane_words);
    peer->lane_slots = rh_remote_ptr(mail->job, slots, length);
}

void wire_close(struct mail *mail)
{
    for (int rank = 0; rank < rma_used(mail->job); rank++) {
        if (mail->peer[rank].lane_page)
            rh_page_close(mail->peer[rank].lane_page);
    }
    post_close(mail);
}

int wire_prepare(struct mail *mail, int rank)
{
    struct peer *peer = &mail->peer[rank];
    int result = meet(mail, rank);
    if (result < 0)
        return result;
    if (peer->lane < 0 && !peer->wants_no_lane && peer->sent++ >= LANE_AFTER)
        ask_for_lane(mail, rank);
    return 0;
}

static int append_with_credit(struct mail *mail, int rank, const struct slot_head *head,
                              const void *data)
{
    struct peer *peer = &mail->peer[rank];
    uint64_t done = __atomic_load_n(&mail->returns->peer[rank].inbox_done, __ATOMIC_ACQUIRE);
    if (peer->inbox_sent - done >= INBOX_CREDIT)
        return RH_EAGAIN;
    int result = post_append(mail, rank, head, data);
    if (result == 0)
        peer->inbox_sent++;
    return result;
}

int wire_slot(struct mail *mail, int rank, const struct slot_head *head, const void *data)
{
    ASSERT(rank != mail->rank); /* what goes to ourselves never leaves the process */
    ASSERT(head->length <= SLOT_INLINE);
    if (mail->peer[rank].lane < 0)
        return append_with_credit(mail, rank, head, data);
    if (!lane_has_room(mail, rank))
        return RH_EAGAIN;
    return wire_lane(mail, rank, head, data);
}

int wire_block(struct mail *mail, int rank, int tag, const void *data, size_t length)
{
    struct peer *peer = &mail->peer[rank];
    struct slot_head head = {.tag = tag, .kind = SLOT_BLOCK, .length = (uint16_t)length};
    if (peer->lane < 0)
        return append_with_credit(mail, rank, &head, data);
    if (!lane_has_room(mail, rank) || !has_block(mail, rank))
        return RH_EAGAIN;
    uint64_t at = block_offset(peer->lane, peer->blocks_sent);
    int result = post_block(mail, rh_at(rank, MSG_SID_LANES, at), data, length);
    if (result < 0)
        return result;
    result = wire_lane(mail, rank, &head, NULL);
    if (result == 0)
        peer->blocks_sent++;
    return result;
}

/* ---- Receiving ------------------------------------------------------------------------------ */

static void return_lane(struct mail *mail, struct lane_in *lane)
{
    lane->returned = post_count(mail, lane->source, RETURN_LANE, lane->next, RETURN_EVERY);
}

static void return_blocks(struct mail *mail, struct lane_in *lane)
{
    lane->blocks_returned = post_count(mail, lane->source, RETURN_BLOCKS, lane->blocks_taken, 1);
}

/* Whoever is behind a stream has the next lines come while it works. */
static inline void note_taken(struct mail *mail, const struct lane_in *lane, int index)
{
    mail->peer[lane->source].streak = 0;
    if (lane->streak > STREAM_STREAK)
        fetch_to_read(&mail->lanes->slot[index][(lane->next + STREAM_AHEAD) % LANE_SLOTS]);
}

static bool take_from_lane(struct mail *mail, int index)
{
    struct lane_in *lane = &mail->lane_in[index];
    ASSERT(mail->peer[lane->source].lane_in == index);
    struct slot *slot = &mail->lanes->slot[index][lane->next % LANE_SLOTS];
    /* acquire: the number is the notice; what it announces is there. Pairs with wire_lane(). */
    if (__atomic_load_n(&slot->number, __ATOMIC_ACQUIRE) != lane->next + 1) {
        lane->streak = 0;
        return false;
    }
    lane->streak++;
    note_taken(mail, lane, index);
    struct slot_head head = slot->head; /* copied out before it is checked */
    struct arrived arrived = {.source = lane->source, .head = &head, .data = slot->data};
    bool in_block = head.kind == SLOT_BLOCK;
    size_t most = in_block ? BLOCK_LENGTH : SLOT_INLINE;
    arrived.length = head.length < most ? head.length : most;
    if (in_block)
        arrived.data = mail->lanes->block[index][lane->blocks_taken % LANE_BLOCKS];
    if (!match_arrival(mail, &arrived))
        return false;
    lane->blocks_taken += in_block;
    lane->next++;
    if (unlikely(lane->next - lane->returned >= RETURN_EVERY))
        return_lane(mail, lane);
    if (in_block)
        return_blocks(mail, lane);
    return true;
}

bool wire_next_take(struct mail *mail, const struct wanted *wanted, struct rh_status *status)
{
    int index = wanted->rank == RH_ANY_RANK ? -1 : mail->peer[wanted->rank].lane_in;
    bool is_alone = !mail->unexpected_first && !mail->posted.first && mail->long_count == 0 &&
                    mail->pending_count == 0;
    if (index < 0 || !is_alone) /* what else is under way must go on too */
        return false;
    struct lane_in *lane = &mail->lane_in[index];
    const struct slot *slot = &mail->lanes->slot[index][lane->next % LANE_SLOTS];
    unsigned looks = atomic_load_explicit(mail->is_crowded, memory_order_relaxed)
                         ? EAGER_LOOKS_CROWDED
                         : EAGER_LOOKS;
    lane->streak++;
    while (__atomic_load_n(&slot->number, __ATOMIC_ACQUIRE) != lane->next + 1) {
        lane->streak = 0;
        if (--looks == 0)
            return false;
        if (unlikely(!mail->peer[wanted->rank].is_direct))
            rma_progress(mail->job); /* nothing comes by itself */
    }
    struct slot_head head = slot->head;
    if (head.kind != SLOT_INLINED || (head.tag != wanted->tag && wanted->tag != RH_ANY_TAG) ||
        head.length > SLOT_INLINE || head.length > wanted->room)
        return false;
    slot_copy(wanted->buffer, slot->data, head.length);
    if (status)
        *status = (struct rh_status){
            .source = wanted->rank, .tag = head.tag, .length = head.length};
    counter_add(mail->counters, COUNTER_MSG_RECEIVED, 1);
    note_taken(mail, lane, index);
    lane->next++;
    if (unlikely(lane->next - lane->returned >= RETURN_EVERY))
        return_lane(mail, lane);
    return true;
}

/* A lane that somebody has just got: usable once all that its owner sent before has been taken. */
static bool adopt_lane(struct mail *mail, int index)
{
    uint64_t owner = __atomic_load_n(&mail->lanes->info[index].owner, __ATOMIC_ACQUIRE);
    int source = (int)((uint32_t)owner - 1);
    if ((unsigned)source >= (unsigned)mail->size) /* nobody's yet, or a broken peer's */
        return false;
    if ((uint32_t)mail->peer[source].inbox_taken != (uint32_t)(owner >> 32))
        return false;
    mail->lane_in[index].source = source;
    mail->peer[source].lane_in = index;
    meet(mail, source); /* whether what it sends comes by itself */
    return true;
}

static void poll_lane(struct mail *mail, int index)
{
    struct lane_in *lane = &mail->lane_in[index];
    if (unlikely(lane->source < 0) && !adopt_lane(mail, index))
        return;
    while (mail->peer[lane->source].held < HELD_MAX && take_from_lane(mail, index))
        ;
    /* What could not be returned before; the sender may be waiting for it. */
    if (unlikely(lane->next - lane->returned >= RETURN_EVERY))
        return_lane(mail, lane);
    if (unlikely(lane->blocks_taken != lane->blocks_returned))
        return_blocks(mail, lane);
}

/* False: there is no memory for it now. */
static bool take_append(struct mail *mail, const struct rh_arrival *arrival)
{
    struct slot_head head;
    if (arrival->length < sizeof(head) || (unsigned)arrival->source >= (unsigned)mail->size)
        return true; /* a broken peer's; there is nobody to tell */
    memcpy(&head, arrival->data, sizeof(head));
    uint16_t number = head.kind >> KIND_BITS;
    if (unlikely(!post_is_next(mail, arrival->source, &head)))
        return true; /* it came before */
    struct arrived arrived = {.source = arrival->source,
                              .by_inbox = head.kind <= SLOT_RTS,
                              .head = &head,
                              .data = (const char *)arrival->data + sizeof(head),
                              .length = arrival->length - sizeof(head)};
    if (!match_arrival(mail, &arrived))
        return false;
    post_taken(mail, arrival->source, number);
    if (arrived.by_inbox)
        mail->peer[arrival->source].inbox_taken++;
    return true;
}

static void poll_inbox(struct mail *mail)
{
    struct rh_arrival arrival;
    while (rh_queue_next(mail->inbox, &arrival, 0) == 0) {
        if (!take_append(mail, &arrival))
            return;
        rh_queue_release(mail->inbox);
    }
}

static bool is_owed(const struct peer *peer)
{
    return peer->inbox_done - peer->inbox_returned >= CREDIT_EVERY;
}

static void return_credit(struct mail *mail, int source)
{
    struct peer *peer = &mail->peer[source];
    peer->inbox_returned = post_count(mail, source, RETURN_INBOX, peer->inbox_done, CREDIT_EVERY);
    mail->owes_credit |= is_owed(peer);
}

static void return_owed(struct mail *mail)
{
    mail->owes_credit = false;
    for (int source = 0; source < rma_used(mail->job); source++) {
        if (is_owed(&mail->peer[source]))
            return_credit(mail, source);
    }
}

void wire_lanes_poll(struct mail *mail)
{
    ASSERT(turn_is_taken(&mail->turn));
    uint64_t taken = __atomic_load_n(&mail->lanes->taken, __ATOMIC_RELAXED);
    for (int lane = 0; lane < LANE_COUNT && (uint64_t)lane < taken; lane++)
        poll_lane(mail, lane);
}

void wire_poll(struct mail *mail)
{
    wire_lanes_poll(mail);
    poll_inbox(mail);
    if (unlikely(mail->owes_credit))
        return_owed(mail);
}

void wire_consumed(struct mail *mail, int source, bool by_inbox)
{
    if (!by_inbox)
        return;
    mail->peer[source].inbox_done++;
    if (is_owed(&mail->peer[source]))
        return_credit(mail, source);
}
