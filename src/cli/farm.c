/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See farm.h. A part's text is read while it is written, lest a full pipe stop it.
 */
#include "cli/farm.h"

#include "base/array.h"
#include "base/cores.h"
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES_MAX 64

struct part {
    char *text;
    size_t length, room;
    bool is_done;
};

struct worker {
    uint32_t part;
    pid_t pid; /* 0: no process */
    int fd;
};

struct field {
    const struct farm *farm;
    struct part *parts;
    struct worker workers[PROCESSES_MAX];
    uint32_t worker_count, begun, ended, taken;
};

_Noreturn static void child(const struct farm *farm, uint32_t part, int fd, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    cli_progress_leave();
    FILE *out = getppid() == parent ? fdopen(fd, "w") : NULL;
    int status = out ? farm->work(farm->context, part, out) : 1;
    if (out && fclose(out) != 0)
        status = 1;
    _exit(status);
}

static int worker_start(struct field *field, struct worker *worker)
{
    int ends[2];
    pid_t parent = getpid();
    fflush(NULL); /* what is not written yet would be written twice */
    if (pipe2(ends, O_CLOEXEC) < 0) {
        cli_say("cannot make a pipe: %s", strerror(errno));
        return 1;
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        child(field->farm, field->begun, ends[1], parent);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        cli_say("cannot start a process: %s", strerror(errno));
        return 1;
    }
    *worker = (struct worker){field->begun++, pid, ends[0]};
    return 0;
}

/* Its pipe is at its end: how it went. */
static int worker_end(struct field *field, struct worker *worker)
{
    int status = 0;
    while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    close(worker->fd);
    worker->pid = 0;
    field->parts[worker->part].is_done = true;
    field->ended++;
    cli_progress("%s: %u of %u", field->farm->what, field->ended, field->farm->part_count);
    if (WIFSIGNALED(status)) {
        cli_say("part %u of the %s was killed by signal %d", worker->part, field->farm->what,
                WTERMSIG(status));
        return 1;
    }
    return WEXITSTATUS(status);
}

static int worker_read(struct field *field, struct worker *worker)
{
    struct part *part = &field->parts[worker->part];
    if (!array_grow(&part->text, &part->room, part->length + 4096)) {
        cli_say("no memory for what part %u has found", worker->part);
        return 1;
    }
    ssize_t length = read(worker->fd, part->text + part->length, part->room - part->length - 1);
    if (length < 0 && errno == EINTR)
        return 0;
    if (length > 0) {
        part->length += (size_t)length;
        return 0;
    }
    part->text[part->length] = '\0';
    return worker_end(field, worker);
}

/* Hands over what has been found, as far as nothing before it is missing. */
static int parts_take(struct field *field)
{
    int status = 0;
    while (status == 0 && field->taken < field->farm->part_count &&
           field->parts[field->taken].is_done) {
        struct part *part = &field->parts[field->taken];
        status = field->farm->take(field->farm->context, field->taken, part->text);
        free(part->text);
        part->text = NULL;
        field->taken++;
    }
    return status;
}

static int turn(struct field *field)
{
    struct pollfd polled[PROCESSES_MAX];
    int status = 0;
    for (uint32_t i = 0; i < field->worker_count && status == 0; i++) {
        struct worker *worker = &field->workers[i];
        if (worker->pid == 0 && field->begun < field->farm->part_count)
            status = worker_start(field, worker);
        polled[i] = (struct pollfd){.fd = worker->pid ? worker->fd : -1, .events = POLLIN};
    }
    if (status != 0 || poll(polled, field->worker_count, -1) < 0)
        return status; /* a signal: once more */
    for (uint32_t i = 0; i < field->worker_count && status == 0; i++) {
        if (polled[i].fd >= 0 && polled[i].revents)
            status = worker_read(field, &field->workers[i]);
    }
    return status != 0 ? status : parts_take(field);
}

static void field_close(struct field *field)
{
    for (uint32_t i = 0; i < field->worker_count; i++) {
        struct worker *worker = &field->workers[i];
        if (worker->pid == 0)
            continue;
        kill(worker->pid, SIGKILL);
        waitpid(worker->pid, NULL, 0);
        close(worker->fd);
    }
    for (uint32_t i = 0; field->parts && i < field->farm->part_count; i++)
        free(field->parts[i].text);
    free(field->parts);
    cli_progress_end();
}

int farm_run(const struct farm *farm)
{
    struct field field = {.farm = farm};
    uint32_t most = farm->process_max ? farm->process_max : cores_allowed();
    field.worker_count = most < PROCESSES_MAX ? most : PROCESSES_MAX;
    if (field.worker_count > farm->part_count)
        field.worker_count = farm->part_count;
    field.parts = calloc(farm->part_count + 1u, sizeof(*field.parts));
    int status = 0;
    if (!field.parts) {
        cli_say("no memory for %u parts", farm->part_count);
        status = 1;
    }
    cli_progress("%s: 0 of %u", farm->what, farm->part_count);
    while (status == 0 && field.ended < farm->part_count)
        status = turn(&field);
    field_close(&field);
    return status;
}
