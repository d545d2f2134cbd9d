/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How sets work, and what the files of src/msg/set share.
 *
 * A member has one segment per set. Where it is found stands in the member's directory, under the
 * set's number and a hash of its description; peers look it up when they first need it, so making a
 * set waits for nobody.
 *
 * Everything is built on one step, the exchange: all members enter, each may bring a small gift,
 * and nobody leaves before all have entered; on leaving, each has a result made of all gifts in the
 * order of members, whatever the order of arrival. A barrier is an exchange without gifts. There
 * are three ways, chosen once per set:
 *   pair     two members write to each other;
 *   counter  all on one node: each counts itself in at the center, and the last one, whoever it is,
 *            tells the others. Nobody has to be scheduled in between, which is what counts with
 *            more ranks than cores;
 *   tree     arrivals go up a static tree, the release comes down. Gifts go straight to the root.
 * Large collectives go in blocks through staging memory, with exchanges between filling and
 * reading.
 *
 * A member that finds another one gone writes that into the others' memory before it returns, so
 * that all learn it, and the set stays unusable. Model: tests/model/barrier.pml.
 *
 * All members must make the same call with the same arguments. That costs nothing to check: every
 * word that is written anyway carries, beside the number of the exchange, a digest of the call.
 * Whoever finds another word than its own (pair and tree: from the other end; counter: the last one
 * to arrive, in the sum) reads what was called there, tells all, and the set stays unusable, too.
 */
#pragma once

#include "base/arena.h"
#include "msg/msg.h"

#include <pthread.h>

/* ---- Directory ------------------------------------------------------------------------------ */

#define SET_BUCKETS      128
#define SET_BUCKET_NAMES 8

/* A set of this rank that peers may look for. */
struct set_name {
    uint64_t key; /* id + 1; 0: free. Written last. */
    uint64_t hash;
    uint64_t sid;
    uint64_t reserved;
};

struct set_directory {
    struct set_name name[SET_BUCKETS][SET_BUCKET_NAMES];
};

struct set_hub {
    struct rh_msg *msg;
    struct rh_job *job;
    pthread_mutex_t lock;
    struct set_directory *directory;
    struct rh_set *sets;
};

/* ---- A set's memory ------------------------------------------------------------------------- */

#define SET_GIFT_MAX   248
#define SET_RESULT_MAX 1016

/* A word that says for which exchange the rest is, then the rest. */
struct set_slot {
    alignas(64) uint64_t word;
    char gift[SET_GIFT_MAX];
};
_Static_assert(sizeof(struct set_slot) == 256, "shared layout");

/* What another member writes for us alone. */
struct set_seat {
    alignas(64) uint64_t word; /* a child of the tree: it and all below it have entered */
    uint64_t parted;           /* the step of set_part() that it has come to */
};
_Static_assert(sizeof(struct set_seat) == 64, "shared layout");

enum set_call_kind {
    SET_CALL_NONE,
    SET_CALL_BARRIER,
    SET_CALL_DESTROY,
    SET_CALL_BROADCAST,
    SET_CALL_REDUCE,
    SET_CALL_ALLREDUCE,
    SET_CALL_GATHER,
    SET_CALL_SCATTER,
    SET_CALL_ALLGATHER,
    SET_CALL_ALLTOALL,
    SET_CALL_COUNT
};

/* What a member has called; what a call does not have is 0. */
struct set_call {
    uint16_t kind;
    uint8_t type, operator_; /* of a reduction */
    int32_t root;
    uint64_t length; /* bytes, or elements of a reduction */
};
_Static_assert(sizeof(struct set_call) == 16, "shared layout");

/* Two members called different things. */
struct set_mismatch {
    int32_t rank[2];
    struct set_call call[2];
    uint64_t number; /* of the exchange: who is not there yet ends its own first */
    uint64_t digest; /* of the rest: two that write at once may mix their tales */
};

/* Words that name an exchange have its number in the upper half and the digest of the call in the
 * lower one. They are compared for equality only, so that numbers may come again. */
struct set_front {
    struct {
        alignas(64) uint64_t word;
        char result[SET_RESULT_MAX];
    } release;
    alignas(64) uint64_t broken_by; /* 0, rank + 1 of a member that is gone, or SET_MISMATCH | … */
    struct set_call call;           /* ours, for those who find that it is not theirs */
    alignas(64) uint64_t counter;   /* at the center: arrivals so far | sum of digests << 32 */
    alignas(64) struct set_mismatch mismatch;
    struct set_slot pair[2]; /* from the other one; used in turn */
};

/* After the front: a seat per member; gifts, packed, at the center; two blocks of staging; the
 * block of results. */

/* ---- A set ---------------------------------------------------------------------------------- */

enum set_way { SET_ALONE, SET_PAIR, SET_COUNTER, SET_TREE };

struct rh_set {
    struct set_hub *hub;
    struct rh_job *job;
    struct rh_set *next;
    uint32_t id;
    uint64_t hash;
    int size, me;
    int *ranks;
    int *parents; /* tree only */
    int *children;
    int child_count;
    int center; /* whose memory has the counter and the gifts: the root, or member 0 */
    enum set_way way;
    rh_sid sid;
    rh_sid *sids;         /* of the other members' segments; 0: not looked up yet */
    uint64_t number;      /* of the last exchange that was begun */
    struct set_call call; /* that it is part of */
    uint32_t call_digest;
    uint64_t words[3];         /* that name it and the two before */
    uint64_t expected;         /* in the counter, when all have arrived */
    bool has_told;             /* of a mismatch, those who may not have heard of it */
    bool has_entered;          /* it has not been left yet, because a wait ended too early */
    bool has_arrived;          /* and our arrival has been told */
    bool is_releasing;         /* this one, and it is our turn to release others from it */
    struct nic_ticket arrival; /* of that, while it is not answered */
    bool is_out_of_step;       /* a collective ended in the middle: no more use */
    char *base;
    struct set_front *front;
    uint64_t seats_offset, gifts_offset, stage_offset, result_offset, length;
    size_t stage_length;
    char *gifts;               /* private room for one gift of each member */
    char *scratch;             /* private, one block */
    struct set_name *name;     /* in the directory */
    struct board_group *board; /* tells people how far we are */
    struct arena memory;       /* of the arrays */
};

/* Numbers of sets of ours, above those of programs. */
#define SET_ID_COUNT   65536u
#define SET_ID_ALL     (SET_ID_COUNT + 0) /* of a program that has no wishes */
#define SET_ID_BARRIER (SET_ID_COUNT + 1)

/* ---- set.c ---------------------------------------------------------------------------------- */

/* The set of all ranks, under a number of ours. */
int set_create_all(struct rh_msg *msg, uint32_t id, struct rh_set **set);

/* Another member's memory. Waits until that has made the set. RH_EDEAD, RH_ETIMEOUT. */
int set_remote(struct rh_set *set, int member, uint64_t offset, int64_t timeout_ns,
               struct rh_remote *remote);

/* Look a member up once. RH_EAGAIN: it has not made the set yet, has closed its mailbox and may
 * open it again, or the network failed us. */
int set_look_up(struct rh_set *set, int member);

/* Read a member's memory. */
int set_pull(struct rh_set *set, struct rh_remote remote, void *target, size_t length);

/* What a wait of this set is about, for people; peer: who has not made the set, or -1. */
void set_describe(const struct rh_set *set, int peer, struct wait_note *note);

/* The error of a set whose member is gone, or whose members have called different things, or 0. */
int set_check(struct rh_set *set);
/* Remember that a member is gone, and tell the others. Returns RH_EDEAD with its text. */
int set_break(struct rh_set *set, int rank);
/* A call on a member's memory says that it is gone: dead, or it has closed its mailbox. */
static inline bool set_is_gone_code(int result)
{
    return result == RH_EDEAD || result == RH_ESTALE;
}
/* Without memory nothing has been done, and there may be some the next time: a collective cannot be
 * begun anew by one member alone, so it is worth a few tries. */
static inline bool set_try_again(int result, int *tries)
{
    return unlikely(result == RH_ENOSPACE) && (*tries)++ < 8;
}
/* Look at all members: the rank of one that died (or, with `left`, has left), or -1. */
int set_gone_find(const struct rh_set *set, bool left);

/* ---- shape.c -------------------------------------------------------------------------------- */

int set_spec_check(const struct rh_msg *msg, const struct rh_set_spec *spec);
/* Members, tree, way and hash, of a set whose arrays are there. */
int set_shape(struct rh_set *set, const struct rh_set_spec *spec);
/* Where what lies, from the number of members. */
void set_lay_out(struct rh_set *set);

/* ---- call.c --------------------------------------------------------------------------------- */

#define SET_MISMATCH (1ULL << 63) /* in broken_by: | a rank << 32 | another rank */

/* From now on we are in this call. */
void set_call_begin(struct rh_set *set, const struct set_call *call);
/* A word that came is not ours: find out who called what, and tell all. member: who sent it, or -1:
 * anybody may be the one. Returns RH_EINVALID with its text, or RH_EDEAD. */
int set_differ(struct rh_set *set, int member);
/* The error of a set with this mismatch in broken_by, 0 if we have not come to it. Makes sure that
 * all others hear of it. */
int set_mismatch_error(struct rh_set *set, uint64_t broken_by);
/* Make sure that a member hears of the mismatch. It must have been found, see set_look_up(). */
void set_mismatch_tell(struct rh_set *set, int member);
/* RH_ETIMEOUT, blaming the member that has not come; `from` is who should have written to us. */
int set_late_error(struct rh_set *set, int from, int64_t timeout_ns);

/* ---- part.c --------------------------------------------------------------------------------- */

/* Leave a set whose members differ: wait for all who can still come, as long as a time-out, so that
 * nobody makes the set and finds nobody there. Called twice: with 1, then, when the set is no
 * longer in the directory, with 2, so that its number can be used again. */
void set_part(struct rh_set *set, uint64_t step);

/* ---- barrier.c ------------------------------------------------------------------------------ */

/* One exchange. A member without gift brings NULL; the length is the same on all. */
struct set_exchange {
    const void *gift;
    size_t gift_length;
    size_t result_length;
    /* Make the result of all gifts, which lie `stride` bytes apart. */
    void (*make)(const struct set_exchange *exchange, const char *gifts, size_t stride, int count,
                 char *result);
    void *result; /* result_length bytes, or NULL if this member has no use for it */
    const void *context;
};
int set_exchange(struct rh_set *set, const struct set_exchange *exchange, int64_t timeout_ns);

/* Before any collective: RH_EDEAD, or the set is out of step. */
int set_enter(struct rh_set *set);
/* All have come here. The default timeout; on an error the set is out of step. */
int set_sync(struct rh_set *set);

/* ---- reduce.c ------------------------------------------------------------------------------- */

/* Bytes of one element; 0: there is no such reduction. */
size_t reduce_width(enum rh_type type, enum rh_operator operator_);
/* sum[i] = sum[i] (operator) more[i]; both aligned to the element. */
void reduce_fold(const struct rh_reduction *reduction, void *sum, const void *more, size_t count);
