/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet top`: looks at a running job again and again. Costs the job nothing: its processes count
 * in memory that we read; those of other hosts in memory that their task managers read for us.
 */
#include "cli/job/top.h"

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/job/doctor.h"
#include "cli/job/web.h"
#include "cli/table.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#define INTERVAL_MIN_NS (10 * NS_PER_MS)
#define INTERVAL_MAX_NS (3600 * NS_PER_S)

#define SCREEN_CLEAR "\033[H\033[J"

static struct {
    bool once, json, web;
    uint32_t port; /* 0: any */
    int64_t interval_ns;
} wishes;

static const struct cli_option options[] = {
    CLI_FLAG("once", &wishes.once, "print one table and end"),
    CLI_FLAG("json", &wishes.json, "print one JSON object per sample"),
    CLI_TIME("interval", "S", INTERVAL_MIN_NS, INTERVAL_MAX_NS, &wishes.interval_ns,
             "time between samples", .standard = "1s"),
    CLI_FLAG("web", &wishes.web, "a page for the browser, and /metrics for Prometheus"),
    CLI_NUMBER("port", "N", 1024, 65535, &wishes.port, "where the page is; anywhere unless given"),
    CLI_OPTIONS_END,
};

static volatile sig_atomic_t interrupted;
static sigset_t mask; /* while we wait; what we catch comes at no other time */

static void note_interrupt(int signal)
{
    interrupted = 1;
}

enum pause_end { PAUSE_OVER, PAUSE_QUIT, PAUSE_JOB_ENDED };

/* Waits for the next sample, for `q`, Ctrl-C or the end of the job. */
static enum pause_end pause_for(const struct live_job *job, int64_t interval_ns, bool keys)
{
    int64_t deadline = clock_deadline_ns(interval_ns);
    for (;;) {
        int64_t left_ns = deadline_left_ns(deadline, clock_now_ns());
        if (interrupted)
            return PAUSE_QUIT;
        if (left_ns == 0)
            return PAUSE_OVER;
        struct pollfd events[] = {{.fd = job->launcher_fd, .events = POLLIN},
                                  {.fd = keys ? STDIN_FILENO : -1, .events = POLLIN}};
        struct timespec left = {left_ns / NS_PER_S, left_ns % NS_PER_S};
        if (ppoll(events, 2, &left, &mask) <= 0)
            continue;
        if (events[0].revents)
            return PAUSE_JOB_ENDED;
        char key = 0;
        if (read(STDIN_FILENO, &key, 1) <= 0)
            keys = false; /* no more keys: do not spin on the end of the file */
        else if (key == 'q' || key == 'Q')
            return PAUSE_QUIT;
    }
}

/* Where samples go. */
enum view { VIEW_LINES, VIEW_SCREEN, VIEW_WEB };

struct watch {
    const struct live_job *job;
    enum view view;
    struct web *web;
    bool has_ended; /* the job */
};

static bool show(const struct watch *watch, const struct top_sample *sample)
{
    bool screen = watch->view == VIEW_SCREEN;
    if (watch->view == VIEW_WEB) {
        web_show(watch->web, watch->job, sample);
        return true;
    }
    if (wishes.json)
        return top_json_print(stdout, sample) == 0;
    if (screen)
        fputs(SCREEN_CLEAR, stdout);
    top_print(stdout, sample, terminal_width(), screen ? terminal_height() : 0);
    if (!screen && !wishes.once)
        putchar('\n');
    return fflush(stdout) == 0;
}

static struct job_snapshot *look(const struct live_job *job)
{
    job_others_ask(job);
    return job_snapshot_take(job);
}

/* Samples until told to stop. Returns the exit status. */
static int watch_job(struct watch *watch)
{
    const struct live_job *job = watch->job;
    struct job_snapshot *before = look(job);
    int64_t before_ns = clock_now_ns();
    int status = before ? 0 : 1;
    for (bool more = before != NULL; more;) {
        enum pause_end end = pause_for(job, wishes.interval_ns, watch->view == VIEW_SCREEN);
        if (end == PAUSE_QUIT)
            break;
        struct job_snapshot *now = look(job);
        int64_t now_ns = clock_now_ns();
        /* The size of a job never changes; if it does, the memory is not a job's. */
        if (!now || now->size != before->size) {
            free(now);
            status = 1;
            break;
        }
        struct top_sample sample = {before, now, (double)(now_ns - before_ns) / 1e9};
        watch->has_ended = end == PAUSE_JOB_ENDED;
        more = show(watch, &sample) && !wishes.once && !watch->has_ended;
        free(before);
        before = now;
        before_ns = now_ns;
    }
    free(before);
    return status;
}

/* Before other threads begin, so that the one that waits gets them and no other. */
static void catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = note_interrupt};
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ours, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* On a terminal: keys come at once and are not echoed. Puts everything back. */
static int watch_on_screen(const struct live_job *job)
{
    struct termios saved, keys;
    struct watch watch = {.job = job, .view = VIEW_SCREEN};
    if (tcgetattr(STDIN_FILENO, &saved) < 0) {
        watch.view = VIEW_LINES;
        return watch_job(&watch);
    }
    catch_interrupts();
    keys = saved;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &keys);
    int status = watch_job(&watch);
    tcsetattr(STDIN_FILENO, TCSANOW, &saved);
    return status;
}

static int watch_on_web(const struct live_job *job)
{
    struct watch watch = {.job = job, .view = VIEW_WEB};
    int64_t stuck_ns = 0;
    catch_interrupts();
    if (doctor_stuck_find(&stuck_ns) != 0 ||
        !(watch.web = web_open((uint16_t)wishes.port, stuck_ns)))
        return 2;
    printf("%s\n", web_address(watch.web));
    fflush(stdout);
    int status = watch_job(&watch);
    web_close(watch.web, watch.has_ended);
    return status;
}

static int watch_in_lines(const struct live_job *job)
{
    struct watch watch = {.job = job, .view = VIEW_LINES};
    return watch_job(&watch);
}

static int top(int count, char **words)
{
    struct live_job job;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    if (wishes.web && (wishes.once || wishes.json))
        return cli_usage_error("--web goes neither with --once nor with --json");
    if (wishes.port && !wishes.web)
        return cli_usage_error("--port is for --web");
    int status = jobs_select(count > 0 ? words[0] : NULL, &job);
    if (status != 0)
        return status;
    bool screen = !wishes.once && !wishes.json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    status = wishes.web ? watch_on_web(&job)
             : screen   ? watch_on_screen(&job)
                        : watch_in_lines(&job);
    if (status == 1)
        cli_say("the job's memory makes no sense any more");
    jobs_close(&job, 1);
    return status == 0 ? 0 : 1;
}

const struct cli_command cli_top = {.name = "top",
                                    .help = "watch the processes of a running job",
                                    .operands = "[JOB]",
                                    .options = options,
                                    .suggest = jobs_suggest,
                                    .run = top};
