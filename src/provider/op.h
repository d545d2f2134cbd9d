/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations that are not over: op.c. All with the turn.
 */
#pragma once

#include "provider/pieces.h"
#include "provider/provider.h"

enum op_kind {
    OP_SEND,    /* a message, a write */
    OP_RECEIVE, /* posted, or its long message is on the way */
    OP_DROP,    /* a long message that nobody wants */
    OP_ANSWER,  /* ours, which nobody is told of */
    OP_READ,    /* and atomics that fetch: over when the answer is there */
    OP_STORE,   /* at the target of a long write */
    OP_ATOMIC   /* the same, of operands that are fetched first */
};

struct op {
    struct rh_request request; /* first */
    struct matching_entry entry;
    struct op *next; /* of those that are free */
    bool is_used;    /* it is none of those */
    bool is_begun;   /* the mailbox has its request, or has had it */
    enum op_kind kind;
    enum count count;
    struct endpoint *endpoint; /* NULL: nobody's */
    void *context;
    uint64_t flags; /* of its completion */
    bool is_silent; /* in the completion queue, unless it fails */
    bool is_sent, is_answered;
    uint32_t number; /* + 1, while somebody's answer is awaited */
    uint32_t label;
    int error;
    uint64_t place; /* of the peer */
    uint64_t tag;
    uint64_t data;
    size_t message_length; /* of a receive */
    uint32_t asker;        /* the sender's number, who wants to hear of it */
    uint32_t *quota;       /* what it is counted in, or NULL */
    char *bounce; /* what request.buffer is if the program's is not in one piece, or it waits */
    unsigned iov_count;
    struct iovec iov[IOV_MAX_COUNT]; /* the program's, in pieces */
    /* Buffers for several messages: */
    struct op *multiple; /* this is one message in that */
    size_t used;         /* of this one */
    uint32_t sharers;    /* messages on their way into it */
    bool is_used_up;
    struct region *region;
    char envelope[ENVELOPE_MAX];
};

/* For a call of the program's. NULL: no memory, or too many. Zeroed but for its memory's sake. */
struct op *op_make(struct endpoint *endpoint, enum op_kind kind);
/* For what comes, and must not wait until the program has completions read. NULL: no memory. */
struct op *op_make_ours(struct engine *engine, enum op_kind kind);
void op_free(struct engine *engine, struct op *op);

/* Give it a number by which an answer finds it. False: no memory. */
bool op_await(struct engine *engine, struct op *op);
struct op *op_awaited(const struct engine *engine, uint32_t number);

/* Whether a parcel comes from where an operation went to, to where that came from. Numbers are used
 * again, and the answer to one whose endpoint was closed may still come. */
bool op_is_answered_by(const struct op *op, const struct parcel *parcel);
/* Nobody waits for it any more. */
void op_await_end(struct engine *engine, struct op *op);

/* A request of the mailbox's is over. */
void op_request_over(struct engine *engine, struct op *op);
/* A send has gone, or been answered: is it over? */
void op_send_step(struct op *op);
/* A completion, and the end of the operation. */
void op_complete(struct op *op, size_t length, int error);
/* End what waits for answers or messages from those who are gone. */
void op_gone_end(struct engine *engine);

/* The endpoint is closed: end all that is its, without completions. */
void ops_abandon(struct engine *engine, const struct endpoint *endpoint);
void ops_close(struct engine *engine);

/* Send a parcel of our own, from a copy; it goes now or later. */
void parcel_out(struct engine *engine, uint64_t place, uint32_t label, const void *envelope,
                size_t envelope_length, const void *data, size_t length);

/* Send an operation whose request has envelope, buffer and length. */
void op_send(struct op *op, uint64_t place, uint32_t label);
/* The same with what the program wants to send: from its own buffer, or from a copy if it is in
 * pieces, or is injected and cannot go at once. Negative: no memory, nothing was begun. */
ssize_t op_dispatch(struct op *op, uint64_t place, uint32_t label, const struct iovec *iov,
                    size_t count, bool is_injected);
/* Copy it. False: no memory. */
bool op_bounce(struct op *op, const struct iovec *iov, size_t count);

/* The region is closed: nobody reads or writes it any more. */
void ops_region_abandon(struct engine *engine, const struct region *region);

/* ---- arrive.c, receive.c -------------------------------------------------------------------- */

/* A message has come. False: no memory. */
bool message_arrive(struct endpoint *endpoint, const struct parcel *parcel);
/* A message to a port of this process, in request.buffer. */
void message_own(struct op *send);
/* Say to who asks that its operation is over; error as libfabric has them, or 0. */
void answer_out(struct engine *engine, uint64_t place, uint32_t label, uint32_t number, int error);
void receive_over(struct op *op);
/* A receive that waits does so no more. */
void receive_end(struct matching *matching, struct op *op, int error);
void receives_gone_end(struct endpoint *endpoint);
/* The endpoint is closed: what has come for it, and what it sends to this process itself. */
void messages_drop(struct endpoint *endpoint);
void messages_own_forget(struct engine *engine, const struct endpoint *sender);
ssize_t receive_cancel(struct endpoint *endpoint, void *context);

/* What a receive call says. */
struct receiving {
    const struct iovec *iov;
    size_t count;
    fi_addr_t from;
    uint64_t tag, ignore;
    void *context;
    uint64_t flags; /* FI_COMPLETION, FI_MULTI_RECV, FI_PEEK, FI_CLAIM, FI_DISCARD */
    bool is_tagged;
};
ssize_t receive_post(struct endpoint *endpoint, const struct receiving *receiving);

/* ---- hold.c --------------------------------------------------------------------------------- */

/* When the provider is loaded; with the engine (false: no memory). */
void hold_define(void);
bool hold_open(struct engine *engine);
/* A peer asks us to hold, or to go on; whether it has; it is gone. */
void hold_arrive(struct engine *engine, int rank, bool is_held);
bool hold_is_on(const struct engine *engine, int rank);
void hold_gone(struct engine *engine, int rank);

/* ---- memory.c ------------------------------------------------------------------------------- */

/* RMA and atomics at their target, and their answers. False: no memory. */
bool memory_arrive(struct endpoint *endpoint, const struct parcel *parcel);
/* What was fetched for them is there. */
void store_over(struct op *op);
void atomic_over(struct op *op);
void read_over(struct op *op);

/* ---- send.c --------------------------------------------------------------------------------- */

struct sending {
    const struct iovec *iov;
    size_t count;
    fi_addr_t to;
    uint64_t tag;
    uint64_t data;
    void *context;
    uint64_t flags; /* FI_COMPLETION, FI_INJECT, FI_REMOTE_CQ_DATA, FI_DELIVERY_COMPLETE ... */
    bool is_tagged;
};
/* Of inject calls: no completion, whatever the endpoint says. One of the provider's own flags. */
#define SEND_IS_QUIET (1ULL << 60)
ssize_t send_post(struct endpoint *endpoint, const struct sending *sending);
