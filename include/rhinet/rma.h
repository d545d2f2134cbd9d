/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Remote memory: write and read another process's memory.
 *
 * A process opens segments of memory to its job, each named by a number it chooses, the SID.
 * Remote memory is always (rank, SID, offset), never an address. A push copies local memory there,
 * a pull copies it back; neither disturbs the target's program. Access is checked for every
 * operation: same job, registered segment, inside its bounds, with the right to do so. A refused
 * operation changes nothing and says which of these failed.
 *
 * Unless said otherwise a call blocks until the data is where it should be and visible there, at
 * most for the job's default timeout, and returns RH_EDEAD if the peer is gone. When a call has
 * returned, its local memory is not used any more. After RH_ETIMEOUT of a push, append or atomic
 * operation on a rank of another host, the target may have been changed, or may still be, though
 * only once; when rh_flush() has returned 0 for that rank, it is decided. Order: operations
 * of one process on one target may overtake each other, except that a notification never overtakes
 * its data, and nothing overtakes a flush or a call that has returned.
 */
#ifndef RHINET_RMA_H
#define RHINET_RMA_H

#include <rhinet/error.h>
#include <rhinet/job.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef uint32_t rh_sid;

/* SIDs from here on belong to rhinet's own layers (messages and above). */
#define RH_SID_RESERVED 0xffff0000u

struct rh_remote {
    int rank;
    rh_sid sid;
    uint64_t offset;
};

static inline struct rh_remote rh_at(int rank, rh_sid sid, uint64_t offset)
{
    struct rh_remote remote;
    remote.rank = rank;
    remote.sid = sid;
    remote.offset = offset;
    return remote;
}

/* ---- Segments ------------------------------------------------------------------------------- */

#define RH_READ   1u /* peers may pull */
#define RH_WRITE  2u /* peers may push and store */
#define RH_ATOMIC 4u /* peers may use atomic operations */
#define RH_ALL    (RH_READ | RH_WRITE | RH_ATOMIC)

#define RH_HUGE_PAGES 1u /* back fast memory by huge pages; RH_ENOSPACE if there are none */

/* Everything one may say about a segment. What is 0 has its default, so that sid and length are
 * enough. */
struct rh_segment {
    size_t struct_size; /* sizeof(struct rh_segment), or 0: that of version 0.2 */
    rh_sid sid;
    void *base;      /* NULL: allocate fast memory, and base is filled in */
    uint64_t length; /* 1 byte or more */
    unsigned rights; /* RH_READ, RH_WRITE, RH_ATOMIC; 0: all of them */
    unsigned flags;  /* RH_HUGE_PAGES */
};

/* Open a segment to the job. The memory is zeroed when it is allocated here, untouched when the
 * program brought it; that must stay mapped until the segment is detached.
 * Errors: RH_EEXIST, RH_EINVALID, RH_ENOSPACE (memory, or RHINET_SEGMENTS reached). */
int rh_segment_create(struct rh_job *job, struct rh_segment *segment);

/* The two usual forms, with all rights: fast memory, which peers reach directly, and the program's
 * own memory, which is moved by the kernel or the network. */
int rh_segment_alloc(struct rh_job *job, rh_sid sid, uint64_t length, void **base);
int rh_segment_attach(struct rh_job *job, rh_sid sid, void *base, uint64_t length);

/* Close a segment. When this returns 0 no peer writes into attached memory any more, also none that
 * was stopped in the middle of a transfer, and memory that was allocated is gone; peers that use
 * the SID afterwards get RH_ESTALE.
 * Errors: RH_ENOSEG, RH_EINVALID (it is a queue), RH_ETIMEOUT: peers are refused, but rank
 * rh_error_rank() began a transfer into attached memory, and has neither ended it nor been stopped.
 * It may still write: leave the memory alone and detach again; until that returns 0 the SID is in
 * use. */
int rh_segment_detach(struct rh_job *job, rh_sid sid);

/* Wait until a peer has opened a segment or queue. Errors: RH_EDEAD, RH_ETIMEOUT, RH_EAGAIN
 * (timeout 0). */
int rh_segment_wait(struct rh_job *job, int rank, rh_sid sid, int64_t timeout_ns);

/* The same for all ranks of the job: when this returns 0 everybody's segment is there. Who has left
 * already is passed over. timeout_ns is for all of them together; rh_error_rank() names one that
 * has not opened it, or has died. */
int rh_segment_wait_all(struct rh_job *job, rh_sid sid, int64_t timeout_ns);

/* Length of a peer's segment into *length. Errors: RH_ENOSEG, RH_ESTALE, RH_EDEAD, RH_EINVALID (it
 * is a queue). */
int rh_segment_length(struct rh_job *job, int rank, rh_sid sid, uint64_t *length);

/* ---- Done flags ----------------------------------------------------------------------------- */

/* The initiator's done flag: 0 while the operation is under way, 1 when it is complete at the
 * target, a negative error when it failed. Must stay in place until then, or until it is
 * withdrawn: also when a wait for it has ended with RH_ETIMEOUT or RH_EDEAD. */
struct rh_done {
    int64_t state;
    int rank; /* the peer; set when the operation starts */
};

/* Wait for a done flag, return the operation's result. Errors: RH_ETIMEOUT, RH_EDEAD, or the
 * operation's. */
int rh_wait_done(struct rh_job *job, struct rh_done *done, int64_t timeout_ns);

/* Look once, without waiting: RH_EAGAIN while under way, else the operation's result. */
int rh_test_done(struct rh_job *job, struct rh_done *done);

/* Give up an operation that is under way. When this returns neither the flag nor the local memory
 * is used any more, whatever the peer does later. Returns the operation's result if it was over,
 * else RH_ECANCELED: then the target may have been written, in part, or may still be. Needs no peer
 * and so does not wait. */
int rh_withdraw(struct rh_job *job, struct rh_done *done);

/* ---- Push and pull -------------------------------------------------------------------------- */

int rh_push(struct rh_job *job, struct rh_remote target, const void *source, size_t length);
int rh_pull(struct rh_job *job, struct rh_remote source, void *target, size_t length);

/* The same without waiting: the result arrives in *done, and the local memory belongs to the
 * operation until then. An error that is known at once is returned and *done is not touched. */
int rh_push_start(struct rh_job *job, struct rh_remote target, const void *source, size_t length,
                  struct rh_done *done);
int rh_pull_start(struct rh_job *job, struct rh_remote source, void *target, size_t length,
                  struct rh_done *done);

/* A word written at the target after the data: the target waits for it with rh_wait_word(). The
 * word is 8 bytes, 8-byte aligned, in any segment of the same rank. */
struct rh_notice {
    struct rh_remote word;
    uint64_t value;
};

/* Push, then write the notice: whoever sees the word's new value sees the data. */
int rh_push_notify(struct rh_job *job, struct rh_remote target, const void *source, size_t length,
                   const struct rh_notice *notice);

/* Push in order: the last 8 bytes, which are aligned at the target, are written whole and after all
 * before them, as a notice that is part of the data. length is at least 8. */
int rh_push_ordered(struct rh_job *job, struct rh_remote target, const void *source, size_t length);

/* Inline push (BOTF): up to RH_INLINE_MAX bytes, taken from the source before the call returns;
 * does not wait for the target (use rh_flush). The lowest latency for a small block. */
#define RH_INLINE_MAX 474
int rh_push_inline(struct rh_job *job, struct rh_remote target, const void *source, size_t length);

/* The same block to the same (SID, offset) of several ranks. Returns 0, or the first error after
 * having tried all; rh_error_rank() names the rank. */
struct rh_multicast {
    const int *ranks;
    size_t rank_count;
    rh_sid sid;
    uint64_t offset;
};
int rh_push_multicast(struct rh_job *job, const struct rh_multicast *targets, const void *source,
                      size_t length);

/* ---- Store (AOTF) and direct memory --------------------------------------------------------- */

/* A prepared handle on a piece of remote memory, through which a store costs one instruction where
 * the NIC allows it. */
struct rh_page;

/* Prepare a handle for [target, target + length). Errors as for a push of that range. The handle is
 * the caller's until rh_page_close(); it must be closed before rh_leave(). */
int rh_page_open(struct rh_job *job, struct rh_remote target, uint64_t length,
                 struct rh_page **page);
void rh_page_close(struct rh_page *page);

/* Store the low `width` bytes (1, 2, 4 or 8) of value at offset in the page, which must be aligned
 * to the width; each store arrives whole. Does not wait for the target (use rh_flush). */
int rh_store(struct rh_page *page, uint64_t offset, uint64_t value, unsigned width);

/* A pointer to remote memory where the NIC allows loads and stores on it, else NULL: then use push
 * and pull. Needs RH_READ; without RH_WRITE the memory is mapped for reading only, and a store
 * there is a fault. Valid until the peer detaches the segment or this process leaves.
 * A sleeping target does not notice plain stores at once: call rh_wake() after a batch of them. */
void *rh_remote_ptr(struct rh_job *job, struct rh_remote target, uint64_t length);
int rh_wake(struct rh_job *job, int rank);

/* ---- Transfers of selected parts ------------------------------------------------------------ */

/* block_count blocks of block_length bytes, whose starts lie source_stride and target_stride bytes
 * apart. Strides are at least block_length. */
struct rh_stride {
    uint64_t block_length;
    uint64_t block_count;
    uint64_t source_stride;
    uint64_t target_stride;
};
int rh_push_strided(struct rh_job *job, struct rh_remote target, const void *source,
                    const struct rh_stride *stride);
int rh_pull_strided(struct rh_job *job, struct rh_remote source, void *target,
                    const struct rh_stride *stride);

/* Push those grains of a block whose bit is set: grain i is bytes [i * grain, (i + 1) * grain), bit
 * i is bitmap[i / 64] >> (i % 64) & 1. The last grain may be short. */
struct rh_mask {
    const uint64_t *bitmap;
    uint64_t grain;
};
int rh_push_masked(struct rh_job *job, struct rh_remote target, const void *source, size_t length,
                   const struct rh_mask *mask);

/* TWIN/DIFF: push the bytes of source that differ from twin, then make twin equal to source.
 * Bytes that do not differ are never written at the target. Returns the number of bytes pushed. */
int64_t rh_push_diff(struct rh_job *job, struct rh_remote target, const void *source, void *twin,
                     size_t length);

/* ---- Append (VPUSH): many senders, one receiver-owned queue --------------------------------- */

struct rh_queue;

/* How many messages a queue holds, and how long each may be. */
struct rh_queue_shape {
    uint32_t slot_count;  /* rounded up to a power of two; 0: 64 */
    uint32_t slot_length; /* longest message in bytes; 0: 64 */
};

/* Make a queue of this process under a SID of its own. The queue is the caller's until
 * rh_queue_destroy(), which drops what was not received. Errors as rh_segment_create(). */
int rh_queue_create(struct rh_job *job, rh_sid sid, struct rh_queue_shape shape,
                    struct rh_queue **queue);
int rh_queue_destroy(struct rh_queue *queue);

/* Append one message to a queue of a rank. Messages of one sender arrive in order, those of several
 * in the order of their arrival. Waits while the queue is full: RH_ETIMEOUT after the default
 * timeout. Other errors: RH_ETOOBIG, and those of a push. */
int rh_append(struct rh_job *job, int rank, rh_sid sid, const void *data, size_t length);

/* The same, but RH_EAGAIN at once when the queue is full. */
int rh_append_try(struct rh_job *job, int rank, rh_sid sid, const void *data, size_t length);

struct rh_arrival {
    const void *data; /* inside the queue, valid until rh_queue_release() */
    size_t length;
    int source; /* rank of the sender, as the NIC knows it */
};

/* Look at the oldest message; waits up to timeout_ns for one. Only one thread at a time may receive
 * from a queue. Errors: RH_EAGAIN (timeout 0, and then no other), RH_ETIMEOUT, RH_EDEAD (see
 * rh_deaths_acknowledge). */
int rh_queue_next(struct rh_queue *queue, struct rh_arrival *arrival, int64_t timeout_ns);

/* Give the oldest message's place back to the senders. */
void rh_queue_release(struct rh_queue *queue);

/* ---- Atomic operations on 8-byte aligned 64-bit words --------------------------------------- */

/* *old (may be NULL) receives the value before the operation. */
int rh_fetch_add(struct rh_job *job, struct rh_remote target, uint64_t operand, uint64_t *old);
int rh_fetch_or(struct rh_job *job, struct rh_remote target, uint64_t operand, uint64_t *old);
int rh_fetch_and(struct rh_job *job, struct rh_remote target, uint64_t operand, uint64_t *old);
int rh_swap(struct rh_job *job, struct rh_remote target, uint64_t operand, uint64_t *old);
/* Writes desired if the word equals expected; whether it did shows in *old. */
int rh_compare_swap(struct rh_job *job, struct rh_remote target, uint64_t expected,
                    uint64_t desired, uint64_t *old);

/* ---- Order and waiting ---------------------------------------------------------------------- */

/* Returns when all earlier operations of this process on a rank (RH_ANY_RANK: on all) are complete
 * at their target. */
int rh_flush(struct rh_job *job, int rank);

enum rh_when { RH_EQUAL = 0, RH_NOT_EQUAL = 1, RH_AT_LEAST = 2 };

/* Wait until a local word, 8-byte aligned and in a segment of this process, meets a condition. */
struct rh_wait {
    const uint64_t *word;
    enum rh_when when;
    uint64_t value;
    int from;           /* rank that will write it: its death ends the wait; or RH_ANY_RANK */
    int64_t timeout_ns; /* RH_TIMEOUT_DEFAULT, or 0: look once */
};

/* What the writer wrote before the word is visible when this returns 0. A named rank's leaving ends
 * the wait too; with RH_ANY_RANK only deaths do.
 * Errors: RH_ETIMEOUT, RH_EAGAIN (timeout 0), RH_EDEAD (see rh_deaths_acknowledge), RH_EINVALID. */
int rh_wait_word(struct rh_job *job, const struct rh_wait *wait);

/* The usual case in short: until the word is at least value, for the default timeout at most. what
 * names the thing for people, as in "the border of step 7": it stands in the text of RH_ETIMEOUT
 * and RH_EDEAD. NULL: nothing to add. */
int rh_wait_for(struct rh_job *job, const uint64_t *word, uint64_t value, int from,
                const char *what);

/* Wait until a condition of the program's own holds, which looks at memory of this process that
 * peers write. It is asked again and again, perhaps once more after it has said yes; it must be
 * quick and must not wait, but may call what does not wait (rh_append_try, rh_queue_next with
 * timeout 0, pushes and pulls). Errors as above. */
struct rh_until {
    bool (*is_met)(void *context);
    void *context;
    int from;
    int64_t timeout_ns;
    /* If is_met depends on one part of memory only: watched_count pieces of watched_stride bytes,
     * one behind the other, in each of which it looks at a word. While nothing there changes it
     * need not be asked. NULL: it may depend on anything. */
    const void *watched;
    size_t watched_stride;
    unsigned watched_count;
};
int rh_wait_until(struct rh_job *job, const struct rh_until *until);

/* ---- Neighbour exchange ---------------------------------------------------------------------- */

/* One side of a part of a larger whole: which of its bytes go to the neighbour there, and where
 * what comes from the neighbour is put. Both are `count` blocks of `length` bytes whose starts lie
 * `stride` bytes apart: a row is one block, a column is many. */
struct rh_side {
    int rank;       /* the neighbour; negative: none there, and the rest of the entry is nothing */
    unsigned meets; /* which side of the neighbour meets this one: index in its list of sides */
    size_t out;     /* where what goes there begins, in bytes from rh_exchange()'s memory */
    size_t in;      /* where what comes from there is put */
    size_t length;  /* of one block, in bytes */
    size_t count;   /* 0: one block */
    size_t stride;  /* 0: length */
};

struct rh_exchange;

/* Make an exchange with all neighbours in a list, under a SID of its own that is the same on all
 * ranks. Neighbours wait here for each other and compare what they have said: a side and the one it
 * meets must name each other and be as long. A rank may be its own neighbour. The exchange is the
 * caller's until rh_exchange_destroy(). Errors: RH_EINVALID, also where two neighbours differ,
 * RH_EDEAD, RH_ETIMEOUT; and those of rh_segment_create(). */
int rh_exchange_create(struct rh_job *job, rh_sid sid, const struct rh_side *sides,
                       size_t side_count, struct rh_exchange **exchange);

/* Send every side's bytes of `memory`, which need not be in a segment, to its neighbour, and put
 * what the neighbours send in the same call of theirs where the sides say. Returns when all of it
 * is there, for the default timeout at most; what comes too early waits elsewhere, so that memory
 * is read and written within this call only, and another may be given each time. All neighbours
 * call it equally often; one thread at a time.
 * Errors: RH_EDEAD, RH_ETIMEOUT, both with the rank that is gone or late: a neighbour, or a
 * neighbour's neighbour, as who cannot go on tells the next. Then nothing has been put into memory,
 * and the exchange is of no more use: destroy it. */
int rh_exchange(struct rh_exchange *exchange, void *memory);

/* End it, as all neighbours do: they wait for each other, unless one is gone or a call has failed.
 * Afterwards another may be made under the same SID; after a failure take another one. Always
 * frees; returns the first problem met. */
int rh_exchange_destroy(struct rh_exchange *exchange);

/* ---- Counters ------------------------------------------------------------------------------- */

/* Value of one of this process's counters by name, as `rhinet info --counters` lists them, or
 * RH_EINVALID. Always on. Exact for single-threaded programs; threads that count the same thing at
 * the same instant may lose a count. */
int rh_counter(const struct rh_job *job, const char *name, uint64_t *value);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
