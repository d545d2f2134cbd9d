/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the ranks left running. The launcher is a subreaper: a process whose parent has died becomes
 * its child, even one that went into a session of its own. So "nothing is left" is the same as "we
 * have no children", which the kernel tells us; only if there are some is /proc searched for them.
 *
 * Processes of ours that remove what others have left (base/sweeper.h) end by themselves when these
 * are gone, and have a little time for it.
 */
#include "base/clock.h"
#include "base/sweeper.h"
#include "job/launch/parts.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SWEEP_NS (NS_PER_S / 2) /* a process that the kernel cannot end is not waited for */
#define SPARE_NS (2 * NS_PER_S) /* for sweepers */

/* Parent of a process, or -1. The name in the file may hold anything: look behind its last ')'. */
static int parent_of(const char *pid_text, bool *is_sweeper)
{
    char path[64];
    char line[512];
    snprintf(path, sizeof(path), "/proc/%.20s/stat", pid_text);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t length = read(fd, line, sizeof(line) - 1);
    close(fd);
    if (length <= 0)
        return -1;
    line[length] = '\0';
    const char *name_end = strrchr(line, ')');
    int parent;
    *is_sweeper = strstr(line, "(" SWEEPER_NAME ")") != NULL;
    return name_end && sscanf(name_end + 1, " %*c %d", &parent) == 1 ? parent : -1;
}

/* How many sweepers were spared. */
static int kill_children(bool spares)
{
    DIR *folder = opendir("/proc");
    if (!folder)
        return 0;
    int own_pid = getpid(), spared = 0;
    struct dirent *entry;
    while ((entry = readdir(folder))) {
        bool is_sweeper = false;
        if (!isdigit((unsigned char)entry->d_name[0]) ||
            parent_of(entry->d_name, &is_sweeper) != own_pid)
            continue;
        if (is_sweeper && spares)
            spared++;
        else
            kill((int)strtol(entry->d_name, NULL, 10), SIGKILL);
    }
    closedir(folder);
    return spared;
}

/* True when there are no children any more. */
static bool reap(void)
{
    int pid;
    do {
        pid = waitpid(-1, NULL, WNOHANG);
    } while (pid > 0);
    return pid < 0 && errno == ECHILD;
}

void launch_sweep(void)
{
    int64_t spare_ns = clock_deadline_ns(SPARE_NS), deadline_ns = clock_deadline_ns(SWEEP_NS);
    while (!reap() && clock_now_ns() < deadline_ns) {
        /* Their children become ours: look again. */
        if (kill_children(clock_now_ns() < spare_ns) > 0)
            deadline_ns = clock_deadline_ns(SWEEP_NS);
        usleep(500);
    }
}
