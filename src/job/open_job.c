/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See open_job.h.
 */
#include "job/open_job.h"

#include "base/error.h"
#include "job/protocol.h"
#include "job/this_host.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char magic[4] = {'R', 'H', 'a', '1'};

socklen_t open_job_place(struct sockaddr_un *address, const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(name) > OPEN_JOB_NAME_MAX || name[strspn(name, letters)] != '\0')
        return 0;
    /* Those of another version could not talk to us: they meet elsewhere. */
    int length = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1,
                          "rhinet-open-%u-%u%s%s", PROTOCOL_VERSION, (unsigned)geteuid(),
                          name[0] ? "-" : "", name);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

int64_t open_job_caller(int fd, int *pid)
{
    struct ucred who = {.pid = 0};
    socklen_t length = sizeof(who);
    *pid = 0;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) < 0 || length != sizeof(who))
        return -1;
    *pid = who.pid;
    return (int64_t)who.uid;
}

static void make_check(const struct job_address *address, uint8_t check[8])
{
    uint8_t hash[crypto_generichash_BYTES_MIN];
    crypto_generichash(hash, sizeof(hash), (const uint8_t *)address,
                       offsetof(struct job_address, check), NULL, 0);
    memcpy(check, hash, sizeof(address->check));
}

void job_address_make(struct job_address *address, uint64_t job_id, int rank, uint32_t serial)
{
    char host[THIS_HOST_TEXT];
    memset(address, 0, sizeof(*address));
    memcpy(address->magic, magic, sizeof(magic));
    address->rank = rank;
    address->job_id = job_id;
    address->serial = serial;
    address->user = (uint32_t)geteuid();
    this_host_text(host);
    crypto_generichash(address->host, sizeof(address->host), (const uint8_t *)host, strlen(host),
                       NULL, 0);
    make_check(address, address->check);
}

int job_address_read(struct job_address *address, const void *bytes, size_t size)
{
    uint8_t check[sizeof(address->check)];
    if (!bytes || size < sizeof(*address))
        return error_fail(RH_EINVALID, "an address has %zu bytes, these are %zu", sizeof(*address),
                          bytes ? size : 0);
    memcpy(address, bytes, sizeof(*address));
    make_check(address, check);
    if (memcmp(address->magic, magic, sizeof(magic)) != 0 ||
        memcmp(check, address->check, sizeof(check)) != 0)
        return error_fail(RH_EINVALID,
                          "these %zu bytes are no address of rh_address(): damaged on the way, or "
                          "of another version of rhinet",
                          size);
    return 0;
}
