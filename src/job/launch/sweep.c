/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the ranks left running. The launcher is a subreaper: a process whose parent has died becomes
 * its child, even one that went into a session of its own. So "nothing is left" is the same as "we
 * have no children", which the kernel tells us; only if there are some is /proc searched for them.
 */
#include "base/clock.h"
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

/* Parent of a process, or -1. The name in the file may hold anything: look behind its last ')'. */
static int parent_of(const char *pid_text)
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
    return name_end && sscanf(name_end + 1, " %*c %d", &parent) == 1 ? parent : -1;
}

static void kill_children(void)
{
    DIR *folder = opendir("/proc");
    if (!folder)
        return;
    int own_pid = getpid();
    struct dirent *entry;
    while ((entry = readdir(folder))) {
        if (isdigit((unsigned char)entry->d_name[0]) && parent_of(entry->d_name) == own_pid)
            kill((int)strtol(entry->d_name, NULL, 10), SIGKILL);
    }
    closedir(folder);
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
    int64_t deadline_ns = clock_deadline_ns(SWEEP_NS);
    while (!reap() && clock_now_ns() < deadline_ns) {
        kill_children(); /* their children become ours: look again */
        usleep(500);
    }
}
