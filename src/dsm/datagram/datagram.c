/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pushes and pulls as messages that are repeated until they are answered, and the thread that
 * receives. datagram.h tells how.
 */
#include "dsm/datagram/datagram.h"

#include "base/clock.h"
#include "dsm/datagram/packets.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOTS_PER_RANK 64u
#define UNDER_WAY      4u              /* messages of one call */
#define REPEAT_NS      (2 * NS_PER_MS) /* at first; then twice as long each time */
#define REPEAT_MOST_NS (100 * NS_PER_MS)
#define LOOK_NS        (10 * NS_PER_MS)
#define NAP_US         100
#define ANSWERS        64u /* that are remembered */
#define PUMP_MOST      64  /* packets taken at a time */

enum say { SAY_WRITE = 1, SAY_WRITTEN = 2, SAY_ASK = 3, SAY_ANSWER = 4 };

/* What a message begins with; data follows in SAY_WRITE and SAY_ANSWER. */
struct head {
    uint64_t say;
    uint64_t transfer; /* number of the transfer at the rank that wants it */
    uint64_t offset;
    uint64_t length;
};

#define DATA_MAX (MESSAGE_MAX - sizeof(struct head))

/* A part of a push or pull, in the memory of the thread that waits for it. */
struct transfer {
    uint64_t number;
    uint64_t message_id; /* of SAY_WRITE: the same when it is repeated */
    int rank;
    bool is_push;
    struct dsm_piece piece;
    _Atomic bool is_done;
    struct transfer *next;
};

/* An answer that has been sent; if it is asked for again it has the same number, so that packets of
 * both add up. */
struct answered {
    int rank;
    uint64_t transfer;
    uint64_t message_id;
};

struct datagram {
    struct rh_dsm *dsm;
    struct rh_queue *queue;
    pthread_t thread;
    _Atomic bool is_ending;
    pthread_mutex_t receiving;    /* held by who receives; what follows is theirs */
    struct assembly **assemblies; /* by sender */
    char *answer;                 /* MESSAGE_MAX bytes */
    struct answered answered[ANSWERS];
    uint64_t answer_count;
    pthread_mutex_t lock; /* what follows */
    struct transfer *waiting;
    uint64_t transfer_count;
    uint64_t *message_ids; /* of the last message to each rank */
};

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

static int send_transfer(struct datagram *datagram, const struct transfer *transfer, char *room)
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

/* Whoever is there first receives what has come: the thread, or one that waits for an answer and
 * would otherwise keep the thread's core busy. Does not wait. */
static void pump(struct datagram *datagram)
{
    struct rh_arrival arrival;
    if (pthread_mutex_trylock(&datagram->receiving) != 0)
        return;
    for (unsigned i = 0; i < PUMP_MOST && rh_queue_next(datagram->queue, &arrival, 0) == 0; i++)
        take(datagram, &arrival);
    pthread_mutex_unlock(&datagram->receiving);
}

static bool is_ending(void *context)
{
    struct datagram *datagram = context;
    pump(datagram);
    return atomic_load_explicit(&datagram->is_ending, memory_order_acquire);
}

static void *receive(void *argument)
{
    struct datagram *datagram = argument;
    struct rh_until until = {
        .is_met = is_ending, .context = datagram, .from = RH_ANY_RANK, .timeout_ns = LOOK_NS};
    while (!is_ending(datagram))
        if (rh_wait_until(datagram->dsm->job, &until) == RH_EDEAD)
            usleep(NAP_US); /* a death that the program has not acknowledged ends every wait */
    return NULL;
}

/* ---- Transfers ------------------------------------------------------------------------------ */

struct batch {
    struct datagram *datagram;
    struct transfer transfer[UNDER_WAY];
    size_t count;
};

static bool is_batch_done(void *context)
{
    struct batch *batch = context;
    bool is_done = true;
    pump(batch->datagram);
    for (size_t i = 0; i < batch->count; i++)
        is_done &= atomic_load_explicit(&batch->transfer[i].is_done, memory_order_acquire);
    return is_done;
}

static void enlist(struct datagram *datagram, struct batch *batch)
{
    pthread_mutex_lock(&datagram->lock);
    for (size_t i = 0; i < batch->count; i++) {
        struct transfer *transfer = &batch->transfer[i];
        transfer->number = ++datagram->transfer_count;
        transfer->message_id = transfer->is_push ? ++datagram->message_ids[transfer->rank] : 0;
        transfer->next = datagram->waiting;
        datagram->waiting = transfer;
    }
    pthread_mutex_unlock(&datagram->lock);
}

static void strike(struct datagram *datagram, struct batch *batch)
{
    pthread_mutex_lock(&datagram->lock);
    for (size_t i = 0; i < batch->count; i++) {
        struct transfer **link = &datagram->waiting;
        while (*link != &batch->transfer[i])
            link = &(*link)->next;
        *link = batch->transfer[i].next;
    }
    pthread_mutex_unlock(&datagram->lock);
}

/* Send what is not done, wait; longer and longer, until the deadline. */
static int repeat(struct datagram *datagram, struct batch *batch, char *room, int64_t deadline_ns)
{
    struct rh_until until = {.is_met = is_batch_done,
                             .context = batch,
                             .from = batch->transfer[0].rank,
                             .timeout_ns = REPEAT_NS};
    struct rh_job *job = datagram->dsm->job;
    int result = RH_ETIMEOUT;
    while (result == RH_ETIMEOUT) {
        result = 0;
        for (size_t i = 0; i < batch->count && result == 0; i++)
            if (!atomic_load_explicit(&batch->transfer[i].is_done, memory_order_acquire))
                result = send_transfer(datagram, &batch->transfer[i], room);
        if (result == 0)
            result = rh_wait_until(job, &until);
        if (result == RH_ETIMEOUT && rma_left_ns(datagram->dsm->job, deadline_ns) == 0)
            return error_set(RH_ETIMEOUT, until.from,
                             "datagrams to rank %d are not answered; is it stopped?", until.from);
        if (until.timeout_ns < REPEAT_MOST_NS)
            until.timeout_ns *= 2;
    }
    return result;
}

static int finish_batch(struct datagram *datagram, struct batch *batch, char *room,
                        int64_t deadline_ns)
{
    if (batch->count == 0)
        return 0;
    enlist(datagram, batch);
    int result = repeat(datagram, batch, room, deadline_ns);
    strike(datagram, batch);
    batch->count = 0;
    return result;
}

static int move(const struct dsm_move *what, bool is_push)
{
    struct datagram *datagram = what->dsm->bulk_state;
    struct batch batch = {.datagram = datagram};
    char *room = malloc(MESSAGE_MAX);
    int result = room ? 0 : error_set(RH_ENOSPACE, what->rank, "no memory for a message");
    for (size_t i = 0; i < what->count && result == 0; i++) {
        struct dsm_piece left = what->pieces[i];
        while (left.length > 0 && result == 0) {
            uint64_t length = left.length < DATA_MAX ? left.length : DATA_MAX;
            batch.transfer[batch.count++] = (struct transfer){
                .rank = what->rank,
                .is_push = is_push,
                .piece = {.offset = left.offset, .length = length}};
            left.offset += length;
            left.length -= length;
            if (batch.count == UNDER_WAY)
                result = finish_batch(datagram, &batch, room, what->deadline_ns);
        }
    }
    if (result == 0)
        result = finish_batch(datagram, &batch, room, what->deadline_ns);
    free(room);
    return result;
}

static int pull(const struct dsm_move *what)
{
    return move(what, false);
}

static int push(const struct dsm_move *what)
{
    return move(what, true);
}

/* ---- Open and close ------------------------------------------------------------------------- */

static void free_all(struct datagram *datagram)
{
    if (datagram->queue)
        rh_queue_destroy(datagram->queue);
    for (int rank = 0; datagram->assemblies && rank < datagram->dsm->size; rank++)
        assembly_destroy(datagram->assemblies[rank]);
    free(datagram->assemblies);
    free(datagram->message_ids);
    free(datagram->answer);
    pthread_mutex_destroy(&datagram->lock);
    pthread_mutex_destroy(&datagram->receiving);
    free(datagram);
}

static int open_datagram(struct rh_dsm *dsm, void **state)
{
    struct rh_queue_shape shape = {.slot_count = SLOTS_PER_RANK * (unsigned)dsm->size,
                                   .slot_length = PACKET_LENGTH};
    struct datagram *datagram = calloc(1, sizeof(*datagram));
    if (!datagram)
        return error_set(RH_ENOSPACE, ERROR_NO_RANK, "no memory for datagrams");
    datagram->dsm = dsm;
    pthread_mutex_init(&datagram->lock, NULL);
    pthread_mutex_init(&datagram->receiving, NULL);
    datagram->assemblies = calloc((size_t)dsm->size, sizeof(*datagram->assemblies));
    datagram->message_ids = calloc((size_t)dsm->size, sizeof(*datagram->message_ids));
    datagram->answer = malloc(MESSAGE_MAX);
    int result = datagram->assemblies && datagram->message_ids && datagram->answer
                     ? rh_queue_create(dsm->job, DSM_SID_BULK, shape, &datagram->queue)
                     : error_set(RH_ENOSPACE, ERROR_NO_RANK, "no memory for datagrams");
    if (result == 0 && pthread_create(&datagram->thread, NULL, receive, datagram) != 0)
        result = error_set(RH_ENOSPACE, ERROR_NO_RANK, "no thread for datagrams");
    if (result < 0) {
        free_all(datagram);
        return result;
    }
    *state = datagram;
    return 0;
}

static void close_datagram(struct rh_dsm *dsm, void *state)
{
    struct datagram *datagram = state;
    (void)dsm;
    atomic_store_explicit(&datagram->is_ending, true, memory_order_release);
    pthread_join(datagram->thread, NULL);
    free_all(datagram);
}

const struct dsm_bulk_ops dsm_bulk_datagram = {
    .name = "datagram", .open = open_datagram, .close = close_datagram, .pull = pull, .push = push};
