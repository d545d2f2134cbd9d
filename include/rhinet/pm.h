/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PM: the message layer in the style of SCore's PM library, on remote memory (librhinet-pm).
 *
 * A sender gets a buffer for a message to a rank, writes the message into it and sends it. A
 * receiver takes messages as they come, from whomever, looks at them in place and gives the place
 * back. Both pairs of calls alternate strictly: get, send, get, send; receive, release, receive,
 * release. Messages of one sender arrive in the order in which they were sent. A receiver that does
 * not receive stops its senders; nothing is lost, and memory stays bounded.
 *
 * How messages travel is the implementation's business, chosen when the context is opened:
 *
 *   pm-ring   PM/RHiNET: one ring per sender in the receiver's memory. The lowest latency with few
 *             ranks; memory and the cost of receiving grow with their number.
 *   pm-queue  PM/RHiNET-VP: one queue for all senders, by append. Neither grows, but the messages
 *             are short.
 *   pm-auto   one queue for all, and a ring each for a few busy senders. Neither grows, and a busy
 *             pair has the latency of pm-ring. The default.
 *
 * All ranks that exchange messages use the same implementation. A context is used by one thread at
 * a time. Calls return 0 or a negative code of rhinet/error.h; pmErrorText() explains the last one.
 */
#ifndef RHINET_PM_H
#define RHINET_PM_H

#include <rhinet/rma.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct pm_context;

/* ---- Contexts ------------------------------------------------------------------------------- */

/* Send a message of more than 2040 bytes in pushes of 2 KB and wait for each, as PM/RHiNET did to
 * work around a fault of its switch (pm-ring only). */
#define PM_SPLIT_PUSHES 1u
/* This rank sends only: it needs no memory for receiving, and what is sent to it waits for ever. */
#define PM_SEND_ONLY 2u

/* Optional wishes for pmOpenContext(). What is 0 has its default. */
struct pm_options {
    size_t struct_size;         /* sizeof(struct pm_options), or 0: that of version 0.2 */
    const char *implementation; /* NULL: what RHINET_PM says, else pm-auto */
    unsigned flags;             /* PM_SPLIT_PUSHES, PM_SEND_ONLY */
};

/* Open a context of this process; of each implementation one per job at a time. options may be
 * NULL. Does not wait for the others: a first message to a rank that has not opened its own waits
 * for that. On success *pm is the caller's until pmCloseContext().
 * Errors: RH_EEXIST (there is one), RH_EINVALID (no such implementation or flag), RH_ENOSPACE. */
int pmOpenContext(struct pm_context **pm, struct rh_job *job, const struct pm_options *options);

/* Close it, before rh_leave(). What was not received is dropped, registered memory is given back,
 * writes and reads under way are waited for. Who sends to this rank afterwards gets RH_ESTALE.
 * Before a context is opened again all ranks must have closed theirs. Always frees; returns the
 * first problem met, if any. */
int pmCloseContext(struct pm_context *pm);

struct pm_info {
    size_t struct_size;         /* set it to sizeof(struct pm_info) */
    const char *implementation; /* its name */
    size_t message_max;         /* longest message in bytes */
    uint64_t memory;            /* bytes that this context occupies in this process */
    uint64_t memory_per_rank;   /* how much of it there is for every rank of the job */
};
int pmGetInfo(const struct pm_context *pm, struct pm_info *info);

/* Names of the implementations, ends with NULL. */
const char *const *pmGetImplementations(void);

/* The calling thread's last failure in a PM call, in one sentence; "" if there was none. RH_EAGAIN
 * of pmReceive() and pmSend() sets none. Never NULL; valid until the thread's next failing call. */
const char *pmErrorText(void);

/* ---- Sending -------------------------------------------------------------------------------- */

/* A buffer for a message of this length to a rank, the own one included. It is aligned to 8 bytes
 * and the caller's to write until pmSend(). Its contents are not defined.
 * Errors: RH_ETOOBIG, RH_EINVALID (no such rank; the last buffer has not been sent). */
int pmGetSendBuffer(struct pm_context *pm, int rank, size_t length, void **buffer);

/* Send it, without waiting. RH_EAGAIN: the receiver has no room, or has not opened its context yet;
 * the buffer is still the caller's: receive something, then call again. After RH_EDEAD and
 * RH_ESTALE (the receiver is gone, or has closed its context) the buffer is gone, after every other
 * error it is still the caller's. Errors: those, RH_EINVALID (no buffer), and those of a push. */
int pmSend(struct pm_context *pm);

/* The same, but wait for room, and RH_ETIMEOUT after timeout_ns. Two ranks that do this towards
 * each other and do not receive meanwhile wait in vain. */
int pmSendWait(struct pm_context *pm, int64_t timeout_ns);

/* Give the buffer back without sending. RH_EINVALID: there is none. */
int pmCancelSend(struct pm_context *pm);

/* ---- Receiving ------------------------------------------------------------------------------ */

struct pm_message {
    const void *data; /* where it arrived, aligned to 8 bytes; valid until it is released */
    size_t length;
    int source; /* rank of the sender */
};

/* Take the next message, if there is one. Errors: RH_EAGAIN (none), RH_EDEAD (none, and a rank has
 * died that the program does not know of, see rh_deaths_acknowledge), RH_EINVALID (the last one has
 * not been released), RH_ECORRUPT (a sender has written nonsense). */
int pmReceive(struct pm_context *pm, struct pm_message *message);

/* The same, but wait for one; RH_ETIMEOUT in place of RH_EAGAIN. */
int pmReceiveWait(struct pm_context *pm, struct pm_message *message, int64_t timeout_ns);

/* Give the place of the message back to its sender. RH_EINVALID: no message was received. */
int pmReleaseReceiveBuffer(struct pm_context *pm);

/* ---- Remote memory -------------------------------------------------------------------------- */

/* Memory that peers may write and read: plain data, made to be sent to them in a message. */
struct pm_memory {
    int rank;     /* whose it is */
    uint32_t key; /* PM's business */
    uint64_t length;
};

/* A place in registered memory. */
struct pm_place {
    struct pm_memory memory;
    uint64_t offset;
};

/* Open memory of the program to the job. It must stay mapped until it is unregistered.
 * Errors: RH_EINVALID, RH_ENOSPACE. */
int pmRegisterMemory(struct pm_context *pm, void *base, size_t length, struct pm_memory *memory);

/* Close it: when this returns no peer writes into it any more. RH_EINVALID: not ours. */
int pmUnregisterMemory(struct pm_context *pm, const struct pm_memory *memory);

/* Start a write from local memory, or a read into it. The local memory belongs to the operation
 * until pmTestDone() or pmWaitDone() says that it is complete. Operations may overtake each other.
 * Errors: RH_EAGAIN (PM_UNDER_WAY_MAX are under way), and those of rh_push_start(3). */
#define PM_UNDER_WAY_MAX 64
int pmWrite(struct pm_context *pm, const struct pm_place *target, const void *source,
            size_t length);
int pmRead(struct pm_context *pm, const struct pm_place *source, void *target, size_t length);

/* Whether all writes and reads of this context are complete at their target: 0, RH_EAGAIN while
 * some are under way, else the first error of those that are not reported yet. */
int pmTestDone(struct pm_context *pm);

/* Wait for that. RH_ETIMEOUT: some are still under way. */
int pmWaitDone(struct pm_context *pm, int64_t timeout_ns);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
