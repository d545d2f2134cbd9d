/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What ranks say to each other: write this, it is written, what is there, this is. datagram.h tells
 * how messages travel.
 */
#include "dsm/datagram/state.h"

#include <string.h>

#define PUMP_MAX 64 /* packets taken at a time */

/* ---- Sending -------------------------------------------------------------------------------- */

static uint64_t new_message_id(struct datagram *datagram, int rank)
{
    pthread_mutex_lock(&datagram->lock);
    uint64_t id = ++datagram->message_ids[rank];
    pthread_mutex_unlock(&datagram->lock);
    return id;
}

/* No slot free, or lost on the way: both are told by nobody, and mended by repeating. */
static int send_message(struct datagram *datagram, int rank, const char *message, size_t size,
                        uint64_t id)
{
    int result = 0;
    for (unsigned i = 0; i < packet_count(size) && result == 0; i++) {
        struct packet packet;
        size_t length = packet_cut(&packet, message, size, id, i);
        result = rh_append_try(datagram->dsm->job, rank, DSM_SID_BULK, &packet, length);
        if (result == RH_EAGAIN || result == RH_ETIMEOUT)
            result = 0;
    }
    return result;
}

/* A message with a piece of our heap, or none, after its head. `room` is MESSAGE_MAX bytes. */
static int send_piece(struct datagram *datagram, int rank, const struct head *head, uint64_t id,
                      char *room)
{
    size_t data = head->say == SAY_WRITE || head->say == SAY_ANSWER ? head->length : 0;
    memcpy(room, head, sizeof(*head));
    memcpy(room + sizeof(*head), datagram->dsm->heap + head->offset, data);
    return send_message(datagram, rank, room, sizeof(*head) + data, id);
}

int datagram_send(struct datagram *datagram, const struct transfer *transfer, char *room)
{
    struct head head = {.say = transfer->is_push ? SAY_WRITE : SAY_ASK,
                        .transfer = transfer->number,
                        .offset = transfer->piece.offset,
                        .length = transfer->piece.length};
    uint64_t id = transfer->is_push ? transfer->message_id
                                    : new_message_id(datagram, transfer->rank);
    return send_piece(datagram, transfer->rank, &head, id, room);
}

/* ---- Receiving ------------------------------------------------------------------------------ */

/* Ends a transfer that somebody waits for, after putting its data in place. One that nobody waits
 * for any more must not touch the heap. */
static void finish(struct datagram *datagram, int source, const struct head *head, const char *data)
{
    pthread_mutex_lock(&datagram->lock);
    for (struct transfer *each = datagram->waiting; each; each = each->next) {
        if (each->number != head->transfer || each->rank != source ||
            each->piece.offset != head->offset || each->piece.length != head->length ||
            each->is_done || each->is_push == (data != NULL))
            continue;
        if (data)
            memcpy(datagram->dsm->heap + head->offset, data, head->length);
        atomic_store_explicit(&each->is_done, true, memory_order_release);
    }
    pthread_mutex_unlock(&datagram->lock);
}

static bool is_sound(const struct datagram *datagram, const struct head *head, size_t size)
{
    bool has_data = head->say == SAY_WRITE || head->say == SAY_ANSWER;
    return head->length <= DATA_MAX && head->length <= datagram->dsm->heap_length &&
           head->offset <= datagram->dsm->heap_length - head->length &&
           size == sizeof(*head) + (has_data ? head->length : 0);
}

static uint64_t answer_id(struct datagram *datagram, int rank, uint64_t transfer)
{
    for (unsigned i = 0; i < ANSWERS && i < datagram->answer_count; i++)
        if (datagram->answered[i].rank == rank && datagram->answered[i].transfer == transfer)
            return datagram->answered[i].message_id;
    struct answered *next = &datagram->answered[datagram->answer_count++ % ANSWERS];
    *next = (struct answered){
        .rank = rank, .transfer = transfer, .message_id = new_message_id(datagram, rank)};
    return next->message_id;
}

/* Whoever asked will ask again if this is lost, so errors are nobody's here. */
static void carry_out(struct datagram *datagram, int source, const char *message, size_t size)
{
    struct head head;
    if (size < sizeof(head))
        return;
    memcpy(&head, message, sizeof(head));
    if (!is_sound(datagram, &head, size))
        return;
    const char *data = message + sizeof(head);
    switch (head.say) {
    case SAY_WRITE:
        memcpy(datagram->dsm->heap + head.offset, data, head.length);
        head.say = SAY_WRITTEN;
        send_piece(datagram, source, &head, new_message_id(datagram, source), datagram->answer);
        break;
    case SAY_ASK:
        head.say = SAY_ANSWER;
        send_piece(datagram, source, &head, answer_id(datagram, source, head.transfer),
                   datagram->answer);
        break;
    case SAY_WRITTEN:
        finish(datagram, source, &head, NULL);
        break;
    case SAY_ANSWER:
        finish(datagram, source, &head, data);
        break;
    default:
        break;
    }
}

/* A write that has been carried out was repeated: its acknowledgement was lost. Its head stands in
 * the first packet. */
static void acknowledge_again(struct datagram *datagram, int source, const struct packet *packet,
                              size_t length)
{
    struct head head;
    if (packet->number != 0 || length < PACKET_HEADER + sizeof(head))
        return;
    memcpy(&head, packet->payload, sizeof(head));
    if (head.say != SAY_WRITE || !is_sound(datagram, &head, sizeof(head) + head.length))
        return;
    head.say = SAY_WRITTEN;
    send_piece(datagram, source, &head, new_message_id(datagram, source), datagram->answer);
}

static void take(struct datagram *datagram, const struct rh_arrival *arrival)
{
    struct packet packet;
    size_t size, length = arrival->length < sizeof(packet) ? arrival->length : sizeof(packet);
    bool is_old;
    memcpy(&packet, arrival->data, length);
    rh_queue_release(datagram->queue); /* consumed: the slot is posted again */
    struct assembly **assembly = &datagram->assemblies[arrival->source];
    if (!*assembly)
        *assembly = assembly_create();
    if (!*assembly)
        return;
    const char *message = assembly_add(*assembly, &packet, length, &size, &is_old);
    if (message)
        carry_out(datagram, arrival->source, message, size);
    else if (is_old)
        acknowledge_again(datagram, arrival->source, &packet, length);
}

void datagram_pump(struct datagram *datagram)
{
    struct rh_arrival arrival;
    if (pthread_mutex_trylock(&datagram->receiving) != 0)
        return;
    for (unsigned i = 0; i < PUMP_MAX && rh_queue_next(datagram->queue, &arrival, 0) == 0; i++)
        take(datagram, &arrival);
    pthread_mutex_unlock(&datagram->receiving);
}
