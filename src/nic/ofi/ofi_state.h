/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The structs that the files of the libfabric NICs share. ofi_nic.h tells how these work.
 */
#pragma once

#include "nic/ofi/library.h"
#include "nic/ofi/ofi.h"
#include "nic/ofi/wire.h"
#include "nic/shm/shm.h"

#include "base/assert.h"
#include "base/likely.h"

#include <poll.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sys/socket.h>

#define OFI_API          FI_VERSION(1, 17)
#define OFI_RECEIVES     128                /* buffers posted for messages */
#define OFI_SENDS        64                 /* buffers for messages too long to inject */
#define OFI_CALLS        4096               /* replies awaited at a time */
#define OFI_TASKS_MAX    1024               /* transfers with a done flag at a time */
#define OFI_PUT_MAX      2048               /* bytes that travel in one message with their notice */
#define OFI_LOST_NS      (8 * 1000000000LL) /* from a broken connection to the news of a death */
#define OFI_PIECE_LENGTH (1ULL << 30)
#define OFI_DETACH_MAX_S 5  /* to wait for peers to let go of allocated memory */
#define OFI_WINDOW       64 /* requests per peer that are to happen once, at a time */

/* ---- What libfabric gives back to us -------------------------------------------------------- */

enum ofi_use { OFI_USE_RECEIVE, OFI_USE_SEND, OFI_USE_PIECE };

/* The first member of everything that is given to libfabric as a context. */
struct ofi_context {
    struct fi_context2 fabric;
    enum ofi_use use;
};

/* A buffer for one message, to receive or to send. */
struct ofi_buffer {
    struct ofi_context context;
    struct ofi_buffer *next; /* free ones */
    struct ofi_message message;
};

struct ofi_task;
struct ofi_view;

/* A piece of RMA under way. */
struct ofi_piece {
    struct ofi_context context;
    struct ofi_task *task; /* NULL: given up, but libfabric still has it */
    struct ofi_view *view;
    struct fid_mr *mr; /* of the caller's memory, where the provider asks for that; else a copy */
    char *target;      /* where what is read belongs; NULL: nowhere */
    size_t length;
    bool is_large;
    struct ofi_piece *next, *previous;
    char buffer[];
};

/* A move of data by RMA: what is left of it. */
struct ofi_move {
    struct ofi_view *view;
    uint64_t offset;
    char *local;
    size_t length;
    bool is_push;
    bool needs_delivery; /* completion means visible at the target */
};

/* ---- Tasks ---------------------------------------------------------------------------------- */

/* What a reply brought. */
struct ofi_answer {
    int code;
    union {
        struct ofi_segment_info info;
        struct ofi_claim_body claim;
        uint64_t old;
    };
};

struct ofi_task {
    int rank;            /* the peer; the own one: several */
    _Atomic int pending; /* move, pieces and replies that are missing; 0: over */
    int result;
    bool is_waited;       /* a thread waits for it and frees it */
    bool is_parked;       /* in doubt: a ticket holds it */
    bool is_void_claim;   /* parked, and nobody wants the slot any more */
    struct rh_done *done; /* or this is to be set */
    bool has_move;
    struct ofi_move move;
    uint32_t piece_count;      /* under way */
    struct ofi_outgoing *sent; /* parked: the request, to be sent again */
    int64_t sent_ns;
    rh_sid sid; /* what it is about, for people */
    uint64_t length;
    struct ofi_answer answer;
    bool has_late_notice; /* to be sent when the data has arrived */
    struct ofi_far_place late_place;
    uint64_t late_value;
    struct ofi_task *next, *previous; /* all */
};

/* A reply that is awaited. */
struct ofi_call {
    uint32_t id; /* 0: free */
    int rank;
    bool is_lookup;
    bool is_once;
    uint32_t once;         /* its number */
    uint32_t oneway_count; /* of the peer, when this was sent */
    struct ofi_task *task;
};

/* A call of the program on a peer: one deadline for all of its steps. */
struct ofi_errand {
    int rank;
    const char *during;
    int64_t deadline_ns;
    struct nic_ticket *ticket; /* what to hold when it is in doubt, or NULL */
    int result;                /* why there is no view */
};

/* A message that a handler could not send at once. */
struct ofi_outgoing {
    struct ofi_outgoing *next;
    int rank;
    size_t length;
    struct ofi_message message;
};

/* ---- Peers, segments, views ----------------------------------------------------------------- */

struct ofi_peer {
    fi_addr_t address;
    bool is_known; /* address is good */
    bool is_near;
    bool has_failed;           /* its tasks have been ended */
    bool has_unflushed;        /* messages without a reply were sent, and may be under way */
    uint32_t oneway_count;     /* such messages */
    uint32_t busy;             /* tasks */
    _Atomic uint32_t space;    /* counts OFI_SPACE */
    _Atomic uint32_t underway; /* transfers with a done flag */
    _Atomic uint32_t late;     /* pieces that were given up and have not come back */
    uint32_t once_count;       /* requests to it that must happen once */
    uint64_t once_open;        /* by number: those that are not decided */
    struct ofi_remembered *remembered; /* what we have answered to its, OFI_WINDOW of them */
    uint64_t token_to;                 /* in what we send to it */
    struct sockaddr_storage place;     /* its address, where that is of the internet kind */
    uint64_t token_from;               /* in what it sends to us */
};

/* A segment of this process. */
struct ofi_segment {
    rh_sid sid;
    uint32_t generation;
    enum nic_segment_kind kind;
    unsigned rights;
    char *base;
    uint64_t length;
    struct rh_queue_shape shape;
    struct fid_mr *mr;
    uint64_t key;
    bool is_closed;         /* not open yet, or not any more */
    bool was_open;          /* this one, or an earlier one of this SID */
    bool is_closing;        /* a peer may still write it: to be removed again */
    bool is_removed_inside; /* by the inner NIC */
    uint8_t *users;         /* bit per rank: has looked it up */
    uint8_t *waiting;       /* queues, bit per rank: wants to hear of space */
    bool has_waiting;
    struct ofi_segment *next; /* in its chain */
};

/* A peer's segment. */
struct ofi_view {
    int rank;
    rh_sid sid;
    struct ofi_segment_info info;
    bool is_stale;
    bool is_pinned;         /* handed out to the layer above */
    uint32_t underway;      /* RMA on it, and appends in steps */
    uint32_t revoke;        /* request to answer when that is 0; 0: none */
    struct ofi_view *next;  /* in its chain */
    struct ofi_view *older; /* pinned ones that were replaced */
};

#define OFI_CHAINS 1024 /* a power of two */

struct ofi_nic {
    struct nic nic;
    struct nic *inner;
    bool is_mixed;
    bool is_alone; /* a job of one, or all are near: no network */
    int64_t timeout_ns;
    /* libfabric's */
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_cq *cq;
    struct fid_av *av;
    struct fid_ep *ep;
    int cq_fd; /* the completion queue's, or -1; it must be armed */
    bool has_sockets;
    struct pollfd *sockets; /* the provider's; the first place is our own */
    size_t socket_count, socket_room;
    int listener;        /* the one of them on which connections come, or -1 */
    bool listener_rings; /* something came there when the progress thread slept last */
    int64_t sockets_young_ns, sockets_again_ns;
    bool has_local_mr, has_virtual_addresses, keeps_write_before_send, is_stream;
    size_t inject_max;
    struct ofi_card card; /* own */
    /* Under the lock from here on. */
    pthread_mutex_t lock;
    struct ofi_peer *peers;
    struct ofi_buffer *receives, *sends, *free_sends;
    struct fid_mr *receives_mr, *sends_mr;
    struct ofi_call *calls;
    uint32_t call_next;
    struct ofi_task *tasks;
    uint32_t task_count;      /* with a done flag */
    struct ofi_piece *pieces; /* under way */
    struct ofi_piece *free_small, *free_large;
    uint32_t large_count;
    bool has_stalled;             /* moves wait for room in the network */
    _Atomic uint32_t piece_count; /* under way; written under the lock */
    struct ofi_outgoing *outgoing, **outgoing_end;
    struct ofi_segment *segments[OFI_CHAINS];
    struct ofi_view *views[OFI_CHAINS];
    struct ofi_view *old_views;
    uint32_t deaths_seen;
    /* Outside the lock. */
    _Atomic uint32_t waiting_queues; /* of ours, that somebody waits for space in */
    _Atomic uint32_t program_looks;  /* progress made by the program's threads */
    _Atomic bool progress_parked;
    _Atomic bool progress_wanted;
    _Atomic bool progress_stop;
    int progress_kick; /* eventfd */
    bool has_progress_thread;
    pthread_t progress_thread;
};

static inline struct ofi_nic *ofi_nic_of(struct nic *nic)
{
    return (struct ofi_nic *)nic;
}

static inline bool ofi_is_near(const struct ofi_nic *ofi, int rank)
{
    return ofi->peers[rank].is_near;
}

static inline bool ofi_is_gone(const struct ofi_nic *ofi, int rank)
{
    return roster_state(ofi->nic.job->roster, rank) >= RH_PEER_LEFT;
}

static inline void ofi_lock(struct ofi_nic *ofi)
{
    pthread_mutex_lock(&ofi->lock);
}

static inline void ofi_unlock(struct ofi_nic *ofi)
{
    pthread_mutex_unlock(&ofi->lock);
}
