/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The task manager's memory, shared by manager.c (life cycle, sockets) and requests.c (what
 * each request does). Private to src/job.
 */
#pragma once

#include "base/cores.h"
#include "base/descriptor.h"
#include "job/job_memory.h"
#include "job/manager/manager.h"
#include "job/mesh/mesh.h"
#include "job/protocol.h"

/* A descriptor that a member offers to the job. */
struct offer {
    uint32_t sid;
    uint32_t rights;
    int fd;
};

/* What a member wants to be called. */
struct member_name {
    uint32_t number; /* the member's, which stands for it */
    uint8_t length;
    char text[PROTOCOL_NAME_MAX];
};

struct member {
    int fd;         /* our end */
    int child_fd;   /* its end, until its process has it */
    int service_fd; /* our end of its service line, or -1 */
    int process_fd; /* a pidfd, where the launcher would not tell us that it ended, or -1 */
    int started_pid;
    int known_pid; /* of an open job's: as the kernel said when it came; else 0 */
    bool has_come; /* adopted: once */
    bool has_joined;
    bool has_left;
    uint8_t *card; /* how other hosts reach it, or NULL */
    size_t card_length;
    struct offer *offers;
    size_t offer_count;
    size_t offer_room;
    struct member_name *names;
    size_t name_count;
    size_t name_room;
};

/* What stands in the epoll set: a rank's socket by its number, and besides */
#define MANAGER_MESH    UINT32_MAX
#define MANAGER_QUERY   (UINT32_MAX - 1)
#define MANAGER_PROCESS (1ULL << 32) /* + rank: its process */

struct manager_events {
    struct manager_event *event;
    size_t start, count, room;
};

/* Somebody wants to know who waits for whom on the other hosts (query.c). */
struct manager_query {
    int fd[2];          /* a pipe: who wants it writes a byte */
    int64_t *offset_ns; /* of each node's clock to ours; 0: not known */
};

struct manager {
    int poll_fd;
    int size;
    int common_fd;
    uint8_t secret[32]; /* the members' */
    struct job_memory memory;
    struct member *members;
    const struct job_map *map; /* NULL, as is the mesh, in a job of one host */
    struct mesh *mesh;
    struct manager_events events;
    struct manager_query query;
    bool adopts;
    uint64_t *met;         /* of an open job: a row of bits for each rank, see open.c; else NULL */
    uint32_t serial;       /* of who came last */
    struct core_set cores; /* adopted members bring their own: all of these together */
    char refusal[sizeof(((struct manager_event *)0)->text)]; /* for whoever wants to join */
};

/* Carry out one request of a member. Fills reply and, where it hands out descriptors, their copies:
 * fd[i] stays the manager's unless `given` is set, in which case it is closed after sending. */
struct answer {
    struct reply reply;
    int fd[DESCRIPTORS_MAX];
    int fd_count;
    bool given;
};
void manager_answer(struct manager *manager, int rank, const struct request *request,
                    const struct descriptor_message *message, struct answer *answer);

/* The request is refused, and that is why. */
void manager_refuse(struct answer *answer, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A member has a socket: be told when it says something. RH_ENOSPACE. */
int manager_socket_watch(struct manager *manager, int rank);

/* A member has joined: be told when its process ends, even if somebody else holds its socket. */
void manager_member_watch(struct manager *manager, int rank, int pid);

/* Write into the roster how a rank ended. Nobody is told twice that it died. */
struct rank_end {
    enum rh_peer_state state; /* RH_PEER_LEFT or RH_PEER_DIED */
    int status, signal;
};
void manager_end_set(struct manager *manager, int rank, struct rank_end end);

/* ---- hosts.c: the other hosts. All do nothing in a job of one. ----------------------- */

int manager_hosts_open(struct manager *manager, const struct manager_options *options);
void manager_hosts_close(struct manager *manager);
void manager_state_tell(struct manager *manager, int rank);
void manager_end_tell(struct manager *manager, int rank, int status, int signal);
void manager_card_tell(struct manager *manager, int rank);

/* ---- open.c: open jobs. All but the first do nothing in others. ------------------------------ */

int manager_open_jobs_open(struct manager *manager);
/* Two ranks know of each other from now on. */
void manager_met(struct manager *manager, int one, int other);
/* One has died: tell those who have met it. */
void manager_met_died(struct manager *manager, int rank);
/* One is gone, for good. */
void manager_seat_left(struct manager *manager, int rank);

/* ---- names.c -------------------------------------------------------------------------------- */

void manager_name_put(struct manager *manager, int rank, const struct request *request,
                      struct answer *answer);
void manager_name_drop(struct manager *manager, int rank, const struct request *request,
                       struct answer *answer);
void manager_name_get(struct manager *manager, int caller, const struct request *request,
                      struct answer *answer);
/* All of a member that is gone. */
void manager_names_drop(struct member *member);

/* ---- query.c ------------------------------------------------------------------------ */

enum host_frame {
    HOST_STATE = MESH_OWNER, /* rank; value: its state */
    HOST_ENDED,              /* rank; values: status, signal, pid */
    HOST_CARD,               /* rank; data: its card */
    HOST_END,                /* value: signal for all ranks; from the first launcher only */
    HOST_QUERY,              /* value: round. Who waits there? */
    HOST_WAITS,              /* rank; values: round, process, threads; data: struct host_waits */
    HOST_COUNTERS            /* rank; values: round, number of the first; data: their values */
};

int manager_query_open(struct manager *manager);
void manager_query_close(struct manager *manager);
void manager_query_serve(struct manager *manager);

/* Another host asks, or answers. */
void manager_query_answer(struct manager *manager, int seat, int32_t round);
void manager_query_told(struct manager *manager, const struct mesh_frame *frame);
void manager_query_counted(struct manager *manager, const struct mesh_frame *frame);

/* Keep a card. RH_ENOSPACE, RH_EEXIST. */
int manager_card_keep(struct member *member, const uint8_t *card, size_t length);

/* The member's process is gone: nothing it offered is handed out any more. */
void manager_offers_drop(struct member *member);
