/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program that reads files through the cache's client and compares every byte with what the
 * kernel gives. Ends with 0 if all was the same, and prints the node's counters as one line of
 * JSON.
 *
 *   cache-reader [--order sequential|random|stride] [--length BYTES] [--reads N] [--seed S]
 *                [--threads N] [--forks N] [--gate FD] [--again] FILE...
 *
 * --gate: begin when the other end of that pipe is closed, so that all nodes begin at once. Who
 * waits there has attached to its agent and bears the name AT_GATE, for tests that stop or kill.
 * --again: open each file anew for every read.
 */
#include "cache/client/client.h"
#include "pattern.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define AT_GATE "reader at gate"

struct plan {
    struct cache_client *client;
    const char *order;
    size_t length;
    uint64_t reads, seed;
    int thread_count, fork_count, gate_fd;
    bool again;
    char **files;
    int file_count;
};

struct reader {
    const struct plan *plan;
    uint64_t seed;
    char *ours, *kernels;
    bool has_failed;
};

struct opened {
    int fd;
    struct cache_file file;
    off_t size;
};

static bool open_one(const struct plan *plan, const char *path, struct opened *opened)
{
    struct stat status;
    opened->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (opened->fd < 0 || fstat(opened->fd, &status) < 0) {
        fprintf(stderr, "cache-reader: %s: %s\n", path, strerror(errno));
        return false;
    }
    opened->size = status.st_size;
    cache_file_open(plan->client, &opened->file, opened->fd);
    return true;
}

static void close_one(struct opened *opened)
{
    cache_file_close(&opened->file);
    close(opened->fd);
}

/* Read one piece both ways. Returns what the kernel gave, or -1 if ours was different. */
static ssize_t compare(struct reader *reader, struct opened *opened, const char *path,
                       size_t length, off_t offset)
{
    ssize_t ours = cache_file_read(&opened->file, opened->fd, reader->ours, length, offset);
    ssize_t kernels = pread(opened->fd, reader->kernels, length, offset);
    if (ours == kernels && (ours <= 0 || memcmp(reader->ours, reader->kernels, (size_t)ours) == 0))
        return kernels;
    fprintf(stderr, "cache-reader: %s at %lld: %zd bytes or others instead of %zd\n", path,
            (long long)offset, ours, kernels);
    return -1;
}

static bool read_in_order(struct reader *reader, const char *path, size_t step)
{
    struct opened opened;
    if (!open_one(reader->plan, path, &opened))
        return false;
    ssize_t got = 1;
    for (off_t offset = 0; got > 0; offset += (off_t)step)
        got = compare(reader, &opened, path, reader->plan->length, offset);
    close_one(&opened);
    return got == 0;
}

static bool read_at_random(struct reader *reader)
{
    const struct plan *plan = reader->plan;
    struct prng prng = {.state = reader->seed};
    struct opened *opened = calloc((size_t)plan->file_count, sizeof(*opened));
    bool is_good = opened != NULL;
    for (int i = 0; i < plan->file_count && is_good; i++)
        is_good = open_one(plan, plan->files[i], &opened[i]);
    for (uint64_t i = 0; i < plan->reads && is_good; i++) {
        int which = (int)prng_below(&prng, (uint64_t)plan->file_count);
        struct opened *at = &opened[which];
        if (plan->again) {
            close_one(at);
            is_good = open_one(plan, plan->files[which], at);
        }
        off_t offset = (off_t)prng_below(&prng, (uint64_t)at->size + 10);
        size_t length = prng_below(&prng, plan->length) + 1;
        is_good = is_good && compare(reader, at, plan->files[which], length, offset) >= 0;
    }
    free(opened);
    return is_good;
}

static void *read_all(void *argument)
{
    struct reader *reader = argument;
    const struct plan *plan = reader->plan;
    reader->ours = malloc(plan->length);
    reader->kernels = malloc(plan->length);
    bool is_good = true;
    if (strcmp(plan->order, "random") == 0)
        is_good = read_at_random(reader);
    size_t step = strcmp(plan->order, "stride") == 0 ? plan->length * 5 : plan->length;
    for (int i = 0; i < plan->file_count && strcmp(plan->order, "random") != 0; i++)
        is_good = read_in_order(reader, plan->files[i], step) && is_good;
    reader->has_failed = !is_good;
    free(reader->ours);
    free(reader->kernels);
    return NULL;
}

static int read_with_threads(const struct plan *plan, uint64_t seed)
{
    struct reader readers[64] = {0};
    pthread_t threads[64];
    int status = 0;
    for (int i = 0; i < plan->thread_count; i++) {
        readers[i] = (struct reader){.plan = plan, .seed = seed * 1000 + (uint64_t)i};
        pthread_create(&threads[i], NULL, read_all, &readers[i]);
    }
    for (int i = 0; i < plan->thread_count; i++) {
        pthread_join(threads[i], NULL);
        status |= readers[i].has_failed;
    }
    return status;
}

static int read_with_forks(const struct plan *plan)
{
    int result = 0, status;
    for (int i = 0; i < plan->fork_count; i++) {
        if (fork() == 0)
            _exit(read_with_threads(plan, plan->seed + 1 + (uint64_t)i));
    }
    result = read_with_threads(plan, plan->seed);
    while (wait(&status) > 0)
        result |= status != 0;
    return result;
}

static void print_counters(const struct cache_client *client)
{
    uint64_t values[CACHE_COUNTER_COUNT] = {0};
    if (client)
        cache_client_counters(client, values);
    for (int i = 0; i < CACHE_COUNTER_COUNT; i++)
        printf("%s\"%s\": %llu", i == 0 ? "{" : ", ", cache_counter_name(i),
               (unsigned long long)values[i]);
    printf("}\n");
    fflush(stdout);
}

static void parse(struct plan *plan, int argc, char **argv)
{
    static const struct option known[] = {
        {"order", 1, NULL, 'o'}, {"length", 1, NULL, 'l'},  {"reads", 1, NULL, 'r'},
        {"seed", 1, NULL, 's'},  {"threads", 1, NULL, 't'}, {"forks", 1, NULL, 'f'},
        {"gate", 1, NULL, 'g'},  {"again", 0, NULL, 'a'},   {NULL, 0, NULL, 0}};
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        uint64_t number = optarg ? strtoull(optarg, NULL, 10) : 0;
        switch (option) {
        case 'o':
            plan->order = optarg;
            break;
        case 'l':
            plan->length = number;
            break;
        case 'r':
            plan->reads = number;
            break;
        case 's':
            plan->seed = number;
            break;
        case 't':
            plan->thread_count = (int)number;
            break;
        case 'f':
            plan->fork_count = (int)number;
            break;
        case 'g':
            plan->gate_fd = (int)number;
            break;
        case 'a':
            plan->again = true;
            break;
        default:
            exit(2);
        }
    }
    plan->files = argv + optind;
    plan->file_count = argc - optind;
}

static void await_gate(int gate_fd)
{
    char byte, name[16];
    prctl(PR_GET_NAME, name);
    prctl(PR_SET_NAME, AT_GATE);
    (void)!read(gate_fd, &byte, 1);
    prctl(PR_SET_NAME, name);
}

int main(int argc, char **argv)
{
    struct plan plan = {.order = "sequential",
                        .length = 256 << 10,
                        .reads = 100,
                        .seed = 1,
                        .thread_count = 1,
                        .gate_fd = -1};
    parse(&plan, argc, argv);
    plan.seed = plan.seed * 100000 + (uint64_t)getpid();
    int result = cache_client_attach(&plan.client, NULL);
    if (result < 0)
        fprintf(stderr, "cache-reader: no cache: %s\n", strerror(-result));
    if (plan.gate_fd >= 0)
        await_gate(plan.gate_fd);
    result = read_with_forks(&plan);
    print_counters(plan.client);
    return result;
}
