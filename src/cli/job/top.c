/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet top`: looks at a running job again and again. Costs the job nothing: its processes count
 * in memory that we read.
 */
#include "cli/job/top.h"

#include "base/clock.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/table.h"

#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define INTERVAL_LEAST_NS (10 * NS_PER_MS)
#define INTERVAL_MOST_NS  (3600 * NS_PER_S)

#define SCREEN_CLEAR "\033[H\033[J"

struct top_options {
    const char *job;
    bool once;
    bool json;
    int64_t interval_ns;
};

static volatile sig_atomic_t interrupted;

static void note_interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

static int parse_options(int argc, char **argv, struct top_options *options)
{
    static const struct option table[] = {
        {"once", no_argument, NULL, 'o'},
        {"json", no_argument, NULL, 'j'},
        {"interval", required_argument, NULL, 'i'},
        {NULL, 0, NULL, 0},
    };
    opterr = 0;
    for (int found; (found = getopt_long(argc, argv, ":", table, NULL)) != -1;) {
        if (found == 'o')
            options->once = true;
        else if (found == 'j')
            options->json = true;
        else if (found == ':')
            return cli_usage_error(argv[0], "--interval needs a time, such as 0.5s");
        else if (found != 'i')
            return cli_usage_error(argv[0], "unknown option '%s'", argv[optind - 1]);
        else if (!text_to_duration(optarg, &options->interval_ns) ||
                 options->interval_ns < INTERVAL_LEAST_NS ||
                 options->interval_ns > INTERVAL_MOST_NS)
            return cli_usage_error(argv[0], "--interval %s: expected a time from 10ms to 60m",
                                   optarg);
    }
    if (argc - optind > 1)
        return cli_usage_error(argv[0], "one job at a time");
    options->job = optind < argc ? argv[optind] : NULL;
    return 0;
}

enum pause_end { PAUSE_OVER, PAUSE_QUIT, PAUSE_JOB_ENDED };

/* Waits for the next sample, for `q`, Ctrl-C or the end of the job. */
static enum pause_end pause_for(const struct live_job *job, int64_t interval_ns, bool keys)
{
    int64_t deadline = clock_deadline_ns(interval_ns);
    for (;;) {
        int64_t left_ns = deadline - clock_now_ns();
        if (interrupted)
            return PAUSE_QUIT;
        if (left_ns <= 0)
            return PAUSE_OVER;
        struct pollfd events[] = {{.fd = job->launcher_fd, .events = POLLIN},
                                  {.fd = keys ? STDIN_FILENO : -1, .events = POLLIN}};
        struct timespec left = {left_ns / NS_PER_S, left_ns % NS_PER_S};
        if (ppoll(events, 2, &left, NULL) <= 0)
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

static bool show(const struct top_sample *sample, const struct top_options *options, bool screen)
{
    if (options->json)
        return top_print_json(stdout, sample) == 0;
    if (screen)
        fputs(SCREEN_CLEAR, stdout);
    top_print(stdout, sample, terminal_width(), screen ? terminal_height() : 0);
    if (!screen && !options->once)
        putchar('\n');
    return fflush(stdout) == 0;
}

/* Samples until told to stop. Returns the exit status. */
static int watch(const struct live_job *job, const struct top_options *options, bool screen)
{
    struct job_snapshot *before = job_snapshot_take(job);
    int64_t before_ns = clock_now_ns();
    int status = before ? 0 : 1;
    for (bool more = before != NULL; more;) {
        enum pause_end end = pause_for(job, options->interval_ns, screen);
        if (end == PAUSE_QUIT)
            break;
        struct job_snapshot *now = job_snapshot_take(job);
        int64_t now_ns = clock_now_ns();
        /* The size of a job never changes; if it does, the memory is not a job's. */
        if (!now || now->size != before->size) {
            free(now);
            status = 1;
            break;
        }
        struct top_sample sample = {before, now, (double)(now_ns - before_ns) / 1e9};
        more = show(&sample, options, screen) && !options->once && end != PAUSE_JOB_ENDED;
        free(before);
        before = now;
        before_ns = now_ns;
    }
    free(before);
    return status;
}

/* On a terminal: keys come at once and are not echoed. Puts everything back. */
static int watch_on_screen(const struct live_job *job, const struct top_options *options)
{
    struct termios saved, keys;
    struct sigaction action = {.sa_handler = note_interrupt};
    if (tcgetattr(STDIN_FILENO, &saved) < 0)
        return watch(job, options, false);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    keys = saved;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &keys);
    int status = watch(job, options, true);
    tcsetattr(STDIN_FILENO, TCSANOW, &saved);
    return status;
}

int cli_top(int argc, char **argv)
{
    struct top_options options = {.interval_ns = NS_PER_S};
    int status = parse_options(argc, argv, &options);
    if (status != 0)
        return status;
    struct live_job job;
    status = jobs_select(argv[0], options.job, &job);
    if (status != 0)
        return status;
    bool screen = !options.once && !options.json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    status = screen ? watch_on_screen(&job, &options) : watch(&job, &options, false);
    if (status != 0)
        fprintf(stderr, "rhinet top: the job's memory makes no sense any more\n");
    jobs_close(&job, 1);
    return status;
}
