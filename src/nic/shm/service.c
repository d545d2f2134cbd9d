/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The service thread: a thread of the owner that does to attached memory what only the owner can
 * do. Peers reach it by a stream that the task manager connects; each request is one header,
 * answered by one. What comes in is checked against the owner's own table, like every access.
 */
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/process.h"
#include "nic/shm/shm_nic.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define CALLERS_MAX 4096
#define STALL_S     5 /* a caller that stops in the middle of a request is cut off */

struct wire_request {
    uint32_t operation;
    uint32_t sid;
    uint64_t state; /* generation that the caller saw */
    uint64_t offset;
    uint64_t length;
    struct nic_atomic_operands operands;
};

struct wire_reply {
    int32_t code;
    uint32_t reserved;
    uint64_t old;
};

struct shm_service {
    pthread_t thread;
    bool is_running;
    int line;               /* new callers arrive here */
    int stop;               /* eventfd */
    struct pollfd *watched; /* line, stop, then callers */
    nfds_t watched_count;
    pthread_mutex_t lock; /* our own connections to other service threads */
    int *connection;      /* by rank; -1 if none yet */
};

/* ---- Streams -------------------------------------------------------------------------------- */

static int send_all(int fd, const void *data, size_t length)
{
    const char *at = data;
    while (length > 0) {
        ssize_t sent = send(fd, at, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return sent < 0 ? -errno : -EPIPE;
        at += sent;
        length -= (size_t)sent;
    }
    return 0;
}

static int receive_all(int fd, void *data, size_t length)
{
    char *at = data;
    while (length > 0) {
        ssize_t got = recv(fd, at, length, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : -EPIPE;
        at += got;
        length -= (size_t)got;
    }
    return 0;
}

static int discard(int fd, uint64_t length)
{
    char scrap[4096];
    while (length > 0) {
        size_t part = length < sizeof(scrap) ? (size_t)length : sizeof(scrap);
        int result = receive_all(fd, scrap, part);
        if (result < 0)
            return result;
        length -= part;
    }
    return 0;
}

/* A stream without a limit would be a wait without a deadline: false, and it must not be used. */
static bool limit_stalls(int fd, int64_t seconds)
{
    struct timeval limit = {.tv_sec = seconds};
    return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0 &&
           setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0;
}

/* ---- Serving -------------------------------------------------------------------------------- */

/* Where a request points, if our table allows it; NULL with *code set if not. */
static char *checked_place(struct shm_nic *shm, const struct wire_request *request, int *code)
{
    unsigned needed = request->operation == SHM_SERVICE_PUSH   ? RH_WRITE
                      : request->operation == SHM_SERVICE_PULL ? RH_READ
                                                               : 0;
    struct shm_entry *entry = shm_entry_find(shm, shm->door, request->sid);
    uint64_t state = entry ? atomic_load(&entry->state) : 0;
    *code = 0;
    if (!entry || state != request->state || SHM_KIND(state) != NIC_SEGMENT_ATTACHED) {
        *code = RH_ESTALE;
        return NULL;
    }
    unsigned rights = atomic_load(&entry->rights);
    uint64_t length = atomic_load(&entry->length);
    if ((rights & needed) != needed || (needed == 0 && !(rights & (RH_ATOMIC | RH_WRITE))))
        *code = RH_ERIGHTS;
    else if (request->offset > length || request->length > length - request->offset)
        *code = RH_EBOUNDS;
    else if (needed == 0 && (request->length != 8 || request->offset % 8 != 0))
        *code = RH_EINVALID;
    return *code < 0 ? NULL : (char *)(uintptr_t)atomic_load(&entry->address) + request->offset;
}

/* Carry out one request; a negative result means the stream is of no use any more. */
static int serve_request(struct shm_nic *shm, int fd, const struct wire_request *request)
{
    struct wire_reply reply = {0};
    char *place = checked_place(shm, request, &reply.code);
    int result = 0;
    if (request->operation == SHM_SERVICE_PUSH)
        result = place ? receive_all(fd, place, request->length) : discard(fd, request->length);
    else if (request->operation == SHM_SERVICE_ATOMIC && place)
        reply.old = nic_atomic_apply((_Atomic uint64_t *)(void *)place, &request->operands);
    else if (request->operation != SHM_SERVICE_PULL && place)
        reply.code = RH_EINVALID;
    if (result < 0)
        return result;
    shm_after_write(shm, shm->door); /* our own program may be waiting for it */
    result = send_all(fd, &reply, sizeof(reply));
    if (result == 0 && request->operation == SHM_SERVICE_PULL && place)
        result = send_all(fd, place, request->length);
    return result;
}

static int serve_caller(struct shm_nic *shm, int fd)
{
    struct wire_request request;
    int result = receive_all(fd, &request, sizeof(request));
    if (result < 0)
        return result;
    /* The caller holds a hazard too, but it may die; ours keeps detach from passing us. */
    _Atomic uint64_t *hazard = shm_hazard_set(shm, shm->nic.job->rank, request.sid);
    result = serve_request(shm, fd, &request);
    shm_hazard_clear(hazard);
    return result;
}

static void accept_caller(struct shm_service *service)
{
    int32_t rank;
    struct descriptor_message message = {.data = &rank, .length = sizeof(rank)};
    int result = descriptor_receive(service->line, &message, MSG_DONTWAIT);
    if (result == -ECONNRESET) /* the task manager is gone: no more callers */
        service->watched[0].fd = -1;
    if (result < 0)
        return;
    for (int i = 0; i < message.fd_count; i++) {
        if (i > 0 || service->watched_count >= CALLERS_MAX ||
            !limit_stalls(message.fd[i], STALL_S)) {
            close(message.fd[i]);
            continue;
        }
        service->watched[service->watched_count++] = (struct pollfd){.fd = message.fd[i],
                                                                     .events = POLLIN};
    }
}

static void *service_main(void *context)
{
    struct shm_nic *shm = context;
    struct shm_service *service = shm->service;
    for (;;) {
        if (poll(service->watched, service->watched_count, -1) < 0) {
            if (errno != EINTR) /* no memory, for now: our callers wait */
                usleep(1000);
            continue;
        }
        if (service->watched[1].revents)
            return NULL;
        for (nfds_t i = 2; i < service->watched_count; i++) {
            if (!service->watched[i].revents || serve_caller(shm, service->watched[i].fd) == 0)
                continue;
            close(service->watched[i].fd);
            service->watched[i--] = service->watched[--service->watched_count];
        }
        if (service->watched[0].revents)
            accept_caller(service);
    }
}

/* ---- Starting and stopping ------------------------------------------------------------------ */

/* The program's signals are not for us. */
static int start_thread(struct shm_nic *shm)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&shm->service->thread, NULL, service_main, shm);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code != 0)
        return error_fail(RH_ENOSPACE, "cannot start the service thread: %s", strerror(code));
    pthread_setname_np(shm->service->thread, PROCESS_OWN_THREADS "service");
    shm->service->is_running = true;
    return 0;
}

static struct shm_service *service_create(int size)
{
    struct shm_service *service = calloc(1, sizeof(*service));
    int *connection = calloc((size_t)size, sizeof(*connection));
    struct pollfd *watched = calloc(CALLERS_MAX, sizeof(*watched));
    if (!service || !connection || !watched) {
        free(service);
        free(connection);
        free(watched);
        return NULL;
    }
    for (int rank = 0; rank < size; rank++)
        connection[rank] = -1;
    service->connection = connection;
    service->watched = watched;
    service->line = service->stop = -1;
    pthread_mutex_init(&service->lock, NULL);
    return service;
}

/* The part that only calls other service threads needs no thread. */
static int service_prepare(struct shm_nic *shm)
{
    int result = 0;
    pthread_mutex_lock(&shm->view_lock);
    if (!shm->service)
        shm->service = service_create(shm->nic.job->size);
    if (!shm->service)
        result = error_no_memory("the service thread");
    pthread_mutex_unlock(&shm->view_lock);
    return result;
}

int shm_service_start(struct shm_nic *shm)
{
    const struct nic_broker *broker = shm->nic.job->broker;
    if (!broker)
        return 0;
    int result = service_prepare(shm);
    if (result < 0 || shm->service->is_running)
        return result;
    struct shm_service *service = shm->service;
    /* What an attempt that failed half-way has, the next one uses: there is one line per
     * process. */
    if (service->stop < 0)
        service->stop = eventfd(0, EFD_CLOEXEC);
    if (service->stop < 0)
        return error_fail(RH_ENOSPACE, "cannot make a descriptor for the service thread: %s",
                          strerror(errno));
    if (service->line < 0)
        result = broker->service_line(broker->context, &service->line);
    if (result < 0)
        return result;
    service->watched[0] = (struct pollfd){.fd = service->line, .events = POLLIN};
    service->watched[1] = (struct pollfd){.fd = service->stop, .events = POLLIN};
    service->watched_count = 2;
    return start_thread(shm);
}

void shm_service_stop(struct shm_nic *shm)
{
    struct shm_service *service = shm->service;
    if (!service)
        return;
    if (service->is_running) {
        eventfd_write(service->stop, 1);
        pthread_join(service->thread, NULL);
    }
    for (nfds_t i = 2; i < service->watched_count; i++)
        close(service->watched[i].fd);
    for (int rank = 0; rank < shm->nic.job->size; rank++)
        descriptor_close(&service->connection[rank]);
    descriptor_close(&service->line);
    descriptor_close(&service->stop);
    pthread_mutex_destroy(&service->lock);
    free(service->connection);
    free(service->watched);
    free(service);
    shm->service = NULL;
}

/* ---- Calling -------------------------------------------------------------------------------- */

static int connect_to(struct shm_nic *shm, int rank)
{
    const struct nic_broker *broker = shm->nic.job->broker;
    struct shm_service *service = shm->service;
    if (service->connection[rank] >= 0)
        return 0;
    int result = broker->service_connect(broker->context, rank, &service->connection[rank]);
    if (result < 0 || limit_stalls(service->connection[rank], 2 * STALL_S))
        return result;
    close(service->connection[rank]);
    service->connection[rank] = -1;
    return error_set(RH_EREFUSED, rank, "cannot limit the wait for rank %d's service thread: %s",
                     rank, strerror(errno));
}

static int exchange(int fd, struct shm_service_call *call, struct wire_reply *reply)
{
    struct wire_request request = {.operation = call->operation,
                                   .sid = call->view->sid,
                                   .state = call->view->state,
                                   .offset = call->offset,
                                   .length = call->length,
                                   .operands = call->operands};
    if (call->operation == SHM_SERVICE_ATOMIC)
        request.length = 8;
    int result = send_all(fd, &request, sizeof(request));
    if (result == 0 && call->operation == SHM_SERVICE_PUSH)
        result = send_all(fd, call->buffer, call->length);
    if (result == 0)
        result = receive_all(fd, reply, sizeof(*reply));
    if (result == 0 && reply->code == 0 && call->operation == SHM_SERVICE_PULL)
        result = receive_all(fd, call->buffer, call->length);
    return result;
}

static int service_lost(struct shm_nic *shm, int rank, int code)
{
    close(shm->service->connection[rank]);
    shm->service->connection[rank] = -1;
    if (code == -EAGAIN)
        return error_set(RH_ETIMEOUT, rank,
                         "rank %d's service thread does not answer; is it stopped?", rank);
    return shm_refuse_vanished(shm, rank, "asking its service thread");
}

static void describe_call(void *context, struct wait_note *note)
{
    const struct shm_service_call *call = context;
    *note = (struct wait_note){.call = WAIT_TRANSFER,
                               .peer = call->view->rank,
                               .number = call->view->sid,
                               .length = call->operation == SHM_SERVICE_ATOMIC ? 8 : call->length};
}

int shm_service_ask(struct shm_nic *shm, struct shm_service_call *call)
{
    int rank = call->view->rank;
    struct wire_reply reply = {0};
    int result = service_prepare(shm);
    if (result < 0)
        return result;
    counter_add(shm->nic.job->counters, COUNTER_SERVICE, 1);
    struct stall_watch stall = {.job = &shm->nic.job->watch,
                                .since_ns = clock_now_ns(),
                                .describe = describe_call,
                                .context = call};
    stall_watch_keep(&stall, stall.since_ns); /* cheap beside the system calls that follow */
    pthread_mutex_lock(&shm->service->lock);
    result = connect_to(shm, rank);
    if (result == 0) {
        result = exchange(shm->service->connection[rank], call, &reply);
        if (result < 0)
            result = service_lost(shm, rank, result);
    }
    pthread_mutex_unlock(&shm->service->lock);
    stall_watch_end(&stall);
    if (result < 0)
        return result;
    call->old = reply.old;
    if (reply.code == RH_ESTALE)
        return shm_refuse_stale(shm, rank, call->view->sid);
    return reply.code == 0 ? 0
                           : error_set(reply.code, rank, "rank %d's service thread refused: %s",
                                       rank, rh_error_name(reply.code));
}
