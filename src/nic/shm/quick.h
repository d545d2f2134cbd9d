/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The short way: a few bytes, or one word, of a peer's plain memory, when nothing is unusual. It is
 * what most operations are, and its length is their latency: the store is seen by the peer only
 * when everything before it is done. So it calls nothing and asks each question once; whatever
 * does not fit takes the long way, which finds out why.
 */
#pragma once

#include "nic/shm/shm_nic.h"

#include <string.h>

#define SHM_QUICK_LENGTH 64 /* at most: what copy_quick() moves */

/* The rights that the short way may use: none where it must not be taken, since memory is attached
 * or a queue, or a write has to be followed by a fence. */
static inline unsigned shm_quick_rights(const struct shm_nic *shm, const struct shm_view *view)
{
    return view->kind == NIC_SEGMENT_ALLOCATED && shm->has_membarrier ? view->rights : 0;
}

/* Inside a guard, as shm_view_check(). */
static inline struct shm_view *shm_quick_view(struct shm_nic *shm, struct rh_remote remote,
                                              uint64_t length, unsigned rights)
{
    struct shm_view *view = shm_view_usual(shm, remote.rank, remote.sid);
    if (likely(view && (view->quick & rights) == rights && remote.offset <= view->length &&
               length <= view->length - remote.offset))
        return view;
    return NULL;
}

/* shm_ring(), for the end of a function. */
int shm_quick_ring(struct shm_nic *shm, struct shm_door *door);

/* As shm_after_write(); returns 0. */
static inline int shm_quick_end(struct shm_nic *shm, struct shm_door *door)
{
    atomic_signal_fence(memory_order_seq_cst);
    if (unlikely(atomic_load_explicit(&door->has_sleeper, memory_order_relaxed) != 0))
        return shm_quick_ring(shm, door);
    return 0;
}

/* memmove() of up to SHM_QUICK_LENGTH bytes: all is loaded before anything is stored, and from both
 * ends, so that a few lengths are enough. */
static inline void shm_quick_copy(char *target, const char *source, size_t length)
{
    typedef struct {
        uint64_t low, high;
    } pair;
    pair a, b, c, d;
    uint64_t first, last;
    uint32_t first_half, last_half;
    if (length >= sizeof(pair)) {
        memcpy(&a, source, sizeof(a));
        memcpy(&b, source + length - sizeof(b), sizeof(b));
        if (length > 2 * sizeof(pair)) {
            memcpy(&c, source + sizeof(a), sizeof(c));
            memcpy(&d, source + length - sizeof(b) - sizeof(d), sizeof(d));
            memcpy(target + sizeof(a), &c, sizeof(c));
            memcpy(target + length - sizeof(b) - sizeof(d), &d, sizeof(d));
        }
        memcpy(target, &a, sizeof(a));
        memcpy(target + length - sizeof(b), &b, sizeof(b));
    } else if (length >= sizeof(first)) {
        memcpy(&first, source, sizeof(first));
        memcpy(&last, source + length - sizeof(last), sizeof(last));
        memcpy(target, &first, sizeof(first));
        memcpy(target + length - sizeof(last), &last, sizeof(last));
    } else if (length >= sizeof(first_half)) {
        memcpy(&first_half, source, sizeof(first_half));
        memcpy(&last_half, source + length - sizeof(last_half), sizeof(last_half));
        memcpy(target, &first_half, sizeof(first_half));
        memcpy(target + length - sizeof(last_half), &last_half, sizeof(last_half));
    } else if (length > 0) {
        char head = source[0], middle = source[length / 2], tail = source[length - 1];
        target[0] = head;
        target[length / 2] = middle;
        target[length - 1] = tail;
    }
}
