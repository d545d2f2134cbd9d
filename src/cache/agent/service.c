/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See service.h. Three processes: this one, which keeps the place and notices the agent's end; the
 * agent, which dies with it; and a sweeper, which removes the place's files if this one is killed.
 */
#include "cache/agent/service.h"

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/sweeper.h"
#include "cache/agent/keeper_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SWEEPERS_MAX 8
#define LOOK_NS      (50 * NS_PER_MS)

struct service {
    struct keeper keeper;
    struct place *place;
    int64_t idle_ns;
    struct sweeper sweeper;
    int sweeper_count;
    int status; /* the agent's, as waitpid gives it */
};

/* ---- The sweeper ---------------------------------------------------------------------------- */

/* The agent may still be ending. */
static bool clean(const void *context)
{
    const struct place *place = context;
    if (access(place->folder, F_OK) == 0)
        place_clean(place);
    return access(place->folder, F_OK) != 0;
}

/* Failing to costs no more than a few files after a kill; the next service removes them. */
static void start_sweeper(struct service *service)
{
    if (service->sweeper_count++ < SWEEPERS_MAX)
        sweeper_start(&service->sweeper, clean, service->place);
}

/* ---- Signals -------------------------------------------------------------------------------- */

static struct cache_card *signalled; /* for the handler: a process has one service */

static void leave(int number)
{
    (void)number;
    atomic_store_explicit(&signalled->stop, CACHE_STOP_NOW, memory_order_release);
}

static void catch_signals(struct cache_card *card)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    struct sigaction action = {.sa_handler = leave}; /* waits are interrupted */
    signalled = card;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        sigaction(numbers[i], &action, NULL);
}

/* ---- Life ----------------------------------------------------------------------------------- */

static void note_end(struct service *service, int pid, int status)
{
    if (pid == service->sweeper.pid) {
        descriptor_close(&service->sweeper.fd);
        service->sweeper = SWEEPER_NONE;
        start_sweeper(service);
    } else if (pid == service->keeper.agent_pid) {
        keeper_agent_gone(&service->keeper);
        service->status = status;
    }
}

/* Looks often: a signal may come just before the wait. */
static void await_agent(struct service *service, bool until_ready)
{
    struct cache_card *card = service->keeper.agent.card;
    struct timespec pause = {.tv_nsec = LOOK_NS};
    int status, pid;
    while (service->keeper.agent_pid) {
        if (until_ready &&
            atomic_load_explicit(&card->agent_state, memory_order_acquire) != CACHE_AGENT_STARTING)
            return;
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
            note_end(service, pid, status);
        if (service->keeper.agent_pid && until_ready &&
            atomic_load_explicit(&card->stop, memory_order_acquire) == CACHE_STOP_NOW)
            kill(service->keeper.agent_pid, SIGKILL); /* it still waits for the others */
        if (service->keeper.agent_pid)
            clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    }
}

/* Whoever started us has read that; our output may be a pipe that nobody reads any more. */
static void say_ready(const struct service *service)
{
    const struct cache_control *control = service->keeper.agent.control;
    printf(SERVICE_READY, service->place->name, control->rank, control->size);
    fflush(stdout);
    int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null_fd >= 0)
        dup2(null_fd, STDOUT_FILENO);
    descriptor_close(&null_fd);
}

static int start(struct service *service, const struct settings *settings)
{
    struct keeper *keeper = &service->keeper;
    int result = keeper_set_up(keeper, settings);
    if (result < 0)
        return result;
    keeper->agent.is_service = true;
    keeper->agent.idle_ns = service->idle_ns;
    memcpy(keeper->agent.socket_name, service->place->socket, sizeof(keeper->agent.socket_name));
    memcpy(keeper->agent.control->socket_name, service->place->socket,
           sizeof(keeper->agent.control->socket_name));
    snprintf(keeper->agent.control->program, sizeof(keeper->agent.control->program), "service %s",
             service->place->name);
    catch_signals(keeper->agent.card);
    start_sweeper(service);
    return keeper_agent_start(keeper, settings);
}

static int finish(const struct service *service)
{
    uint32_t stop = atomic_load(&service->keeper.agent.card->stop);
    if (WIFSIGNALED(service->status) && stop != CACHE_STOP_NOW) {
        fprintf(stderr,
                "rhinet cache serve: the agent of cache %s was killed by signal %d; programs of "
                "this host go on with the file system alone\n",
                service->place->name, WTERMSIG(service->status));
        return 128 + WTERMSIG(service->status);
    }
    return WIFSIGNALED(service->status) ? 0 : WEXITSTATUS(service->status);
}

int service_run(struct place *place, const struct settings *settings, int64_t idle_ns)
{
    static struct service service; /* large */
    service = (struct service){.place = place, .idle_ns = idle_ns, .sweeper = SWEEPER_NONE};
    int result = place_take(place);
    if (result == 0)
        result = start(&service, settings);
    int status = 1;
    if (result == 0) {
        await_agent(&service, true);
        if (service.keeper.agent_pid)
            say_ready(&service);
        await_agent(&service, false);
        status = finish(&service);
    } else {
        fprintf(stderr, "rhinet cache serve: %s\n", rh_error_text());
    }
    place_leave(place);
    sweeper_end(&service.sweeper);
    return status;
}
