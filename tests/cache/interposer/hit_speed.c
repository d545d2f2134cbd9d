/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hit-speed FILE: what reading a cached file costs a program, beside the system call: the same
 * reads through the library and past it, in turns. Prints NAME OURS KERNEL in ns, medians.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 61, LENGTH_MAX = 1 << 20 };

static char room[LENGTH_MAX];

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* One pass over the file. */
static double pass(int fd, size_t length, off_t size, int is_kernel, int is_positioned)
{
    long count = size / (off_t)length;
    lseek(fd, 0, SEEK_SET);
    double start = now_ns();
    for (long i = 0; i < count; i++) {
        off_t offset = i * (off_t)length;
        ssize_t got;
        if (is_kernel)
            got = is_positioned ? syscall(SYS_pread64, fd, room, length, offset)
                                : syscall(SYS_read, fd, room, length);
        else
            got = is_positioned ? pread(fd, room, length, offset) : read(fd, room, length);
        if (got != (ssize_t)length)
            exit(1);
    }
    return (now_ns() - start) / (double)count;
}

/* The second descriptor is the kernel's also in a declared folder. */
static void measure(const char *name, const int fds[2], size_t length, off_t size,
                    int is_positioned)
{
    double ours[ROUNDS], kernels[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        ours[i] = pass(fds[0], length, size, 0, is_positioned);
        kernels[i] = pass(fds[1], length, size, 1, is_positioned);
    }
    qsort(ours, ROUNDS, sizeof(*ours), by_size);
    qsort(kernels, ROUNDS, sizeof(*kernels), by_size);
    printf("%s %.0f %.0f\n", name, ours[ROUNDS / 2], kernels[ROUNDS / 2]);
}

int main(int argc, char **argv)
{
    struct stat status;
    int fds[2] = {-1, -1};
    for (int i = 0; argc == 2 && i < 2; i++)
        fds[i] = open(argv[1], O_RDONLY);
    if (fds[1] < 0 || fstat(fds[0], &status) != 0) {
        fprintf(stderr, "usage: hit-speed FILE\n");
        return 2;
    }
    measure("pread-4K", fds, 4096, status.st_size, 1);
    measure("read-4K", fds, 4096, status.st_size, 0);
    measure("pread-256K", fds, 256 << 10, status.st_size, 1);
    measure("read-256K", fds, 256 << 10, status.st_size, 0);
    measure("pread-1M", fds, 1 << 20, status.st_size, 1);
    return 0;
}
