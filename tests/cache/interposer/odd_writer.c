/* SPDX-License-Identifier: BSD-3-Clause
 *
 * odd-writer WAY PATH: writes "new!" at the start of a file, in a way of which it is hard to tell
 * when it ends. It takes a step at each line of its input, and says so with a line. The first step
 * ends when the file looks closed, the second has written, the third ends the program.
 *
 *   plain   opens, and closes after the second step
 *   fork    its parent closes the file
 *   exec    the file is open as number 20 in a program that has it from another
 *   map     the file is closed and mapped, and has been written by the mapping before
 *   raw     by system calls that no library sees
 *   stdio   what is in a stream's buffer when the program ends
 *   stream  by a stream that is closed in the second step
 *   static  the same in a statically linked program, in which there is no library
 *   twice   by two numbers, of which one is closed
 *   failed  the program that it executes does not exist
 */
#include "raw_calls.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { NUMBER = 20, LENGTH = 4 };

static const char text[LENGTH] = {'n', 'e', 'w', '!'};

/* End of a step, and wait for the next. */
static void step(void)
{
    char line[16];
    printf("done\n");
    fflush(stdout);
    if (!fgets(line, sizeof(line), stdin))
        exit(0);
}

static void put(int fd)
{
    if (pwrite(fd, text, LENGTH, 0) != LENGTH)
        exit(1);
}

static void by_fork(const char *path)
{
    int fd = open(path, O_WRONLY);
    pid_t pid = fork();
    if (pid > 0) {
        close(fd);
        waitpid(pid, NULL, 0);
        return;
    }
    step();
    put(fd);
    step();
    _exit(0);
}

static void by_exec(const char *program, const char *ending, const char *path)
{
    char other[4096];
    snprintf(other, sizeof(other), "%s%s", program, ending);
    int fd = open(path, O_WRONLY);
    if (dup2(fd, NUMBER) != NUMBER)
        exit(1);
    close(fd);
    char *const words[] = {other, (char *)"inherited", (char *)path, NULL};
    execv(other, words);
    exit(1);
}

static void by_map(const char *path)
{
    int fd = open(path, O_RDWR);
    char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        exit(1);
    map[LENGTH] = '.'; /* the page is dirty from here on: what follows changes no time */
    close(fd);
    step();
    memcpy(map, text, LENGTH);
    step();
}

static void by_raw_calls(const char *path)
{
    step();
    int fd = raw_open(path, O_WRONLY);
    if (raw_call(SYS_pwrite64, fd, (long)text, LENGTH, 0) != LENGTH)
        exit(1);
    raw_close(fd);
    step();
}

static void by_stream(const char *path, bool is_closed)
{
    FILE *stream = fopen(path, "r+");
    if (!stream || fwrite(text, 1, LENGTH, stream) != LENGTH)
        exit(1);
    step();
    if (is_closed && fclose(stream) != 0)
        exit(1);
    step();
    exit(0);
}

static void by_two_numbers(const char *path)
{
    int fd = open(path, O_WRONLY), second = dup(fd);
    close(second);
    step();
    put(fd);
    step();
}

static void by_failed_exec(const char *path)
{
    int fd = open(path, O_WRONLY);
    execlp("/does/not/exist", "none", NULL);
    char *const arguments[] = {NULL};
    execv("/does/not/exist", arguments);
    step();
    put(fd);
    step();
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    const char *way = argv[1], *path = argv[2];
    if (strcmp(way, "fork") == 0) {
        by_fork(path);
    } else if (strcmp(way, "exec") == 0) {
        by_exec(argv[0], "", path);
    } else if (strcmp(way, "static") == 0) {
        by_exec(argv[0], "-static", path);
    } else if (strcmp(way, "failed") == 0) {
        by_failed_exec(path);
    } else if (strcmp(way, "map") == 0) {
        by_map(path);
    } else if (strcmp(way, "raw") == 0) {
        by_raw_calls(path);
    } else if (strcmp(way, "stdio") == 0 || strcmp(way, "stream") == 0) {
        by_stream(path, strcmp(way, "stream") == 0);
    } else if (strcmp(way, "twice") == 0) {
        by_two_numbers(path);
    } else { /* plain, inherited */
        int fd = strcmp(way, "plain") == 0 ? open(path, O_WRONLY) : NUMBER;
        step();
        put(fd);
        close(fd);
        step();
    }
    return 0;
}
