/* SPDX-License-Identifier: BSD-3-Clause
 *
 * descriptor-race FOLDER SEED: threads open, close and duplicate the same few descriptor numbers
 * while others read them; then processes share an offset. Ends with 1 and says why if a read gave
 * what the kernel would not have given.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILES = 8, THREADS = 4, ROUNDS = 12, CALLS = 400, FIRST = 20, NUMBERS = 8 };
enum { LENGTH = 20000, SHARED = 2000001, CHILDREN = 4 };

static pthread_barrier_t barrier;
static _Atomic int failures;

static uint32_t random_below(uint32_t *chance, uint32_t limit)
{
    *chance ^= *chance << 13;
    *chance ^= *chance >> 17;
    *chance ^= *chance << 5;
    return *chance % limit;
}

static void complain(const char *what, int number)
{
    fprintf(stderr, "descriptor-race: %s (%d)\n", what, number);
    failures++;
}

/* ---- Threads --------------------------------------------------------------------------------- */

/* Every byte of a file is the same. */
static void read_one(int fd, uint32_t *chance)
{
    char data[5000];
    ssize_t got = pread(fd, data, sizeof(data), random_below(chance, LENGTH));
    for (ssize_t i = 1; i < got; i++) {
        if (data[i] != data[0]) {
            complain("one read gave parts of two files", fd);
            return;
        }
    }
    if (got < 0 && errno != EBADF && errno != ESPIPE)
        complain("an error that cannot be", errno);
}

static void change_one(int fd, uint32_t *chance)
{
    char name[16];
    int ends[2];
    snprintf(name, sizeof(name), "r%u", random_below(chance, FILES));
    switch (random_below(chance, 5)) {
    case 0:
        close(fd);
        break;
    case 1:
        dup2(FIRST + (int)random_below(chance, NUMBERS), fd);
        break;
    case 2: /* something that is no file */
        if (pipe2(ends, O_CLOEXEC) == 0) {
            dup3(ends[0], fd, O_CLOEXEC);
            close(ends[0]);
            close(ends[1]);
        }
        break;
    default: {
        int other = open(name, O_RDONLY);
        if (other >= 0) {
            dup2(other, fd);
            close(other);
        }
    }
    }
}

/* Nobody changes anything now: what we say must be what the kernel says. */
static void compare_all(void)
{
    for (int fd = FIRST; fd < FIRST + NUMBERS; fd++) {
        char ours[100], kernels[100];
        ssize_t have = pread(fd, ours, sizeof(ours), 50);
        ssize_t want = syscall(SYS_pread64, fd, kernels, sizeof(kernels), 50);
        if (have != want || (want > 0 && memcmp(ours, kernels, (size_t)want) != 0))
            complain("a number is not what the kernel has", fd);
    }
}

static void *race(void *object)
{
    uint32_t chance = (uint32_t)(uintptr_t)object;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < CALLS; i++) {
            int fd = FIRST + (int)random_below(&chance, NUMBERS);
            if (random_below(&chance, 3) == 0)
                change_one(fd, &chance);
            else
                read_one(fd, &chance);
        }
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
            compare_all();
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void race_threads(uint32_t seed)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, race, (void *)(uintptr_t)(seed * 77 + i * 13 + 1));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* ---- Processes ------------------------------------------------------------------------------- */

/* Each word of the file says where it is; count how often each was read. */
static void read_shared(int fd, _Atomic uint8_t *counts, uint32_t chance)
{
    static uint32_t words[4096];
    for (;;) {
        size_t length = 4 * (1 + random_below(&chance, 4096));
        ssize_t got = read(fd, words, length);
        if (got <= 0)
            break;
        for (ssize_t i = 0; i < got / 4; i++) {
            if (words[i] < SHARED)
                counts[words[i]]++;
        }
    }
}

static void share_offset(uint32_t seed)
{
    _Atomic uint8_t *counts = mmap(NULL, SHARED, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                                   -1, 0);
    int fd = open("shared", O_RDONLY);
    for (uint32_t i = 0; i < CHILDREN; i++) {
        if (fork() == 0) {
            read_shared(i % 2 ? dup(fd) : fd, counts, seed * 5 + i + 1);
            _exit(0);
        }
    }
    while (wait(NULL) > 0)
        ;
    for (int i = 0; i < SHARED; i++) {
        if (counts[i] != 1) {
            complain(counts[i] ? "a part was read twice" : "a part was not read", i);
            break;
        }
    }
    if (lseek(fd, 0, SEEK_CUR) != SHARED * 4l)
        complain("the offset is not at the end", (int)lseek(fd, 0, SEEK_CUR));
    close(fd);
}

/* ---------------------------------------------------------------------------------------------- */

static int make_files(void)
{
    static uint32_t words[SHARED];
    for (int k = 0; k < FILES; k++) {
        char name[16];
        snprintf(name, sizeof(name), "r%d", k);
        memset(words, 'a' + k, LENGTH);
        int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (fd < 0 || write(fd, words, LENGTH) != LENGTH)
            return 1;
        close(fd);
    }
    for (uint32_t i = 0; i < SHARED; i++)
        words[i] = i;
    int fd = open("shared", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, words, sizeof(words)) != (ssize_t)sizeof(words))
        return 1;
    close(fd);
    usleep(60000); /* what has just changed is not cached */
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 3 || chdir(argv[1]) != 0) {
        fprintf(stderr, "usage: descriptor-race FOLDER SEED\n");
        return 2;
    }
    uint32_t seed = (uint32_t)strtoul(argv[2], NULL, 10) * 2654435761u + 1;
    if (make_files() != 0)
        return 1;
    race_threads(seed);
    for (uint32_t i = 0; i < 5; i++)
        share_offset(seed + i);
    return failures != 0;
}
