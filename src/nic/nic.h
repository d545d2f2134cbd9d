/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The NIC contract: what it takes to be a network controller for rhinet.
 *
 * Start here. A NIC moves bytes between the memories of a job's processes and lets them wait; the
 * layers above (rma, msg, dsm, cache) are written to this table and never learn which NIC they run
 * on. To add one: fill a struct nic_ops, list it in nic.c, run tests/conformance on it.
 *
 * For every operation:
 *  - Threads: any thread may call any operation at any time, except open and close, and except that
 *    one queue is received from by one thread at a time.
 *  - Errors: 0 or a negative code of rhinet/error.h, explained with error_set(). A refused
 *    operation has changed nothing. Besides those named below, every operation on a peer may return
 *    RH_EDEAD, and every operation on a segment RH_ENOSEG, RH_ESTALE, RH_EBOUNDS or RH_ERIGHTS,
 *    each of which moves exactly one denial counter. rank is already checked to lie inside the job.
 *  - Blocking: no operation waits for a peer's program; those that may wait for the network or for
 *    space are marked, and do so no longer than their deadline.
 *  - Ownership: source and target buffers stay the caller's; the NIC may use them until the call
 *    returns or, where there is a done flag, until that is set.
 *  - Time-outs: when a call has returned, or an operation with a done flag was withdrawn, its local
 *    memory is not used any more, whatever the peer does later. RH_ETIMEOUT of a pull or flush
 *    means no more than that. That of a push: the target has been written, in part, or will be,
 *    but before anything that is written there later. That of an atomic operation or append: it
 *    has happened, or will, once, or not; the flush that next succeeds on that rank decides it,
 *    and a ticket (below) tells how. On NICs that reach the memory themselves (shm) a time-out of
 *    these means that nothing was done, as does that of an inline push or store everywhere. A call
 *    ends within its one time-out, whatever steps it takes.
 *  - Order: two operations on the same target may overtake each other unless the first has
 *    completed (returned without a done flag, done flag set, or flushed). A notice never overtakes
 *    its own data. Completion means visible at the target.
 */
#pragma once

#include "nic/nic_layer.h"
#include "nic/nic_types.h"
#include "watch/roster.h"
#include "watch/stall_watch.h"

#include "base/deadline.h"

#include <rhinet/rma.h>

struct nic;
struct settings;

#define NIC_CARD_MAX 512

/* What a NIC may ask of the task manager, which alone hands memory descriptors from member to
 * member. Implemented by src/job. Any of these may block for the manager's answer. */
struct nic_broker {
    void *context;
    /* Tell the job how this member is reached from other hosts: up to NIC_CARD_MAX bytes that only
     * the NIC understands. Once. */
    int (*card_put)(void *context, const void *card, size_t length);
    /* What a peer told; *length is the room, then the card's. RH_EAGAIN if it has told nothing yet,
     * or its host has not passed it on. */
    int (*card_get)(void *context, int rank, void *card, size_t *length);
    /* Memory shared by all members on this node, zeroed and reserved; the first caller's size
     * counts. *fd is the caller's. */
    int (*common)(void *context, uint64_t length, int *fd);
    /* Offer a sealed memfd (stays the caller's) to the job under a SID until withdrawn. */
    int (*publish)(void *context, rh_sid sid, unsigned rights, int fd);
    int (*withdraw)(void *context, rh_sid sid);
    /* Get a descriptor that a peer published; without RH_WRITE it is read-only. *fd is the
     * caller's. RH_ENOSEG if there is none. */
    int (*fetch)(void *context, int rank, rh_sid sid, int *fd);
    /* The service line: a socket on which the manager sends one connected socket per peer that asks
     * for this process's service thread. *fd is the caller's. */
    int (*service_line)(void *context, int *fd);
    /* A socket connected to a peer's service thread. RH_EUNSUP if that peer has none. */
    int (*service_connect)(void *context, int rank, int *fd);
};

/* What a NIC is told about its job. Owned by src/job; outlives the NIC. */
struct nic_job {
    int rank;
    int size;
    uint64_t job_id;
    uint8_t secret[32];
    const struct roster *roster;
    struct counters *counters; /* of this rank */
    struct watch_job watch;    /* for waits that take long */
    const struct settings *settings;
    const struct nic_broker *broker; /* NULL in a job of one */
    _Atomic uint32_t deaths_known;   /* acknowledged by the program */
    const void *for_nic; /* from who keeps the job: the NIC alone knows what it is; or NULL */
};

enum nic_segment_kind {
    NIC_SEGMENT_ALLOCATED = 1, /* the NIC brings the memory */
    NIC_SEGMENT_ATTACHED = 2,  /* the program does */
    NIC_SEGMENT_QUEUE = 3      /* receives appends */
};

struct nic_segment {
    rh_sid sid;
    enum nic_segment_kind kind;
    unsigned rights;
    unsigned flags;
    void *base; /* given for ATTACHED, filled in for the others */
    int fd;     /* filled in for ALLOCATED: the NIC's, for processes that are to map it as well */
    uint64_t length;
    struct rh_queue_shape shape; /* for QUEUE; both at least 1 */
};

/* A piece of remote memory that has been looked up and checked once. The NIC checks again, at each
 * use, only what can change: that the peer lives and still has the segment. */
struct nic_view {
    struct rh_remote remote;
    uint64_t length;
    enum nic_segment_kind kind;
    unsigned rights; /* that the segment grants, where the NIC has pointers to it */
    void *pointer;   /* where loads and stores reach it directly, else NULL */
    void *handle;    /* the NIC's own */
    /* With a pointer, and if sleeper is not NULL: what push(), pull(), atomic() and store() do may
     * be done without the call, by the processor's own instructions and as far as `rights` go,
     * while *stands is `stood` and the peer lives. After writing, in release order: a look at
     * *sleeper, and wake() if that is not 0. After reading: another look at *stands, since what is
     * detached meanwhile is nobody's. */
    const _Atomic uint64_t *stands;
    uint64_t stood;
    const _Atomic uint32_t *sleeper;
};

/* The less usual wishes for a push or pull. */
struct nic_extra {
    struct rh_done *done;           /* do not wait; report here. NULL: wait */
    const struct rh_notice *notice; /* push only: write this word after the data */
    bool notice_follows;            /* it is also the 8 bytes behind the source, and its place is
                                       behind the target: may go with the data, in order */
    bool is_inline;                 /* push only: take the source now, do not wait, no done flag */
    bool is_nonblocking;            /* and RH_EAGAIN rather than waiting for room in the network */
};

/* What a wait is for: exactly one of word, done, queue and is_met. */
struct nic_wait {
    const uint64_t *word; /* meets (when, value) */
    enum rh_when when;
    uint64_t value;
    struct rh_done *done;          /* is set */
    void *queue;                   /* holds a message */
    bool (*is_met)(void *context); /* says so; quick, does not wait */
    /* Says what this is about, for people; asked only when it takes long, and does not wait. NULL:
     * a wait for the above, and no more is to be said. */
    void (*describe)(void *context, struct wait_note *note);
    void *context;                /* of is_met and describe */
    struct stall_watch *stall;    /* of the longer wait that this is a part of, or NULL */
    int from;                     /* peer that will cause it, or RH_ANY_RANK */
    int64_t timeout_ns;           /* 0: look once. Never negative here. */
    const struct rh_until *until; /* of is_met: what it depends on, or NULL */
};

struct nic_ops {
    const char *name;
    const char *help; /* one line for `rhinet info` */

    /* Open the NIC of one process. `inner` is what stands in the parentheses of a wrapping NIC's
     * name, else NULL. May block for the manager. On success *nic is the caller's until close.
     * Errors: RH_EINVALID (bad setting), RH_ENOSPACE, RH_EUNSUP (not on this machine). */
    int (*open)(struct nic **nic, struct nic_job *job, const char *inner);

    /* Give everything back: segments are removed, memory unmapped. Never fails, never waits for a
     * peer's program. */
    void (*close)(struct nic *nic);

    /* Open local memory to the job; fills segment->base. Allocated memory is zeroed, and reserved,
     * so that touching it cannot fail later. Errors: RH_EEXIST, RH_ENOSPACE. */
    int (*segment_add)(struct nic *nic, struct nic_segment *segment);

    /* Close it again; from then on the SID is stale to peers until added again. May wait
     * (timeout_ns) for transfers under way into attached memory: when 0 is returned no peer writes
     * it any more, also none that was stopped in between. Errors: RH_ENOSEG, RH_ETIMEOUT, with the
     * rank of the peer in the error: that one may still write. Peers are refused, but the segment
     * is not removed, so that its SID stays in use: remove it again. */
    int (*segment_remove)(struct nic *nic, rh_sid sid, int64_t timeout_ns);

    /* Look up remote memory for access `rights` and check the range, which may be empty. With
     * rights 0 this is only a question: a refusal is not counted. The view is plain memory of the
     * caller, valid until view_release or close; one with rights 0 is not to be used. May block for
     * the manager on first contact. */
    int (*view)(struct nic *nic, struct rh_remote remote, uint64_t length, unsigned rights,
                struct nic_view *view);

    /* A view with rights, and its pointer, are not used any more: what is kept for it alone may go.
     * Does not block. */
    void (*view_release)(struct nic *nic, const struct nic_view *view);

    /* Copy local memory to remote memory. extra may be NULL. Needs RH_WRITE, as does the notice.
     * May block for the network. With a done flag or inline: returns at once; RH_EAGAIN if too many
     * are under way. */
    int (*push)(struct nic *nic, struct rh_remote target, const void *source, size_t length,
                const struct nic_extra *extra);

    /* Copy remote memory to local memory. Needs RH_READ. As push otherwise. */
    int (*pull)(struct nic *nic, struct rh_remote source, void *target, size_t length,
                const struct nic_extra *extra);

    /* Store width (1, 2, 4, 8) bytes at an aligned offset of a view; arrives whole. Offset and
     * width are already checked against the view. Does not wait. */
    int (*store)(struct nic *nic, const struct nic_view *view, uint64_t offset, uint64_t value,
                 unsigned width);

    /* Atomic operation on an aligned 64-bit word. Needs RH_ATOMIC. *old is never NULL. May block
     * for the network. Atomic towards every other access through this NIC and, for allocated
     * memory, towards the owner's own atomic instructions. */
    int (*atomic)(struct nic *nic, struct rh_remote target,
                  const struct nic_atomic_operands *operands, uint64_t *old);

    /* Append a message to a peer's queue; needs a segment of kind QUEUE. May block until there is
     * space or timeout_ns is over. Errors: RH_EAGAIN (timeout 0 and full), RH_ETIMEOUT,
     * RH_ETOOBIG, RH_EINVALID (not a queue). */
    int (*append)(struct nic *nic, struct rh_remote queue, const void *data, size_t length,
                  int64_t timeout_ns);

    /* The same with a ticket; RH_EAGAIN at once when the queue is full. */
    int (*append_try)(struct nic *nic, struct rh_remote queue, const void *data, size_t length,
                      struct nic_ticket *ticket);

    /* Oldest message of an own queue (`queue` is the segment's base), without waiting but making
     * what progress that needs. RH_EAGAIN if
     * there is none. The data stays in place until release. */
    int (*queue_peek)(struct nic *nic, void *queue, struct rh_arrival *arrival);
    void (*queue_release)(struct nic *nic, void *queue);

    /* Returns when all earlier operations on rank (RH_ANY_RANK: on all) are visible there. May
     * block for the network. */
    int (*flush)(struct nic *nic, int rank);

    /* The one place where anybody waits. Makes progress meanwhile. Errors: RH_ETIMEOUT, or
     * RH_EAGAIN when timeout_ns is 0; RH_EDEAD if `from` died or left, or for RH_ANY_RANK if a rank
     * died that the program has not acknowledged: but never if the condition holds. */
    int (*wait)(struct nic *nic, const struct nic_wait *wait);

    /* Give up an operation with a done flag. When this returns neither the flag nor the operation's
     * local memory is used any more; whether it is carried out at the target is open, as after a
     * time-out. Does nothing if it is over. Never fails, does not wait for a peer's program. */
    void (*withdraw)(struct nic *nic, struct rh_done *done);

    /* Wake a peer that may be asleep in wait, after plain stores through view.pointer. */
    int (*wake)(struct nic *nic, int rank);

    /* The library has copied so many bytes that came from a peer, which takes time where that is
     * simulated. Never fails. */
    void (*copied)(struct nic *nic, uint64_t length);

    /* The clock of all deadlines, in ns; never goes back. Simulated where the network is, so nobody
     * above uses another one. */
    int64_t (*now_ns)(struct nic *nic);
};

/* Every NIC's struct begins with this. */
struct nic {
    const struct nic_ops *ops; /* the NIC's own table; complete once nic_open() has returned */
    struct nic_job *job;
    /* Attached memory moves only with its owner's help: better push through allocated memory.
     * NULL: it is not so. A wrapping NIC passes on what the inner one says. */
    const _Atomic bool *attached_is_slow;
    /* Who polls keeps others from running: look a few times only. NULL: it is not so. */
    const _Atomic bool *is_crowded;
    /* Views of peers' memory on this host may have pointers, with all that goes with them (struct
     * nic_view): who uses one often better asks for it. */
    bool has_pointers;
    /* Every operation has reached its target's memory when its call returns, or its done flag is
     * set: for a peer that lives, flush() is no more than full_fence(). */
    bool fence_flushes;
    /* How often a word may be looked at before wait() is called for it, just now. NULL: never,
     * there is more to do in a wait than to look. */
    const _Atomic uint32_t *looks_first;
    struct nic_ops completed; /* nic_open()'s business */
};

static inline int64_t nic_now_ns(struct nic *nic)
{
    return nic->ops->now_ns(nic);
}

/* The moment timeout_ns from now; see base/deadline.h. */
static inline int64_t nic_deadline_ns(struct nic *nic, int64_t timeout_ns)
{
    return deadline_after_ns(nic_now_ns(nic), timeout_ns);
}

/* The NICs there are. Ends with NULL. */
extern const struct nic_ops *const nic_list[];

/* Open a NIC by the name a user gives: "shm", or "fault(shm)" for one that wraps another.
 * RH_EINVALID, with the list, for a name nobody has. */
int nic_open(struct nic **nic, const char *name, struct nic_job *job);

/* Fill what a NIC leaves out: a derived version where the rest suffices, else one that returns
 * RH_EUNSUP. nic_open() does it for every NIC, so callers never test a pointer. */
void nic_ops_complete(struct nic_ops *ops);

/* Shared by all NICs: the refusal for a peer that died or left, with counter and text. */
int nic_peer_gone(struct nic *nic, int rank, const char *during);

/* What a wait must look at besides its condition: RH_EDEAD by the rules of nic_ops.wait, else 0. */
int nic_wait_check(struct nic *nic, int from);

/* What a struct nic_wait is about, for its stall watch. */
void nic_wait_describe(void *wait, struct wait_note *note);

/* RH_ETIMEOUT of a wait, with a text that says what for. hint: the next step for the user, or
 * "". */
int nic_wait_late(const struct nic_wait *wait, const char *hint);
