/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The senders' side of append. How it works: queue_layout.h.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/fetch.h"
#include "nic/handover.h"
#include "nic/shm/queue_layout.h"

#include <string.h>

#define FETCH_AHEAD   8               /* slots; a stream of messages finds its lines waiting */
#define FULL_SLICE_NS (4 * NS_PER_MS) /* how long a sender sleeps before it looks by itself */

/* ThreadSanitizer cannot look into the instruction, so it gets the two-step path. */
#if defined(__x86_64__) && !HAS_THREAD_SANITIZER
#define SHM_HAS_DOUBLE_CAS 1
#else
#define SHM_HAS_DOUBLE_CAS 0
#endif

struct double_word {
    uint64_t low, high;
};

#if SHM_HAS_DOUBLE_CAS
/* The first 16 bytes of a slot, if they still are as seen. */
static inline bool double_compare_swap(void *slot, struct double_word *seen,
                                       const struct double_word *fresh)
{
    bool swapped;
    __asm__ volatile("lock cmpxchg16b %1"
                     : "=@ccz"(swapped), "+m"(*(struct double_word *)slot), "+a"(seen->low),
                       "+d"(seen->high)
                     : "b"(fresh->low), "c"(fresh->high)
                     : "memory");
    return swapped;
}
#endif

/* Whether the receiver has finished with what lay in number's slot before. */
static inline bool has_space(struct shm_queue *queue, struct shm_view *view, uint64_t number)
{
    uint64_t known = atomic_load_explicit(&view->head_known, memory_order_relaxed);
    if (likely(number < known + view->cut.slot_count))
        return true;
    /* acquire: the receiver's last look at the slot is over; pairs with shm_queue_release() */
    known = atomic_load_explicit(&queue->head, memory_order_acquire);
    atomic_store_explicit(&view->head_known, known, memory_order_relaxed);
    return number < known + view->cut.slot_count;
}

/* Where to look for the next free number; its lines are on their way when this returns. */
static inline uint64_t first_number(struct shm_queue *queue, struct shm_view *view)
{
    uint64_t known = atomic_load_explicit(&view->head_known, memory_order_relaxed);
    uint64_t at = atomic_load_explicit(&queue->tail, memory_order_relaxed);
    if (unlikely(at < known))
        at = known; /* set back by a sender that slept in between */
    fetch_to_write(number_slot(queue, &view->cut, at));
    fetch_to_write(number_slot(queue, &view->cut, at + FETCH_AHEAD));
    return at;
}

/* Not atomic together: the hint may be set back; then the next sender walks. */
static inline void move_tail(struct shm_queue *queue, uint64_t number)
{
    if (likely(atomic_load_explicit(&queue->tail, memory_order_relaxed) <= number))
        atomic_store_explicit(&queue->tail, number + 1, memory_order_relaxed);
}

/* Take the next free number. False if the queue is full. */
static inline bool claim(struct shm_queue *queue, struct shm_view *view, int rank, uint64_t *number)
{
    for (uint64_t at = first_number(queue, view); has_space(queue, view, at);) {
        struct slot *slot = number_slot(queue, &view->cut, at);
        uint64_t round = number_round(&view->cut, at);
        uint64_t header = atomic_load_explicit(&slot->header, memory_order_acquire);
        if (!header_is_before(header, round)) { /* taken: the hint is behind */
            at++;
            continue;
        }
        if (likely(atomic_compare_exchange_strong_explicit(
                &slot->header, &header, make_header(round, LENGTH_IN_SLOT, rank, SLOT_CLAIMED),
                memory_order_acquire, memory_order_relaxed))) {
            move_tail(queue, at);
            *number = at;
            return true;
        }
    }
    return false;
}

static inline bool append_claimed(struct shm_queue *queue, struct shm_view *view, int rank,
                                  const void *data, size_t length)
{
    uint64_t number;
    if (unlikely(!claim(queue, view, rank, &number)))
        return false;
    struct slot *slot = number_slot(queue, &view->cut, number);
    slot->length = (uint32_t)length;
    if (length > 0)
        memcpy(message_place(queue, &view->cut, number, length), data, length);
    uint64_t header = make_header(number_round(&view->cut, number), LENGTH_IN_SLOT, rank,
                                  SLOT_PUBLISHED);
    /* release: whoever sees "published" sees the message; pairs with receivable() */
    atomic_store_explicit(&slot->header, header, memory_order_release);
    return true;
}

#if SHM_HAS_DOUBLE_CAS
/* At most 8 bytes: claimed, written and published in one go, so that the polling receiver cannot
 * take the line away in between, which would cost another trip. */
static inline bool append_word(struct shm_queue *queue, struct shm_view *view, int rank,
                               const void *data, size_t length)
{
    struct double_word fresh = {0, 0};
    if (length > 0) /* then there is data */
        memcpy(&fresh.high, data, length);
    for (uint64_t at = first_number(queue, view); has_space(queue, view, at);) {
        struct slot *slot = number_slot(queue, &view->cut, at);
        uint64_t round = number_round(&view->cut, at);
        struct double_word seen;
        seen.low = atomic_load_explicit(&slot->header, memory_order_acquire);
        memcpy(&seen.high, slot->data, sizeof(seen.high)); /* torn or old: then the swap fails */
        if (!header_is_before(seen.low, round)) {
            at++;
            continue;
        }
        fresh.low = make_header(round, (unsigned)length, rank, SLOT_PUBLISHED);
        if (likely(double_compare_swap(&slot->header, &seen, &fresh))) {
            move_tail(queue, at);
            return true;
        }
    }
    return false;
}
#endif

static inline bool append_once(struct shm_queue *queue, struct shm_view *view, int rank,
                               const void *data, size_t length)
{
#if SHM_HAS_DOUBLE_CAS
    if (length <= LENGTH_CODE_MAX)
        return append_word(queue, view, rank, data, length);
#endif
    return append_claimed(queue, view, rank, data, length);
}

/* ---- For a NIC around this one -------------------------------------------------------------- */

/* The owner's own view of its queue, for the functions above. */
static struct shm_view own_view(struct shm_queue *queue)
{
    struct shm_view view = {.cut = queue->cut};
    atomic_init(&view.head_known, atomic_load_explicit(&queue->head, memory_order_acquire));
    return view;
}

bool shm_queue_put(struct nic *nic, void *memory, int source, const void *data, size_t length)
{
    struct shm_nic *shm = shm_nic_of(nic);
    struct shm_view view = own_view(memory);
    if (!append_once(memory, &view, source, data, length))
        return false;
    shm_after_write(shm, shm->door);
    return true;
}

bool shm_queue_claim(void *memory, int source, struct shm_claim *made)
{
    struct shm_view view = own_view(memory);
    return claim(memory, &view, source, &made->number);
}

/* What the slot's header is while a claim stands. */
static uint64_t claimed_header(const struct shm_queue *queue, int source,
                               const struct shm_claim *made)
{
    return make_header(number_round(&queue->cut, made->number), LENGTH_IN_SLOT, source,
                       SLOT_CLAIMED);
}

bool shm_queue_fill(void *memory, int source, const struct shm_claim *made,
                    const struct shm_part *part)
{
    struct shm_queue *queue = memory;
    struct slot *slot = number_slot(queue, &queue->cut, made->number);
    uint64_t room = queue->cut.buffer_length; /* of a message that is not in its slot */
    if (atomic_load(&slot->header) != claimed_header(queue, source, made) || part->at > room ||
        part->length > room - part->at)
        return false;
    memcpy(message_place(queue, &queue->cut, made->number, room) + part->at, part->data,
           part->length);
    return true;
}

void shm_queue_publish(struct nic *nic, void *memory, int source, const struct shm_claim *made,
                       uint32_t length, bool is_void)
{
    struct shm_nic *shm = shm_nic_of(nic);
    struct shm_queue *queue = memory;
    struct slot *slot = number_slot(queue, &queue->cut, made->number);
    uint64_t claimed = claimed_header(queue, source, made);
    uint64_t over = make_header(number_round(&queue->cut, made->number), LENGTH_IN_SLOT, source,
                                is_void ? SLOT_SKIPPED : SLOT_PUBLISHED);
    if (atomic_load_explicit(&slot->header, memory_order_acquire) != claimed)
        return;
    slot->length = length;
    /* A swap, since the receiver may skip the claim of a rank that is gone. Releases: as in
     * append_claimed(). */
    atomic_compare_exchange_strong(&slot->header, &claimed, over);
    shm_after_write(shm, shm->door);
}

/* ---- Waiting for space ---------------------------------------------------------------------- */

/* One look at a full queue: 0 if there is space now, else why not to go on waiting, else
 * RH_EAGAIN. */
static int look_for_space(struct shm_nic *shm, struct shm_view *view, struct shm_queue *queue,
                          int64_t now_ns, int64_t deadline_ns)
{
    if (!shm_view_is_current(view)) /* first: a destroyed queue looks empty */
        return shm_refuse_stale(shm, view->rank, view->sid);
    if (has_space(queue, view, atomic_load_explicit(&queue->tail, memory_order_relaxed)))
        return 0;
    if (roster_state(shm->nic.job->roster, view->rank) >= RH_PEER_LEFT)
        return nic_peer_gone(&shm->nic, view->rank, "append");
    if (now_ns >= deadline_ns)
        return error_set(RH_ETIMEOUT, view->rank,
                         "queue %u of rank %d stayed full (%u messages); does it receive?",
                         view->sid, view->rank, view->cut.slot_count);
    return RH_EAGAIN;
}

static void describe_full(void *context, struct wait_note *note)
{
    const struct shm_view *view = context;
    *note = (struct wait_note){.call = WAIT_APPEND, .peer = view->rank, .number = view->sid};
}

/* Poll for a while, then sleep on head_futex. The flag is set anew before every sleep and cleared
 * by the receiver when it rings, so a sender that dies asleep leaves nothing behind. */
static int watch_for_space(struct shm_nic *shm, struct shm_view *view, struct shm_queue *queue,
                           int64_t deadline_ns, struct stall_watch *stall)
{
    for (int64_t now_ns = stall->since_ns;; now_ns = clock_now_ns()) {
        int result = look_for_space(shm, view, queue, now_ns, deadline_ns);
        if (result != RH_EAGAIN)
            return result;
        if (now_ns - stall->since_ns < shm->spin_ns) {
            shm_rest(shm);
            continue;
        }
        stall_watch_keep(stall, now_ns);
        uint32_t seen = atomic_load(&queue->head_futex); /* before the flag: see sleep_once() */
        atomic_store(&queue->senders_waiting, 1);
        shm_publish_to_all(shm);
        result = look_for_space(shm, view, queue, now_ns, deadline_ns);
        if (result != RH_EAGAIN)
            return result;
        shm_sleep(&queue->head_futex, seen, FULL_SLICE_NS);
    }
}

static int wait_for_space(struct shm_nic *shm, struct shm_view *view, struct shm_queue *queue,
                          int64_t deadline_ns)
{
    struct stall_watch stall = {.job = &shm->nic.job->watch,
                                .since_ns = clock_now_ns(),
                                .describe = describe_full,
                                .context = view};
    int result = watch_for_space(shm, view, queue, deadline_ns, &stall);
    stall_watch_end(&stall);
    return result;
}

static int check_queue(const struct shm_view *view, size_t length)
{
    if (view->kind != NIC_SEGMENT_QUEUE)
        return error_set(RH_EINVALID, view->rank, "segment %u of rank %d is not a queue", view->sid,
                         view->rank);
    if (length > view->cut.slot_length)
        return error_set(RH_ETOOBIG, view->rank,
                         "message of %zu bytes; queue %u of rank %d takes up to %u", length,
                         view->sid, view->rank, view->cut.slot_length);
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
    if (unlikely(view->kind != NIC_SEGMENT_QUEUE || length > view->cut.slot_length))
        return check_queue(view, length);
    struct shm_queue *queue = (void *)view->base;
    int64_t deadline_ns = 0;
    while (unlikely(!append_once(queue, view, nic->job->rank, data, length))) {
        if (deadline_ns == 0)
            counter_add(nic->job->counters, COUNTER_APPEND_FULL, 1);
        result = queue_full(shm, view, queue, &deadline_ns, timeout_ns);
        if (result < 0)
            return result;
    }
    shm_after_write(shm, view->door);
    return 0;
}

int shm_append(struct nic *nic, struct rh_remote target, const void *data, size_t length,
               int64_t timeout_ns)
{
    nic_assert_append(nic, target, timeout_ns);
    struct guard_record *guard = guard_enter();
    int result = append(shm_nic_of(nic), target, data, length, timeout_ns);
    guard_leave(guard);
    return result;
}
