/* SPDX-License-Identifier: BSD-3-Clause
 *
 * declared-odd CASE FOLDER JAIL: what may go wrong with files of a declared folder that are open
 * without the kernel. Each case has a file of its name in FOLDER, which holds the name, and ends
 * with status 0 if everything was right.
 */
#include "raw_calls.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const char *name, *folder, *jail;
static int wrong;

#define CHECK(condition) check(condition, #condition, __LINE__)

static void check(bool is_right, const char *condition, int line)
{
    if (is_right)
        return;
    printf("%s, line %d: not %s (%s)\n", name, line, condition, strerror(errno));
    wrong = 1;
}

static bool is_standin(int fd)
{
    long flags = raw_call(SYS_fcntl, fd, F_GETFL, 0, 0);
    return flags >= 0 && (flags & O_PATH);
}

/* What is left to be read of it. */
static bool holds(int fd, const char *text)
{
    char room[64];
    return read(fd, room, sizeof(room)) == (ssize_t)strlen(text) &&
           memcmp(room, text, strlen(text)) == 0;
}

static int open_one(void)
{
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    CHECK(is_standin(fd));
    return fd;
}

static struct stat status_of(const char *path)
{
    struct stat status = {0};
    CHECK(raw_call(SYS_newfstatat, AT_FDCWD, (long)path, (long)&status, 0) == 0);
    return status;
}

/* ---- What nobody stands in front of reaches nothing of the machine's ------------------------- */

static void blank(void)
{
    char link[64], target[64] = "", byte;
    int fd = open_one();
    struct stat before = status_of("/dev/null"), file = status_of(name);
    struct timespec times[2] = {{1000, 0}, {1000, 0}};
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    CHECK(raw_call(SYS_read, fd, (long)&byte, 1, 0) == -EBADF);
    CHECK(raw_call(SYS_readlink, (long)link, (long)target, sizeof(target) - 1, 0) > 0);
    CHECK(strncmp(target, "/memfd:", 7) == 0);
    raw_call(SYS_utimensat, fd, (long)"", (long)times, AT_EMPTY_PATH);
    raw_call(SYS_utimensat, AT_FDCWD, (long)link, (long)times, 0);
    struct stat after = status_of("/dev/null");
    CHECK(after.st_ctim.tv_sec == before.st_ctim.tv_sec);
    CHECK(after.st_ctim.tv_nsec == before.st_ctim.tv_nsec);
    CHECK(status_of(name).st_mtim.tv_sec == file.st_mtim.tv_sec);
    CHECK(is_standin(fd));
    CHECK(utimensat(fd, "", times, AT_EMPTY_PATH) == 0);
    CHECK(!is_standin(fd));
    CHECK(status_of(name).st_mtim.tv_sec == 1000);
    close(fd);
    fd = open_one();
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    CHECK(chmod(link, 0640) == 0);
    CHECK((status_of(name).st_mode & 0777) == 0640);
    close(fd);
    fd = open_one();
    CHECK(linkat(fd, "", AT_FDCWD, "another name", AT_EMPTY_PATH) == 0 || errno == ENOENT);
    CHECK(!is_standin(fd));
    close(fd);
    fd = open_one();
    CHECK(fchownat(fd, "", getuid(), getgid(), AT_EMPTY_PATH) == 0);
    CHECK(!is_standin(fd));
    CHECK(holds(fd, name));
}

/* The number that others are made from is closed, and becomes another file's. */
static void kept(void)
{
    close(open_one());
    for (int fd = 3; fd < 1100; fd++)
        raw_close(fd);
    int other = raw_open("/dev/zero", O_RDONLY);
    CHECK(dup2(other, 1000) == 1000);
    CHECK(holds(open_one(), name));
    char byte = 1;
    CHECK(read(1000, &byte, 1) == 1);
    CHECK(byte == 0);
}

/* ---- Other files by the same name ------------------------------------------------------------ */

static void root(void)
{
    char path[4096];
    int fd = open_one();
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (chroot(jail) != 0)
        return; /* not ours to do */
    CHECK(!is_standin(fd));
    CHECK(holds(fd, name));
    int other = open(path, O_RDONLY);
    CHECK(holds(other, "jail"));
}

static void replaced(void)
{
    int fd = open_one();
    CHECK(holds(fd, name));
    CHECK(raw_call(SYS_rename, (long)"another", (long)name, 0, 0) == 0);
    CHECK(flock(fd, LOCK_SH) == -1);
    CHECK(errno == EBADF);
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    CHECK(holds(fd, name));
}

static void *open_below(void *argument)
{
    CHECK(unshare(CLONE_FS) == 0);
    CHECK(chdir("sub") == 0);
    CHECK(holds(open_one(), "below"));
    return argument;
}

static void thread(void)
{
    pthread_t other;
    close(open_one());
    pthread_create(&other, NULL, open_below, NULL);
    pthread_join(other, NULL);
    CHECK(holds(open_one(), name));
}

/* ---- Threads that end, numbers and rights that are used up ----------------------------------- */

static int shared;
static bool has_returned;
static pthread_barrier_t barrier;

static void *lock_one(void *argument)
{
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    pthread_setcancelstate(before, NULL);
    CHECK(flock(shared, LOCK_SH) == 0); /* itself no place to be cancelled at */
    has_returned = true;
    pthread_testcancel();
    return argument;
}

static void cancelled(void)
{
    pthread_t other;
    shared = open_one();
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&other, NULL, lock_one, NULL);
    pthread_barrier_wait(&barrier);
    pthread_cancel(other);
    pthread_barrier_wait(&barrier);
    pthread_join(other, NULL);
    CHECK(has_returned);
    CHECK(flock(shared, LOCK_SH) == 0);
    CHECK(holds(shared, name));
}

static void numbers(void)
{
    struct rlimit limit = {40, 40};
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    int first = open_one(), second = open_one();
    while (open("/dev/zero", O_RDONLY) >= 0)
        ;
    CHECK(errno == EMFILE);
    CHECK(flock(first, LOCK_SH) == 0);
    CHECK(flock(second, LOCK_SH) == 0);
    CHECK(holds(first, name));
    CHECK(holds(second, name));
}

static void rights(void)
{
    struct stat status;
    CHECK(stat("hidden/file", &status) == 0);
    int fd = open_one();
    if (getuid() != 0 || setresuid(65534, 65534, 65534) != 0)
        return;
    CHECK(flock(fd, LOCK_SH) == 0);
    CHECK(holds(fd, name));
    CHECK(open(name, O_RDONLY) == -1);
    CHECK(errno == EACCES);
    CHECK(stat("hidden/file", &status) == -1);
}

/* ---- Libraries with system calls of their own ------------------------------------------------ */

static void rings(void)
{
    int fd = open_one();
    if (!dlopen("libaio.so.1", RTLD_NOW))
        return;
    int after = open(name, O_RDONLY);
    CHECK(!is_standin(after));
    CHECK(!is_standin(fd));
    CHECK(holds(fd, name));
    CHECK(holds(after, name));
}

/* ---- Other programs, numbers that have no place ---------------------------------------------- */

/* It reads its input, which was opened without the kernel in this child of fork. */
static void become_other(int kind)
{
    static char script[] = "test \"$(cat)\" = \"$0\" && test \"$KIND\" = \"$1\"", sh[] = "sh",
                option[] = "-c", shell[] = "/bin/sh";
    char digit[] = {(char)('0' + kind), '\0'}, variable[] = {'K', 'I', 'N', 'D', '=', digit[0], 0};
    char *environment[] = {variable, NULL};
    char *arguments[] = {sh, option, script, (char *)name, digit, NULL};
    dup2(open_one(), STDIN_FILENO);
    if (!is_standin(STDIN_FILENO))
        _exit(98);
    setenv("KIND", digit, 1);
    if (kind == 0)
        execlp(sh, sh, option, script, name, digit, NULL);
    else if (kind == 1)
        execl(shell, sh, option, script, name, digit, NULL);
    else if (kind == 2)
        execle(shell, sh, option, script, name, digit, NULL, environment);
    else
        execveat(AT_FDCWD, shell, arguments, environment, 0);
}

static void programs(void)
{
    for (int kind = 0; kind < 4; kind++) {
        int status = -1, pid = fork();
        if (pid == 0) {
            become_other(kind);
            _exit(99);
        }
        CHECK(waitpid(pid, &status, 0) == pid);
        CHECK(status == 0);
    }
}

static void beyond(void)
{
    enum { FIRST = 65536 }; /* TABLE_SIZE */
    struct rlimit limit = {FIRST + 8, FIRST + 8}, before;
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    if (before.rlim_max > limit.rlim_max)
        limit.rlim_max = before.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return; /* such numbers are not to be had */
    int fd = open_one();
    CHECK(lseek(fd, 1, SEEK_SET) == 1);
    CHECK(dup2(fd, FIRST + 1) == FIRST + 1);
    CHECK(!is_standin(FIRST + 1));
    CHECK(holds(FIRST + 1, name + 1));
    fd = open_one();
    CHECK(fcntl(fd, F_DUPFD_CLOEXEC, FIRST + 2) == FIRST + 2);
    CHECK(fcntl(FIRST + 2, F_GETFD) == FD_CLOEXEC);
    CHECK(holds(FIRST + 2, name));
}

/* ---- Where nothing is declared --------------------------------------------------------------- */

/* The agent's memory is mapped. */
static bool is_attached(void)
{
    static char maps[1 << 18];
    size_t used = 0;
    long got = 0;
    int fd = raw_open("/proc/self/maps", O_RDONLY);
    while ((got = raw_call(SYS_read, fd, (long)(maps + used), (long)(sizeof(maps) - 1 - used), 0)) >
           0)
        used += (size_t)got;
    raw_close(fd);
    maps[used] = '\0';
    return strstr(maps, "/memfd:");
}

static void undeclared(void)
{
    char path[4096], target[64];
    struct stat status;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    CHECK(stat(name, &status) == 0);
    CHECK(stat(path, &status) == 0);
    CHECK(access(path, R_OK) == 0);
    CHECK(readlink(path, target, sizeof(target)) == -1);
    DIR *stream = opendir(folder);
    CHECK(stream && closedir(stream) == 0);
    CHECK(!is_attached());
    CHECK(holds(open(path, O_RDONLY), name));
    CHECK(is_attached());
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"blank", blank},       {"kept", kept},         {"root", root},
                 {"thread", thread},     {"replaced", replaced}, {"cancelled", cancelled},
                 {"numbers", numbers},   {"rights", rights},     {"rings", rings},
                 {"programs", programs}, {"beyond", beyond},     {"undeclared", undeclared}};
    if (argc < 4 || chdir(argv[2]) != 0)
        return 2;
    folder = argv[2];
    jail = argv[3];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        name = cases[i].name;
        if (strcmp(name, argv[1]) == 0) {
            cases[i].run();
            return wrong;
        }
    }
    return 2;
}
