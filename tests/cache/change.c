/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A file that is rewritten in place while all nodes read it: the first to come writes, the others
 * compare. Each write puts the next number everywhere. What a read through the cache gives must be
 * no older than what the kernel gave before it, and no newer than what the kernel gives after it.
 *
 *   cache-change FILE WRITES
 */
#include "cache/client/client.h"
#include "pattern.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STEP 65536 /* a number stands at each multiple */

static void rest(struct prng *prng, uint64_t most_us)
{
    struct timespec pause = {.tv_nsec = (long)(prng_below(prng, most_us) * 1000)};
    nanosleep(&pause, NULL);
}

static int write_numbers(struct cache_client *client, const char *path, uint64_t writes)
{
    struct prng prng = {.state = 3};
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct stat status;
    if (fstat(fd, &status) != 0)
        return 1;
    off_t size = status.st_size;
    for (uint64_t number = 1; number <= writes; number++) {
        if (cache_write_begin(client, &status) != 0)
            return 1;
        for (off_t offset = 0; offset + 8 <= size; offset += STEP) {
            if (pwrite(fd, &number, sizeof(number), offset) != sizeof(number))
                return 1;
        }
        if (cache_write_end(client, &status) != 0)
            return 1;
        rest(&prng, 80000);
    }
    return 0;
}

static uint64_t number_at(int fd, off_t offset)
{
    uint64_t number = 0;
    return pread(fd, &number, sizeof(number), offset) == sizeof(number) ? number : UINT64_MAX;
}

/* Some reads of the file as it was opened now. Returns the newest number, or -1. */
static int64_t compare_some(struct cache_client *client, const char *path, struct prng *prng)
{
    struct cache_file file;
    uint64_t newest = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t size = lseek(fd, 0, SEEK_END);
    cache_file_open(client, &file, fd);
    for (int i = 0; i < 40; i++) {
        off_t offset = (off_t)prng_below(prng, (uint64_t)size / STEP) * STEP;
        uint64_t before = number_at(fd, offset), ours = 0;
        ssize_t got = cache_file_read(&file, fd, &ours, sizeof(ours), offset);
        uint64_t after = number_at(fd, offset);
        if (got != sizeof(ours) || ours < before || ours > after) {
            fprintf(stderr, "cache-change: %llu at %lld, between %llu and %llu\n",
                    (unsigned long long)ours, (long long)offset, (unsigned long long)before,
                    (unsigned long long)after);
            return -1;
        }
        newest = after > newest ? after : newest;
        rest(prng, 1000);
    }
    close(fd);
    return (int64_t)newest;
}

int main(int argc, char **argv)
{
    struct cache_client *client;
    char lock[1024];
    uint64_t counters[CACHE_COUNTER_COUNT];
    if (argc != 3 || cache_client_attach(&client, NULL) < 0)
        return 2;
    uint64_t writes = strtoull(argv[2], NULL, 10);
    snprintf(lock, sizeof(lock), "%s.writer", argv[1]);
    if (open(lock, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600) >= 0)
        return write_numbers(client, argv[1], writes);
    struct prng prng = {.state = (uint64_t)getpid()};
    int64_t newest = 0;
    while (newest >= 0 && (uint64_t)newest < writes)
        newest = compare_some(client, argv[1], &prng);
    cache_client_counters(client, counters);
    printf("{\"local_hits\": %llu, \"changed_files\": %llu, \"fallbacks\": %llu}\n",
           (unsigned long long)counters[CACHE_LOCAL_HITS],
           (unsigned long long)counters[CACHE_CHANGED_FILES],
           (unsigned long long)counters[CACHE_FALLBACKS]);
    return newest < 0;
}
