/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The receiver's side of append: queues lie in this rank's memory, so looking needs no call. And
 * append itself, which is one.
 */
#include "nic/handover.h"
#include "nic/martini/martini_nic.h"

#define COUNT_MAX (1u << 20)

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

struct martini_queue_cut martini_queue_cut(struct rh_queue_shape shape)
{
    struct martini_queue_cut cut = {.count = 1, .is_long = shape.slot_length > MARTINI_SHORT_MAX};
    if (shape.slot_count > COUNT_MAX || shape.slot_length > 1u << 30)
        return (struct martini_queue_cut){0};
    while (cut.count < shape.slot_count)
        cut.count *= 2;
    cut.table = cut.is_long ? MARTINI_TABLE_AT : 0;
    cut.slots = round_up(cut.table + cut.count * 8ULL, 4096);
    cut.stride = cut.is_long ? round_up(shape.slot_length, 64) : MARTINI_SHORT_MAX;
    cut.length = cut.slots + cut.count * cut.stride;
    return cut;
}

int martini_append(struct nic *nic, struct rh_remote queue, const void *data, size_t length,
                   int64_t timeout_ns)
{
    nic_assert_append(nic, queue, timeout_ns);
    struct martini_call call = {.operation = MARTINI_APPEND,
                                .rank = queue.rank,
                                .sid = queue.sid,
                                .address = (uintptr_t)data,
                                .length = length,
                                .timeout_ns = timeout_ns};
    int result = martini_ask(nic, &call, "append");
    if (call.value)
        counter_add(nic->job->counters, COUNTER_APPEND_FULL, 1);
    return result;
}

/* Packets are lost here, and answers too: who goes on makes the append again. */
int martini_append_try(struct nic *nic, struct rh_remote queue, const void *data, size_t length,
                       struct nic_ticket *ticket)
{
    ASSERT(ticket);
    int result = martini_append(nic, queue, data, length, 0);
    ticket->is_open = result == RH_ETIMEOUT;
    return result;
}

static struct martini_segment *queue_of(struct martini_nic *martini, const void *base)
{
    pthread_mutex_lock(&martini->lock);
    struct martini_segment *at = martini->segments;
    while (at && at->base != base)
        at = at->next;
    pthread_mutex_unlock(&martini->lock);
    return at;
}

static uint64_t *long_word(const struct martini_segment *queue)
{
    return (uint64_t *)(void *)(queue->base + queue->cut.table) + queue->head % queue->cut.count;
}

static void long_advance(struct martini_segment *queue)
{
    *long_word(queue) = 0;
    queue->head++;
    __atomic_store_n((uint64_t *)(void *)queue->base + 1, queue->head, __ATOMIC_RELEASE);
}

/* A slot that was claimed by a rank that is gone will never be published. */
static bool long_has_message(struct martini_nic *martini, struct martini_segment *queue)
{
    const struct nic_job *job = martini->nic.job;
    for (;;) {
        uint64_t word = __atomic_load_n(long_word(queue), __ATOMIC_ACQUIRE);
        if (word & MARTINI_PUBLISHED)
            return true;
        int rank = MARTINI_WORD_RANK(word);
        if (!(word & MARTINI_CLAIMED) || rank >= job->size ||
            roster_state(job->roster, rank) < RH_PEER_LEFT)
            return false;
        long_advance(queue);
    }
}

static uint64_t short_word(const struct martini_segment *queue)
{
    const uint64_t *table = (const uint64_t *)(const void *)(queue->base + queue->cut.table);
    uint64_t word = __atomic_load_n(&table[queue->head % queue->cut.count], __ATOMIC_ACQUIRE);
    return word >> 32 == (uint32_t)(queue->head + 1) ? word : 0;
}

static bool has_message(struct martini_nic *martini, struct martini_segment *queue)
{
    return queue->cut.is_long ? long_has_message(martini, queue) : short_word(queue) != 0;
}

bool martini_queue_has_message(struct nic *nic, const void *memory)
{
    struct martini_nic *martini = martini_of(nic);
    return has_message(martini, queue_of(martini, memory));
}

int martini_queue_peek(struct nic *nic, void *memory, struct rh_arrival *arrival)
{
    struct martini_nic *martini = martini_of(nic);
    struct martini_segment *queue = queue_of(martini, memory);
    if (!has_message(martini, queue)) {
        martini_poll_empty(nic, true);
        if (!has_message(martini, queue))
            return RH_EAGAIN; /* no text: asked for in loops */
    }
    uint64_t word = queue->cut.is_long ? *long_word(queue) : short_word(queue);
    uint64_t slot = queue->head % queue->cut.count;
    arrival->data = queue->base + queue->cut.slots + slot * queue->cut.stride;
    arrival->length = queue->cut.is_long ? MARTINI_WORD_LENGTH(word) : word & 0xffff;
    arrival->source = queue->cut.is_long ? MARTINI_WORD_RANK(word) : (int)(word >> 16 & 0xffff);
    return 0;
}

void martini_queue_release(struct nic *nic, void *memory)
{
    struct martini_segment *queue = queue_of(martini_of(nic), memory);
    if (queue->cut.is_long) {
        long_advance(queue);
        return;
    }
    struct martini_call call = {
        .operation = MARTINI_RELEASE, .sid = queue->sid, .value = ++queue->head};
    martini_tell(nic, &call);
}
