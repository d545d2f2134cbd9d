/* SPDX-License-Identifier: BSD-3-Clause
 *
 * descriptor-fuzz FOLDER SEED COUNT: COUNT random calls on the files in FOLDER, each with its
 * outcome on a line. Two runs with the same seed, one of them with the interposer, must print the
 * same. Children are waited for, so that the order is always the same.
 *
 * Longer than most files: a short function for each call that is made, and their list.
 */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILES = 6, FDS = 12, STREAMS = 4, ROOM = 300000, DEPTH_MAX = 2 };

extern char **environ;

static uint64_t chance;
static int depth;
static int fds[FDS];
static FILE *streams[STREAMS];
static char room[ROOM];

static uint64_t random_below(uint64_t limit)
{
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    return (chance >> 8) % limit;
}

static uint64_t hash_of(const void *data, ssize_t length)
{
    uint64_t hash = 1469598103934665603u;
    for (ssize_t i = 0; i < length; i++)
        hash = (hash ^ ((const unsigned char *)data)[i]) * 1099511628211u;
    return hash;
}

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    char line[256];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(line, sizeof(line), format, list);
    va_end(list);
    if (write(STDOUT_FILENO, line, (size_t)length) != length)
        _exit(3);
}

static void say_data(const char *what, const void *data, ssize_t length)
{
    int error = length < 0 ? errno : 0;
    say("%d %s %zd %d %016lx\n", depth, what, length, error, hash_of(data, length));
}

static void say_number(const char *what, long result)
{
    int error = result < 0 ? errno : 0;
    say("%d %s %ld %d\n", depth, what, result, error);
}

/* ---- What is chosen -------------------------------------------------------------------------- */

static const char *some_name(void)
{
    static char name[16];
    snprintf(name, sizeof(name), "f%d", (int)random_below(FILES));
    return name;
}

static int *some_place(void)
{
    return &fds[random_below(FDS)];
}

static int some_fd(void)
{
    return *some_place();
}

static size_t some_length(void)
{
    static const size_t lengths[] = {0, 1, 7, 100, 4096, 5000, 65536, 131072, 250000};
    return lengths[random_below(sizeof(lengths) / sizeof(lengths[0]))];
}

static off_t some_offset(void)
{
    return random_below(20) == 0 ? -1 : (off_t)random_below(320000);
}

/* A descriptor goes into the list; the one that was there is closed. */
static void keep(int fd)
{
    int *place = some_place();
    if (*place >= 0)
        close(*place);
    *place = fd;
}

/* ---- The calls ------------------------------------------------------------------------------- */

static void do_open(void)
{
    static const int flags[] = {O_RDONLY, O_RDONLY, O_RDONLY, O_RDONLY | O_CLOEXEC, O_RDWR};
    char path[64];
    snprintf(path, sizeof(path), "%s%s", random_below(2) ? "" : "./", some_name());
    int fd = open(path, flags[random_below(5)]);
    say_number("open", fd);
    if (fd >= 0)
        keep(fd);
}

static void do_openat(void)
{
    int folder = open(".", O_RDONLY | O_DIRECTORY);
    int fd = openat(folder, some_name(), O_RDONLY);
    close(folder);
    say_number("openat", fd);
    if (fd >= 0)
        keep(fd);
}

static void do_read(void)
{
    size_t length = some_length();
    say_data("read", room, read(some_fd(), room, length));
}

static void do_pread(void)
{
    size_t length = some_length();
    say_data("pread", room, pread(some_fd(), room, length, some_offset()));
}

static int some_parts(struct iovec *parts)
{
    int count = 1 + (int)random_below(20);
    size_t at = 0;
    for (int i = 0; i < count; i++) {
        size_t length = random_below(ROOM / 20);
        parts[i] = (struct iovec){room + at, length};
        at += length;
    }
    return count;
}

static void do_readv(void)
{
    struct iovec parts[20];
    int count = some_parts(parts);
    say_data("readv", room, readv(some_fd(), parts, count));
}

static void do_preadv(void)
{
    struct iovec parts[20];
    int count = some_parts(parts);
    if (random_below(2))
        say_data("preadv", room, preadv(some_fd(), parts, count, some_offset()));
    else
        say_data("preadv2", room, preadv2(some_fd(), parts, count, some_offset(), 0));
}

static void do_lseek(void)
{
    static const int whences[] = {SEEK_SET, SEEK_CUR, SEEK_END, SEEK_DATA, SEEK_HOLE};
    off_t offset = (off_t)random_below(300000) - (random_below(3) ? 0 : 200000);
    say_number("lseek", lseek(some_fd(), offset, whences[random_below(5)]));
}

static void do_dup(void)
{
    int fd = some_fd(), copy;
    if (random_below(2))
        copy = dup(fd);
    else
        copy = fcntl(fd, random_below(2) ? F_DUPFD : F_DUPFD_CLOEXEC, (int)random_below(40));
    say_number("dup", copy);
    if (copy >= 0)
        keep(copy);
}

static void do_dup2(void)
{
    int fd = some_fd(), target = some_fd();
    if (target < 0)
        return;
    if (random_below(2))
        say_number("dup2", dup2(fd, target));
    else
        say_number("dup3", dup3(fd, target, O_CLOEXEC));
}

static void do_close(void)
{
    int *place = some_place();
    say_number("close", close(*place));
    *place = -1;
}

static void do_close_range(void)
{
    int fd = some_fd();
    if (fd < 3)
        return;
    say_number("close_range", close_range((unsigned)fd, (unsigned)fd, 0));
}

static void do_map(void)
{
    size_t length = 1 + random_below(200000);
    off_t offset = (off_t)random_below(40) * 4096;
    int is_private = (int)random_below(2);
    int fd = some_fd();
    char *place = mmap(NULL, length, is_private ? PROT_READ | PROT_WRITE : PROT_READ,
                       is_private ? MAP_PRIVATE : MAP_SHARED, fd, offset);
    say_number("mmap", place == MAP_FAILED ? -1 : 0);
    struct stat status;
    if (place == MAP_FAILED)
        return;
    if (fstat(fd, &status) == 0 && status.st_size > offset) {
        /* up to the end of the last page: zeros must follow the data */
        size_t there = ((size_t)(status.st_size - offset) + 4095) & ~4095ul;
        size_t seen = length < there ? length : there;
        say_data("mapped", place, (ssize_t)seen);
        if (is_private) {
            memset(place, 7, seen);
            madvise(place, seen, MADV_DONTNEED);
            say_data("again", place, (ssize_t)seen);
        }
    }
    munmap(place, length);
}

static void do_sendfile(void)
{
    int out = memfd_create("out", MFD_CLOEXEC);
    off_t offset = (off_t)random_below(300000);
    int has_offset = (int)random_below(2);
    ssize_t got = sendfile(out, some_fd(), has_offset ? &offset : NULL, some_length());
    ssize_t there = got > 0 ? pread(out, room, ROOM, 0) : got;
    close(out);
    say_data("sendfile", room, there);
    say_number("offset", offset);
}

static void do_copy_range(void)
{
    int out = open("copy", O_RDWR | O_CREAT | O_TRUNC, 0600);
    off_t offset = (off_t)random_below(300000);
    int has_offset = (int)random_below(2);
    ssize_t got = copy_file_range(some_fd(), has_offset ? &offset : NULL, out, NULL, some_length(),
                                  0);
    ssize_t there = got > 0 ? pread(out, room, ROOM, 0) : got;
    close(out);
    say_data("copy_file_range", room, there);
}

static void do_splice(void)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return;
    off_t offset = (off_t)random_below(300000);
    int has_offset = (int)random_below(2);
    size_t length = 1 + random_below(4096);
    ssize_t got = splice(some_fd(), has_offset ? &offset : NULL, ends[1], NULL, length, 0);
    ssize_t there = got > 0 ? read(ends[0], room, ROOM) : got;
    close(ends[0]);
    close(ends[1]);
    say_data("splice", room, there);
}

static void do_advice(void)
{
    say_number("fadvise", posix_fadvise(some_fd(), 0, 0, (int)random_below(7)));
    int fd = some_fd();
    int result = readahead(fd, some_offset(), 100000) < 0 ? -1 : 0;
    say_number("readahead", result);
}

static void do_aio(void)
{
    if (depth > 0) /* the C library's threads for it are the parent's */
        return;
    struct aiocb request = {.aio_fildes = some_fd(), .aio_buf = room, .aio_nbytes = some_length()};
    request.aio_offset = (off_t)random_below(300000);
    request.aio_sigevent.sigev_notify = SIGEV_NONE;
    const struct aiocb *list[] = {&request};
    int started = aio_read(&request);
    if (started != 0) {
        say_number("aio_read", started);
        return;
    }
    while (aio_error(&request) == EINPROGRESS)
        aio_suspend(list, 1, NULL);
    int error = aio_error(&request);
    ssize_t got = aio_return(&request);
    say("%d aio %zd %d %016lx\n", depth, got, error, hash_of(room, got));
}

static void do_lock(void)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    int fd = some_fd();
    say_number("lock", fcntl(fd, F_SETLK, &lock));
    say_number("flock", flock(fd, LOCK_SH | LOCK_NB));
    flock(fd, LOCK_UN);
}

static void do_odd(void)
{
    void *volatile nothing = NULL;
    say_number("null", read(some_fd(), nothing, 10) < 0 ? -1 : 0);
    say_number("bad", pread(1000, room, 10, 0));
    say_number("minus", read(-1, room, 10));
    say_number("flags", fcntl(some_fd(), F_GETFL));
}

/* ---- Changing -------------------------------------------------------------------------------- */

static void do_write(void)
{
    char text[1000];
    memset(text, (int)random_below(256), sizeof(text));
    say_number("pwrite", pwrite(some_fd(), text, random_below(1000), some_offset()));
}

static void do_truncate(void)
{
    if (random_below(4) == 0)
        say_number("truncate", truncate(some_name(), (off_t)random_below(300000)));
}

static void do_replace(void)
{
    char name[16];
    if (random_below(4))
        return;
    snprintf(name, sizeof(name), "%s", some_name());
    int fd = open("new", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    memset(room, (int)random_below(256), 50000);
    say_number("write", write(fd, room, random_below(50000)));
    close(fd);
    if (random_below(2))
        unlink(name);
    say_number("rename", rename("new", name));
}

/* ---- Streams --------------------------------------------------------------------------------- */

static void do_fopen(void)
{
    FILE **place = &streams[random_below(STREAMS)];
    if (*place)
        fclose(*place);
    int fd = some_fd();
    if (random_below(3) == 0) {
        int copy = dup(fd);
        *place = copy >= 0 ? fdopen(copy, "r") : NULL;
        if (copy >= 0 && !*place)
            close(copy);
    } else {
        *place = fopen(some_name(), "r");
    }
    say_number("fopen", *place ? fileno(*place) : -2);
}

static void do_fread(void)
{
    FILE *stream = streams[random_below(STREAMS)];
    if (!stream)
        return;
    size_t got = fread(room, 1, some_length(), stream);
    say_data("fread", room, (ssize_t)got);
    say("%d state %d %d\n", depth, !!feof(stream), !!ferror(stream));
    fflush(stream); /* or where the shared offset is depends on the buffer */
}

static void do_stream(void)
{
    FILE *stream = streams[random_below(STREAMS)];
    if (!stream)
        return;
    say_number("getc", getc(stream));
    say_number("ungetc", ungetc('x', stream));
    char line[200];
    say_number("fgets", fgets(line, sizeof(line), stream) ? (long)strlen(line) : -2);
    say_number("ftell", ftell(stream));
    say_number("fseek", fseek(stream, (long)random_below(300000), SEEK_SET));
    say_number("getc", getc(stream));
    say_number("fflush", fflush(stream));
    say_number("place", lseek(fileno(stream), 0, SEEK_CUR));
}

static void do_freopen(void)
{
    FILE **place = &streams[random_below(STREAMS)];
    if (!*place || random_below(2))
        return;
    *place = freopen(some_name(), "r", *place);
    say_number("freopen", *place ? getc(*place) : -2);
}

/* ---- Processes ------------------------------------------------------------------------------- */

static void run(int count);

static void do_fork(void)
{
    if (depth >= DEPTH_MAX)
        return;
    pid_t pid = fork();
    if (pid == 0) {
        depth++;
        run(20);
        _exit(7);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    say_number("child", status);
    random_below(2); /* another way than the child's from here on */
}

/* A child that shares our memory changes its own descriptors. */
static void do_vfork(void)
{
    int fd = some_fd(), other = some_fd();
    pid_t pid = vfork();
    if (pid == 0) {
        close(fd);
        if (fd >= 3 && other >= 3)
            dup2(other, fd);
        open("f0", O_RDONLY);
        _exit(5);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    say_number("vfork", status);
}

/* Another program goes on where the shared offset is. */
static void do_spawn(void)
{
    int fd = some_fd();
    if (fd < 3 || random_below(3))
        return;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    char *arguments[] = {(char *)"dd", (char *)"bs=3000", (char *)"count=1", (char *)"status=none",
                         NULL};
    pid_t pid;
    int failed = posix_spawnp(&pid, "dd", &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    int status = 0;
    if (!failed)
        waitpid(pid, &status, 0);
    say_data("spawned", room, read(ends[0], room, ROOM));
    close(ends[0]);
    say_number("place", lseek(fd, 0, SEEK_CUR));
}

/* ---------------------------------------------------------------------------------------------- */

static void (*const calls[])(void) = {
    do_open,  do_open,  do_openat,   do_read,     do_read,    do_read,        do_pread,
    do_pread, do_readv, do_preadv,   do_lseek,    do_lseek,   do_dup,         do_dup2,
    do_close, do_map,   do_sendfile, do_splice,   do_advice,  do_copy_range,  do_aio,
    do_lock,  do_odd,   do_fopen,    do_fread,    do_stream,  do_freopen,     do_fork,
    do_vfork, do_spawn, do_write,    do_truncate, do_replace, do_close_range,
};

static void run(int count)
{
    for (int i = 0; i < count; i++)
        calls[random_below(sizeof(calls) / sizeof(calls[0]))]();
}

static int make_files(void)
{
    static const off_t sizes[FILES] = {0, 1, 5000, 100000, 262144, 290001};
    for (int i = 0; i < FILES; i++) {
        char name[16];
        snprintf(name, sizeof(name), "f%d", i);
        int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        for (off_t k = 0; k < sizes[i]; k++)
            room[k] = k % 61 == 60 ? '\n' : (char)random_below(256);
        if (fd < 0 || write(fd, room, (size_t)sizes[i]) != sizes[i])
            return 1;
        close(fd);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 4 || chdir(argv[1]) != 0) {
        fprintf(stderr, "usage: descriptor-fuzz FOLDER SEED COUNT\n");
        return 2;
    }
    chance = strtoull(argv[2], NULL, 10) * 2654435761u + 88172645463325252u;
    for (int i = 0; i < FDS; i++)
        fds[i] = -1;
    if (make_files() != 0)
        return 1;
    usleep(60000); /* what has just changed is not cached */
    run((int)strtol(argv[3], NULL, 10));
    return 0;
}
