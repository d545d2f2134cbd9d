/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See unit.h.
 */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void be_child(int out, const char *log_level, int (*action)(void *), void *argument)
{
    dup2(out, STDERR_FILENO);
    if (log_level)
        setenv("RHINET_LOG", log_level, 1);
    else
        unsetenv("RHINET_LOG");
    _exit(action(argument));
}

static size_t read_all(int fd, char *text, size_t room)
{
    size_t used = 0;
    while (used < room) {
        ssize_t got = read(fd, text + used, room - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        used += (size_t)got;
    }
    return used;
}

int unit_capture(const char *log_level, int (*action)(void *), void *argument, char *text,
                 size_t room)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        be_child(ends[1], log_level, action, argument);
    close(ends[1]);
    text[read_all(ends[0], text, room - 1)] = '\0';
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

size_t unit_descriptor_count(void)
{
    size_t count = 0;
    DIR *directory = opendir("/proc/self/fd");
    assert_non_null(directory);
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}
