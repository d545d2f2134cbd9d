/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet doctor`: why does this job not go on? Reads what its ranks left on their board and what
 * the kernel says of their processes; the ranks themselves are not touched, and need not be able to
 * answer. Only of ranks on other hosts it knows what the task managers tell each other.
 */
#include "cli/job/doctor.h"

#include "base/clock.h"
#include "base/settings.h"
#include "cli/cli.h"
#include "watch/stall_watch.h"

#include <poll.h>
#include <stdlib.h>

#define WATCH_MIN_NS  (10 * NS_PER_MS)
#define WATCH_MAX_NS  (3600 * NS_PER_S)
#define LOOKS_MAX     6 /* tries to be certain */
#define STATUS_NO_JOB 3

extern char **environ;

static struct {
    bool json;
    int64_t watch_ns; /* 0: once */
    int64_t after_ns; /* -1: as the setting says */
} wishes = {.after_ns = -1};

static const struct cli_option options[] = {
    CLI_FLAG("json", &wishes.json, "print JSON instead of text"),
    CLI_TIME("watch", "S", WATCH_MIN_NS, WATCH_MAX_NS, &wishes.watch_ns,
             "look again every S seconds"),
    CLI_TIME("after", "S", 0, WATCH_MAX_NS, &wishes.after_ns,
             "a wait counts as stuck after S seconds, RHINET_STUCK unless given"),
    CLI_OPTIONS_END,
};

/* Waits; true if the job's launcher has ended meanwhile. */
static bool pause_or_end(const struct live_job *job, int64_t pause_ns)
{
    struct pollfd end = {.fd = job->launcher_fd, .events = POLLIN};
    struct timespec pause = {pause_ns / NS_PER_S, pause_ns % NS_PER_S};
    return ppoll(&end, 1, &pause, NULL) > 0;
}

static struct diagnosis *look(const struct live_job *job)
{
    job_others_ask(job);
    struct diagnosis *diagnosis = job_diagnosis_take(job);
    for (uint32_t rank = 0; diagnosis && rank < diagnosis->size; rank++)
        diagnosis_look(diagnosis, (int)rank);
    return diagnosis;
}

struct diagnosis *doctor_examine(const struct live_job *job)
{
    struct diagnosis *before = look(job);
    struct diagnosis *now = NULL;
    bool is_certain = false;
    for (int i = 0; before && i < LOOKS_MAX && !is_certain; i++) {
        pause_or_end(job, DIAGNOSIS_APART_NS);
        free(now);
        now = look(job);
        is_certain = !now || diagnosis_judge(now, before);
    }
    free(before);
    return now;
}

/* Returns the exit status. */
static int examine_once(const struct live_job *job)
{
    struct diagnosis *diagnosis = doctor_examine(job);
    struct job_snapshot *snapshot = job_snapshot_take(job);
    int status = STATUS_NO_JOB;
    if (diagnosis && snapshot && snapshot->size == diagnosis->size) {
        struct doctor_findings findings = {snapshot, diagnosis, wishes.after_ns};
        status = doctor_is_stuck(doctor_verdict(&findings)) ? 1 : 0;
        if (!wishes.json)
            doctor_print(stdout, &findings);
        else if (doctor_json_print(stdout, &findings) < 0)
            status = STATUS_NO_JOB;
    } else {
        cli_say("the job's memory makes no sense");
    }
    free(snapshot);
    free(diagnosis);
    return status;
}

int doctor_stuck_find(int64_t *stuck_ns)
{
    struct settings settings;
    settings_warn(environ);
    if (settings_load(&settings, environ) < 0)
        return cli_fail();
    *stuck_ns = (int64_t)setting_number(&settings, SETTING_STUCK);
    if (*stuck_ns == 0)
        *stuck_ns = 10 * NS_PER_S;
    return 0;
}

static int after_find(void)
{
    int64_t stuck_ns = 0;
    int status = doctor_stuck_find(&stuck_ns);
    if (wishes.after_ns < 0)
        wishes.after_ns = stuck_ns;
    return status;
}

static int doctor(int count, char **words)
{
    struct live_job job;
    int status;
    if (after_find() != 0 || jobs_select(count > 0 ? words[0] : NULL, &job) != 0)
        return STATUS_NO_JOB;
    do {
        status = examine_once(&job);
        if (wishes.watch_ns > 0 && !wishes.json)
            putchar('\n');
    } while (wishes.watch_ns > 0 && status != STATUS_NO_JOB && fflush(stdout) == 0 &&
             !pause_or_end(&job, wishes.watch_ns));
    jobs_close(&job, 1);
    return status;
}

const struct cli_command cli_doctor = {
    .name = "doctor",
    .help = "say who waits for whom in a running job, and whether it is stuck",
    .operands = "[JOB]",
    .options = options,
    .suggest = jobs_suggest,
    .run = doctor};
