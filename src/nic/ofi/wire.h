/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages between the NICs of two ranks. All come as one libfabric message: the head, then what
 * its kind says, then data. The token tells that the sender knows the job's secret; whatever comes
 * without the right one is dropped and counted.
 *
 * The head has 40 bytes so that a word with its place fits what providers inject (64 bytes on
 * tcp;ofi_rxm), and so does a short message of the layer above with its notice.
 */
#pragma once

#include <stdint.h>

#define OFI_WIRE_VERSION 2u
#define OFI_MESSAGE_MAX  4096
#define OFI_BODY_MAX     (OFI_MESSAGE_MAX - sizeof(struct ofi_head))

enum ofi_kind {
    OFI_REPLY = 1, /* offset: result code; body: what the request's kind says */
    OFI_LOOKUP,    /* body: the sender's address; reply: struct ofi_segment_info */
    OFI_PUT,       /* body: by flags, then data */
    OFI_ATOMIC,    /* body: struct ofi_atomic_body; reply: the old value */
    OFI_APPEND,    /* body: the message */
    OFI_CLAIM,     /* offset: length of a message; reply: struct ofi_claim_body */
    OFI_PUBLISH,   /* offset: number of the claim; body: struct ofi_publish_body */
    OFI_FLUSH,     /* reply: all earlier messages have been dealt with */
    OFI_REVOKE,    /* segment sid of the sender is going; reply: nobody here uses it any more */
    OFI_SPACE,     /* queue sid of the sender has space again; no reply */
    OFI_FILL       /* offset: number of a claim; body: struct ofi_fill_body, then data; no reply */
};

enum ofi_flag {
    OFI_WANTS_REPLY = 1,
    OFI_HAS_NOTICE = 2, /* PUT: body starts with the word's value; its place is notice_delta away */
    OFI_FAR_NOTICE = 4  /* PUT: the place comes before that, as struct ofi_far_place */
};

struct ofi_head {
    uint64_t token;
    uint32_t sender; /* rank */
    uint8_t kind;
    uint8_t flags;
    uint16_t length; /* of the data at the end */
    uint32_t request;
    uint32_t sid;
    uint32_t generation; /* of the segment, as the sender knows it */
    union {
        int32_t notice_delta; /* PUT: from offset, in the same segment */
        uint32_t once;        /* ATOMIC, APPEND, CLAIM: the request's number, see once.c */
    };
    uint64_t offset;
};
_Static_assert(sizeof(struct ofi_head) == 40, "see above");

struct ofi_message {
    struct ofi_head head;
    unsigned char body[OFI_BODY_MAX];
};
_Static_assert(sizeof(struct ofi_message) == OFI_MESSAGE_MAX, "wire layout");

struct ofi_far_place {
    uint32_t sid;
    uint32_t generation;
    uint64_t offset;
};

struct ofi_segment_info {
    uint64_t key;
    uint64_t address; /* to add to offsets */
    uint64_t length;
    uint32_t kind;
    uint32_t rights;
    uint32_t generation;
    uint32_t slot_count; /* of a queue */
    uint32_t slot_length;
    uint32_t reserved;
};

struct ofi_atomic_body {
    uint32_t operation;
    uint32_t reserved;
    uint64_t operand;
    uint64_t expected;
};

struct ofi_claim_body {
    uint64_t number;
};

struct ofi_fill_body {
    uint64_t at; /* in the message */
};
#define OFI_FILL_MAX (OFI_BODY_MAX - sizeof(struct ofi_fill_body))

struct ofi_publish_body {
    uint32_t length;
    uint32_t is_void;
};

/* How a member is reached: what it puts on its card. */
struct ofi_card {
    uint32_t wire_version;
    uint32_t provider_version;
    char provider[48];
    uint32_t address_length;
    uint8_t address[256];
};
