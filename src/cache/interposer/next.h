/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For functions that only look before they pass a call on.
 */
#pragma once

#include <dlfcn.h>
#include <stdatomic.h>

/* The C library's function of a name, looked up when it is first called. */
#define NEXT(name)                                                                                 \
    ({                                                                                             \
        static _Atomic(void *) next;                                                               \
        void *found = atomic_load_explicit(&next, memory_order_relaxed);                           \
        if (!found) {                                                                              \
            found = dlsym(RTLD_NEXT, #name);                                                       \
            atomic_store_explicit(&next, found, memory_order_relaxed);                             \
        }                                                                                          \
        (__typeof__(&(name)))found;                                                                \
    })
