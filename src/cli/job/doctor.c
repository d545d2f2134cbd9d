/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet doctor`: why does this job not go on? Reads what its ranks left on their board and what
 * the kernel says of their processes; the ranks themselves are not touched, and need not be able to
 * answer. Only of ranks on other hosts it knows what the task managers tell each other.
 */
#include "cli/job/doctor.h"

#include "base/clock.h"
#include "base/settings.h"
#include "base/text.h"
#include "cli/cli.h"

#include <getopt.h>
#include <poll.h>
#include <rhinet/error.h>
#include <stdlib.h>

#define WATCH_LEAST_NS (10 * NS_PER_MS)
#define WATCH_MOST_NS  (3600 * NS_PER_S)
#define LOOKS_MOST     6 /* tries to be certain */
#define STATUS_NO_JOB  3

extern char **environ;

struct doctor_options {
    const char *job;
    bool json;
    int64_t watch_ns; /* 0: once */
    int64_t after_ns;
};

static int parse_time(const char *command, const char *option, int64_t least_ns, int64_t *value_ns)
{
    if (text_to_duration(optarg, value_ns) && *value_ns >= least_ns && *value_ns <= WATCH_MOST_NS)
        return 0;
    return cli_usage_error(command, "--%s %s: expected a time up to 60m, such as 2s", option,
                           optarg);
}

static int parse_options(int argc, char **argv, struct doctor_options *options)
{
    static const struct option table[] = {
        {"json", no_argument, NULL, 'j'},
        {"watch", required_argument, NULL, 'w'},
        {"after", required_argument, NULL, 'a'},
        {NULL, 0, NULL, 0},
    };
    int status = 0;
    opterr = 0;
    for (int found; status == 0 && (found = getopt_long(argc, argv, ":", table, NULL)) != -1;) {
        if (found == 'j')
            options->json = true;
        else if (found == 'w')
            status = parse_time(argv[0], "watch", WATCH_LEAST_NS, &options->watch_ns);
        else if (found == 'a')
            status = parse_time(argv[0], "after", 0, &options->after_ns);
        else if (found == ':')
            return cli_usage_error(argv[0], "%s needs a time, such as 2s", argv[optind - 1]);
        else
            return cli_usage_error(argv[0], "unknown option '%s'", argv[optind - 1]);
    }
    if (status == 0 && argc - optind > 1)
        return cli_usage_error(argv[0], "one job at a time");
    options->job = optind < argc ? argv[optind] : NULL;
    return status;
}

/* Waits; true if the job's launcher has ended meanwhile. */
static bool pause_or_end(const struct live_job *job, int64_t pause_ns)
{
    struct pollfd end = {.fd = job->launcher_fd, .events = POLLIN};
    struct timespec pause = {pause_ns / NS_PER_S, pause_ns % NS_PER_S};
    return ppoll(&end, 1, &pause, NULL) > 0;
}

static struct diagnosis *look(const struct live_job *job)
{
    job_ask_others(job);
    struct diagnosis *diagnosis = job_diagnosis_take(job);
    for (uint32_t rank = 0; diagnosis && rank < diagnosis->size; rank++)
        diagnosis_look(diagnosis, (int)rank);
    return diagnosis;
}

/* Two looks, the second one again until it is certain. NULL if the job is gone. */
static struct diagnosis *examine(const struct live_job *job)
{
    struct diagnosis *before = look(job);
    struct diagnosis *now = NULL;
    bool is_certain = false;
    for (int i = 0; before && i < LOOKS_MOST && !is_certain; i++) {
        pause_or_end(job, DIAGNOSIS_APART_NS);
        free(now);
        now = look(job);
        is_certain = !now || diagnosis_judge(now, before);
    }
    free(before);
    return now;
}

/* Returns the exit status. */
static int examine_once(const struct live_job *job, const struct doctor_options *options)
{
    struct diagnosis *diagnosis = examine(job);
    struct job_snapshot *snapshot = job_snapshot_take(job);
    int status = STATUS_NO_JOB;
    if (diagnosis && snapshot && snapshot->size == diagnosis->size) {
        struct doctor_findings findings = {snapshot, diagnosis, options->after_ns};
        status = doctor_is_stuck(doctor_verdict(&findings)) ? 1 : 0;
        if (!options->json)
            doctor_print(stdout, &findings);
        else if (doctor_print_json(stdout, &findings) < 0)
            status = STATUS_NO_JOB;
    } else {
        fprintf(stderr, "rhinet doctor: the job's memory makes no sense\n");
    }
    free(snapshot);
    free(diagnosis);
    return status;
}

int cli_doctor(int argc, char **argv)
{
    struct settings settings;
    settings_warn(environ);
    if (settings_load(&settings, environ) < 0) {
        fprintf(stderr, "rhinet doctor: %s\n", rh_error_text());
        return STATUS_NO_JOB;
    }
    struct doctor_options options = {.after_ns = (int64_t)setting_number(&settings, SETTING_STUCK)};
    if (options.after_ns == 0)
        options.after_ns = 10 * NS_PER_S; /* 0 silences the ranks, not us */
    int status = parse_options(argc, argv, &options);
    if (status != 0)
        return status;
    struct live_job job;
    if (jobs_select(argv[0], options.job, &job) != 0)
        return STATUS_NO_JOB;
    do {
        status = examine_once(&job, &options);
        if (options.watch_ns > 0 && !options.json)
            putchar('\n');
    } while (options.watch_ns > 0 && status != STATUS_NO_JOB && fflush(stdout) == 0 &&
             !pause_or_end(&job, options.watch_ns));
    jobs_close(&job, 1);
    return status;
}
