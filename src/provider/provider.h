/* SPDX-License-Identifier: BSD-3-Clause
 *
 * librhinet-fi: a libfabric provider, so that what speaks libfabric runs on rhinet: MPI first.
 *
 * A process has one engine: its job and its mailbox, whose messages are parcels (msg/parcel.h).
 * Endpoints are ports on it; an address is where the process is and which port. Everything is a
 * parcel to a port: messages, which are matched here (msg/matching.h), and RMA and atomics, which
 * their target carries out when it makes progress, and answers. What comes from one process is
 * dealt with in order. The mailbox's turn is the one lock; whoever calls takes it, and progress is
 * made by whoever reads a completion queue or counter, or waits for one.
 *
 * A short parcel goes straight into the peer's lane, without an operation. Everything else is a
 * `struct op`, which lives until it is complete: a send until the mailbox is done with it and, if
 * it was asked for, the receiver has said that it has it; a receive until its message is there.
 *
 *   fabric.c    loading, fabrics        info.c      what fi_getinfo() answers
 *   engine.c    job, arrivals, progress op.h, op.c  operations and their completion
 *   domain.c    domains                 endpoint.c  endpoints
 *   queue.c     completion queues       counter.c   counters
 *   event.c     event queues
 *   vector.c    address vectors         region.c    registered memory
 *   wait.c      wait objects, wait sets poll.c      poll sets
 *   send.c      sends, plain and tagged receive.c   receives
 *   arrive.c    messages that come      pieces.h    memory in pieces
 *   memory.c    RMA and atomics at their target, and answers
 *   name.c      endpoints by node and service
 *   hold.c      when too much comes that nobody has asked for
 *   none.c      calls that are not there
 *   message.c, tagged.c, rma.c, atomic.c    the calls; atomic_apply.c what atomics do
 *
 * Longer than most files: all that these files show each other.
 */
#pragma once

#include "msg/mail.h"
#include "msg/matching.h"
#include "provider/wire.h"
#include "virtual/virtual.h"

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_prov.h>

#define PROVIDER_NAME     "rhinet"
#define PROVIDER_VERSION  FI_VERSION(0, 1)
#define PROVIDER_PROTOCOL (FI_PROV_SPECIFIC | 0x726869)
#define API_VERSION       FI_VERSION(1, 17)

#define IOV_MAX_COUNT 4
#define INJECT_MAX    (INBOX_LENGTH - ENVELOPE_MAX) /* never by rendezvous, see send.c */
#define SENDS_DEFAULT 1024 /* operations that an endpoint may have under way; not a limit */
#define REGION_LISTS  256
#define OPS_MAX       (1 << 16) /* sends, and as many receives */
/* What a peer hears that talks to a port where nobody is. */
#define ERROR_CLOSED FI_ECONNREFUSED

struct engine;
struct domain;
struct queue;
struct counter;
struct vector;
struct op;
struct op_chunk;

/* ---- info.c --------------------------------------------------------------------------------- */

int info_get(uint32_t version, const char *node, const char *service, uint64_t flags,
             const struct fi_info *hints, struct fi_info **info);

/* ---- fabric.c ------------------------------------------------------------------------------- */

extern struct fi_provider provider;

int fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);

/* For what is not there. */
int no_bind(struct fid *fid, struct fid *other, uint64_t flags);
int no_control(struct fid *fid, int command, void *argument);
int no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);

/* What libfabric says for an error of ours. */
int fi_error(int result);

/* ---- engine.c ------------------------------------------------------------------------------- */

struct endpoint;

struct engine {
    struct rh_job *job;
    struct rh_msg *msg;
    struct mail *mail;
    unsigned users; /* domains */
    bool is_polled; /* the NIC wants to be called */
    struct endpoint *port[PORT_COUNT];
    uint32_t next_port;
    struct op *free_ops;
    struct op_chunk *chunks;
    uint32_t send_count, receive_count; /* operations of the program's */
    uint32_t deaths_seen;
    /* hold.c: bytes of messages without a receive, and who is asked to hold, and who asks. */
    size_t unexpected, unexpected_max;
    uint8_t *holds; /* by rank */
    int asked_count, held_count;
    /* Operations that somebody's answer ends, by their number. */
    struct op **awaiting;
    size_t awaiting_room, awaiting_count, awaiting_next;
    int64_t ask_ns, say_ns; /* when somebody may be looked for by name again; and be talked of */
    int signal_count; /* queues and counters that tell by a descriptor, and who wants progress */
    struct watcher *watcher;
    const struct virtual_program *program; /* it lives in virtual time; NULL: it does not */
};

/* The process's one, joined to its job by the first domain. */
int engine_open(struct engine **engine);
void engine_close(struct engine *engine);
/* Whether this thread is opening the engine, whose NIC may ask libfabric for providers. */
bool engine_is_opening(void);

/* With the turn. The second is for who calls again and again: see parcels_look(). */
void engine_progress(struct engine *engine);
void engine_look(struct engine *engine);

/* Every call of the program takes the turn: there its computing ends, if somebody measures it. The
 * watcher's thread comes here, too, but what is measured is each thread's own. */
static inline void engine_take(struct engine *engine)
{
    if (unlikely(engine->program != NULL))
        engine->program->enter();
    mail_take(engine->mail);
}

static inline void engine_give(struct engine *engine)
{
    mail_give(engine->mail);
    if (unlikely(engine->program != NULL))
        engine->program->leave();
}

/* Something that another thread of this process may wait for has happened. With the turn. */
void engine_tell(const struct engine *engine);

/* Wait until a condition holds, making progress; without the turn. timeout in milliseconds, < 0:
 * none. 0 or -FI_EAGAIN. */
int engine_wait(struct engine *engine, bool (*is_met)(void *context), void *context, int timeout);

/* ---- domain.c ------------------------------------------------------------------------------- */

struct region;

struct domain {
    struct fid_domain fid;
    struct engine *engine;
    bool has_virtual_addresses; /* of registered memory, else offsets */
    bool gives_keys;
    bool is_automatic; /* progress */
    _Atomic unsigned users;
    struct region *regions[REGION_LISTS]; /* by key */
    uint64_t next_key;
};

int domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
                void *context);

/* ---- vector.c ------------------------------------------------------------------------------- */

/* One port of one process: what messages are matched by. */
static inline uint64_t place_of(int rank, uint32_t port)
{
    return (uint64_t)(uint32_t)rank << 16 | port;
}

static inline int place_rank(uint64_t place)
{
    return (int)(place >> 16);
}

static inline uint32_t place_port(uint64_t place)
{
    return (uint32_t)(place & UINT16_MAX);
}

#define PLACE_NONE  UINT64_MAX
#define PLACE_LATER (UINT64_MAX - 1) /* known by a name that nobody has yet */

struct vector_entry {
    uint64_t place; /* PLACE_NONE: removed */
    struct address address;
};

struct vector {
    struct fid_av fid;
    struct domain *domain;
    enum fi_av_type type;
    struct vector_entry *entry;
    size_t count, room;
    _Atomic unsigned users;
};

int vector_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av,
                void *context);

/* PLACE_NONE: there is none. */
static inline uint64_t vector_place(const struct vector *vector, fi_addr_t address)
{
    return likely(address < vector->count) ? vector->entry[address].place : PLACE_NONE;
}

fi_addr_t vector_find(const struct vector *vector, uint64_t place);

/* Look for an entry at PLACE_LATER again, now and then. With the turn, which is given up for it. */
uint64_t vector_resolve(struct vector *vector, fi_addr_t to);

/* Where an operation goes. -FI_EINVAL: nowhere; -FI_EAGAIN: there is nobody yet. With the turn. */
static inline ssize_t vector_reach(struct vector *vector, fi_addr_t to, uint64_t *place)
{
    *place = vector ? vector_place(vector, to) : PLACE_NONE;
    if (likely(*place < PLACE_LATER))
        return 0;
    if (*place == PLACE_LATER)
        *place = vector_resolve(vector, to);
    if (*place == PLACE_LATER)
        return -FI_EAGAIN;
    return *place == PLACE_NONE ? -FI_EINVAL : 0;
}

/* ---- name.c --------------------------------------------------------------------------------- */

#define NAME_ROOM (sizeof(((struct address *)0)->job) + 1)

/* Whether a node, as fi_getinfo() has them, is this host. */
bool host_is_here(const char *node, bool is_number);
/* An address by name; NULL: any. False: it is too long. */
bool address_name(struct address *address, const char *name);
/* False: these bytes are no address of this provider. */
bool address_read(const void *bytes, size_t length, struct address *address);
/* The place of an address by name, PLACE_LATER or PLACE_NONE. Without the turn. */
uint64_t named_find(struct engine *engine, const struct address *address);
/* Without the turn. */
void endpoint_name_take(struct endpoint *endpoint, const struct address *address);
void endpoint_name_drop(struct endpoint *endpoint);

/* ---- queue.c -------------------------------------------------------------------------------- */

struct completion {
    struct fi_cq_tagged_entry entry; /* first: every format is a beginning of it */
    fi_addr_t source;
    size_t cut; /* bytes that did not fit */
    int error;  /* 0, or positive, as fi_strerror() has them */
    int result; /* ours */
};

/* Who is told when something comes, see wait.c. */
struct signal {
    enum fi_wait_obj kind;
    struct engine *engine;
    int descriptor;
    bool is_raised;
    bool is_asked;        /* somebody sleeps on it, and it has not been raised since */
    struct wait_set *set; /* or NULL */
};

struct queue {
    struct fid_cq fid;
    struct engine *engine;
    struct domain *domain;
    size_t entry_length; /* of the format */
    struct completion *ring;
    uint64_t head, tail; /* counts; the ring's length is a power of two */
    uint64_t room;
    bool is_overrun;
    bool is_signaled;  /* fi_cq_signal() */
    bool is_threshold; /* fi_cq_sread() may be told for how many to wait */
    _Atomic unsigned users;
    struct signal signal;
};

int queue_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
               void *context);
/* The next completion, to be filled in whole and then put; NULL: there is no memory, and reading
 * says so. With the turn. */
struct completion *queue_slot(struct queue *queue);
void queue_put(struct queue *queue);

/* ---- event.c -------------------------------------------------------------------------------- */

int event_queue_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq,
                     void *context);
bool event_queue_has(struct fid *fid);

/* ---- counter.c ------------------------------------------------------------------------------ */

struct counter {
    struct fid_cntr fid;
    struct engine *engine;
    struct domain *domain;
    uint64_t value, errors;
    uint64_t value_seen, errors_seen; /* when it was read last */
    uint64_t value_polled;
    _Atomic unsigned users;
    struct signal signal;
};

int counter_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **cntr,
                 void *context);
/* With the turn; counter may be NULL. */
void counter_step(struct counter *counter, bool is_error);

/* ---- endpoint.c ----------------------------------------------------------------------------- */

/* What operations are counted by. */
enum count {
    COUNT_SEND,
    COUNT_RECEIVE,
    COUNT_READ,
    COUNT_WRITE,
    COUNT_REMOTE_READ,
    COUNT_REMOTE_WRITE,
    COUNT_KINDS
};

struct endpoint {
    struct fid_ep fid;
    struct engine *engine;
    struct domain *domain;
    struct vector *vector;
    struct queue *send_queue, *receive_queue;
    bool is_send_selective, is_receive_selective;
    bool is_enabled;
    bool wants_source;
    uint64_t caps;
    uint64_t send_flags, receive_flags; /* of calls that bring none */
    struct counter *counter[COUNT_KINDS];
    uint32_t port;
    char name[NAME_ROOM]; /* "": none */
    size_t multi_receive_least;
    struct matching tagged, plain;
    struct matching_list claimed; /* messages that a peek keeps for who asked */
};

int endpoint_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
                  void *context);

static inline struct endpoint *endpoint_of(struct fid_ep *ep)
{
    return (struct endpoint *)ep;
}

/* ---- region.c ------------------------------------------------------------------------------- */

struct region {
    struct fid_mr fid;
    struct region *next;
    struct domain *domain;
    uint64_t key;
    char *base;
    uint64_t length;
    uint64_t first; /* address of its first byte, as peers say it */
    uint64_t access;
    struct counter *counter[COUNT_KINDS];
};

extern struct fi_ops_mr region_calls;

/* Memory that a peer names. */
struct region_wish {
    uint64_t key, address, length;
    uint64_t access;
};
/* NULL: there is no such, or not for that. */
char *region_find(struct domain *domain, const struct region_wish *wish, struct region **found);

/* ---- wait.c --------------------------------------------------------------------------------- */

int signal_open(struct signal *signal, struct engine *engine, enum fi_wait_obj kind,
                struct fid_wait *set, struct fid *member);
void signal_close(struct signal *signal, struct engine *engine, const struct fid *member);
/* Something is there, and who waits for it is woken; nothing is there any more. With the turn. */
void signal_raise(struct signal *signal);
void signal_lower(struct signal *signal);
int signal_get(const struct signal *signal, int command, void *argument);

/* A thread makes progress from now on, until as many have ended it as begun. */
int progress_begin(struct engine *engine);
void progress_end(struct engine *engine);

int wait_try(struct fid_fabric *fabric, struct fid **fids, int count);
int wait_set_open(struct fid_fabric *fabric, struct fi_wait_attr *attr, struct fid_wait **set);
int poll_set_open(struct fid_domain *domain, struct fi_poll_attr *attr, struct fid_poll **set);

/* ---- none.c --------------------------------------------------------------------------------- */

/* All -FI_ENOSYS. */
int no_set_name(fid_t fid, void *address, size_t length);
int no_get_peer(struct fid_ep *ep, void *address, size_t *length);
int no_connect(struct fid_ep *ep, const void *address, const void *data, size_t length);
int no_listen(struct fid_pep *pep);
int no_accept(struct fid_ep *ep, const void *data, size_t length);
int no_reject(struct fid_pep *pep, fid_t handle, const void *data, size_t length);
int no_shutdown(struct fid_ep *ep, uint64_t flags);
int no_join(struct fid_ep *ep, const void *address, uint64_t flags, struct fid_mc **mc,
            void *context);
int no_send_context(struct fid_ep *ep, int index, struct fi_tx_attr *attr, struct fid_ep **made,
                    void *context);
int no_receive_context(struct fid_ep *ep, int index, struct fi_rx_attr *attr, struct fid_ep **made,
                       void *context);
ssize_t no_cancel(fid_t fid, void *context);
int no_get_option(fid_t fid, int level, int name, void *value, size_t *length);
int no_set_option(fid_t fid, int level, int name, const void *value, size_t length);
ssize_t no_size_left(struct fid_ep *ep);
extern struct fi_ops_collective no_collective_calls;

/* ---- Tables of calls ------------------------------------------------------------------------ */

extern struct fi_ops_msg message_calls;
extern struct fi_ops_tagged tagged_calls;
extern struct fi_ops_rma rma_calls;
extern struct fi_ops_atomic atomic_calls;
int atomic_query(struct fid_domain *domain, enum fi_datatype type, enum fi_op operation,
                 struct fi_atomic_attr *attr, uint64_t flags);
