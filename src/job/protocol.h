/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What members and their task manager say to each other: fixed-size request and reply on a
 * SOCK_SEQPACKET pair, each with at most two descriptors. Requests are numbered and answered in
 * order, each exactly once and with its number: whoever has given up waiting for an answer knows it
 * when it comes after all (model: tests/model/manager_request.pml). A request whose answer was
 * given up takes effect nevertheless; asked again, it replaces what it did before.
 */
#pragma once

#include <stdint.h>

#define PROTOCOL_VERSION  6u
#define PROTOCOL_CARD_MAX 512
#define PROTOCOL_NAME_MAX 56 /* bytes of a name */

enum request_kind {
    REQUEST_HELLO = 1,       /* reply: identity; descriptors: roster (read-only), board */
    REQUEST_COMMON,          /* length; reply descriptor: the node's common memory */
    REQUEST_PUBLISH,         /* sid, rights, descriptor; in place of an earlier one of that sid */
    REQUEST_WITHDRAW,        /* sid */
    REQUEST_FETCH,           /* rank, sid; reply descriptor: the segment */
    REQUEST_SERVICE_LINE,    /* reply descriptor: this member's service line; ends an earlier one */
    REQUEST_SERVICE_CONNECT, /* rank; reply descriptor: a stream to that member's service thread */
    REQUEST_CARD_PUT,        /* length, card */
    REQUEST_CARD_GET,        /* rank; reply: its card */
    REQUEST_LEAVE,
    REQUEST_PEER, /* open job: rank, length (its serial): whether that process is there; we meet */
    REQUEST_NAME_PUT,  /* length, card: a name of this rank's; sid: the number that it stands for */
    REQUEST_NAME_DROP, /* length, card: it has that name no more */
    REQUEST_NAME_GET,  /* length, card; reply: rank, size: the number; we meet */
    REQUEST_CLAIM      /* to a manager process, before all else: rank; card: proof. No reply */
};

struct request {
    uint32_t version;
    uint32_t kind;
    int32_t rank;
    uint32_t sid;
    uint32_t rights;
    uint32_t number; /* one more each time; may wrap, since few are unanswered at once */
    uint64_t length;
    uint8_t card[PROTOCOL_CARD_MAX];
};

struct reply {
    int32_t code; /* 0 or a negative error; then text says why */
    uint32_t version;
    int32_t rank;
    int32_t size;
    uint64_t job_id;
    uint8_t secret[32];
    char text[512];
    uint32_t card_length;
    uint32_t number; /* the request's */
    uint8_t card[PROTOCOL_CARD_MAX];
};

/* What a service thread receives on its line, together with the stream of the peer named. */
struct service_caller {
    int32_t rank;
};
