/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pushes and pulls as messages that are repeated until they are answered.
 */
#include "base/clock.h"
#include "dsm/datagram/state.h"

#include <stdlib.h>

#define UNDER_WAY      4u              /* messages of one call */
#define REPEAT_NS      (2 * NS_PER_MS) /* at first; then twice as long each time */
#define REPEAT_MOST_NS (100 * NS_PER_MS)

struct batch {
    struct datagram *datagram;
    struct transfer transfer[UNDER_WAY];
    size_t count;
};

static bool is_batch_done(void *context)
{
    struct batch *batch = context;
    bool is_done = true;
    datagram_pump(batch->datagram);
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
                result = datagram_send(datagram, &batch->transfer[i], room);
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

int datagram_pull(const struct dsm_move *what)
{
    return move(what, false);
}

int datagram_push(const struct dsm_move *what)
{
    return move(what, true);
}
