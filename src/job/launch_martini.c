/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulation of NIC martini: a child of the launcher that holds one end of a socket to each
 * rank. It ends when all ranks have; if the launcher dies it dies with it.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/settings.h"
#include "job/launch_parts.h"
#include "job/martini_network.h"
#include "nic/martini/martini.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define END_NS (5 * NS_PER_S) /* to finish when the ranks are gone */

bool launch_martini_is_wanted(const struct launch_options *options)
{
    return options->nic && strstr(options->nic, "martini");
}

/* What the user wants to be simulated. */
struct wanted {
    struct martini_settings settings;
    struct martini_network network;
};

static int wanted_read(struct wanted *wanted, const struct launch_options *options)
{
    int result = martini_settings_read(&wanted->settings,
                                       setting_text(options->settings, SETTING_MARTINI));
    return result < 0
               ? result
               : martini_network_open(&wanted->network, &wanted->settings, (uint32_t)options->size);
}

/* The child's life. It must not keep the ranks' ends open, or it would never see them end. */
static _Noreturn void simulate(struct launcher *launcher, const struct wanted *wanted,
                               const int *ends)
{
    const struct martini_settings *settings = &wanted->settings;
    struct martini_serve_options options = {
        .spec = {.size = (uint32_t)launcher->options->size,
                 .seed = settings->seed,
                 .plan = wanted->network.plan,
                 .kind = settings->kind,
                 .metres = settings->metres,
                 .constants = &settings->constants,
                 .timeout_ns = (int64_t)setting_number(launcher->options->settings,
                                                       SETTING_TIMEOUT)},
        .fds = ends,
        .compute_per_mille = settings->compute_per_mille,
        .report = settings->report[0] ? settings->report : NULL};
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher->plan.launcher_pid)
        _exit(LAUNCH_STATUS_FAILED);
    sigprocmask(SIG_SETMASK, &launcher->signals.mask_before, NULL);
    for (int i = 0; i < launcher->options->size; i++)
        close(launcher->martini.ends[i]);
    _exit(martini_serve(&options) < 0 ? LAUNCH_STATUS_FAILED : 0);
}

static int pairs_make(int *ours, int *theirs, int count)
{
    for (int i = 0; i < count; i++) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
            int error = -errno;
            while (i-- > 0) {
                close(ours[i]);
                close(theirs[i]);
            }
            return error;
        }
        ours[i] = pair[0];
        theirs[i] = pair[1];
    }
    return 0;
}

int launch_martini_start(struct launcher *launcher)
{
    struct launch_martini *martini = &launcher->martini;
    int size = launcher->options->size;
    struct wanted wanted;
    if (!launch_martini_is_wanted(launcher->options))
        return 0;
    if (wanted_read(&wanted, launcher->options) < 0) {
        launch_say(launcher, "%s", rh_error_text());
        return -EINVAL;
    }
    int *ends = calloc((size_t)size, sizeof(int));
    martini->ends = calloc((size_t)size, sizeof(int));
    int result = ends && martini->ends ? pairs_make(ends, martini->ends, size) : -ENOMEM;
    if (result == 0) {
        int pid = fork();
        if (pid == 0)
            simulate(launcher, &wanted, ends);
        martini->pid = pid;
        result = pid < 0 ? -errno : 0;
        for (int i = 0; i < size; i++)
            close(ends[i]);
    }
    free(ends);
    martini_network_close(&wanted.network);
    if (result < 0)
        launch_say(launcher, "cannot start the simulation: %s%s", strerror(-result),
                   launch_advice(result));
    return result;
}

int launch_martini_end_of(const struct launcher *launcher, int rank)
{
    return launcher->martini.ends ? launcher->martini.ends[rank] : 0;
}

void launch_martini_given(struct launcher *launcher, int rank)
{
    if (!launcher->martini.ends || launcher->martini.ends[rank] <= 0)
        return;
    close(launcher->martini.ends[rank]);
    launcher->martini.ends[rank] = 0;
}

void launch_martini_stop(struct launcher *launcher)
{
    struct launch_martini *martini = &launcher->martini;
    int64_t deadline_ns = clock_deadline_ns(END_NS);
    for (int i = 0; martini->ends && i < launcher->options->size; i++)
        launch_martini_given(launcher, i);
    free(martini->ends);
    martini->ends = NULL;
    if (martini->pid <= 0)
        return;
    while (waitpid(martini->pid, NULL, WNOHANG) == 0) {
        if (clock_now_ns() >= deadline_ns)
            kill(martini->pid, SIGKILL);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    martini->pid = 0;
}
