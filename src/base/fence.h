/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fences. The full one: no later load passes an earlier store.
 */
#pragma once

#include <stdatomic.h>

/* ThreadSanitizer understands neither fences nor assembly: code that uses them has another way. */
#if defined(__SANITIZE_THREAD__)
#define HAS_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAS_THREAD_SANITIZER 1
#endif
#endif
#ifndef HAS_THREAD_SANITIZER
#define HAS_THREAD_SANITIZER 0
#endif

/* Tell the sanitizer of an order that it cannot see, because the two sides meet in memory that each
 * has mapped for itself: what came before order_release(key) comes before what follows
 * order_acquire(key). */
#if HAS_THREAD_SANITIZER
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#define order_acquire(key) __tsan_acquire(key)
#define order_release(key) __tsan_release(key)
#else
#define order_acquire(key) ((void)(key))
#define order_release(key) ((void)(key))
#endif

static inline void full_fence(void)
{
#if HAS_THREAD_SANITIZER
    _Atomic int word = 0;
    atomic_fetch_add(&word, 1); /* a locked operation is a fence wherever the sanitizer runs */
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* No later load passes an earlier load. */
static inline void load_fence(void)
{
#if HAS_THREAD_SANITIZER
    full_fence();
#else
    atomic_thread_fence(memory_order_acquire);
#endif
}
