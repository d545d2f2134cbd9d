/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Append (VPUSH): many senders, one receiver-owned queue in arrival order.
 *
 * The queue is a ring of slots, one cache line each, so that a short message travels inside the line
 * that the receiver polls; a longer one lies in the slot's buffer. Messages are numbered: number n
 * uses slot n mod slot_count in round n / slot_count + 1. A sender takes number n by changing the
 * slot's header from "round r - 1, finished" to "round r, claimed by me" with one compare-and-swap,
 * writes the message and then says "published". Since the claim carries the sender's rank, a sender
 * that dies in between is recognised and its slot skipped. `tail` is only a hint where to look for
 * the next free number: whoever finds it behind walks on, so nobody depends on a dead sender for it.
 * The receiver counts what it has finished with in `head`, which is the senders' check for space.
 * Model: tests/model/append.pml.
 */
#include "base/clock.h"
#include "base/error.h"
#include "nic/shm/shm_nic.h"

#include <string.h>

#define INLINE_MOST 48 /* bytes of a message inside its slot */
#define BUFFER_LEAST 64
#define FULL_SLICE_NS (4 * NS_PER_MS) /* how long a sender sleeps before it looks by itself */

/* header = round << 20 | rank << 2 | slot_state */
enum slot_state { SLOT_NEW = 0, SLOT_CLAIMED = 1, SLOT_PUBLISHED = 2, SLOT_SKIPPED = 3 };
#define RANK_BITS 18

struct slot {
    alignas(CACHE_LINE) _Atomic uint64_t header;
    uint32_t length;
    uint32_t reserved;
    char data[INLINE_MOST];
};
_Static_assert(sizeof(struct slot) == CACHE_LINE, "a slot is one cache line");

struct shm_queue {
    /* Constant after shm_queue_format(). */
    alignas(CACHE_LINE) uint32_t slot_count;
    uint32_t slot_shift; /* log2 of it */
    uint32_t slot_length;
    uint32_t buffer_length;
    uint64_t buffers_at;
    /* Senders. */
    alignas(CACHE_LINE) _Atomic uint64_t tail;
    /* Written by the receiver, read by senders that find no space. */
    alignas(CACHE_LINE) _Atomic uint64_t head;
    _Atomic uint32_t head_futex; /* changes with head while somebody sleeps for it */
    _Atomic uint32_t senders_waiting;
    alignas(CACHE_LINE) struct slot slot[];
};

static uint64_t make_header(uint64_t round, int rank, enum slot_state state)
{
    return round << (RANK_BITS + 2) | (uint64_t)rank << 2 | state;
}

static uint64_t header_round(uint64_t header)
{
    return header >> (RANK_BITS + 2);
}

static int header_rank(uint64_t header)
{
    return (int)(header >> 2 & ((1u << RANK_BITS) - 1));
}

static enum slot_state header_state(uint64_t header)
{
    return (enum slot_state)(header & 3);
}

/* ---- Shape ---------------------------------------------------------------------------------- */

static uint32_t slot_shift_for(uint32_t slot_count)
{
    uint32_t shift = 1;
    while (1u << shift < slot_count)
        shift++;
    return shift;
}

static uint32_t buffer_length_for(uint32_t slot_length)
{
    if (slot_length <= INLINE_MOST)
        return 0;
    return (slot_length + BUFFER_LEAST - 1) / BUFFER_LEAST * BUFFER_LEAST;
}

uint64_t shm_queue_length(struct rh_queue_shape shape)
{
    if (shape.slot_count > 1u << 24 || shape.slot_length > 1u << 30)
        return 0;
    uint64_t slots = 1ULL << slot_shift_for(shape.slot_count);
    return sizeof(struct shm_queue) + slots * sizeof(struct slot) +
           slots * buffer_length_for(shape.slot_length);
}

void shm_queue_format(void *memory, struct rh_queue_shape shape)
{
    struct shm_queue *queue = memory;
    queue->slot_shift = slot_shift_for(shape.slot_count);
    queue->slot_count = 1u << queue->slot_shift;
    queue->slot_length = shape.slot_length;
    queue->buffer_length = buffer_length_for(shape.slot_length);
    queue->buffers_at = sizeof(*queue) + (uint64_t)queue->slot_count * sizeof(struct slot);
}

static char *message_place(struct shm_queue *queue, uint64_t number, size_t length)
{
    uint64_t index = number & (queue->slot_count - 1);
    if (length <= INLINE_MOST)
        return queue->slot[index].data;
    return (char *)queue + queue->buffers_at + index * queue->buffer_length;
}

/* ---- Sending -------------------------------------------------------------------------------- */

/* Whether the receiver has finished with what lay in number's slot before. */
static inline bool has_space(struct shm_queue *queue, struct shm_view *view, uint64_t number)
{
    uint64_t known = atomic_load_explicit(&view->head_known, memory_order_relaxed);
    if (likely(number < known + queue->slot_count))
        return true;
    /* acquire: the receiver's last look at the slot is over; pairs with shm_queue_release() */
    known = atomic_load_explicit(&queue->head, memory_order_acquire);
    atomic_store_explicit(&view->head_known, known, memory_order_relaxed);
    return number < known + queue->slot_count;
}

/* Take the next free number. False if the queue is full. */
static bool claim(struct shm_queue *queue, struct shm_view *view, int rank, uint64_t *number)
{
    uint64_t known = atomic_load_explicit(&view->head_known, memory_order_relaxed);
    uint64_t at = atomic_load_explicit(&queue->tail, memory_order_relaxed);
    if (unlikely(at < known))
        at = known; /* set back by a sender that slept in between */
    for (;;) {
        if (unlikely(!has_space(queue, view, at)))
            return false;
        struct slot *slot = &queue->slot[at & (queue->slot_count - 1)];
        uint64_t round = (at >> queue->slot_shift) + 1;
        uint64_t header = atomic_load_explicit(&slot->header, memory_order_acquire);
        if (header_round(header) >= round) { /* taken: the hint is behind */
            at++;
            continue;
        }
        if (likely(atomic_compare_exchange_strong_explicit(
                &slot->header, &header, make_header(round, rank, SLOT_CLAIMED),
                memory_order_acquire, memory_order_relaxed)))
            break;
    }
    /* Not atomic together: the hint may be set back; then the next sender walks. */
    if (likely(atomic_load_explicit(&queue->tail, memory_order_relaxed) <= at))
        atomic_store_explicit(&queue->tail, at + 1, memory_order_relaxed);
    *number = at;
    return true;
}

/* One look at a full queue: 0 if there is space now, else why not to go on waiting, else RH_EAGAIN. */
static int look_for_space(struct shm_nic *shm, struct shm_view *view, struct shm_queue *queue,
                          int64_t now_ns, int64_t deadline_ns)
{
    if (has_space(queue, view, atomic_load_explicit(&queue->tail, memory_order_relaxed)))
        return 0;
    if (roster_state(shm->nic.world->roster, view->rank) >= RH_PEER_LEFT)
        return nic_peer_gone(&shm->nic, view->rank, "append");
    if (!shm_view_is_current(view))
        return shm_refuse_stale(shm, view->rank, view->sid);
    if (now_ns >= deadline_ns)
        return error_set(RH_ETIMEOUT, view->rank,
                         "queue %u of rank %d stayed full (%u messages); does it receive?",
                         view->sid, view->rank, queue->slot_count);
    return RH_EAGAIN;
}

/* Poll for a while, then sleep on head_futex. The flag is set anew before every sleep and cleared by
 * the receiver when it rings, so a sender that dies asleep leaves nothing behind. */
static int wait_for_space(struct shm_nic *shm, struct shm_view *view, struct shm_queue *queue,
                          int64_t deadline_ns)
{
    int64_t started_ns = clock_now_ns();
    for (int64_t now_ns = started_ns;; now_ns = clock_now_ns()) {
        int result = look_for_space(shm, view, queue, now_ns, deadline_ns);
        if (result != RH_EAGAIN)
            return result;
        if (now_ns - started_ns < shm->spin_ns) {
            shm_rest(shm);
            continue;
        }
        atomic_store_explicit(&queue->senders_waiting, 1, memory_order_relaxed);
        shm_publish_to_all(shm);
        uint32_t seen = atomic_load(&queue->head_futex);
        result = look_for_space(shm, view, queue, now_ns, deadline_ns);
        if (result != RH_EAGAIN)
            return result;
        shm_sleep(&queue->head_futex, seen, FULL_SLICE_NS);
    }
}

static int check_queue(const struct shm_view *view, size_t length)
{
    const struct shm_queue *queue = (const void *)view->base;
    if (view->kind != NIC_SEGMENT_QUEUE)
        return error_set(RH_EINVALID, view->rank, "segment %u of rank %d is not a queue", view->sid,
                         view->rank);
    if (length > queue->slot_length)
        return error_set(RH_ETOOBIG, view->rank,
                         "message of %zu bytes; queue %u of rank %d takes up to %u", length,
                         view->sid, view->rank, queue->slot_length);
    return 0;
}

static int queue_full(struct shm_nic *shm, struct shm_view *view, struct shm_queue *queue,
                      int64_t *deadline_ns, int64_t timeout_ns)
{
    if (timeout_ns == 0)
        return error_set(RH_EAGAIN, view->rank, "queue %u of rank %d is full", view->sid,
                         view->rank);
    if (*deadline_ns == 0)
        *deadline_ns = clock_deadline_ns(timeout_ns);
    return wait_for_space(shm, view, queue, *deadline_ns);
}

static inline int append(struct shm_nic *shm, struct rh_remote target, const void *data,
                         size_t length, int64_t timeout_ns)
{
    struct nic *nic = &shm->nic;
    int result = 0;
    struct shm_view *view = shm_view_find(shm, target.rank, target.sid, &result);
    if (unlikely(!view))
        return result;
    if (unlikely(view->kind != NIC_SEGMENT_QUEUE ||
                 length > ((struct shm_queue *)(void *)view->base)->slot_length))
        return check_queue(view, length);
    struct shm_queue *queue = (void *)view->base;
    int64_t deadline_ns = 0;
    uint64_t number;
    while (unlikely(!claim(queue, view, nic->world->rank, &number))) {
        if (deadline_ns == 0)
            counter_add(&nic->world->board->counters, COUNTER_APPEND_FULL, 1);
        result = queue_full(shm, view, queue, &deadline_ns, timeout_ns);
        if (result < 0)
            return result;
    }
    struct slot *slot = &queue->slot[number & (queue->slot_count - 1)];
    slot->length = (uint32_t)length;
    memcpy(message_place(queue, number, length), data, length);
    uint64_t round = (number >> queue->slot_shift) + 1;
    /* release: whoever sees "published" sees the message; pairs with receivable() */
    atomic_store_explicit(&slot->header, make_header(round, nic->world->rank, SLOT_PUBLISHED),
                          memory_order_release);
    shm_after_write(shm, view->door);
    return 0;
}

int shm_append(struct nic *nic, struct rh_remote target, const void *data, size_t length,
               int64_t timeout_ns)
{
    struct guard_record *guard = guard_enter();
    int result = append(shm_nic_of(nic), target, data, length, timeout_ns);
    guard_leave(guard);
    return result;
}

/* ---- Receiving ------------------------------------------------------------------------------ */

/* A claimed slot whose sender is gone will never be published: skip it. */
static void skip_if_dead(struct shm_nic *shm, struct slot *slot, uint64_t header)
{
    int rank = header_rank(header);
    if (rank >= shm->nic.world->size ||
        roster_state(shm->nic.world->roster, rank) < RH_PEER_LEFT)
        return;
    /* fails if it was published after all, just before the end */
    uint64_t skipped = make_header(header_round(header), rank, SLOT_SKIPPED);
    atomic_compare_exchange_strong(&slot->header, &header, skipped);
}

static void advance(struct shm_queue *queue, uint64_t head)
{
    atomic_store_explicit(&queue->head, head + 1, memory_order_release); /* pairs with has_space() */
}

/* Header of the oldest message if it is published, else 0. */
static inline uint64_t receivable(struct shm_nic *shm, struct shm_queue *queue)
{
    for (;;) {
        uint64_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);
        uint64_t round = (head >> queue->slot_shift) + 1;
        struct slot *slot = &queue->slot[head & (queue->slot_count - 1)];
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
    if (header == 0)
        return RH_EAGAIN; /* no text: asked for in loops */
    uint64_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);
    /* Copied out before it is checked: a broken sender must not lead us astray. */
    uint32_t length = queue->slot[head & (queue->slot_count - 1)].length;
    if (length > queue->slot_length)
        length = queue->slot_length;
    arrival->length = length;
    arrival->data = message_place(queue, head, length);
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
        shm_wake_word(&queue->head_futex);
    }
}
