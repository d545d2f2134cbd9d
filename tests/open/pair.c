/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two programs that no launcher has started: `pair listen` prints a TCP port, `pair PORT` connects
 * to it. They exchange addresses over that, and from then on talk by rhinet: each writes a word
 * into the other's memory and sends a message that says which.
 */
#include <rhinet/msg.h>
#include <rhinet/rma.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SID 5

static void check(int result, const char *what)
{
    if (result >= 0)
        return;
    fprintf(stderr, "%s: %s\n", what, rh_error_text());
    exit(1);
}

static void check_call(int result, const char *what)
{
    if (result >= 0)
        return;
    perror(what);
    exit(1);
}

static int be_called(void)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(here);
    int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check_call(bind(listening, (struct sockaddr *)&here, length), "bind");
    check_call(listen(listening, 1), "listen");
    getsockname(listening, (struct sockaddr *)&here, &length);
    printf("%d\n", ntohs(here.sin_port));
    fflush(stdout);
    int line = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    check_call(line, "accept");
    close(listening);
    return line;
}

static int call(const char *port)
{
    struct sockaddr_in there = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int line = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check_call(connect(line, (struct sockaddr *)&there, sizeof(there)), "connect");
    return line;
}

static int meet(struct rh_job *job, int line)
{
    char own[RH_ADDRESS_MAX], theirs[RH_ADDRESS_MAX];
    size_t size = sizeof(own);
    int rank;
    check(rh_address(job, own, &size), "rh_address");
    check_call((int)write(line, own, size), "write");
    if (recv(line, theirs, size, MSG_WAITALL) != (ssize_t)size) {
        fprintf(stderr, "the other one has hung up\n");
        exit(1);
    }
    check(rh_peer(job, theirs, size, &rank), "rh_peer");
    return rank;
}

int main(int argc, char **argv)
{
    struct rh_join_options options = {.struct_size = sizeof(options),
                                      .unstarted = RH_UNSTARTED_OPEN};
    struct rh_job *job;
    struct rh_msg *msg;
    uint64_t *memory, sent, told = 0;
    if (argc != 2)
        return 2;
    int line = strcmp(argv[1], "listen") == 0 ? be_called() : call(argv[1]);
    check(rh_join(&job, &options), "rh_join");
    check(rh_segment_alloc(job, SID, sizeof(*memory), (void **)&memory), "memory");
    check(rh_msg_open(&msg, job), "mailbox");
    int other = meet(job, line);
    sent = (uint64_t)getpid();
    check(rh_push(job, rh_at(other, SID, 0), &sent, sizeof(sent)), "push");
    check(rh_send(msg, other, 1, &sent, sizeof(sent)), "send");
    check(rh_recv(msg, other, 1, &told, sizeof(told), NULL), "receive");
    printf("rank %d has %llu, and was told %llu\n", rh_rank(job), (unsigned long long)*memory,
           (unsigned long long)told);
    shutdown(line, SHUT_WR); /* we need nothing of the other's memory any more */
    char byte;
    check_call((int)read(line, &byte, 1), "read");
    bool is_same = *memory == told;
    check(rh_msg_close(msg), "close");
    return rh_leave(job) < 0 || !is_same;
}
