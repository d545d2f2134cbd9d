/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How many system calls the client makes, beside what client.h promises. It makes them by number,
 * through syscall(), which the linker leads here.
 *
 *   cache-calls FILE
 */
#include "cache/client/client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SETTLED_S 20

static struct {
    int statx, readlink, others;
} calls;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

long __wrap_syscall(long number, ...)
{
    long argument[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        argument[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_statx)
        calls.statx++;
    else if (number == SYS_readlinkat)
        calls.readlink++;
    else
        calls.others++;
    return __real_syscall(number, argument[0], argument[1], argument[2], argument[3], argument[4],
                          argument[5]);
}

static void forget(void)
{
    memset(&calls, 0, sizeof(calls));
}

static void say(const char *what)
{
    printf("{\"what\": \"%s\", \"statx\": %d, \"readlink\": %d, \"others\": %d}\n", what,
           calls.statx, calls.readlink, calls.others);
}

/* Open it when it has settled. */
static int open_again(struct cache_client *client, struct cache_file *file, int fd)
{
    struct timespec pause = {.tv_nsec = 10000000};
    for (int i = 0; i < SETTLED_S * 100; i++) {
        forget();
        if (cache_file_open(client, file, fd) == 0)
            return 0;
        nanosleep(&pause, NULL);
    }
    return -ETIMEDOUT;
}

int main(int argc, char **argv)
{
    static char buffer[4096];
    struct cache_client *client;
    struct cache_file file;
    struct stat status;
    int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0 || fstat(fd, &status) != 0 || cache_client_attach(&client, NULL) < 0)
        return 1;
    forget();
    if (cache_file_open(client, &file, fd) < 0)
        return 1;
    say("open");
    if (cache_file_read(&file, fd, buffer, sizeof(buffer), 0) != sizeof(buffer))
        return 1;
    forget();
    if (cache_file_read(&file, fd, buffer, sizeof(buffer), 0) != sizeof(buffer))
        return 1;
    say("hit");
    if (cache_changed(client, &status) < 0 || open_again(client, &file, fd) < 0)
        return 1;
    say("open after a writer");
    return 0;
}
