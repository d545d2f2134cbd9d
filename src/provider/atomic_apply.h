/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What atomic operations do to memory, by type.
 */
#pragma once

#include <rdma/fi_atomic.h>
#include <rdma/fi_domain.h>
#include <stdbool.h>
#include <stddef.h>

enum atomic_kind { ATOMIC_PLAIN, ATOMIC_FETCH, ATOMIC_COMPARE };

/* Bytes of one, or 0: there is no such type here. */
size_t atomic_size(enum fi_datatype type);
bool atomic_is_valid(enum fi_datatype type, enum fi_op operation, enum atomic_kind kind);

/* Do it to `count` of them; what was there goes to `before`, which may be NULL. It has been
 * checked, and operands and comparands that it needs are there; nothing needs to be aligned. */
struct atomic_operands {
    const void *operand, *comparand;
    void *before;
};
void atomic_apply(void *target, enum fi_datatype type, enum fi_op operation, size_t count,
                  const struct atomic_operands *operands);
