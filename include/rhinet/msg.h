/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages: send and receive, locks, barriers and collectives, on remote memory and nothing below
 * it, so that they run on every NIC.
 *
 * A process opens its mailbox once, after rh_join(), and passes it to every call. Messages between
 * two ranks arrive in the order in which they were sent. A receiver that does not receive stops its
 * senders: nothing is lost, and memory stays bounded. Any thread may call; calls on one mailbox
 * take turns. As everywhere, each wait has a deadline and a peer's death ends it with RH_EDEAD.
 */
#ifndef RHINET_MSG_H
#define RHINET_MSG_H

#include <rhinet/rma.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct rh_msg;

/* Open this process's mailbox; one per job. Does not wait for the others: a first message to a rank
 * that has not opened its own waits for that. Errors: RH_EEXIST, RH_ENOSPACE. */
int rh_msg_open(struct rh_msg **msg, struct rh_job *job);

/* Close it. Messages not yet received are dropped; unfinished requests must be gone. */
int rh_msg_close(struct rh_msg *msg);

/* ---- Send and receive ----------------------------------------------------------------------- */

#define RH_ANY_TAG (-1) /* in receives; tags of messages are 0 or more */

struct rh_status {
    int source;
    int tag;
    size_t length; /* of the message; may exceed the buffer, see rh_recv() */
};

/* Send a message. Returns when the data may be overwritten, which may be before it is received.
 * Errors: RH_EDEAD, RH_ETIMEOUT (the receiver's buffers stayed full), RH_EINVALID. */
int rh_send(struct rh_msg *msg, int rank, int tag, const void *data, size_t length);

/* Send the same message to several ranks. Tries all; returns the first error. */
struct rh_recipients {
    const int *ranks;
    size_t rank_count;
};
int rh_multicast(struct rh_msg *msg, const struct rh_recipients *to, int tag, const void *data,
                 size_t length);

/* Receive the oldest message that fits rank (or RH_ANY_RANK) and tag (or RH_ANY_TAG). status may be
 * NULL. A longer message than `room` is cut: RH_ETOOBIG, with the full length in status.
 * Errors: RH_EDEAD, RH_ETIMEOUT. */
int rh_recv(struct rh_msg *msg, int rank, int tag, void *buffer, size_t room,
            struct rh_status *status);

/* The same without waiting. The buffer belongs to the request until it is complete. The request is
 * the caller's until a test or wait says that it is complete (with or without an error), or it is
 * cancelled: then it is gone. */
struct rh_request;
int rh_isend(struct rh_msg *msg, int rank, int tag, const void *data, size_t length,
             struct rh_request **request);
int rh_irecv(struct rh_msg *msg, int rank, int tag, void *buffer, size_t room,
             struct rh_request **request);

/* RH_EAGAIN while under way; else the request is complete and gone, and this is its result. */
int rh_test_request(struct rh_request *request, struct rh_status *status);

/* Wait for one request. RH_ETIMEOUT: it is still under way and still the caller's. */
int rh_wait_request(struct rh_request *request, struct rh_status *status, int64_t timeout_ns);

/* Wait for any of several; NULL entries are passed over. The index of the complete one goes to
 * *index, its entry is set to NULL, and the result is its own. RH_EINVALID if all are NULL. */
int rh_wait_any(struct rh_request **requests, size_t count, size_t *index, struct rh_status *status,
                int64_t timeout_ns);

/* Wait for all; entries are set to NULL. Returns the first error, after having waited for all. */
int rh_wait_all(struct rh_request **requests, size_t count, int64_t timeout_ns);

/* Take a request back. 0: it is gone and has had no effect. RH_EAGAIN: too late, the transfer has
 * begun; the request is still the caller's and must be waited for. */
int rh_cancel(struct rh_request *request);

/* Look whether a message is there, without receiving it. RH_EAGAIN (timeout 0) or RH_ETIMEOUT. */
int rh_probe(struct rh_msg *msg, int rank, int tag, struct rh_status *status, int64_t timeout_ns);

/* ---- Locks ---------------------------------------------------------------------------------- */

/* Locks are known by numbers, 0 to RHINET_LOCKS - 1, the same on all ranks, and need no creation.
 * First come, first served; who waits, waits on its own memory. Not recursive; held by a process,
 * not a thread. */
#define RH_OWNER_DIED 1 /* acquired, but the last holder died holding it: check what it protected */

/* Returns 0 or RH_OWNER_DIED with the lock held. Errors: RH_ETIMEOUT (not held), RH_EDEAD (the rank
 * that looks after this lock, number mod size, has died), RH_EINVALID (already held). */
int rh_lock(struct rh_msg *msg, uint32_t lock, int64_t timeout_ns);

/* RH_EAGAIN if somebody has it. */
int rh_lock_try(struct rh_msg *msg, uint32_t lock);

int rh_unlock(struct rh_msg *msg, uint32_t lock);

/* ---- Sets of ranks, barrier and collectives ------------------------------------------------- */

/* A set of ranks that act together. Every member makes the set with the same description; calls on
 * a set are made by all its members in the same order and with the same arguments. If they are not,
 * all members get RH_EINVALID with the calls of two of them, no target is written, and the set is
 * of no more use: destroy it. */
struct rh_set;

struct rh_set_spec {
    size_t struct_size; /* sizeof(struct rh_set_spec), or 0: that of version 0.2 */
    uint32_t id;        /* chosen by the program, the same on all members; below 65536 */
    const int *ranks;   /* NULL: all ranks of the job */
    size_t rank_count;
    const int
        *parents; /* shape of the tree: parents[i] is the index of member i's parent, -1 for the
                           one root; NULL: a shape that suits the NIC */
};

/* spec may be NULL: all ranks; a process has one such set at a time. */
int rh_set_create(struct rh_msg *msg, const struct rh_set_spec *spec, struct rh_set **set);
int rh_set_destroy(struct rh_set *set);

/* The ready set of all ranks, for programs that need no other: no mailbox has to be opened before,
 * and the set is the job's, so that rh_set_destroy() refuses it. rh_barrier_all() is a call on it,
 * too. Does not wait for the others. Errors: RH_ENOSPACE. */
int rh_set_all(struct rh_job *job, struct rh_set **set);

/* This process's place in the set, 0 to size - 1, and the number of members. */
int rh_set_rank(const struct rh_set *set);
int rh_set_size(const struct rh_set *set);

/* Nobody leaves before all have entered. RH_EDEAD, on all survivors, if a member died. */
int rh_barrier(struct rh_set *set, int64_t timeout_ns);

/* The barrier of all ranks of the job, with the default timeout, for programs that need nothing
 * else of this header: no mailbox and no set have to be made, and none is in the way. */
int rh_barrier_all(struct rh_job *job);

enum rh_type {
    RH_INT8,
    RH_UINT8,
    RH_INT16,
    RH_UINT16,
    RH_INT32,
    RH_UINT32,
    RH_INT64,
    RH_UINT64,
    RH_FLOAT,
    RH_DOUBLE
};

enum rh_operator { RH_SUM, RH_PRODUCT, RH_MIN, RH_MAX, RH_AND, RH_OR, RH_XOR };

/* What a reduction does: `count` elements of a type under an operator. The bit operators are for
 * whole numbers. */
struct rh_reduction {
    enum rh_type type;
    enum rh_operator operator_;
    size_t count;
};

/* Roots are places in the set. target may equal source. */
int rh_broadcast(struct rh_set *set, int root, void *buffer, size_t length);
int rh_reduce(struct rh_set *set, int root, const void *source, void *target,
              const struct rh_reduction *reduction);
int rh_allreduce(struct rh_set *set, const void *source, void *target,
                 const struct rh_reduction *reduction);
/* `length` bytes per member. */
int rh_gather(struct rh_set *set, int root, const void *source, void *target, size_t length);
int rh_scatter(struct rh_set *set, int root, const void *source, void *target, size_t length);
int rh_allgather(struct rh_set *set, const void *source, void *target, size_t length);
int rh_alltoall(struct rh_set *set, const void *source, void *target, size_t length);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
