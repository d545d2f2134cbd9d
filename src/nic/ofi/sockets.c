/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the progress thread sleeps on where the provider uses the kernel's sockets. libfabric's way
 * is to ask for the completion queue's descriptor, but the tcp providers then pay two more system
 * calls for every message, also while nobody sleeps. Their sockets tell the same: those that are
 * bound to our endpoint's address, or connected to that of a peer. They are looked for among the
 * open descriptors when connections may have come, and watched by an epoll of our own; one that is
 * closed leaves it by itself.
 */
#include "base/array.h"
#include "base/clock.h"
#include "base/text.h"
#include "nic/ofi/ofi_nic.h"

#include <dirent.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define YOUNG_NS (200 * NS_PER_MS) /* after a change more connections may come */
#define AGAIN_NS (1 * NS_PER_S)    /* a look for what was missed */
#define SOON_NS  (50 * NS_PER_MS)  /* the same, after something came that may have been one */

static bool is_same_place(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;
    const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;
    if (a->ss_family != b->ss_family)
        return false;
    if (a->ss_family == AF_INET)
        return a4->sin_port == b4->sin_port && a4->sin_addr.s_addr == b4->sin_addr.s_addr;
    return a->ss_family == AF_INET6 && a6->sin6_port == b6->sin6_port &&
           memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr)) == 0;
}

static bool is_peer(const struct ofi_nic *ofi, const struct sockaddr_storage *place)
{
    for (int rank = 0; rank < ofi->nic.job->size; rank++) {
        if (ofi->peers[rank].is_known && is_same_place(&ofi->peers[rank].place, place))
            return true;
    }
    return false;
}

/* Under the lock. */
static bool is_of_network(const struct ofi_nic *ofi, int fd)
{
    struct sockaddr_storage own, place = {0}, peer;
    socklen_t length = sizeof(own);
    memcpy(&place, ofi->card.address, sizeof(struct sockaddr_in6));
    if (getsockname(fd, (struct sockaddr *)&own, &length) != 0)
        return false;
    if (is_same_place(&own, &place))
        return true;
    length = sizeof(peer);
    return (own.ss_family == AF_INET || own.ss_family == AF_INET6) &&
           getpeername(fd, (struct sockaddr *)&peer, &length) == 0 && is_peer(ofi, &peer);
}

static bool make_room(struct ofi_nic *ofi)
{
    return array_grow(&ofi->sockets, &ofi->socket_room, ofi->socket_count + 1);
}

static bool is_listener(int fd)
{
    int listens = 0;
    socklen_t length = sizeof(listens);
    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 && listens;
}

/* Make the list anew; whether there are more than before. */
static bool list_sockets(struct ofi_nic *ofi)
{
    nfds_t before = ofi->socket_count;
    DIR *folder = opendir("/proc/self/fd");
    ofi->socket_count = 1;
    ofi->listener = -1;
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
        uint64_t fd;
        if (!text_to_u64(entry->d_name, &fd) || !is_of_network(ofi, (int)fd) || !make_room(ofi))
            continue;
        ofi->sockets[ofi->socket_count++] = (struct pollfd){.fd = (int)fd, .events = POLLIN};
        if (is_listener((int)fd))
            ofi->listener = (int)fd;
    }
    if (folder)
        closedir(folder);
    return ofi->socket_count > before;
}

void ofi_sockets_open(struct ofi_nic *ofi)
{
    uint32_t format = ofi->info->addr_format;
    bool has_places = format == FI_SOCKADDR_IN || format == FI_SOCKADDR_IN6 ||
                      format == FI_SOCKADDR;
    ofi->has_sockets = ofi->is_stream && has_places;
    ofi->listener = -1;
    make_room(ofi);
}

void ofi_sockets_close(struct ofi_nic *ofi)
{
    free(ofi->sockets);
}

void ofi_sockets_rang(struct ofi_nic *ofi)
{
    ofi->listener_rings = ofi->listener < 0; /* not known: it may have been */
    for (nfds_t i = 1; i < ofi->socket_count; i++) {
        if (ofi->sockets[i].revents != 0 && ofi->sockets[i].fd == ofi->listener)
            ofi->listener_rings = true;
    }
}

void ofi_sockets_changed(struct ofi_nic *ofi)
{
    ofi->sockets_young_ns = clock_now_ns() + YOUNG_NS;
}

void ofi_sockets_look_soon(struct ofi_nic *ofi)
{
    int64_t soon_ns = clock_now_ns() + SOON_NS;
    if (soon_ns < ofi->sockets_again_ns)
        ofi->sockets_again_ns = soon_ns;
}

bool ofi_sockets_are_settled(struct ofi_nic *ofi)
{
    int64_t now_ns = clock_now_ns();
    if (now_ns < ofi->sockets_young_ns || now_ns > ofi->sockets_again_ns) {
        ofi->sockets_again_ns = now_ns + AGAIN_NS;
        if (list_sockets(ofi))
            ofi_sockets_changed(ofi);
    }
    return now_ns >= ofi->sockets_young_ns;
}
