/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See door.h. Only the same user's processes are let in, each rank once.
 */
#include "simulated/door.h"

#include "base/descriptor.h"
#include "base/error.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#define CLAIM_MS 5000 /* to say which rank it is */

int martini_door_open(char name[MARTINI_DOOR_NAME])
{
    uint8_t random[(MARTINI_DOOR_NAME - 1) / 2];
    struct sockaddr_un address;
    if (getrandom(random, sizeof(random), 0) != sizeof(random))
        return error_fail(RH_ENOSPACE, "no random name for the simulation: %s", strerror(errno));
    for (size_t i = 0; i < sizeof(random); i++)
        snprintf(name + 2 * i, 3, "%02x", random[i]);
    socklen_t length = martini_door_address(&address, name);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, length) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    int result = error_fail(RH_ENOSPACE, "cannot make the simulation's socket: %s",
                            strerror(errno));
    descriptor_close(&fd);
    return result;
}

/* The rank that a caller says it is; < 0: none, or not of this user. */
static int claim_read(int fd)
{
    struct ucred whose = {0};
    socklen_t length = sizeof(whose);
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    int32_t claim;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &whose, &length) < 0 || whose.uid != geteuid() ||
        poll(&ready, 1, CLAIM_MS) <= 0 || recv(fd, &claim, sizeof(claim), 0) != sizeof(claim))
        return -1;
    return claim;
}

static bool caller_take(int door, int *fds, uint32_t size)
{
    int fd = accept4(door, NULL, NULL, SOCK_CLOEXEC);
    int rank = fd < 0 ? -1 : claim_read(fd);
    if (rank < 0 || (uint32_t)rank >= size || fds[rank] >= 0) {
        descriptor_close(&fd);
        return false;
    }
    fds[rank] = fd;
    return true;
}

int martini_door_take(int door, int life, int *fds, uint32_t size)
{
    int result = 0;
    for (uint32_t i = 0; i < size; i++)
        fds[i] = -1;
    for (uint32_t count = 0; count < size && result == 0;) {
        struct pollfd waited[] = {{.fd = door, .events = POLLIN}, {.fd = life, .events = POLLIN}};
        int ready = poll(waited, 2, -1);
        if (ready < 0 && errno != EINTR)
            result = error_fail(RH_EREFUSED, "cannot wait for ranks: %s", strerror(errno));
        else if (ready > 0 && waited[0].revents)
            count += caller_take(door, fds, size);
        else if (ready > 0)
            result = RH_EAGAIN;
    }
    close(door);
    for (uint32_t i = 0; i < size && result < 0; i++)
        descriptor_close(&fds[i]);
    return result;
}
