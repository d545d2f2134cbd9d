/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What providers say to each other: addresses, labels and envelopes of parcels. Both ends must
 * agree on all of this.
 */
#pragma once

#include <stdint.h>

/* ---- Addresses ------------------------------------------------------------------------------ */

#define ADDRESS_MAGIC 0x72686931u /* "rhi1" */
#define ADDRESS_NAMED 0x7268694eu /* "rhiN": by name, see name.c; without one: any */

/* What fi_getname() gives and fi_av_insert() takes. Open MPI has 64 bytes for it. */
struct address {
    uint32_t magic;
    uint16_t port;
    uint16_t job_length;
    uint8_t job[56]; /* of rh_address(), or the name */
};
_Static_assert(sizeof(struct address) == 64, "said to others");

/* ---- Labels --------------------------------------------------------------------------------- */

#define PORT_BITS  12
#define PORT_COUNT (1u << PORT_BITS)

enum subject {
    SUBJECT_TAGGED,
    SUBJECT_PLAIN,
    SUBJECT_TAKEN, /* answers a message that has asked for it: it is in its receiver's buffer */
    SUBJECT_WRITE,
    SUBJECT_READ,   /* answered by SUBJECT_ANSWER with the data */
    SUBJECT_ATOMIC, /* answered by SUBJECT_ANSWER with what was there */
    SUBJECT_ANSWER,
    SUBJECT_HOLD /* no more messages, or go on: an answer_envelope with number 1 or 0 */
};

#define LABEL_HAS_DATA   16u /* the envelope's `data` means something */
#define LABEL_ASKS       32u /* for SUBJECT_TAKEN */
#define LABEL_FETCHES    64u /* is answered by SUBJECT_ANSWER */
#define LABEL_TO_SHIFT   8
#define LABEL_FROM_SHIFT (LABEL_TO_SHIFT + PORT_BITS)

static inline uint32_t label_make(enum subject subject, uint32_t from, uint32_t to)
{
    return (uint32_t)subject | to << LABEL_TO_SHIFT | from << LABEL_FROM_SHIFT;
}

static inline enum subject label_subject(uint32_t label)
{
    return (enum subject)(label & 15);
}

static inline uint32_t label_to(uint32_t label)
{
    return label >> LABEL_TO_SHIFT & (PORT_COUNT - 1);
}

static inline uint32_t label_from(uint32_t label)
{
    return label >> LABEL_FROM_SHIFT & (PORT_COUNT - 1);
}

/* ---- Envelopes ------------------------------------------------------------------------------ */

/* SUBJECT_TAGGED, SUBJECT_PLAIN */
struct message_envelope {
    uint64_t tag;
    uint32_t data;
    uint32_t number; /* of the operation, if it asks for an answer */
};

/* SUBJECT_WRITE; SUBJECT_READ and SUBJECT_ATOMIC, followed by what they need */
struct memory_envelope {
    uint64_t address;
    uint64_t key;
    uint32_t data; /* atomics: type | operation << 8 | enum atomic_kind << 16 | count << 18 */
    uint32_t number;
};

/* SUBJECT_TAKEN, SUBJECT_ANSWER, SUBJECT_HOLD */
struct answer_envelope {
    uint32_t number;
    int32_t error; /* 0, or positive, as libfabric has them */
};
