/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See client.h.
 */
#include "nic/martini/client.h"

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/settings.h"
#include "virtual/virtual.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* One thread's line to the server. */
struct channel {
    int thread; /* as the kernel numbers them */
    int fd;
    int64_t seen_ns; /* of processor time, when the last answer came */
    uint64_t call_count;
    uint64_t copied; /* bytes, since then */
    bool has_looked; /* the last call was a look */
    struct channel *next;
};

struct martini_client {
    struct martini_port port;
    pthread_mutex_t lock;
    int fd;
    struct channel *channels;
    const struct virtual_program *program; /* that lives in virtual time; NULL: it does not */
    struct virtual_time time;
};

static int64_t processor_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int simulation_gone(void)
{
    return error_fail(RH_EREFUSED, "the simulation does not answer; was the launcher killed?");
}

/* ---- Channels -------------------------------------------------------------------------------- */

/* The server gets one end of a new pair. */
static int channel_connect(struct martini_client *client, struct channel *channel)
{
    int ends[2];
    char letter = 'c';
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return error_fail(RH_ENOSPACE, "no socket for a thread: %s", strerror(errno));
    struct descriptor_message message = {
        .data = &letter, .length = sizeof(letter), .fd = {ends[1]}, .fd_count = 1};
    int result = descriptor_send(client->fd, &message, 0);
    close(ends[1]);
    if (result < 0) {
        close(ends[0]);
        return simulation_gone();
    }
    channel->fd = ends[0];
    return 0;
}

static struct channel *channel_find(struct martini_client *client)
{
    int thread = gettid();
    pthread_mutex_lock(&client->lock);
    struct channel *channel = client->channels;
    while (channel && channel->thread != thread)
        channel = channel->next;
    if (!channel) {
        channel = calloc(1, sizeof(*channel));
        if (channel && channel_connect(client, channel) < 0) {
            free(channel);
            channel = NULL;
        }
        if (channel) {
            channel->thread = thread;
            channel->seen_ns = processor_ns();
            channel->next = client->channels;
            client->channels = channel;
        }
    }
    pthread_mutex_unlock(&client->lock);
    return channel;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* Without a meter at the library's edge, all since the last answer is the program's. */
static struct virtual_computed computed(const struct martini_client *client,
                                        struct channel *channel)
{
    if (client->program)
        return client->program->computed_take();
    return (struct virtual_computed){(uint64_t)(processor_ns() - channel->seen_ns),
                                     ++channel->call_count};
}

/* A program that lives in virtual time, as MPI does, may look for long. False: the look before this
 * one, at another place, has done for both. */
static bool look_prepare(const struct martini_client *client, const struct channel *channel,
                         struct martini_call *call)
{
    if (call->value)
        return !channel->has_looked;
    call->is_patient = 1;
    if (client->program->is_outside())
        call->operation = MARTINI_PARK;
    return true;
}

static int client_call(void *context, struct martini_call *call)
{
    const struct martini_client *client = context;
    struct channel *channel = channel_find(context);
    if (!channel)
        return RH_EREFUSED;
    call->is_gathering = client->program && client->program->is_outside();
    bool is_look = client->program && call->operation == MARTINI_LOOK;
    if (is_look && !look_prepare(client, channel, call)) {
        channel->has_looked = false;
        call->result = RH_ETIMEOUT;
        return 0;
    }
    struct virtual_computed since = computed(client, channel);
    call->computed_ns = since.ns;
    call->computed_calls = since.calls;
    call->copied = channel->copied;
    channel->copied = 0;
    ssize_t length = send(channel->fd, call, sizeof(*call), MSG_NOSIGNAL);
    while (length == (ssize_t)sizeof(*call)) {
        length = recv(channel->fd, call, sizeof(*call), 0);
        if (length >= 0 || errno != EINTR)
            break;
        length = sizeof(*call);
    }
    if (length != (ssize_t)sizeof(*call))
        return simulation_gone();
    call->text[sizeof(call->text) - 1] = '\0';
    if (call->result < 0 && call->text[0])
        error_set(call->result, call->error_rank, "%s", call->text);
    channel->has_looked = is_look;
    channel->seen_ns = processor_ns();
    return 0;
}

void martini_client_copied(struct martini_client *client, uint64_t length)
{
    struct channel *channel = channel_find(client);
    if (channel)
        channel->copied += length;
}

/* ---- The program's time ---------------------------------------------------------------------- */

#define CLOCK_NS 100 /* of a look at the clock, or who waits for it to go on would stop it */

static int64_t time_now_ns(void *context)
{
    struct martini_call call = {.operation = MARTINI_SLEEP, .timeout_ns = CLOCK_NS};
    return client_call(context, &call) < 0 ? INT64_MIN : call.now_ns;
}

static void time_sleep(void *context, int64_t duration_ns)
{
    struct martini_call call = {.operation = MARTINI_SLEEP, .timeout_ns = duration_ns};
    client_call(context, &call);
}

static void time_park(void *context)
{
    struct martini_call call = {.operation = MARTINI_PARK};
    client_call(context, &call);
}

static void time_gather(void *context)
{
    struct martini_call call = {.operation = MARTINI_NOW};
    client_call(context, &call);
}

/* The library that was loaded before the program, if it was. */
static void program_find(struct martini_client *client)
{
    client->program = dlsym(RTLD_DEFAULT, VIRTUAL_NAME);
    client->time = (struct virtual_time){client, time_now_ns, time_sleep, time_park, time_gather};
    if (client->program)
        client->program->attach(&client->time);
}

/* ---- Opening --------------------------------------------------------------------------------- */

static int check_socket(int fd)
{
    int type = 0;
    socklen_t length = sizeof(type);
    if (fd > 0 && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 &&
        type == SOCK_SEQPACKET)
        return 0;
    return error_fail(
        RH_EINVALID,
        "NIC martini needs a simulation: start the program by `rhinet run --nic martini`");
}

/* The simulation is no relative of ours: where Yama restricts ptrace, it must be let in. */
static int let_in(int fd)
{
    struct ucred whose = {0};
    socklen_t length = sizeof(whose);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &whose, &length) < 0 || whose.uid != geteuid())
        return error_fail(RH_EREFUSED, "the simulation at this name is another user's");
    prctl(PR_SET_PTRACER, whose.pid, 0, 0, 0);
    return 0;
}

/* Knock where RHINET_MARTINI_DOOR says: under other people's launchers. The socket, or an error. */
static int knock(const char *name, int rank)
{
    struct sockaddr_un address;
    int32_t claim = rank;
    socklen_t length = martini_door_address(&address, name);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    int result = fd < 0 || connect(fd, (struct sockaddr *)&address, length) < 0
                     ? error_fail(RH_EREFUSED,
                                  "the simulation of NIC martini does not answer (%s): all ranks "
                                  "must run where `rhinet mpirun` does",
                                  strerror(errno))
                     : let_in(fd);
    if (result == 0 && send(fd, &claim, sizeof(claim), MSG_NOSIGNAL) != sizeof(claim))
        result = simulation_gone();
    if (result == 0)
        return fd;
    descriptor_close(&fd);
    return result;
}

int martini_client_open(struct martini_client **client, const struct nic_job *job)
{
    const char *door = setting_text(job->settings, SETTING_MARTINI_DOOR);
    int fd = door[0] ? knock(door, job->rank)
                     : (int)setting_number(job->settings, SETTING_MARTINI_FD);
    int result = fd < 0 ? fd : check_socket(fd);
    if (result < 0)
        return result;
    struct martini_client *made = calloc(1, sizeof(*made));
    if (!made)
        return error_no_memory("a simulated NIC");
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    made->fd = fd;
    made->port = (struct martini_port){made, client_call};
    pthread_mutex_init(&made->lock, NULL);
    program_find(made);
    *client = made;
    return 0;
}

void martini_client_close(struct martini_client *client)
{
    if (!client)
        return;
    if (client->program)
        client->program->attach(NULL);
    while (client->channels) {
        struct channel *gone = client->channels;
        client->channels = gone->next;
        close(gone->fd);
        free(gone);
    }
    close(client->fd);
    pthread_mutex_destroy(&client->lock);
    free(client);
}

const struct martini_port *martini_client_port(const struct martini_client *client)
{
    return &client->port;
}
