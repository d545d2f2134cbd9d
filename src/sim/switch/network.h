/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a network consists of. Private to sim/switch. Everything is found by number, so that numbers
 * can travel in events: ports of all nodes in one array, lanes of all ports in one, stays and
 * packets in pools.
 */
#pragma once

#include "base/arena.h"
#include "sim/switch/switch.h"

#define NONE UINT32_MAX

enum network_event {
    EVENT_ARRIVE, /* stay: its header is routed, or it is at its host */
    EVENT_DONE,   /* output port: the last flit of what it sends has left */
    EVENT_RETRY,  /* output port: credits it waits for are there */
    EVENT_CREDIT, /* notice: credits begin to come back */
    EVENT_STOP,   /* lane of an output */
    EVENT_GO,     /* lane of an output */
    EVENT_ROOM,   /* lane of an input: it may be able to say go */
    EVENT_DRAIN,  /* stay: its host has taken all of it */
    EVENT_COUNT
};

struct packet {
    uint64_t number, cookie;
    uint32_t source, flits;
    uint32_t target_count;
    uint32_t target;   /* if there is one */
    uint32_t *targets; /* if there are several; owned */
    uint32_t step;     /* source routing: next step */
    sim_time sent;
    bool is_live; /* taken from the pool */
    bool is_damaged;
};

/* Flits leave (or credits return) evenly: flit k of count, from 1, at begin + span * k / count. */
struct ramp {
    sim_time begin, span;
    uint32_t count; /* 0: none */
};

/* One packet in one buffer. */
struct stay {
    uint32_t packet, flits;
    uint64_t cookie;     /* in a host's queue: the packet itself may be delivered before it left */
    uint32_t place;      /* lane of the input, or of the host's queue */
    uint32_t next;       /* in the buffer's queue */
    sim_time tail_ready; /* when its last flit can go on */
    uint32_t output;     /* that it asks for; NONE: several, it is a multicast */
    uint32_t copies;     /* requests that have not ended */
    uint32_t waiting;    /* requests that have not begun */
    sim_time end;        /* of the copies that have begun, the latest */
};

/* A stay's wish for an output. */
struct request {
    uint32_t stay, packet; /* packet: of this copy */
    uint32_t lane;         /* on the output */
    uint32_t next;         /* of the same output, younger */
};

/* Credits that begin to come back to an output. */
struct notice {
    uint32_t place;
    struct ramp ramp;
};

struct lane {
    /* of the input: */
    uint32_t first, last;    /* stays */
    uint32_t held;           /* flits of packets that have arrived, and not left completely */
    struct ramp leaving;     /* of the first */
    bool has_stopped;        /* the sender was told to stop */
    uint64_t arrived, freed; /* flits, ever */
    /* of the output: */
    bool is_stopped;
    int64_t credits;       /* without those of the ramp; may be below 0 while it lasts */
    struct ramp returning; /* credits on their way; begin: when the first can be back */
    uint64_t sent, returned;
};

struct port {
    uint32_t peer; /* port; NONE: no cable */
    uint32_t node;
    uint8_t number;
    bool is_inter_switch;
    sim_time flit_time, delay;
    /* output: */
    uint32_t first, last; /* requests, oldest first */
    uint32_t sending;     /* request; NONE: free */
    sim_time retry_at;    /* the last retry was posted for then */
    double bits_to_error;
    uint64_t packets, flits, flits_resent, bits_corrected;
    uint64_t sequence_sent, sequence_taken; /* flits, without those that were resent */
    sim_time busy;
    /* input: */
    uint32_t reading; /* stay that leaves; NONE: idle */
    uint32_t reading_count;
    sim_time reading_since;
};

/* Items of one size, found by number. They move when a new one is taken: keep no pointers. */
struct pool {
    char *items;
    uint32_t *next; /* free one after this; POOL_USED */
    size_t size;
    size_t item_room, next_room;
    uint32_t count, free;
};

struct network {
    struct arena memory; /* of ports, lanes and links */
    struct sim *sim;
    uint32_t actor;
    struct network_plan plan;
    struct network_options options;
    struct sim_constants constants;
    uint32_t node_count, port_count, lane_count, packet_flits_max;
    uint32_t *port_first; /* node -> its port 0; node_count + 1 */
    struct port *ports;
    struct lane *lanes;   /* [port * lane_count + lane] */
    uint32_t *link_ports; /* outputs with a cable */
    uint32_t link_count;

    struct pool packets, stays, requests, notices;

    uint64_t number;
    uint64_t sent, delivered, lost;
    uint64_t stops;
    uint64_t overflows; /* flits that found no room: must stay 0 */
    int failure;        /* -ENOMEM: the run is worthless */
};

static inline bool node_is_host(const struct network *network, uint32_t node)
{
    return node >= network->plan.switch_count;
}

static inline struct lane *lane_at(const struct network *network, uint32_t port, uint32_t lane)
{
    return &network->lanes[(size_t)port * network->lane_count + lane];
}

/* A host's queue of packets to send is the input port 0 of its node. */
static inline bool port_is_queue(const struct network *network, uint32_t port)
{
    return network->ports[port].number == 0;
}

/* pool.c: NONE, and network->failure is set, when memory is out. New items are zero. */
void pool_init(struct pool *pool, size_t size);
void pool_free(struct pool *pool);
uint32_t pool_take(struct network *network, struct pool *pool);
void pool_give(struct pool *pool, uint32_t index);

static inline struct packet *packet_at(const struct network *network, uint32_t index)
{
    return (struct packet *)(void *)network->packets.items + index;
}

static inline struct stay *stay_at(const struct network *network, uint32_t index)
{
    return (struct stay *)(void *)network->stays.items + index;
}

static inline struct request *request_at(const struct network *network, uint32_t index)
{
    return (struct request *)(void *)network->requests.items + index;
}

static inline struct notice *notice_at(const struct network *network, uint32_t index)
{
    return (struct notice *)(void *)network->notices.items + index;
}

void packet_give(struct network *network, uint32_t packet);

static inline void network_post(struct network *network, sim_time when, enum network_event event,
                                uint32_t argument)
{
    sim_post(network->sim, when, (struct sim_event){network->actor, event, argument});
}

/* ways.c: where a packet goes at a switch. */
struct way {
    uint32_t port; /* output; NONE: no way */
    uint32_t lane;
};
struct way way_find(const struct network *network, uint32_t place, const struct packet *packet,
                    uint32_t target);
/* The first step of a packet that carries its way. */
uint32_t way_first_step(const struct network *network, uint32_t source, uint32_t target);

/* flow.c: room in the next buffer. A place is the number of a lane. */
int64_t flow_capacity(const struct network *network);
int64_t flow_room(const struct network *network, uint32_t place); /* of an input, now */
/* May a packet of this length begin? If not, *when it will, SIM_NEVER: not known yet. */
bool flow_may_send(const struct network *network, uint32_t place, uint32_t flits, sim_time *when);
/* Will nothing but a packet leaving the next buffer ever let it begin? */
bool flow_is_blocked(const struct network *network, uint32_t place, uint32_t flits);
void flow_sent(struct network *network, uint32_t place, uint32_t flits);
void flow_arrived(struct network *network, uint32_t place, uint32_t flits);
void flow_leaves(struct network *network, uint32_t place, const struct ramp *ramp);
void flow_left(struct network *network, uint32_t place);
/* Each returns the output port that may go on, NONE: none. */
uint32_t flow_credit(struct network *network, uint32_t notice);
uint32_t flow_signal(struct network *network, uint32_t place, bool is_stop);
void flow_look(struct network *network, uint32_t place);
int flow_link_check(const struct network *network, const struct port *port);

/* errors.c: what chance does to a packet on a link. */
struct damage {
    sim_time head_late, tail_late;
    bool is_lost;
};
double errors_next(struct network *network); /* bits until the next one */
struct damage errors_strike(struct network *network, struct port *port, uint32_t flits);

/* crossbar.c: who sends when. */
void crossbar_event(void *context, uint32_t kind, uint64_t argument);
void crossbar_expect(void *context, uint32_t kind, uint64_t argument);
void crossbar_enqueue(struct network *network, uint32_t stay);
/* A packet of a stay asks for an output. */
void crossbar_request(struct network *network, uint32_t stay, uint32_t packet, struct way way);

/* ---- multicast.c */

/* Copies of a stay's packet ask for all its outputs; targets that cannot be reached are lost. */
void multicast_request(struct network *network, uint32_t stay);
