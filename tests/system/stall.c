/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A task manager that stands still for longer than the time-out: rank 0 stops the launcher, asks
 * for all kinds of things in vain, lets it go on, and then everything it gets must be what it asks
 * for. Rank 1 has segments whose words tell which they are.
 *   lookup  requests that are answered with descriptors, and such that bring some
 *   many    more requests than the socket has room for answers
 *   cancel  a thread that is cancelled while it waits for the manager
 */
#include "job/job.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <rhinet/rma.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SID_FIRST        10
#define SID_COUNT        8
#define SID_OWN          40
#define SID_GO           99
#define MANY             150 /* do not ask a stopped manager so often that it cannot answer */
#define SHORT_TIMEOUT_NS RH_MILLISECONDS(20)

static struct rh_job *job;

static void fail(const char *what)
{
    kill(getppid(), SIGCONT);
    fprintf(stderr, "rank %d: %s: %s\n", rh_rank(job), what, rh_error_text());
    _exit(1);
}

static int fd_count(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

static void nap(long ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static bool is_stopped(int pid)
{
    char path[64];
    char line[256] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (file && !fgets(line, sizeof(line), file))
        line[0] = '\0';
    if (file)
        fclose(file);
    const char *state = strrchr(line, ')');
    return state && state[1] == ' ' && state[2] == 'T';
}

/* Only a manager that stands still is asked in haste: a busy one may need longer at any time. */
static void stop_launcher(void)
{
    kill(getppid(), SIGSTOP);
    while (!is_stopped(getppid()))
        nap(1);
    job->timeout_ns = SHORT_TIMEOUT_NS;
}

static void continue_launcher(void)
{
    job->timeout_ns = RH_TIMEOUT_LONGEST;
    kill(getppid(), SIGCONT);
}

static void pull_times_out(uint32_t sid)
{
    uint64_t word;
    if (rh_pull(job, rh_at(1, sid, 0), &word, sizeof(word)) != RH_ETIMEOUT)
        fail("a pull without the manager");
}

static uint64_t pull_word(uint32_t sid)
{
    uint64_t word = 0;
    if (rh_pull(job, rh_at(1, sid, 0), &word, sizeof(word)) < 0)
        fail("a pull");
    return word;
}

static void check_all(void)
{
    for (uint32_t sid = SID_FIRST; sid < SID_FIRST + SID_COUNT; sid++) {
        if (pull_word(sid) != sid)
            fail("another segment's data");
        uint64_t own = 1000 + sid;
        if (rh_push(job, rh_at(1, sid, 8), &own, sizeof(own)) < 0)
            fail("a push");
    }
}

/* Each is given up, and takes effect later. */
static void ask_times_out(char *attached)
{
    void *base;
    pull_times_out(SID_FIRST);
    pull_times_out(SID_FIRST + 1);
    if (rh_segment_alloc(job, SID_OWN, 4096, &base) != RH_ETIMEOUT)
        fail("a segment without the manager");
    if (rh_segment_attach(job, SID_OWN + 1, attached, 4096) != RH_ETIMEOUT)
        fail("attaching without the manager");
}

static void look_up(void)
{
    static char attached[4096];
    void *base;
    stop_launcher();
    ask_times_out(attached);
    int fds = fd_count(); /* what an attempt in vain keeps for the next one is in it */
    continue_launcher();
    check_all();
    if (fd_count() != fds)
        fail("descriptors of late answers are left");
    if (rh_segment_alloc(job, SID_OWN, 4096, &base) < 0)
        fail("a segment that was given up, again");
    if (rh_segment_attach(job, SID_OWN + 1, attached, 4096) < 0)
        fail("attaching again");
}

static void ask_often(void)
{
    stop_launcher();
    for (int i = 0; i < MANY; i++)
        pull_times_out(SID_FIRST + (uint32_t)i % SID_COUNT);
    continue_launcher();
    check_all();
}

static void *pull_for_ever(void *unused)
{
    (void)unused;
    uint64_t word;
    for (;;) {
        rh_pull(job, rh_at(1, SID_FIRST, 0), &word, sizeof(word));
        pthread_testcancel();
    }
    return NULL;
}

static void cancel(void)
{
    pthread_t thread;
    stop_launcher();
    if (pthread_create(&thread, NULL, pull_for_ever, NULL) != 0)
        fail("a thread");
    nap(50);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    continue_launcher();
    check_all();
}

static void serve(void)
{
    uint64_t *base[SID_COUNT], *go;
    for (uint32_t i = 0; i < SID_COUNT; i++) {
        if (rh_segment_alloc(job, SID_FIRST + i, 4096, (void **)&base[i]) < 0)
            fail("segment");
        *base[i] = SID_FIRST + i;
    }
    if (rh_segment_alloc(job, SID_GO, 4096, (void **)&go) < 0)
        fail("segment");
    struct rh_wait wait = {
        .word = go, .value = 1, .when = RH_AT_LEAST, .from = 0, .timeout_ns = RH_TIMEOUT_LONGEST};
    if (rh_wait_word(job, &wait) < 0)
        fail("waiting for rank 0");
    for (uint32_t i = 0; i < SID_COUNT; i++) {
        if (base[i][1] != 1000 + SID_FIRST + i)
            fail("a push has landed elsewhere");
    }
}

int main(int argc, char **argv)
{
    if (argc != 2 || rh_join(&job, NULL) < 0)
        return 2;
    if (rh_rank(job) == 1) {
        serve();
        rh_leave(job);
        return 0;
    }
    uint64_t one = 1;
    if (rh_segment_wait(job, 1, SID_GO, RH_TIMEOUT_LONGEST) < 0)
        fail("rank 1 does not come");
    if (strcmp(argv[1], "lookup") == 0)
        look_up();
    else if (strcmp(argv[1], "many") == 0)
        ask_often();
    else
        cancel();
    if (rh_push(job, rh_at(1, SID_GO, 0), &one, sizeof(one)) < 0)
        fail("telling rank 1 to go");
    rh_leave(job);
    return 0;
}
