/* SPDX-License-Identifier: BSD-3-Clause
 *
 * odd-numbers A B: descriptor numbers that are closed where a library in front of the C library
 * does not see it, and become something else. A and B: files of different bytes, equally long.
 * Prints what was read; it must be the same with and without the cache.
 */
#include "raw_calls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

enum { STREAMS = 1100 };

static const char *a_path, *b_path;

static void say(const char *what, const char *data, ssize_t got)
{
    printf("%s %zd %.*s %s\n", what, got, got > 0 ? 4 : 0, data, got < 0 ? strerror(errno) : "");
}

/* A file of the cache, whose number has become this one's without anybody's notice. */
static int open_as(int fd, int other)
{
    raw_close(fd);
    if (raw_call(SYS_dup2, other, fd, 0, 0) != fd)
        return -1;
    raw_close(other);
    return fd;
}

static int open_read(const char *path)
{
    char room[8];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (read(fd, room, sizeof(room)) != sizeof(room))
        printf("cannot read %s\n", path);
    return fd;
}

static void other_file(void)
{
    char data[16] = "";
    struct iovec part = {data, 4};
    int fd = open_as(open_read(a_path), raw_open(b_path, O_RDONLY));
    say("pread", data, pread(fd, data, 4, 0));
    fd = open_as(open_read(a_path), raw_open(b_path, O_RDONLY));
    say("read", data, read(fd, data, 4));
    printf("offset %ld\n", (long)lseek(fd, 0, SEEK_CUR));
    fd = open_as(open_read(a_path), raw_open(b_path, O_RDONLY));
    say("readv", data, readv(fd, &part, 1));
    fd = open_as(open_read(a_path), raw_open(b_path, O_RDONLY));
    say("preadv", data, preadv(fd, &part, 1, 4));
    fd = open_as(open_read(a_path), raw_open(b_path, O_RDONLY));
    const char *map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    say("mmap", map == MAP_FAILED ? "" : map, 4);
    fd = open_as(open_read(a_path), raw_open(b_path, O_RDONLY));
    FILE *stream = fdopen(fd, "r");
    say("fdopen", data, stream ? (ssize_t)fread(data, 1, 4, stream) : -1);
}

static void pipes(void)
{
    char data[16] = "";
    struct iovec part = {data, 4};
    int ends[2], out[2];
    off_t offset = 0;
    if (pipe(ends) != 0 || pipe(out) != 0 || write(ends[1], "pipepipe", 8) != 8)
        return;
    int fd = open_as(open_read(a_path), dup(ends[0]));
    say("read a pipe", data, read(fd, data, 4));
    fd = open_as(open_read(a_path), dup(ends[0]));
    say("readv a pipe", data, readv(fd, &part, 1));
    fd = open_as(open_read(a_path), dup(ends[0]));
    say("pread a pipe", data, pread(fd, data, 4, 0));
    fd = open_as(open_read(a_path), dup(ends[0]));
    say("sendfile from a pipe", data, sendfile(out[1], fd, &offset, 4));
    fd = open_as(open_read(a_path), dup(ends[0]));
    say("seek in a pipe", data, lseek(fd, 0, SEEK_SET));
    fd = open_read(a_path);
    raw_close(fd);
    say("read nothing", data, read(fd, data, 4));
    say("pread nothing", data, pread(fd, data, 4, 0));
}

static void many_streams(void)
{
    static FILE *streams[STREAMS];
    static int numbers[STREAMS];
    char data[16] = "";
    int count = 0, wrong = 0;
    for (; count < STREAMS && (streams[count] = fopen(a_path, "r")); count++) {
        numbers[count] = fileno(streams[count]);
        if (fgetc(streams[count]) == EOF)
            printf("stream %d is empty\n", count);
    }
    for (int i = 0; i < count; i++)
        fclose(streams[i]);
    for (int i = 0; i < count; i++) {
        int fd = raw_open(b_path, O_RDONLY);
        if (fd != numbers[i] || pread(fd, data, 4, 0) != 4 || memcmp(data, "bbbb", 4) != 0)
            wrong++;
    }
    for (int i = 0; i < count; i++)
        raw_close(numbers[i]);
    printf("%d streams, %d wrong\n", count, wrong);
}

/* A stream that writes is closed by the C library; its number is a reader's next. */
static void after_writer(void)
{
    char data[16] = "";
    for (int i = 0; i < 3; i++) {
        FILE *stream = fopen(b_path, i == 0 ? "r+" : "a");
        int number = stream ? fileno(stream) : -1;
        if (!stream || fclose(stream) != 0)
            printf("cannot write %s\n", b_path);
        int fd = open(a_path, O_RDONLY | O_CLOEXEC);
        say(fd == number ? "the same number" : "another number", data, pread(fd, data, 4, 0));
        close(fd);
    }
}

int main(int argc, char **argv)
{
    struct rlimit limit;
    if (argc != 3 || getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 2;
    limit.rlim_cur = limit.rlim_max < STREAMS * 2 ? limit.rlim_max : STREAMS * 2;
    setrlimit(RLIMIT_NOFILE, &limit);
    a_path = argv[1];
    b_path = argv[2];
    other_file();
    pipes();
    many_streams();
    after_writer();
    return 0;
}
