/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Jobs of the bench: the command starts itself again under the project's own launcher, and shows
 * how far it is; the ranks take their cores, join, and lead or follow.
 */
#include "base/error.h"
#include "base/settings.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/run/run.h"
#include "experiment/machine/bench.h"
#include "job/job_layer.h"
#include "job/launch/launch.h"
#include "simulated/world.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_US (100 * 1000)

const char *bench_program(void)
{
    static char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    return length > 0 ? path : NULL;
}

/* ---- The command ---------------------------------------------------------------------------- */

/* In a child: the launcher takes over a process's signals and children. */
static int launch(const struct bench_sheet *sheet, int rank_count, int sheet_fd)
{
    const struct bench_layer *layer = bench_layer_of(sheet);
    char fd[16], folder[PATH_MAX + 64];
    struct settings settings;
    const char *program = bench_program();
    const char *argv[] = {program, "bench", ".rank", fd, NULL};
    snprintf(fd, sizeof(fd), "%d", sheet_fd);
    unsetenv("RHINET_MANAGER_FD"); /* of a job that we are in ourselves */
    if (layer->nic)
        setenv("RHINET_NIC", layer->nic, 1);
    if (layer->is_mpi && run_provider_find(folder, sizeof(folder))) {
        setenv("FI_PROVIDER_PATH", folder, 1); /* for who opens it in a rank: mpi/ */
        setenv("FI_PROVIDER", "rhinet", 1);
    }
    if (sheet->wishes.nic[0])
        setenv("RHINET_NIC", sheet->wishes.nic, 1);
    if (bench_is_far(sheet)) /* every rank a host of its own */
        setenv("RHINET_MIXED_RANKS", "1", 0);
    if (layer->nic || bench_is_far(sheet)) /* raw polls, too */
        setenv("RHINET_SPIN", "1s", 0);
    settings_warn(environ);
    if (!program || settings_load(&settings, environ) < 0) {
        fprintf(stderr, "rhinet bench: %s\n", program ? rh_error_text() : "where is /proc?");
        return LAUNCH_STATUS_FAILED;
    }
    struct launch_options options = {.name = "rhinet run",
                                     .size = rank_count,
                                     .nic = setting_text(&settings, SETTING_NIC),
                                     .timeout_ns = LAUNCH_TIMEOUT_NONE,
                                     .bind = LAUNCH_BIND_NONE, /* they choose themselves */
                                     .argv = (char *const *)(uintptr_t)argv,
                                     .environ = environ,
                                     .settings = &settings,
                                     .server = &martini_server};
    return launch_run(&options);
}

static void show_progress_line(struct bench_sheet *sheet)
{
    int index = atomic_load(&sheet->case_now);
    const struct bench_figure *figure = &sheet->figure[index];
    if (!sheet->wishes.is_chosen[index])
        return; /* no case has begun */
    cli_progress("%-16s %3u of %u rounds, %u discarded", bench_layer_of(sheet)->cases[index].name,
                 figure->round_count, sheet->wishes.round_count, figure->discarded_count);
}

/* Where nobody looks on, nothing wakes up beside what is measured. */
static int await_launcher(struct bench_sheet *sheet, pid_t pid)
{
    int status;
    while (waitpid(pid, &status, isatty(STDERR_FILENO) ? WNOHANG : 0) == 0) {
        show_progress_line(sheet);
        usleep(LOOK_US);
    }
    cli_progress_end();
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

int bench_members_start(struct bench_sheet *sheet, int sheet_fd, int rank_count)
{
    atomic_store(&sheet->step, 0);
    atomic_store(&sheet->arrived_count, 0);
    atomic_store(&sheet->released, 0);
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid < 0)
        return error_fail(RH_ENOSPACE, "cannot start a process");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        _exit(getppid() == parent ? launch(sheet, rank_count, sheet_fd) : LAUNCH_STATUS_FAILED);
    }
    return await_launcher(sheet, pid);
}

/* ---- A rank --------------------------------------------------------------------------------- */

static int open_memory(struct bench_run *run)
{
    void *memory;
    if (run->peer < 0)
        return 0;
    run->block = aligned_alloc(4096, BENCH_BLOCK_LENGTH);
    if (!run->block)
        return error_fail(RH_ENOSPACE, "no memory");
    memset(run->block, 1, BENCH_BLOCK_LENGTH);
    int result = rh_segment_alloc(run->job, BENCH_SID, BENCH_MEMORY, &memory);
    if (result < 0)
        return result;
    run->memory = memory;
    result = rh_segment_wait(run->job, run->peer, BENCH_SID, RH_TIMEOUT_DEFAULT);
    if (result < 0)
        return result;
    run->remote_memory = rh_remote_ptr(run->job, rh_at(run->peer, BENCH_SID, 0), BENCH_MEMORY);
    if (!run->remote_memory && bench_is_far(run->sheet)) {
        run->memory = run->sheet->raw[run->rank];
        run->remote_memory = run->sheet->raw[run->peer];
    }
    bool is_needed = !bench_layer_of(run->sheet)->nic;
    return run->remote_memory || !is_needed
               ? 0
               : error_set(RH_EUNSUP, run->peer, "the NIC %s has no direct memory",
                           rh_nic_name(run->job));
}

/* Rank 0: all chosen cases for a job of this size, in the order of the table. */
static int conduct(struct bench_run *run)
{
    const struct bench_layer *layer = bench_layer_of(run->sheet);
    int result = 0;
    for (int i = 0; i < layer->case_count && result == 0; i++) {
        if (run->sheet->wishes.is_chosen[i] && layer->cases[i].rank_count == run->size)
            result = bench_rounds_measure(run, i);
    }
    return result < 0 ? result : bench_lead(run, BENCH_STEP_QUIT, NULL);
}

static int take_part(struct bench_run *run)
{
    int result = rh_join(&run->job, NULL);
    if (result < 0)
        return result;
    run->rank = rh_rank(run->job);
    run->size = rh_size(run->job);
    run->peer = run->rank < 2 ? 1 - run->rank : -1;
    result = bench_cores_take(run->rank, BENCH_RANK_0_ALONE);
    if (result == 0)
        result = open_memory(run);
    if (result == 0)
        result = run->rank == 0 ? conduct(run) : bench_follow(run);
    if (result < 0) /* before leaving, which may fail as well */
        fprintf(stderr, "rhinet bench: %s: %s\n",
                run->bench_case ? run->bench_case->name : "set-up", rh_error_text());
    free(run->block);
    rh_leave(run->job);
    return result;
}

int bench_members_be_rank(const char *sheet_fd)
{
    struct bench_run run = {.peer = -1};
    uint64_t fd;
    if (!text_to_u64(sheet_fd, &fd) || !(run.sheet = bench_sheet_map((int)fd)))
        return 2;
    return take_part(&run) < 0 ? 1 : 0;
}
