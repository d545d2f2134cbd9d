/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See find.h.
 */
#include "cli/cache/find.h"

#include "cache/agent/setup.h"
#include "cli/cli.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct search {
    struct cache_control **nodes;
    size_t count;
    ino_t seen[CACHE_FIND_MAX]; /* several processes hold the same memory */
};

struct cache_control *cache_control_copy(int fd)
{
    struct cache_control head;
    if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) || head.magic != CACHE_MAGIC ||
        head.version != CACHE_VERSION || !cache_shape_check(&head.shape) || head.rank < 0 ||
        head.rank >= head.size)
        return NULL;
    size_t length = head.shape.control_length;
    struct cache_control *copy = malloc(length);
    if (copy && pread(fd, copy, length, 0) == (ssize_t)length &&
        memcmp(&copy->shape, &head.shape, sizeof(head.shape)) == 0) {
        copy->program[sizeof(copy->program) - 1] = '\0';
        for (char *at = copy->program; *at; at++)
            *at = isprint((unsigned char)*at) ? *at : '?';
        copy->socket_name[sizeof(copy->socket_name) - 1] = '\0';
        return copy;
    }
    free(copy);
    return NULL;
}

static void look_at_memory(struct search *search, int fd)
{
    struct stat status;
    if (fstat(fd, &status) < 0 || search->count == CACHE_FIND_MAX)
        return;
    for (size_t i = 0; i < search->count; i++) {
        if (search->seen[i] == status.st_ino)
            return;
    }
    struct cache_control *copy = cache_control_copy(fd);
    if (!copy || atomic_load(&copy->agent_state) == CACHE_AGENT_STARTING) {
        free(copy);
        return;
    }
    search->seen[search->count] = status.st_ino;
    search->nodes[search->count++] = copy;
}

static void look_at_process(struct search *search, const char *pid)
{
    static const char wanted[] = "/memfd:" SETUP_MEMORY_NAME " (deleted)";
    char path[64], link[64];
    snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
    DIR *directory = opendir(path);
    if (!directory)
        return; /* another user's, or gone */
    for (struct dirent *entry; (entry = readdir(directory));) {
        ssize_t length = readlinkat(dirfd(directory), entry->d_name, link, sizeof(link) - 1);
        if (length != (ssize_t)sizeof(wanted) - 1 || memcmp(link, wanted, sizeof(wanted) - 1) != 0)
            continue;
        int fd = openat(dirfd(directory), entry->d_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0)
            continue;
        look_at_memory(search, fd);
        close(fd);
    }
    closedir(directory);
}

static int compare(const void *left, const void *right)
{
    const struct cache_control *a = *(struct cache_control *const *)left;
    const struct cache_control *b = *(struct cache_control *const *)right;
    if (a->job_id != b->job_id)
        return a->job_id < b->job_id ? -1 : 1;
    return a->rank - b->rank;
}

size_t cache_find(struct cache_control *nodes[CACHE_FIND_MAX])
{
    struct search search = {.nodes = nodes};
    DIR *directory = opendir("/proc");
    if (!directory)
        return 0;
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (isdigit((unsigned char)entry->d_name[0]))
            look_at_process(&search, entry->d_name);
    }
    closedir(directory);
    qsort(nodes, search.count, sizeof(*nodes), compare);
    return search.count;
}

static bool is_job(const struct cache_control *node, const char *job)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRIx64, node->job_id);
    return strcasecmp(text, job) == 0;
}

int cache_find_job(struct cache_control **nodes, size_t *count, const char *job)
{
    size_t kept = 0;
    bool is_one = *count == 0 || nodes[0]->job_id == nodes[*count - 1]->job_id; /* sorted */
    for (size_t i = 0; i < *count; i++) {
        if (job ? is_job(nodes[i], job) : is_one)
            nodes[kept++] = nodes[i];
        else
            free(nodes[i]);
    }
    if (kept == 0 && !is_one && !job)
        cli_say("several caches run here; say which with --job: `rhinet cache stat` lists them");
    else if (kept == 0 && *count > 0)
        cli_say("no job %s has a cache here; `rhinet cache stat` lists them", job);
    else if (kept == 0)
        cli_say("no cache of yours runs here; `rhinet cache run` starts one");
    *count = kept;
    return kept > 0 ? 0 : 1;
}
