/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Open jobs, which processes join one by one without a launcher: what members and the task manager
 * agree on.
 *
 * The processes of one user on one host meet at an abstract socket, whose name is made of the
 * user's number. Who finds nobody there listens itself and starts the manager program
 * (manager/main.c), which gets that socket, serves all who come, and ends with the last of them.
 * The kernel tells both sides who the other is; whoever is of another user is sent away. An
 * abstract name vanishes with the socket, so that nothing is left of a job whose processes were all
 * killed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Descriptors of the manager program. Its arguments: OPEN_JOB_WORD, NIC, ranks, command. */
#define OPEN_JOB_LISTEN_FD 3
#define OPEN_JOB_REPORT_FD 4 /* says "+", or "-" and what went wrong */
#define OPEN_JOB_WORD      "open"

#define OPEN_JOB_NAME_MAX 48

/* Where the open job `name` ("": the usual one) of this user meets. The length, or 0 if the name is
 * too long or has other characters than letters, digits and ".-_". */
socklen_t open_job_place(struct sockaddr_un *address, const char *name);

/* The user of the other end, as the kernel says; -1: it does not. *pid is its process, 0 if that is
 * none of our names for processes. */
int64_t open_job_caller(int fd, int *pid);

/* ---- Addresses ------------------------------------------------------------------------------ */

/* What programs send each other; the bytes are what counts, they may lie anywhere. */
struct job_address {
    char magic[4];
    int32_t rank;
    uint64_t job_id;
    uint32_t serial; /* roster_peer.serial */
    uint32_t user;
    uint8_t host[16]; /* of this_host_text() */
    uint8_t check[8]; /* of all before */
};
_Static_assert(sizeof(struct job_address) == 48, "said to others");

void job_address_make(struct job_address *address, uint64_t job_id, int rank, uint32_t serial);

/* RH_EINVALID: these are not the bytes of an address. */
int job_address_read(struct job_address *address, const void *bytes, size_t size);
