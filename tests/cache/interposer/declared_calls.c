/* SPDX-License-Identifier: BSD-3-Clause
 *
 * declared-calls FOLDER: one of each kind of call on what is in FOLDER, in which every call has a
 * line of output. The same lines come out with and without the cache.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *what, long result)
{
    printf("%s %ld %s\n", what, result, result < 0 ? strerror(errno) : "");
    fflush(stdout);
}

static void say_status(const char *what, int result, const struct stat *status)
{
    say(what, result);
    if (result == 0)
        printf("  %lu %lu %o %lu %u %u %ld %ld %ld %ld.%09ld %ld.%09ld\n", status->st_dev,
               status->st_ino, status->st_mode, status->st_nlink, status->st_uid, status->st_gid,
               status->st_size, status->st_blksize, status->st_blocks, status->st_mtim.tv_sec,
               status->st_mtim.tv_nsec, status->st_ctim.tv_sec, status->st_ctim.tv_nsec);
}

static void say_bytes(const char *what, const char *bytes, long length)
{
    unsigned long sum = 5381;
    for (long i = 0; i < length; i++)
        sum = sum * 33 + (unsigned char)bytes[i];
    say(what, length);
    if (length > 0)
        printf("  %lx\n", sum);
}

static char room[1 << 16];

/* To another place in the file. */
static void skip(int fd, size_t length)
{
    if (read(fd, room, length) != (ssize_t)length)
        puts("cannot skip");
}

/* ---- Names ----------------------------------------------------------------------------------- */

static void names(void)
{
    static const char *const paths[] = {
        ".",          "a",       "a/",     "./a",        "sub",      "sub/",  "sub/b",
        "sub/../a",   "sub/./b", "nobody", "a/b",        "link",     "link/", "far",
        "sub/up",     "loop",    "sub//b", "nobody/x",   "dangling", "out",   "empty",
        "sub/up/sub", "closed",  "..",     "sub/../../x"};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct stat status;
        struct statx more;
        printf("%s\n", paths[i]);
        say_status("stat", stat(paths[i], &status), &status);
        say_status("lstat", lstat(paths[i], &status), &status);
        say("statx", statx(AT_FDCWD, paths[i], 0, STATX_BASIC_STATS | STATX_BTIME, &more));
        say("access", access(paths[i], R_OK));
        say("exists", faccessat(AT_FDCWD, paths[i], F_OK, 0));
        say("writable", access(paths[i], W_OK));
        memset(room, 0, 64);
        say("readlink", readlink(paths[i], room, 63));
        int fd = open(paths[i], O_RDONLY | O_CLOEXEC);
        say("open", fd < 0 ? -1 : 0);
        if (fd >= 0)
            say_status("fstat", fstat(fd, &status), &status);
        close(fd);
        fd = open(paths[i], O_RDONLY | O_NOFOLLOW);
        say("nofollow", fd < 0 ? -1 : 0);
        close(fd);
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void listing(const char *path)
{
    char *found[4096];
    size_t count = 0;
    printf("%s\n", path);
    DIR *folder = opendir(path);
    say("opendir", folder ? 0 : -1);
    if (!folder)
        return;
    for (const struct dirent *entry; count < 4096 && (entry = readdir(folder));) {
        snprintf(room, sizeof(room), "  %s %lu %d", entry->d_name,
                 strcmp(entry->d_name, "..") == 0 ? 0ul : entry->d_ino, entry->d_type);
        found[count++] = strdup(room);
    }
    qsort(found, count, sizeof(found[0]), by_name);
    for (size_t i = 0; i < count; i++)
        puts(found[i]);
    rewinddir(folder);
    say("again", readdir(folder) ? 0 : -1);
    struct stat status;
    say_status("dirfd", fstat(dirfd(folder), &status), &status);
    say("closedir", closedir(folder));
    struct dirent **list;
    int length = scandir(path, &list, NULL, alphasort);
    say("scandir", length);
    for (int i = 0; i < length; i++)
        printf("  %s\n", list[i]->d_name);
}

/* ---- Descriptors ----------------------------------------------------------------------------- */

static void offsets(void)
{
    int fd = open("a", O_RDONLY);
    say_bytes("read", room, read(fd, room, 100));
    say("where", lseek(fd, 0, SEEK_CUR));
    int copy = dup(fd);
    say_bytes("copy", room, read(copy, room, 100));
    say("where", lseek(fd, 0, SEEK_CUR));
    say("end", lseek(fd, -10, SEEK_END));
    say_bytes("at the end", room, read(fd, room, 100));
    say_bytes("behind", room, read(fd, room, 100));
    say("negative", lseek(fd, -1, SEEK_SET));
    say("odd", lseek(fd, 0, 77));
    say("data", lseek(fd, 0, SEEK_DATA));
    say("set", lseek(copy, 5, SEEK_SET));
    say_bytes("pread", room, pread(fd, room, 200, 7));
    struct iovec parts[2] = {{room, 10}, {room + 10, 300}};
    say_bytes("readv", room, readv(fd, parts, 2));
    say_bytes("preadv", room, preadv(fd, parts, 2, 9000));
    say("nothing", read(fd, room, 0));
    say("write", write(fd, "x", 1));
    say("flags", fcntl(fd, F_GETFL));
    say("fd flags", fcntl(fd, F_GETFD));
    say("terminal", isatty(fd) ? 1 : -1);
    say("closed", close(copy));
    say_bytes("still", room, read(fd, room, 33));
    say("close", close(fd));
    say("twice", close(fd));
}

static void realised(void)
{
    struct stat status;
    int fd = open("a", O_RDONLY), pipes[2], sockets[2];
    say_bytes("read", room, read(fd, room, 10));
    say("lock", flock(fd, LOCK_SH));
    say_bytes("after the lock", room, read(fd, room, 10));
    close(fd);
    fd = open("a", O_RDONLY);
    skip(fd, 11);
    char *map = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
    say_bytes("map", map, 8192);
    say_bytes("after the map", room, read(fd, room, 10));
    close(fd);
    fd = open("a", O_RDONLY);
    skip(fd, 12);
    if (pipe(pipes) == 0)
        say("sendfile", sendfile(pipes[1], fd, NULL, 1000));
    say_bytes("sent", room, read(pipes[0], room, 2000));
    say("where", lseek(fd, 0, SEEK_CUR));
    close(fd);
    fd = open("a", O_RDONLY);
    skip(fd, 13);
    say_bytes("by number", room, syscall(SYS_read, fd, room, 10));
    close(fd);
    fd = open("a", O_RDONLY);
    skip(fd, 14);
    snprintf(room, 64, "/proc/self/fd/%d", fd);
    int again = open(room, O_RDONLY);
    say_status("again", fstat(again, &status), &status);
    close(again);
    struct pollfd poller = {.fd = fd, .events = POLLIN};
    say("poll", poll(&poller, 1, 0));
    say("ready", poller.revents);
    close(fd);
    fd = open("a", O_RDONLY);
    lseek(fd, 15, SEEK_SET);
    socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
                            .cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS}};
    struct iovec part = {room, 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
    say("sendmsg", sendmsg(sockets[0], &message, 0));
    say("recvmsg", recvmsg(sockets[1], &message, 0));
    memcpy(&again, CMSG_DATA(&control.header), sizeof(again));
    say_bytes("received", room, read(again, room, 10));
    say("where", lseek(fd, 0, SEEK_CUR));
    close(again);
    close(fd);
}

static void processes(char *self)
{
    int fd = open("a", O_RDONLY), status;
    skip(fd, 16);
    pid_t pid = fork();
    if (pid == 0) {
        say_bytes("child", room, read(fd, room, 10));
        _exit(0);
    }
    waitpid(pid, &status, 0);
    say("where", lseek(fd, 0, SEEK_CUR));
    close(fd);
    fd = open("a", O_RDONLY | O_CLOEXEC);
    lseek(fd, 17, SEEK_SET);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fd, 0);
    char *arguments[] = {self, NULL};
    posix_spawn(&pid, self, &actions, NULL, arguments, environ);
    waitpid(pid, &status, 0);
    say("where", lseek(fd, 0, SEEK_CUR));
    close(fd);
    fd = open("a", O_RDONLY | O_CLOEXEC);
    lseek(fd, 18, SEEK_SET);
    pid = vfork();
    if (pid == 0) {
        dup2(fd, 0);
        execv(self, arguments);
        _exit(1);
    }
    waitpid(pid, &status, 0);
    say("where", lseek(fd, 0, SEEK_CUR));
    dup2(fd, 50);
    close(fd);
    say_bytes("moved", room, read(50, room, 10));
    close(50);
    FILE *stream = fopen("a", "r");
    say("stream", stream ? 0 : -1);
    fseek(stream, 19, SEEK_SET);
    say_bytes("fread", room, (long)fread(room, 1, 3000, stream));
    say("fclose", fclose(stream));
    say("no stream", fopen("nobody", "r") ? 0 : -1);
}

/* ---- Numbers that others want at the same time
 * ------------------------------------------------ */

static atomic_bool is_over;

static void *make_real(void *argument)
{
    while (!atomic_load(&is_over)) {
        pid_t pid = fork(); /* makes all of them real */
        if (pid == 0)
            _exit(0);
        waitpid(pid, NULL, 0);
    }
    return argument;
}

static void race(int rounds)
{
    pthread_t thread;
    int wrong = 0;
    char first[64], second[64];
    int a = open("a", O_RDONLY), b = open("sub/b", O_RDONLY);
    say("first", pread(a, first, sizeof(first), 100));
    say("second", pread(b, second, sizeof(second), 0));
    close(a);
    close(b);
    pthread_create(&thread, NULL, make_real, NULL);
    for (int i = 0; i < rounds; i++) {
        int fd = open(i % 2 ? "a" : "sub/b", O_RDONLY);
        if (i % 2)
            lseek(fd, 100, SEEK_SET);
        int copy = dup(fd);
        close(fd);
        int other = open("/dev/zero", O_RDONLY); /* gets the number that was just given up */
        memset(room, 1, sizeof(first));
        wrong += read(copy, room, sizeof(first)) != sizeof(first) ||
                 memcmp(room, i % 2 ? first : second, sizeof(first)) != 0;
        wrong += read(other, room, 8) != 8 || memcmp(room, "\0\0\0\0\0\0\0\0", 8) != 0;
        close(other);
        close(copy);
    }
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    say("wrong", wrong);
}

int main(int argc, char **argv)
{
    if (argc < 2) { /* a child, with a file for its input */
        say_bytes("spawned", room, read(0, room, 10));
        return 0;
    }
    if (chdir(argv[1]) != 0)
        return 1;
    names();
    listing(".");
    listing("sub");
    listing("nobody");
    listing("a");
    offsets();
    realised();
    char self[] = "/proc/self/exe";
    processes(self);
    race(argc > 2 ? (int)strtol(argv[2], NULL, 10) : 200);
    return 0;
}
