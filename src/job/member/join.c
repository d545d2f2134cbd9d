/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Joining and leaving a job, and what a member may ask about it.
 */
#include "base/error.h"
#include "base/struct_size.h"
#include "job/job_map.h"
#include "job/member/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

extern char **environ;

/* A job of one is its own manager: its roster and board exist, so `rhinet top` finds it too. */
static int join_alone(struct rh_job *job)
{
    uint32_t number = 0;
    if (getrandom(&number, sizeof(number), 0) != sizeof(number))
        number = (uint32_t)getpid();
    int result = job_memory_create(&job->memory, 1, number | 0x10000000u);
    if (result < 0)
        return result;
    struct roster *roster = job->memory.roster;
    snprintf(roster->command, sizeof(roster->command), "%s", program_invocation_short_name);
    atomic_store(&roster->peer[0].pid, getpid());
    atomic_store(&roster->peer[0].state, RH_PEER_JOINED);
    job->nic_job.size = 1;
    return 0;
}

int join_manager(struct rh_job *job, int fd, bool *is_lost)
{
    int type = 0;
    socklen_t length = sizeof(type);
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) < 0 || type != SOCK_SEQPACKET)
        return error_fail(
            RH_EREFUSED,
            "descriptor %d is not the launcher's connection (%s); something between "
            "`rhinet run` and this program closed it, or unset RHINET_MANAGER_FD to run "
            "alone",
            fd, type ? "other kind" : strerror(errno));
    fcntl(fd, F_SETFD, FD_CLOEXEC); /* what this program starts is not a member */
    job->line.fd = fd;
    struct exchange hello = {.request = {.kind = REQUEST_HELLO}, .send_fd = -1, .fd_count = 2};
    int result = job_exchange(job, &hello);
    if (is_lost)
        *is_lost = hello.is_lost;
    if (result < 0)
        return result;
    const struct reply *reply = &hello.reply;
    if (reply->size < 1 || reply->rank < 0 || reply->rank >= reply->size)
        result = error_fail(RH_ECORRUPT, "the task manager says rank %d of %d", reply->rank,
                            reply->size);
    else
        result = job_memory_map(&job->memory, hello.fd[0], hello.fd[1], (uint32_t)reply->size);
    if (result < 0) {
        close(hello.fd[0]);
        close(hello.fd[1]);
        return result;
    }
    job->nic_job.rank = reply->rank;
    job->nic_job.size = reply->size;
    memcpy(job->nic_job.secret, reply->secret, sizeof(job->nic_job.secret));
    job->broker = job_broker;
    job->broker.context = job;
    job->nic_job.broker = &job->broker;
    /* Where Yama restricts ptrace, this lets the launcher's other children reach attached memory;
     * elsewhere it has no effect. Members of an open job are nobody's children. */
    if (!job->memory.roster->is_open)
        prctl(PR_SET_PTRACER, job->memory.roster->launcher_pid, 0, 0, 0);
    return 0;
}

static int join_unstarted(struct rh_job *job, const struct rh_join_options *wanted)
{
    switch (wanted->unstarted) {
    case RH_UNSTARTED_OPEN:
        return join_open(job, wanted->nic ? wanted->nic : nic_choice(&job->settings, 1));
    case RH_UNSTARTED_REFUSE:
        return error_fail(RH_EREFUSED, "no launcher has started this process: use `rhinet run`, "
                                       "mpirun or srun");
    default:
        return join_alone(job);
    }
}

/* Not by `rhinet run`: by somebody else's launcher, or by nobody's. */
static int join_otherwise(struct rh_job *job, const struct rh_join_options *wanted)
{
    struct starter *starter = &job->starter;
    bool is_there;
    int result = starter_open(starter,
                              (enum starter_choice)setting_number(&job->settings, SETTING_STARTER),
                              job->timeout_ns, &is_there);
    if (result < 0)
        return result;
    if (is_there && starter->size > 1) {
        result = join_started(starter, &job->settings);
        if (result >= 0)
            result = join_manager(job, result, NULL);
    } else if (is_there) {
        result = join_alone(job);
    } else {
        result = join_unstarted(job, wanted);
    }
    starter_release(starter, result < 0);
    return result;
}

/* The NIC's job is known but for its counters. */
static void watch_job(struct rh_job *job, struct board_rank *boards)
{
    struct nic_job *nic_job = &job->nic_job;
    nic_job->watch = (struct watch_job){
        .rank = nic_job->rank,
        .stuck_ns = (int64_t)setting_number(&job->settings, SETTING_STUCK),
        .roster = nic_job->roster,
        .board = &boards[nic_job->rank],
        .boards = boards};
    job->counters = &boards[nic_job->rank].counters;
    nic_job->counters = job->counters;
}

static void say_goodbye(struct rh_job *job)
{
    struct exchange leave = {.request = {.kind = REQUEST_LEAVE}, .send_fd = -1};
    if (job->line.fd >= 0)
        job_exchange(job, &leave); /* a lost launcher changes nothing any more */
}

static void job_free(struct rh_job *job)
{
    job_memory_release(&job->memory);
    line_close(&job->line);
    while (job->reaches) {
        struct job_reach *reach = job->reaches;
        job->reaches = reach->older;
        free(reach);
    }
    explicit_bzero(job->nic_job.secret, sizeof(job->nic_job.secret));
    free(job);
}

static int check_options(const struct rh_join_options *options)
{
    if (!struct_size_is_sound(options->struct_size, sizeof(*options)))
        return error_fail(RH_EINVALID,
                          "rh_join: set options.struct_size to sizeof(struct rh_join_options)");
    if (options->unstarted < RH_UNSTARTED_ALONE || options->unstarted > RH_UNSTARTED_REFUSE)
        return error_fail(RH_EINVALID, "rh_join: options.unstarted is %d, no enum rh_unstarted",
                          options->unstarted);
    return 0;
}

int rh_join(struct rh_job **job, const struct rh_join_options *options)
{
    static const struct rh_join_options usual = {.struct_size = sizeof(usual)};
    const struct rh_join_options *wanted = options ? options : &usual;
    if (!job)
        return error_fail(RH_EINVALID, "rh_join: there is no place for the job");
    int result = check_options(wanted);
    if (result < 0)
        return result;
    struct rh_job *made = calloc(1, sizeof(*made));
    if (!made)
        return error_no_memory("a job");
    line_open(&made->line, -1);
    made->memory = (struct job_memory){.roster_fd = -1, .board_fd = -1};
    result = settings_load(&made->settings, environ);
    if (result < 0)
        goto free_job;
    made->timeout_ns = (int64_t)setting_number(&made->settings, SETTING_TIMEOUT);
    int given_fd = (int)setting_number(&made->settings, SETTING_MANAGER_FD);
    int fd = wanted->manager_fd > 0 ? wanted->manager_fd : given_fd;
    result = fd > 0 ? join_manager(made, fd, NULL) : join_otherwise(made, wanted);
    if (result < 0)
        goto free_job;
    const struct roster *roster = made->memory.roster;
    if (made->nic_job.rank == 0 && given_fd == 0)
        settings_warn(environ);
    made->nic_job.roster = roster;
    made->nic_job.job_id = roster->job_id;
    made->nic_job.settings = &made->settings;
    watch_job(made, made->memory.board);
    const char *nic = wanted->nic ? wanted->nic : nic_choice(&made->settings, roster->node_count);
    snprintf(made->nic_name, sizeof(made->nic_name), "%s", nic);
    result = nic_open(&made->nic, nic, &made->nic_job);
    if (result < 0 && roster->is_open)
        say_goodbye(made); /* nobody else watches how we fare */
    if (result < 0)
        goto free_job;
    *job = made;
    return 0;
free_job:
    starter_release(&made->starter, true);
    job_free(made);
    return result;
}

int job_place_take(struct rh_job **job, const struct job_place *place)
{
    struct rh_job *made = calloc(1, sizeof(*made));
    if (!made)
        return error_set(RH_ENOSPACE, place->rank, "no memory for a job");
    made->memory = (struct job_memory){.roster_fd = -1, .board_fd = -1};
    made->settings = *place->settings;
    made->timeout_ns = (int64_t)setting_number(&made->settings, SETTING_TIMEOUT);
    made->nic_job = (struct nic_job){.rank = place->rank,
                                     .size = place->size,
                                     .job_id = place->job_id,
                                     .roster = place->roster,
                                     .settings = &made->settings,
                                     .for_nic = place->for_nic};
    watch_job(made, place->boards);
    line_open(&made->line, -1);
    snprintf(made->nic_name, sizeof(made->nic_name), "%s", place->nic);
    int result = nic_open(&made->nic, made->nic_name, &made->nic_job);
    if (result < 0) {
        job_free(made);
        return result;
    }
    atomic_store(&place->roster->peer[place->rank].state, RH_PEER_JOINED);
    *job = made;
    return 0;
}

int rh_leave(struct rh_job *job)
{
    if (job->mailbox.state)
        job->mailbox.close(job->mailbox.state);
    job->nic->ops->close(job->nic);
    say_goodbye(job);
    starter_release(&job->starter, true);
    job_free(job);
    return 0;
}

int rh_rank(const struct rh_job *job)
{
    return job->nic_job.rank;
}

int rh_size(const struct rh_job *job)
{
    return job->nic_job.size;
}

static int check_rank(const struct rh_job *job, int rank)
{
    if (rank >= 0 && rank < job->nic_job.size)
        return 0;
    return error_fail(RH_EINVALID, "rank %d is outside the job of %d", rank, job->nic_job.size);
}

int rh_node(const struct rh_job *job, int rank)
{
    int result = check_rank(job, rank);
    return result < 0 ? result : job->nic_job.roster->peer[rank].node;
}

uint64_t rh_job_id(const struct rh_job *job)
{
    return job->nic_job.job_id;
}

int64_t rh_clock_ns(const struct rh_job *job)
{
    return nic_now_ns(job->nic);
}

const char *rh_nic_name(const struct rh_job *job)
{
    return job->nic_name;
}

int rh_peer_state(const struct rh_job *job, int rank)
{
    int result = check_rank(job, rank);
    return result < 0 ? result : (int)roster_state(job->nic_job.roster, rank);
}

int rh_deaths_acknowledge(struct rh_job *job)
{
    uint32_t deaths = atomic_load_explicit(roster_deaths(job->nic_job.roster, job->nic_job.rank),
                                           memory_order_acquire);
    atomic_store_explicit(&job->nic_job.deaths_known, deaths, memory_order_relaxed);
    return (int)deaths;
}
