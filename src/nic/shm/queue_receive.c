/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The receiver's side of append, and the shape of a queue. How it works: queue_layout.h.
 */
#include "base/fetch.h"
#include "nic/shm/queue_layout.h"

#define BUFFER_UNIT    64
#define SLOT_COUNT_MAX (1u << 24)
#define BACKLOG_STREAK 64 /* messages in a row that mean a backlog */
#define FETCH_AHEAD    6

static uint32_t slot_shift_for(uint32_t slot_count)
{
    uint32_t shift = 0;
    while (1u << shift < slot_count && 1u << shift < SLOT_COUNT_MAX)
        shift++;
    return shift;
}

static uint32_t buffer_length_for(uint32_t slot_length)
{
    if (slot_length <= INLINE_MAX)
        return 0;
    return (slot_length + BUFFER_UNIT - 1) / BUFFER_UNIT * BUFFER_UNIT;
}

struct shm_queue_cut shm_queue_cut(struct rh_queue_shape shape)
{
    struct shm_queue_cut cut = {.slot_shift = slot_shift_for(shape.slot_count),
                                .slot_length = shape.slot_length,
                                .buffer_length = buffer_length_for(shape.slot_length)};
    cut.slot_count = 1u << cut.slot_shift;
    cut.buffers_at = sizeof(struct shm_queue) + (uint64_t)cut.slot_count * sizeof(struct slot);
    return cut;
}

uint64_t shm_queue_length(struct rh_queue_shape shape)
{
    if (shape.slot_count > SLOT_COUNT_MAX || shape.slot_length > 1u << 30)
        return 0;
    struct shm_queue_cut cut = shm_queue_cut(shape);
    return cut.buffers_at + (uint64_t)cut.slot_count * cut.buffer_length;
}

void shm_queue_format(void *memory, struct rh_queue_shape shape)
{
    ((struct shm_queue *)memory)->cut = shm_queue_cut(shape);
}

/* A claimed slot whose sender is gone will never be published: skip it. */
static void skip_if_dead(struct shm_nic *shm, struct slot *slot, uint64_t header)
{
    int rank = header_rank(header);
    if (rank >= shm->nic.job->size || roster_state(shm->nic.job->roster, rank) < RH_PEER_LEFT)
        return;
    if (shm->outside.settle)
        shm->outside.settle(shm->outside.context, rank);
    /* fails if it was published after all, just before the end */
    uint64_t skipped = make_header(header_round(header), 0, rank, SLOT_SKIPPED);
    atomic_compare_exchange_strong(&slot->header, &header, skipped);
}

static void advance(struct shm_queue *queue, uint64_t head)
{
    /* Only what is published, or given up by its dead sender, is passed. */
    ASSERT(header_state(atomic_load(&number_slot(queue, &queue->cut, head)->header)) >=
           SLOT_PUBLISHED);
    atomic_store_explicit(&queue->head, head + 1,
                          memory_order_release); /* pairs with has_space() */
}

/* Header of the oldest message if it is published, else 0. */
static inline uint64_t receivable(struct shm_nic *shm, struct shm_queue *queue)
{
    for (;;) {
        uint64_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);
        uint64_t round = number_round(&queue->cut, head);
        struct slot *slot = number_slot(queue, &queue->cut, head);
        uint64_t header = atomic_load_explicit(&slot->header, memory_order_acquire);
        if (header_round(header) != round)
            return 0;
        switch (header_state(header)) {
        case SLOT_PUBLISHED:
            return header;
        case SLOT_SKIPPED:
            shm_queue_release(&shm->nic, queue);
            continue;
        default:
            skip_if_dead(shm, slot, header);
            if (header_state(atomic_load(&slot->header)) == SLOT_CLAIMED)
                return 0;
        }
    }
}

bool shm_queue_has_message(struct shm_nic *shm, void *queue)
{
    return receivable(shm, queue) != 0;
}

int shm_queue_peek(struct nic *nic, void *memory, struct rh_arrival *arrival)
{
    struct shm_queue *queue = memory;
    uint64_t header = receivable(shm_nic_of(nic), queue);
    if (header == 0) {
        queue->streak = 0;
        return RH_EAGAIN; /* no text: asked for in loops */
    }
    uint64_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);
    /* With a backlog the next slots are written already; without one, fetching them would only take
     * them away from a sender. */
    if (queue->streak++ >= BACKLOG_STREAK)
        fetch_to_read(number_slot(queue, &queue->cut, head + FETCH_AHEAD));
    /* Copied out before it is checked: a broken sender must not lead us astray. */
    uint32_t length = header_length_code(header);
    if (length > LENGTH_CODE_MAX)
        length = number_slot(queue, &queue->cut, head)->length;
    if (length > queue->cut.slot_length)
        length = queue->cut.slot_length;
    arrival->length = length;
    arrival->data = message_place(queue, &queue->cut, head, length);
    arrival->source = header_rank(header);
    return 0;
}

void shm_queue_release(struct nic *nic, void *memory)
{
    struct shm_queue *queue = memory;
    advance(queue, atomic_load_explicit(&queue->head, memory_order_relaxed));
    if (unlikely(!shm_nic_of(nic)->has_membarrier))
        full_fence();
    atomic_signal_fence(memory_order_seq_cst); /* as in shm_after_write() */
    if (unlikely(atomic_load_explicit(&queue->senders_waiting, memory_order_relaxed) != 0)) {
        atomic_store(&queue->senders_waiting, 0);
        atomic_fetch_add(&queue->head_futex, 1);
        shm_word_wake(&queue->head_futex);
    }
}
