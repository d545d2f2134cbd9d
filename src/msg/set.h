/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How sets work, and what set*.c, barrier.c and collective*.c share.
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
 */
#ifndef MSG_SET_H
#define MSG_SET_H

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

/* A number that says for which exchange the rest is, then the rest. */
struct set_slot {
    alignas(64) uint64_t number;
    char gift[SET_GIFT_MAX];
};
_Static_assert(sizeof(struct set_slot) == 256, "shared layout");

struct set_front {
    struct {
        alignas(64) uint64_t number;
        char result[SET_RESULT_MAX];
    } release;
    alignas(64) uint64_t broken_by; /* rank + 1 of a member that is gone, or 0 */
    alignas(64) uint64_t counter;   /* arrivals so far, at the center */
    struct set_slot pair[2];        /* from the other one; used in turn */
};

/* After the front: a slot per member, in which a child of the tree reports; gifts, packed, at the
 * center; two blocks of staging; the block of results. */

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
    rh_sid *sids;        /* of the other members' segments; 0: not looked up yet */
    uint64_t number;     /* of the last exchange that was begun */
    bool has_entered;    /* it has not been left yet, because a wait ended too early */
    bool has_arrived;    /* and our arrival has been told */
    bool is_out_of_step; /* a collective ended in the middle: no more use */
    char *base;
    struct set_front *front;
    uint64_t slots_offset, gifts_offset, stage_offset, result_offset, length;
    size_t stage_length;
    char *gifts;             /* private room for one gift of each member */
    char *scratch;           /* private, one block */
    struct set_name *name;   /* in the directory */
    struct board_set *board; /* tells people how far we are */
};

/* ---- set.c ---------------------------------------------------------------------------------- */

/* Another member's memory. Waits until that has made the set. RH_EDEAD, RH_ETIMEOUT. */
int set_remote(struct rh_set *set, int member, uint64_t offset, int64_t timeout_ns,
               struct rh_remote *remote);

/* What a wait of this set is about, for people; peer: who has not made the set, or -1. */
void set_describe(const struct rh_set *set, bool is_barrier, int peer, struct wait_note *note);

/* The error of a set whose member is gone, or 0. */
int set_check(struct rh_set *set);
/* Remember that a member is gone, and tell the others. Returns RH_EDEAD with its text. */
int set_break(struct rh_set *set, int rank);
/* A call on a member's memory says that it is gone: dead, or it has closed its mailbox. */
static inline bool set_is_gone_code(int result)
{
    return result == RH_EDEAD || result == RH_ESTALE;
}
/* Look at all members: the rank of one that died (or, with `left`, has left), or -1. */
int set_find_gone(const struct rh_set *set, bool left);

/* ---- barrier.c ------------------------------------------------------------------------------ */

/* One exchange. A member without gift brings NULL; the length is the same on all. */
struct set_exchange {
    bool is_barrier; /* as the program calls it */
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

#endif
