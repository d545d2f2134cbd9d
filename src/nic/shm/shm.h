/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The shared-memory NIC: processes of one machine. See shm_nic.h for how it works. A NIC of several
 * machines may have one inside, for memory, queues and waiting; what it needs for that besides the
 * operations of every NIC is here, too.
 */
#pragma once

#include "nic/nic.h"

extern const struct nic_ops shm_ops;

/* What the NIC around does while somebody waits here. */
struct shm_outside {
    void (*progress)(void *context); /* between two looks; does not wait */
    void (*asleep)(void *context);   /* a thread is about to sleep on the bell */
    bool (*is_busy)(void *context);  /* it is better to go on looking for a while */
    /* A rank is gone, and a slot that it had claimed is about to be free: when this returns nothing
     * is being written in its name. */
    void (*settle)(void *context, int rank);
    bool is_slow; /* a yield between looks costs nothing, and others may need the core */
    void *context;
};
/* NULL: there is none any more. While no thread waits. */
void shm_inside_of(struct nic *nic, const struct shm_outside *outside);

/* Wake those of our threads that sleep in wait, after a write to our memory. */
void shm_inside_ring(struct nic *nic);
/* Between two looks: pause, or let another rank have the core. */
void shm_inside_rest(struct nic *nic);

/* An own segment as peers find it; false if there was never one with this SID. */
struct shm_own_segment {
    uint64_t generation; /* of this segment and no other */
    uint64_t length;
    bool is_open; /* else it has been removed */
};
bool shm_inside_find(struct nic *nic, rh_sid sid, struct shm_own_segment *own);

/* The refusals of remote memory, in the same words and with the same counters everywhere. A look-up
 * that ended with RH_ENOSEG or RH_ESTALE; other codes keep their text. */
int shm_inside_refuse(struct nic *nic, int rank, rh_sid sid, bool counted, int code);
/* An access that the segment has no rights, or no room for. */
struct shm_refused {
    struct rh_remote remote;
    uint64_t length;
    unsigned rights;         /* wanted */
    unsigned rights_granted; /* by the segment */
    uint64_t segment_length;
};
int shm_inside_refuse_access(struct nic *nic, const struct shm_refused *refused);

/* Appends that came from elsewhere, into a queue of our own for `source`: in one go, or for a long
 * message in steps. False: the queue is full; or the slot is not this source's claim. */
struct shm_claim {
    uint64_t number;
};
bool shm_queue_put(struct nic *nic, void *queue, int source, const void *data, size_t length);
bool shm_queue_claim(void *queue, int source, struct shm_claim *claim);
/* Part of the message, from byte `at` on. */
struct shm_part {
    uint64_t at;
    const void *data;
    size_t length;
};
bool shm_queue_fill(void *queue, int source, const struct shm_claim *claim,
                    const struct shm_part *part);
/* `is_void`: there will be no message. Claims that are not this source's are left alone. */
void shm_queue_publish(struct nic *nic, void *queue, int source, const struct shm_claim *claim,
                       uint32_t length, bool is_void);
