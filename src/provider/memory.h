/* SPDX-License-Identifier: BSD-3-Clause
 *
 * RMA and atomics: what memory.c, at the target, and rma.c and atomic.c, at who asks, share.
 */
#pragma once

#include "provider/atomic_apply.h"
#include "provider/op.h"

/* Longest atomic operation, in bytes of one operand: two of them go without rendezvous. */
#define ATOMIC_MAX 960

struct atomic_request {
    enum fi_datatype type;
    enum fi_op operation;
    enum atomic_kind kind;
    size_t count;
    uint64_t address, key;
    const void *operand, *comparand; /* NULL where it has none */
};

/* Do it to memory of this process; before may be NULL. 0, or why not, positive. */
int atomic_here(struct endpoint *endpoint, const struct atomic_request *request, void *before);

/* What a peer has done to our memory. */
struct memory_notice {
    enum count count;
    uint64_t flags, data, place;
    size_t length;
};
void memory_notice(struct endpoint *endpoint, const struct region *region, uint32_t label,
                   const struct memory_notice *notice);
