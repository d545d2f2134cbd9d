/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A member that lies to its task manager. Whatever it sends is refused or leaves only itself cut
 * off; the manager keeps nothing of it, and the job goes on.
 *   lies   wrong, foreign and premature requests with all kinds of descriptors, then honest work
 *   flood  rank 1 asks without reading the answers; the others work
 *   empty  rank 1 sends an empty message, which is as good as hanging up; the others work
 */
#include "base/descriptor.h"
#include "job/protocol.h"

#include <dirent.h>
#include <fcntl.h>
#include <rhinet/rma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define SID        1
#define FORGED_FDS 8

static int manager_fd;

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, rh_error_text());
    exit(1);
}

static void send_bytes(const void *data, size_t length, const int *fds, size_t fd_count)
{
    char control[CMSG_SPACE(FORGED_FDS * sizeof(int))] = {0};
    struct iovec piece = {.iov_base = (void *)(uintptr_t)data, .iov_len = length};
    struct msghdr header = {.msg_iov = &piece, .msg_iovlen = 1};
    if (fd_count > 0) {
        header.msg_control = control;
        header.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
        memcpy(CMSG_DATA(rights), fds, fd_count * sizeof(int));
    }
    if (sendmsg(manager_fd, &header, MSG_NOSIGNAL) < 0)
        fail("the task manager has hung up");
}

static void must_refuse(const char *what)
{
    struct reply reply;
    struct descriptor_message message = {.data = &reply, .length = sizeof(reply)};
    if (descriptor_receive(manager_fd, &message, 0) < 0)
        fail("no answer from the task manager");
    if (reply.code >= 0 || message.fd_count != 0)
        fail(what);
}

static void lie(const char *what, struct request request, int fd)
{
    send_bytes(&request, sizeof(request), &fd, fd >= 0 ? 1 : 0);
    must_refuse(what);
}

static void lie_about_shape(void)
{
    static char bytes[16384];
    static const size_t lengths[] = {1, 4, 31, 33, 4096, sizeof(bytes)};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        send_bytes(bytes, lengths[i], NULL, 0);
        must_refuse("a message of a wrong length");
    }
    unsigned seed = (unsigned)getpid();
    for (int i = 0; i < 500; i++) {
        struct request request;
        char *byte = (char *)&request;
        for (size_t k = 0; k < sizeof(request); k++)
            byte[k] = (char)(rand_r(&seed) >> 7);
        request.version = i % 2 ? PROTOCOL_VERSION : request.version;
        send_bytes(&request, sizeof(request), NULL, 0);
        must_refuse("random bytes");
    }
}

static void lie_before_joining(void)
{
    struct request request = {.version = PROTOCOL_VERSION + 1, .kind = REQUEST_HELLO};
    lie("another version", request, -1);
    request.version = PROTOCOL_VERSION;
    for (uint32_t kind = REQUEST_COMMON; kind <= REQUEST_LEAVE + 1; kind++) {
        request.kind = kind;
        request.length = 4096;
        lie("a request before hello", request, -1);
    }
    lie_about_shape();
}

static struct request ask(uint32_t kind, int rank)
{
    return (struct request){.version = PROTOCOL_VERSION,
                            .kind = kind,
                            .rank = rank,
                            .sid = 4242,
                            .rights = RH_ALL,
                            .length = 4096};
}

static void lie_about_descriptors(void)
{
    int pair[2];
    if (pipe2(pair, O_CLOEXEC) < 0)
        fail("pipe");
    int fds[FORGED_FDS] = {
        pair[0],
        pair[1],
        open("/dev/null", O_RDWR | O_CLOEXEC),
        open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
        open("/proc/self/exe", O_PATH | O_CLOEXEC),
        open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
        memfd_create("unsealed", MFD_CLOEXEC),
        memfd_create("sealable", MFD_CLOEXEC | MFD_ALLOW_SEALING),
    };
    struct request request = ask(REQUEST_PUBLISH, 0);
    lie("publishing nothing", request, -1);
    for (int i = 0; i < FORGED_FDS; i++) {
        lie("publishing something that is not sealed memory", request, fds[i]);
        send_bytes(&request, sizeof(request), fds, (size_t)i + 1);
        must_refuse("a heap of descriptors");
    }
    for (int i = 0; i < FORGED_FDS; i++)
        close(fds[i]);
}

static void lie_after_joining(int size)
{
    static const int distances[] = {0, 1, 1000, 1 << 30};
    lie("a second hello", ask(REQUEST_HELLO, 0), -1);
    for (size_t i = 0; i < sizeof(distances) / sizeof(distances[0]); i++) {
        lie("a rank beyond the job", ask(REQUEST_FETCH, size + distances[i]), -1);
        lie("a negative rank", ask(REQUEST_FETCH, -1 - distances[i]), -1);
        lie("a service thread beyond the job", ask(REQUEST_SERVICE_CONNECT, size + distances[i]),
            -1);
        lie("a card beyond the job", ask(REQUEST_CARD_GET, size + distances[i]), -1);
    }
    lie("a card that nobody gave", ask(REQUEST_CARD_GET, 0), -1);
    lie("a card that is too long", ask(REQUEST_CARD_PUT, 0), -1);
    lie("an unknown segment", ask(REQUEST_FETCH, 0), -1);
    lie("withdrawing what is not there", ask(REQUEST_WITHDRAW, 0), -1);
    lie("a name without a letter", ask(REQUEST_NAME_PUT, 0), -1);
    struct request named = ask(REQUEST_NAME_PUT, 0);
    named.length = PROTOCOL_NAME_MAX + 1;
    lie("a name that is too long", named, -1);
    named.kind = REQUEST_NAME_GET;
    lie("a question for a name that is too long", named, -1);
    named.length = 1;
    lie("a name that nobody has", named, -1);
    lie("an unknown request", ask(REQUEST_CLAIM + 1, 0), -1);
    lie_about_shape();
    lie_about_descriptors();
}

static int count_manager_fds(void)
{
    char path[64];
    int count = 0;
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)getppid());
    DIR *folder = opendir(path);
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

static void flood(void)
{
    struct request request = ask(REQUEST_FETCH, 0);
    for (int i = 0; i < 100000; i++) {
        if (send(manager_fd, &request, sizeof(request), MSG_NOSIGNAL) < 0)
            return;
    }
    fail("100000 requests without reading an answer were taken");
}

/* Each rank pushes round numbers to the next honest one and waits for those of the previous. */
static void work(struct rh_job *job, bool skip_rank_1)
{
    int rank = rh_rank(job), size = rh_size(job);
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    if (skip_rank_1 && next == 1)
        next = 2 % size;
    if (skip_rank_1 && previous == 1)
        previous = 0;
    void *base;
    if (rh_segment_alloc(job, SID, 4096, &base) < 0)
        fail("segment");
    if (rh_segment_wait(job, next, SID, RH_TIMEOUT_DEFAULT) < 0)
        fail("the neighbour's segment");
    for (uint64_t round = 1; round <= 200; round++) {
        struct rh_notice notice = {.word = rh_at(next, SID, 0), .value = round};
        struct rh_wait wait = {.word = base,
                               .when = RH_AT_LEAST,
                               .value = round,
                               .from = previous,
                               .timeout_ns = RH_TIMEOUT_DEFAULT};
        if (rh_push_notify(job, rh_at(next, SID, 64), &round, sizeof(round), &notice) < 0 ||
            rh_wait_word(job, &wait) < 0)
            fail("honest work");
    }
}

static void tell_lies(void)
{
    struct rh_job *job;
    lie_before_joining();
    if (rh_join(&job, NULL) < 0)
        fail("join after all those lies");
    int fds_before = count_manager_fds();
    lie_after_joining(rh_size(job));
    if (rh_size(job) == 1 && count_manager_fds() != fds_before)
        fail("the task manager kept a descriptor");
    work(job, false);
    rh_flush(job, RH_ANY_RANK);
    /* Leaving at once would end the neighbour's last wait: its word is there, though. */
    rh_leave(job);
}

static void be_one_bad_rank(bool floods)
{
    struct rh_job *job;
    if (rh_join(&job, NULL) < 0)
        fail("join");
    if (rh_rank(job) != 1) {
        work(job, true);
        rh_leave(job);
        return;
    }
    if (floods)
        flood();
    else
        send(manager_fd, "", 0, MSG_NOSIGNAL);
    void *base;
    if (rh_segment_alloc(job, SID, 4096, &base) == 0)
        fail("a member that was cut off got a segment");
    _exit(0);
}

int main(int argc, char **argv)
{
    const char *setting = getenv("RHINET_MANAGER_FD");
    if (argc != 2 || !setting)
        return 2;
    manager_fd = (int)strtol(setting, NULL, 10);
    if (strcmp(argv[1], "lies") == 0)
        tell_lies();
    else
        be_one_bad_rank(strcmp(argv[1], "flood") == 0);
    return 0;
}
