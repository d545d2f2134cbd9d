/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What RHINET_FAULT may say, parsed once into a checked struct.
 *
 *   RHINET_FAULT = ITEM[,ITEM...]
 *   ITEM  = seed=NUMBER | rank=NUMBER | KIND=WHEN[:ARGUMENT] | KIND@N | KIND%RATE
 *   WHEN  = RATE | [OPERATION]%RATE | [OPERATION]@N | [OPERATION]@N+
 *
 * RATE is a probability from 0 to 1; @N is the Nth operation of that sort that this process does,
 * counted from 1; @N+ is that one and all after it. A missing OPERATION means `any`: every
 * operation the kind applies to (doubt of a push must be named). rank=N keeps the faults to one
 * rank.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fault_kind {
    /* These keep the contract: a program that handles errors must survive them. */
    FAULT_DELAY,   /* the call takes longer; argument: how long */
    FAULT_FAIL,    /* the call fails without effect; argument: the error, EIO unless given */
    FAULT_DROP,    /* nothing is written, and the initiator learns it as RH_ETIMEOUT */
    FAULT_REORDER, /* pushes and stores that nobody waits for yet overtake each other */
    FAULT_DOUBT, /* it happens, but its answer comes only when the caller goes on with its ticket */
    FAULT_KILL,  /* SIGKILL to the own process */
    /* These break it, to test whoever claims to notice. */
    FAULT_LOSE,    /* nothing is written, and the initiator is told that all is well */
    FAULT_REPEAT,  /* happens twice */
    FAULT_CORRUPT, /* one bit arrives flipped */
    FAULT_KIND_COUNT
};

enum fault_operation {
    FAULT_ON_PUSH,
    FAULT_ON_PULL,
    FAULT_ON_STORE,
    FAULT_ON_ATOMIC,
    FAULT_ON_APPEND,
    FAULT_ON_FLUSH,
    FAULT_ON_WAIT,
    FAULT_OPERATION_COUNT
};

#define FAULT_BIT(n) (1u << (n))

struct fault_item {
    enum fault_kind kind;
    unsigned operations; /* set of FAULT_BIT(enum fault_operation) */
    uint64_t first;      /* by count: the first operation hit; 0: by rate */
    bool onward;         /* by count: all later ones too */
    double rate;
    int64_t delay_ns; /* FAULT_DELAY */
    int code;         /* FAULT_FAIL: negative */
};

#define FAULT_ITEMS_MAX  16
#define FAULT_EVERY_RANK (-1)

struct fault_spec {
    uint64_t seed;
    int rank; /* the one that has faults, or FAULT_EVERY_RANK */
    size_t item_count;
    struct fault_item item[FAULT_ITEMS_MAX];
};

/* Empty text is no faults. RH_EINVALID names the faulty item and what is allowed there; *spec is
 * then untouched. */
int fault_spec_parse(const char *text, struct fault_spec *spec);

const char *fault_operation_name(enum fault_operation operation);

/* The operations that a kind can happen to. */
unsigned fault_kind_operations(enum fault_kind kind);
