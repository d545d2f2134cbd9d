/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The full fence: no later load passes an earlier store.
 */
#ifndef BASE_FENCE_H
#define BASE_FENCE_H

#include <stdatomic.h>

static inline void full_fence(void)
{
#if defined(__SANITIZE_THREAD__)
    /* ThreadSanitizer does not know fences; a locked operation is one on every machine it runs on. */
    _Atomic int word = 0;
    atomic_fetch_add(&word, 1);
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
    _Atomic int word = 0;
    atomic_fetch_add(&word, 1);
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

#endif
