/* SPDX-License-Identifier: BSD-3-Clause
 *
 * odd-calls FOLDER: calls that programs make rarely, well and badly, on the files a (to be read)
 * and w (to be written) of a folder. Prints what came out; it must be the same with and without
 * the cache.
 */
#include <aio.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

static char room[1 << 18];

static void say(const char *what, long result)
{
    printf("%s %ld %s %.6s\n", what, result, result < 0 ? strerror(errno) : "", room);
    fflush(stdout);
    memset(room, 0, sizeof(room));
    errno = 0;
}

static int open_a(void)
{
    return open("a", O_RDONLY | O_CLOEXEC);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static void read_oddly(void)
{
    struct iovec many[20], none = {room, 0}, one = {room, 10};
    int fd = open_a();
    for (int i = 0; i < 20; i++)
        many[i] = (struct iovec){room + i, 1};
    say("read nothing", read(fd, room, 0));
    say("read to nowhere", read(fd, NULL, 0));
    say("pread before the start", pread(fd, room, 4, -1));
    say("pread beyond the end", pread(fd, room, 4, 1 << 30));
    say("pread across the end", pread(fd, room, sizeof(room), 190000));
    say("readv of 20", readv(fd, many, 20));
    say("readv of none", readv(fd, many, 0));
    say("readv of nothing", readv(fd, &none, 1));
    say("preadv of 20", preadv(fd, many, 20, 3));
    say("preadv before the start", preadv(fd, &one, 1, -5));
    say("preadv2", preadv2(fd, &one, 1, 7, 0));
    say("preadv2 here", preadv2(fd, &one, 1, -1, 0));
    say("preadv2 with flags", preadv2(fd, &one, 1, 7, RWF_HIPRI));
    say("preadv2 far before", preadv2(fd, &one, 1, -2, 0));
    say("offset", lseek(fd, 0, SEEK_CUR));
    say("seek before the start", lseek(fd, -1, SEEK_SET));
    say("seek to the end", lseek(fd, -5, SEEK_END));
    say("read the end", read(fd, room, 100));
    say("read at the end", read(fd, room, 100));
    say("set O_DIRECT", fcntl(fd, F_SETFL, O_DIRECT) < 0 ? 0 : 0);
    say("close", close(fd));
    say("close again", close(fd));
    say("read closed", read(fd, room, 4));
    say("read -1", read(-1, room, 4));
}

static void give_hints(void)
{
    int fd = open_a();
    for (int advice = -1; advice <= 6; advice++)
        say("advice", posix_fadvise(fd, 4096, 8192, advice));
    say("advice for all", posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED));
    say("advice beyond", posix_fadvise(fd, 1 << 30, 10, POSIX_FADV_WILLNEED));
    say("advice of -1", posix_fadvise(fd, 0, -1, POSIX_FADV_WILLNEED));
    say("ahead", readahead(fd, 0, 65536));
    say("ahead before", readahead(fd, -1, 65536) < 0 ? -1 : 0);
    struct aiocb request = {.aio_fildes = fd, .aio_buf = room, .aio_nbytes = 8, .aio_offset = 16};
    request.aio_sigevent.sigev_notify = SIGEV_NONE;
    int begun = aio_read(&request);
    while (aio_error(&request) == EINPROGRESS)
        sched_yield();
    say("aio", begun);
    say("aio's error", aio_error(&request));
    say("aio's result", aio_return(&request));
    request.aio_offset = -1;
    say("bad aio", aio_read(&request));
    while (aio_error(&request) == EINPROGRESS)
        sched_yield();
    say("bad aio's error", aio_error(&request));
    close(fd);
}

/* ---- Mappings, copies ------------------------------------------------------------------------ */

static void map_one(const char *what, size_t length, int protection, int flags, off_t offset)
{
    int fd = open_a();
    const char *map = mmap(NULL, length, protection, flags, fd, offset);
    if (map != MAP_FAILED && (protection & PROT_READ))
        memcpy(room, map, 6);
    say(what, map == MAP_FAILED ? -1 : 0);
    if (map != MAP_FAILED)
        munmap((void *)map, length);
    close(fd);
}

static void map_oddly(void)
{
    map_one("private", 5000, PROT_READ | PROT_WRITE, MAP_PRIVATE, 4096);
    map_one("shared", 5000, PROT_READ, MAP_SHARED, 0);
    map_one("populated", 200000, PROT_READ, MAP_SHARED | MAP_POPULATE, 0);
    map_one("shared for writing", 5000, PROT_READ | PROT_WRITE, MAP_SHARED, 0);
    map_one("of nothing", 0, PROT_READ, MAP_SHARED, 0);
    map_one("at an odd place", 5000, PROT_READ, MAP_SHARED, 5);
    map_one("beyond the end", 5000, 0, MAP_SHARED, 1 << 20);
    map_one("of code", 5000, PROT_READ | PROT_EXEC, MAP_PRIVATE, 0);
}

static void copy_oddly(const char *elsewhere)
{
    int in = open_a(), pipes[2], out = open("w", O_RDWR | O_CREAT | O_TRUNC, 0600);
    int far = open(elsewhere, O_RDWR | O_CREAT | O_TRUNC, 0600);
    int append = open("w", O_WRONLY | O_APPEND);
    off_t from = 100, to = 50, before = -1;
    if (pipe(pipes) != 0)
        return;
    say("sendfile", sendfile(out, in, NULL, 5000));
    say("sendfile from", sendfile(out, in, &from, 5000));
    printf("from %ld offset %ld\n", (long)from, (long)lseek(in, 0, SEEK_CUR));
    say("sendfile from before", sendfile(out, in, &before, 5000));
    say("sendfile nothing", sendfile(out, in, NULL, 0));
    say("sendfile to a reader", sendfile(in, in, NULL, 10));
    say("sendfile to the end", sendfile(append, in, NULL, 10));
    say("sendfile to a pipe", sendfile(pipes[1], in, &from, 10));
    say("what the pipe has", read(pipes[0], room, 100));
    say("copy to the same", copy_file_range(in, NULL, out, NULL, 3000, 0));
    ssize_t copied = copy_file_range(in, &from, far, &to, 300000, 0);
    bool is_refused = copied < 0 && errno == EXDEV; /* by some kernels; never with the cache */
    bool is_moved = copied > 200000 && from == 5110 + copied && to == 50 + copied;
    say("copy far", is_refused || (is_moved && lseek(far, 0, SEEK_END) == to));
    from = 5110;
    say("copy far with flags", copy_file_range(in, &from, far, &to, 300, 1));
    say("copy far from before", copy_file_range(in, &before, far, NULL, 300, 0));
    say("copy to a reader", copy_file_range(in, NULL, in, NULL, 300, 0) < 0 ? -1 : 0);
    say("copy to the end", copy_file_range(in, NULL, append, NULL, 300, 0) < 0 ? -1 : 0);
    from = 200;
    say("splice", splice(in, &from, pipes[1], NULL, 700, 0));
    say("splice into a full one", splice(in, &from, pipes[1], NULL, 700, SPLICE_F_NONBLOCK));
    say("what the pipe has", read(pipes[0], room, 5000));
    say("splice to no pipe", splice(in, &from, out, NULL, 700, 0));
    say("splice from before", splice(in, &before, pipes[1], NULL, 700, 0));
    say("length", lseek(out, 0, SEEK_END));
    close(in), close(out), close(far), close(append), close(pipes[0]), close(pipes[1]);
    unlink(elsewhere);
}

/* ---- Streams --------------------------------------------------------------------------------- */

static void stream_oddly(void)
{
    static const char *const modes[] = {"r", "re", "rb", "w", "a", "w+", "wx", "z", "r,ccs=UTF-8"};
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        FILE *stream = fopen(modes[i][0] == 'r' ? "a" : "w", modes[i]);
        say(modes[i], stream ? (long)fread(room, 1, 10, stream) : -1);
        if (stream)
            fclose(stream);
    }
    FILE *stream = fopen("a", "r");
    say("getc", getc(stream));
    say("ungetc", ungetc('!', stream));
    say("fread past the buffer", (long)fread(room, 3, 60000, stream));
    say("tell", ftell(stream));
    say("fread of too much", (long)fread(room, 1, sizeof(room), stream));
    say("fread at the end", (long)fread(room, 1, 10, stream));
    say("end", feof(stream));
    rewind(stream);
    say("getc", getc(stream));
    say("putc", putc('x', stream));
    fclose(stream);
    stream = fopen("a", "r");
    say("wide", (long)fgetwc(stream));
    say("wide back", (long)ungetwc(L'?', stream));
    wchar_t text[20] = L"";
    say("wide line", fgetws(text, 20, stream) ? (long)wcslen(text) : -1);
    say("is wide", fwide(stream, 1));
    stream = freopen("a", "r", stream);
    say("again", stream ? (long)fread(room, 1, 5, stream) : -1);
    stream = stream ? freopen("w", "w", stream) : NULL;
    say("now writing", stream ? fputs("text", stream) >= 0 : -1);
    stream = stream ? freopen("a", "r", stream) : NULL;
    say("and reading", stream ? (long)fread(room, 1, 5, stream) : -1);
    stream = stream ? freopen(NULL, "re", stream) : NULL;
    say("the same", stream ? (long)fread(room, 1, 5, stream) : -1);
    stream = stream ? freopen("none", "r", stream) : NULL;
    say("nothing", stream ? 0 : -1);
    stream = fdopen(open_a(), "re");
    say("by number", stream ? (long)fread(room, 1, 5, stream) : -1);
    say("closed", stream ? fclose(stream) : -1);
    say("a bad number", fdopen(-1, "r") ? 0 : -1);
    DIR *folder = opendir(".");
    say("folder", folder ? closedir(folder) : -1);
}

/* ---- Names, numbers -------------------------------------------------------------------------- */

static void change_names(void)
{
    int folder = open(".", O_RDONLY | O_DIRECTORY), fd = open_a();
    close(creat("n", 0600));
    say("rename", rename("n", "m"));
    say("renameat", renameat(folder, "m", folder, "n"));
    say("renameat2", renameat2(folder, "n", AT_FDCWD, "w", RENAME_EXCHANGE));
    say("rename nothing", rename("none", "m"));
    say("truncate", truncate("w", 10));
    say("truncate nothing", truncate("none", 10));
    say("remove", remove("n"));
    say("remove nothing", remove("n"));
    say("unlinkat", unlinkat(folder, "none", 0));
    say("openat", openat(folder, "a", O_RDONLY) >= 0);
    say("open nothing", open("none", O_RDONLY));
    say("no file but a place", open(".", O_TMPFILE | O_RDWR, 0600) >= 0);
    say("a path only", open("a", O_PATH) >= 0);
    say("dup3 to itself", dup3(fd, fd, 0));
    say("dup3", dup3(fd, 77, O_CLOEXEC));
    say("dup2 of nothing", dup2(999, 77));
    say("read the copy", pread(77, room, 4, 4));
    say("fcntl copy", fcntl(fd, F_DUPFD, 80));
    say("read it", pread(80, room, 4, 4));
    say("lock", flock(fd, LOCK_SH));
    say("unlock", flock(fd, LOCK_UN));
    say("chdir", chdir(".."));
    say("fchdir", fchdir(folder));
    say("chdir to nothing", chdir("none"));
    say("close_range", close_range(77, 80, 0));
    say("close_range, mad", close_range(5, 4, 0));
    say("close_range, at exec", close_range(3, 60, CLOSE_RANGE_CLOEXEC));
    say("read it", pread(80, room, 4, 4));
    say("syscall dup2", syscall(SYS_dup2, fd, 81));
    say("syscall dup3", syscall(SYS_dup3, fd, 82, 0));
    say("syscall close", syscall(SYS_close, 81));
    say("syscall close_range", syscall(SYS_close_range, 82, 83, 0));
    say("syscall getpid", syscall(SYS_getpid) == getpid());
    close(fd), close(folder);
}

/* ---- Processes ------------------------------------------------------------------------------- */

static int in_clone(void *argument)
{
    return (int)pread(*(int *)argument, room, 4, 0);
}

static void child(const char *what, void (*act)(int))
{
    int fd = open_a(), status = 0, pid = fork();
    if (pid == 0) {
        act(fd);
        _exit((int)pread(fd, room, 3, 0) & 0x7f);
    }
    waitpid(pid, &status, 0);
    say(what, status);
    close(fd);
}

static void close_most(int fd)
{
    closefrom(fd + 1);
}

static void close_it(int fd)
{
    closefrom(fd);
}

static void unshare_files(int fd)
{
    (void)fd;
    unshare(CLONE_FILES);
}

static void close_own(int fd)
{
    close_range((unsigned)fd + 1, ~0u, CLOSE_RANGE_UNSHARE);
}

static void fork_again(int fd)
{
    int status = 0, pid = _Fork();
    if (pid == 0)
        _exit((int)pread(fd, room, 5, 0));
    waitpid(pid, &status, 0);
    pid = (int)syscall(SYS_fork);
    if (pid == 0)
        _exit((int)pread(fd, room, 5, 0));
    waitpid(pid, &status, 0);
}

static void execute(int fd)
{
    (void)fd;
    char *const words[] = {(char *)"cat", (char *)"a", NULL}, *const none[] = {NULL};
    int program = open("/bin/true", O_RDONLY);
    if (!freopen("/dev/null", "w", stdout))
        return;
    execv("/does/not/exist", words);
    execve("/does/not/exist", words, environ);
    execvpe("does-not-exist", words, environ);
    fexecve(-1, words, none);
    execvp("does-not-exist", words);
    if (fork() == 0)
        fexecve(program, words, environ);
    wait(NULL);
    execvp("cat", words);
}

static void become_daemon(int fd)
{
    (void)fd;
    _Exit(daemon(1, 1) == 0 ? 0 : 1);
}

static void split(void)
{
    static char stack[65536] __attribute__((aligned(16)));
    int fd = open_a(), status = 0;
    int writer = open("w", O_WRONLY | O_CREAT, 0600);
    child("all but it closed", close_most);
    child("it closed", close_it);
    child("files of its own", unshare_files);
    child("closed for itself", close_own);
    child("children", fork_again);
    child("other programs", execute);
    child("a daemon", become_daemon);
    int pid = clone(in_clone, stack + sizeof(stack), CLONE_VM | SIGCHLD, &fd);
    waitpid(pid, &status, 0);
    say("cloned", status);
    say("afterwards", pread(fd, room, 4, 0));
    say("and written", write(writer, "text", 4));
    close(fd), close(writer);
}

int main(int argc, char **argv)
{
    if (argc != 3 || chdir(argv[1]) != 0)
        return 2;
    read_oddly();
    give_hints();
    map_oddly();
    copy_oddly(argv[2]);
    stream_oddly();
    change_names();
    split();
    return 0;
}
