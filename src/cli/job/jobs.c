/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See jobs.h.
 */
#include "cli/job/jobs.h"

#include "base/clock.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ASK_NS       NS_PER_S /* other hosts need not answer: they may be why we are asked */
#define ASK_PAUSE_NS (20 * NS_PER_MS) /* between two looks whether they have */

static bool read_exactly(int fd, void *target, size_t length)
{
    size_t done = 0;
    while (done < length) {
        ssize_t got = pread(fd, (char *)target + done, length - done, (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

/* Copies the fixed part of a roster and checks it against the job's number and the file's length.
 * The length may still change afterwards; then a later read comes up short, and that is all. */
static bool read_header(int fd, uint64_t id, struct roster *header)
{
    struct stat status;
    if (!read_exactly(fd, header, sizeof(*header)) || fstat(fd, &status) < 0)
        return false;
    if (header->magic != ROSTER_MAGIC || header->version != ROSTER_VERSION)
        return false;
    if (header->job_id != id || header->launcher_pid <= 0)
        return false;
    if (header->size < 1 || header->size > JOBS_RANKS_MAX)
        return false;
    return S_ISREG(status.st_mode) && (uint64_t)status.st_size >= roster_bytes(header->size);
}

/* Whether a link in /proc/PID/fd names memory of ours; gives the job's number. */
static bool parse_link(const char *link, const char *prefix, uint64_t *id)
{
    static const char memfd[] = "/memfd:";
    size_t skip = sizeof(memfd) - 1;
    if (strncmp(link, memfd, skip) != 0 || strncmp(link + skip, prefix, strlen(prefix)) != 0)
        return false;
    const char *digits = link + skip + strlen(prefix);
    if (!isxdigit((unsigned char)digits[0]))
        return false;
    char *end;
    errno = 0;
    *id = strtoull(digits, &end, 16);
    return errno == 0 && (*end == '\0' || strcmp(end, " (deleted)") == 0);
}

/* Several hosts' launchers may share a machine, as in tests: each has its own view of the job. */
static struct live_job *find_or_add(struct live_job *jobs, size_t *job_count, uint64_t id,
                                    int launcher_pid)
{
    for (size_t i = 0; i < *job_count; i++) {
        if (jobs[i].id == id && jobs[i].launcher_pid == launcher_pid)
            return &jobs[i];
    }
    if (*job_count == JOBS_MAX)
        return NULL;
    struct live_job *job = &jobs[(*job_count)++];
    *job = (struct live_job){.id = id,
                             .launcher_pid = launcher_pid,
                             .roster_fd = -1,
                             .board_fd = -1,
                             .launcher_fd = (int)syscall(SYS_pidfd_open, launcher_pid, 0)};
    return job;
}

/* Opens a descriptor of the process if it is memory of ours, of that kind. */
static int open_memory(DIR *directory, const char *name, const char *prefix, uint64_t *id)
{
    char link[128];
    ssize_t length = readlinkat(dirfd(directory), name, link, sizeof(link) - 1);
    if (length < 0)
        return -1;
    link[length] = '\0';
    if (!parse_link(link, prefix, id))
        return -1;
    return openat(dirfd(directory), name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static int find_board(DIR *directory, uint64_t wanted)
{
    uint64_t id;
    rewinddir(directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        int fd = open_memory(directory, entry->d_name, BOARD_PREFIX, &id);
        if (fd >= 0 && id == wanted)
            return fd;
        if (fd >= 0)
            close(fd);
    }
    return -1;
}

static void look_at_process(struct live_job *jobs, size_t *job_count, const char *pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
    DIR *directory = opendir(path);
    if (!directory)
        return; /* another user's, or gone */
    struct live_job *found = NULL;
    for (struct dirent *entry; (entry = readdir(directory));) {
        struct roster header;
        uint64_t id;
        int fd = open_memory(directory, entry->d_name, ROSTER_PREFIX, &id);
        struct live_job *job = fd >= 0 && read_header(fd, id, &header)
                                   ? find_or_add(jobs, job_count, id, header.launcher_pid)
                                   : NULL;
        if (job && job->roster_fd < 0) {
            job->roster_fd = fd;
            found = found ? found : job; /* new ones stand at the end */
        } else if (fd >= 0) {
            close(fd);
        }
    }
    for (; found && found < jobs + *job_count; found++) {
        if (found->board_fd < 0)
            found->board_fd = find_board(directory, found->id);
    }
    closedir(directory);
}

size_t jobs_find(struct live_job jobs[JOBS_MAX])
{
    size_t job_count = 0;
    DIR *directory = opendir("/proc");
    if (!directory)
        return 0;
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (isdigit((unsigned char)entry->d_name[0]))
            look_at_process(jobs, &job_count, entry->d_name);
    }
    closedir(directory);
    return job_count;
}

void jobs_close(struct live_job *jobs, size_t job_count)
{
    for (size_t i = 0; i < job_count; i++) {
        int fds[] = {jobs[i].roster_fd, jobs[i].board_fd, jobs[i].launcher_fd};
        for (size_t k = 0; k < sizeof(fds) / sizeof(fds[0]); k++) {
            if (fds[k] >= 0)
                close(fds[k]);
        }
    }
}

static void copy_text(char *target, const char *source, size_t room)
{
    size_t i = 0;
    for (; i + 1 < room && source[i]; i++)
        target[i] = isprint((unsigned char)source[i]) ? source[i] : '?';
    target[i] = '\0';
}

static void copy_peers(struct job_snapshot *snapshot, const struct roster *roster)
{
    for (uint32_t i = 0; i < snapshot->size; i++) {
        const struct roster_peer *peer = &roster->peer[i];
        uint32_t state = peer->state;
        snapshot->rank[i].state = state > RH_PEER_DIED ? RH_PEER_DIED : (enum rh_peer_state)state;
        snapshot->rank[i].node = peer->node;
        snapshot->rank[i].pid = peer->pid;
        snapshot->rank[i].end_signal = peer->end_signal;
        snapshot->rank[i].end_status = peer->end_status;
    }
}

/* Numbers and names of nodes are the job's: who is nowhere is put on the first. */
static void copy_nodes(struct job_snapshot *snapshot, const struct roster *roster)
{
    const struct roster_node *nodes = (const struct roster_node *)&roster->peer[roster->size];
    for (uint32_t i = 0; i < snapshot->node_count; i++) {
        copy_text(snapshot->node[i].host, nodes[i].host, sizeof(snapshot->node[i].host));
        copy_text(snapshot->node[i].address, nodes[i].address, sizeof(snapshot->node[i].address));
    }
    for (uint32_t i = 0; i < snapshot->size; i++) {
        int node = snapshot->rank[i].node;
        if (node < 0 || (uint32_t)node >= snapshot->node_count)
            snapshot->rank[i].node = 0;
    }
}

/* Of who is gone the last that was told stays true. */
static bool is_news(const struct job_rank *rank, int64_t told_ns)
{
    return told_ns > 0 &&
           (rank->state != RH_PEER_JOINED || clock_now_ns() - told_ns < DIAGNOSIS_TOLD_NS);
}

static void copy_counters(struct job_snapshot *snapshot, int board_fd)
{
    size_t length = snapshot->size * sizeof(struct board_rank);
    struct board_rank *board = board_fd >= 0 ? malloc(length) : NULL;
    if (board && read_exactly(board_fd, board, length)) {
        for (uint32_t i = 0; i < snapshot->size; i++) {
            struct job_rank *rank = &snapshot->rank[i];
            rank->is_counted = rank->node == snapshot->own_node ||
                               is_news(rank, atomic_load(&board[i].told.at_ns));
            for (unsigned which = 0; which < COUNTERS_MAX; which++)
                rank->counter[which] = counter_read(&board[i].counters, which);
        }
    }
    free(board);
}

struct job_snapshot *job_snapshot_take(const struct live_job *job)
{
    struct roster header;
    if (!read_header(job->roster_fd, job->id, &header))
        return NULL;
    uint32_t size = header.size;
    uint32_t used = (uint32_t)roster_used(&header);
    struct roster *roster = malloc(roster_bytes(size));
    uint32_t node_count = header.node_count >= 1 && header.node_count <= size ? header.node_count
                                                                              : 1;
    struct job_snapshot *snapshot = calloc(1, sizeof(*snapshot) + size * sizeof(snapshot->rank[0]) +
                                                  node_count * sizeof(snapshot->node[0]));
    if (!roster || !snapshot || !read_exactly(job->roster_fd, roster, roster_bytes(size))) {
        free(roster);
        free(snapshot);
        return NULL;
    }
    /* The checked copy counts, not what a second reading may have brought. */
    snapshot->id = header.job_id;
    snapshot->start_time_s = header.start_time_s;
    snapshot->launcher_pid = header.launcher_pid;
    snapshot->survive = header.survive != 0;
    snapshot->size = used;
    snapshot->refused = header.refused;
    snapshot->own_node = header.own_node;
    snapshot->node_count = node_count;
    snapshot->node = (struct job_node *)&snapshot->rank[size];
    copy_text(snapshot->nic, header.nic, sizeof(snapshot->nic));
    copy_text(snapshot->command, header.command, sizeof(snapshot->command));
    roster->size = size;
    copy_peers(snapshot, roster);
    copy_nodes(snapshot, roster);
    copy_counters(snapshot, job->board_fd);
    free(roster);
    return snapshot;
}

struct diagnosis *job_diagnosis_take(const struct live_job *job)
{
    struct roster header;
    struct diagnosis *diagnosis = NULL;
    if (!read_header(job->roster_fd, job->id, &header))
        return NULL;
    size_t board_length = header.size * sizeof(struct board_rank);
    struct roster *roster = malloc(roster_bytes(header.size));
    struct board_rank *boards = job->board_fd >= 0 ? malloc(board_length) : NULL;
    bool has_boards = boards && read_exactly(job->board_fd, boards, board_length);
    if (roster && read_exactly(job->roster_fd, roster, roster_bytes(header.size)))
        diagnosis = diagnosis_take(roster, has_boards ? boards : NULL, header.size);
    if (diagnosis) /* who has not come yet is nothing to speak of */
        diagnosis->size = (uint32_t)roster_used(&header);
    free(boards);
    free(roster);
    return diagnosis;
}

/* ---- Other hosts ----------------------------------------------------------------------------- */

/* False if there is nobody to ask. */
static bool ask(const struct live_job *job)
{
    char path[64];
    struct stat status;
    struct roster header;
    if (!read_header(job->roster_fd, job->id, &header) || header.node_count < 2 ||
        header.query_fd <= 0)
        return false;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", header.launcher_pid, (int)header.query_fd);
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool is_asked = fd >= 0 && fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode) &&
                    write(fd, "?", 1) == 1;
    if (fd >= 0)
        close(fd);
    return is_asked;
}

/* Whether all have answered since then who are to be expected. */
static bool all_have_answered(const struct live_job *job, int64_t since_ns)
{
    struct diagnosis *diagnosis = job_diagnosis_take(job);
    bool is_so = true;
    for (uint32_t i = 0; diagnosis && i < diagnosis->size; i++) {
        const struct diagnosis_rank *rank = &diagnosis->rank[i];
        is_so = is_so && (rank->state != RH_PEER_JOINED || rank->host[0] == '\0' ||
                          rank->told_ns >= since_ns);
    }
    free(diagnosis);
    return is_so;
}

void job_others_ask(const struct live_job *job)
{
    struct timespec pause = {.tv_nsec = ASK_PAUSE_NS};
    int64_t asked_ns = clock_now_ns();
    if (!ask(job))
        return;
    do
        nanosleep(&pause, NULL);
    while (!all_have_answered(job, asked_ns) && clock_now_ns() < asked_ns + ASK_NS);
}

const char *job_state_name(enum rh_peer_state state)
{
    static const char *const names[] = {"starting", "joined", "left", "died"};
    return names[state];
}
