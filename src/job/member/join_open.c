/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Joining an open job (job/open_job.h): call the task manager, or be the one who starts it.
 *
 * Several may come at once, and the manager may end at any moment, because its last member has
 * gone. So whoever is not let in looks again, for as long as START_NS: it finds nobody and binds
 * the name itself, or finds who was faster. A name that somebody keeps without answering ends as an
 * error that says so. Model: tests/model/open_door.pml.
 */
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/rest.h"
#include "job/member/parts.h"
#include "job/open_job.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define START_NS (10 * NS_PER_S)
#define NAP_NS   (5 * NS_PER_MS)

struct place {
    struct sockaddr_un address;
    socklen_t length;
};

static int place_find(const struct settings *settings, struct place *place)
{
    const char *name = setting_text(settings, SETTING_OPEN_JOB);
    place->length = open_job_place(&place->address, name);
    if (place->length > 0)
        return 0;
    return error_fail(RH_EINVALID,
                      "RHINET_OPEN_JOB is \"%s\"; up to %d letters, digits and \".-_\" are allowed",
                      name, OPEN_JOB_NAME_MAX);
}

static const char *place_name(const struct place *place)
{
    return place->address.sun_path + 1; /* there is a zero behind: open_job_place() fills it */
}

/* A connection, or a negative errno value. Does not wait for room in the other's queue. */
static int call(const struct place *place)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, (const struct sockaddr *)&place->address, place->length) == 0) {
        fcntl(fd, F_SETFL, 0);
        return fd;
    }
    int result = -errno;
    close(fd);
    return result;
}

/* Whoever listens there: is it one of us? */
static int check_owner(const struct place *place, int fd)
{
    int pid;
    int64_t user = open_job_caller(fd, &pid);
    if (user == (int64_t)geteuid())
        return 0;
    return error_fail(RH_EREFUSED,
                      "the name of this user's open job, @%s, is held by user %lld (process %d); "
                      "end that process, or choose another name by RHINET_OPEN_JOB",
                      place_name(place), (long long)user, pid);
}

/* Nobody is there: be the first, unless another is faster (-EADDRINUSE). */
static int start(const struct settings *settings, const char *nic, const struct place *place)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return error_fail(RH_ENOSPACE, "cannot make a socket for the open job: %s",
                          strerror(errno));
    int result = 0;
    if (bind(fd, (const struct sockaddr *)&place->address, place->length) < 0 ||
        listen(fd, SOMAXCONN) < 0)
        result = errno == EADDRINUSE
                     ? -EADDRINUSE
                     : error_fail(RH_EREFUSED, "cannot listen at @%s, the open job's name: %s",
                                  place_name(place), strerror(errno));
    if (result == 0)
        result = manager_program_start(settings, nic, fd);
    close(fd); /* the manager has its own */
    return result;
}

static int give_up(const struct place *place, int code)
{
    const char *why = "the task managers that answer there end at once";
    if (code == -EAGAIN)
        why = "too many wait there already, and nobody lets them in";
    else if (code == -EADDRINUSE)
        why = "somebody holds the name and does not listen";
    return error_fail(RH_ETIMEOUT,
                      "cannot join the open job at @%s: %s; see who has that name (ss -xap), or "
                      "choose another by RHINET_OPEN_JOB",
                      place_name(place), why);
}

/* One attempt. *is_over: there is no use in another. */
static int attempt(struct rh_job *job, const char *nic, const struct place *place, bool *is_over)
{
    int fd = call(place);
    int result = fd;
    *is_over = false;
    if (fd >= 0) {
        bool is_lost = false;
        result = check_owner(place, fd);
        if (result < 0)
            close(fd);
        else
            result = join_manager(job, fd, &is_lost);
        *is_over = !is_lost;
        if (result == RH_ETIMEOUT)
            result = error_fail(RH_ETIMEOUT,
                                "what listens at @%s, the open job's name, has not answered for "
                                "%.3g s; see which process it is (ss -xap), and whether it is "
                                "stopped",
                                place_name(place), (double)job->timeout_ns / NS_PER_S);
        if (is_lost)
            line_reset(&job->line);
        return result;
    }
    if (result == -ECONNREFUSED) {
        result = start(&job->settings, nic, place);
        *is_over = result < 0 && result != -EADDRINUSE;
    } else if (result != -EAGAIN) {
        *is_over = true;
        result = error_fail(RH_EREFUSED, "cannot reach the open job at @%s: %s", place_name(place),
                            strerror(-result));
    }
    return result;
}

int join_open(struct rh_job *job, const char *nic)
{
    static const struct timespec nap = {.tv_nsec = NAP_NS};
    struct place place;
    if (strcmp(nic, "shm") != 0 && strcmp(nic, "fault(shm)") != 0)
        return error_fail(RH_EUNSUP,
                          "an open job runs on NIC shm, within one host, and not on \"%s\"; to "
                          "reach other hosts start the program by a launcher",
                          nic);
    int result = place_find(&job->settings, &place);
    if (result < 0)
        return result;
    int64_t patience_ns = job->timeout_ns < START_NS ? job->timeout_ns : START_NS;
    int64_t deadline_ns = clock_deadline_ns(patience_ns);
    for (;;) {
        bool is_over;
        result = attempt(job, nic, &place, &is_over);
        if (is_over)
            return result;
        if (clock_now_ns() >= deadline_ns)
            return give_up(&place, result);
        if (result < 0) /* else we have just started it */
            nanosleep(&nap, NULL);
    }
}
