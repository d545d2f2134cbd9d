/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See address.h.
 */
#include "job/address.h"

#include "base/error.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union socket_name {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_storage room;
};

static bool name_parse(const char *text, uint16_t port, union socket_name *name, socklen_t *length)
{
    memset(name, 0, sizeof(*name));
    if (inet_pton(AF_INET, text, &name->v4.sin_addr) == 1) {
        name->v4.sin_family = AF_INET;
        name->v4.sin_port = htons(port);
        *length = sizeof(name->v4);
        return true;
    }
    if (inet_pton(AF_INET6, text, &name->v6.sin6_addr) == 1) {
        name->v6.sin6_family = AF_INET6;
        name->v6.sin6_port = htons(port);
        *length = sizeof(name->v6);
        return true;
    }
    return false;
}

static void name_print(const union socket_name *name, char text[ADDRESS_TEXT])
{
    snprintf(text, ADDRESS_TEXT, "?");
    if (name->any.sa_family == AF_INET)
        inet_ntop(AF_INET, &name->v4.sin_addr, text, ADDRESS_TEXT);
    else if (name->any.sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&name->v6.sin6_addr))
        inet_ntop(AF_INET, &name->v6.sin6_addr.s6_addr[12], text, ADDRESS_TEXT);
    else if (name->any.sa_family == AF_INET6)
        inet_ntop(AF_INET6, &name->v6.sin6_addr, text, ADDRESS_TEXT);
}

/* ---- Own addresses -------------------------------------------------------------------------- */

/* IPv4 before IPv6 before loopback; 0: not usable. */
static int worth(const struct ifaddrs *interface)
{
    const union socket_name *name = (const void *)interface->ifa_addr;
    if (!name || !(interface->ifa_flags & IFF_UP))
        return 0;
    if (name->any.sa_family == AF_INET)
        return interface->ifa_flags & IFF_LOOPBACK ? 1 : 3;
    if (name->any.sa_family != AF_INET6 || interface->ifa_flags & IFF_LOOPBACK)
        return 0;
    return IN6_IS_ADDR_LINKLOCAL(&name->v6.sin6_addr) ? 0 : 2;
}

static const uint8_t *address_bytes(const union socket_name *name, unsigned *bits)
{
    *bits = name->any.sa_family == AF_INET ? 32 : 128;
    return name->any.sa_family == AF_INET ? (const uint8_t *)&name->v4.sin_addr
                                          : name->v6.sin6_addr.s6_addr;
}

static bool is_in_subnet(const union socket_name *name, const char *subnet)
{
    char text[ADDRESS_TEXT];
    const char *slash = strchr(subnet, '/');
    size_t length = slash ? (size_t)(slash - subnet) : strlen(subnet);
    union socket_name net;
    socklen_t unused;
    if (length >= sizeof(text))
        return false;
    memcpy(text, subnet, length);
    text[length] = '\0';
    if (!name_parse(text, 0, &net, &unused) || net.any.sa_family != name->any.sa_family)
        return false;
    unsigned most;
    const uint8_t *ours = address_bytes(name, &most);
    const uint8_t *theirs = address_bytes(&net, &most);
    uint64_t bits = most;
    if (slash && (!text_to_u64(slash + 1, &bits) || bits > most))
        return false;
    for (unsigned bit = 0; bit < bits; bit++) {
        if (((ours[bit / 8] ^ theirs[bit / 8]) >> (7 - bit % 8)) & 1)
            return false;
    }
    return true;
}

static bool is_wanted(const struct ifaddrs *interface, const char *wanted)
{
    return wanted[0] == '\0' || strcmp(interface->ifa_name, wanted) == 0 ||
           is_in_subnet((const void *)interface->ifa_addr, wanted);
}

static int none_wanted(const struct ifaddrs *all, const char *wanted)
{
    char have[160] = "";
    size_t used = 0;
    for (const struct ifaddrs *one = all; one; one = one->ifa_next) {
        char text[ADDRESS_TEXT];
        if (worth(one) == 0)
            continue;
        name_print((const void *)one->ifa_addr, text);
        if (used + ADDRESS_TEXT < sizeof(have))
            used += (size_t)snprintf(have + used, sizeof(have) - used, "%s%s %s",
                                     used > 0 ? ", " : "", one->ifa_name, text);
    }
    return error_fail(RH_EINVALID,
                      "RHINET_INTERFACE=%s: no such interface or subnet here; there is: %s", wanted,
                      have);
}

int address_own(struct address_list *list, const char *wanted)
{
    struct ifaddrs *all = NULL;
    *list = (struct address_list){0};
    if (getifaddrs(&all) != 0)
        return error_fail(RH_EREFUSED, "cannot list the network interfaces: %s", strerror(errno));
    for (int value = 3; value > 0; value--) {
        for (const struct ifaddrs *one = all; one; one = one->ifa_next) {
            if (worth(one) == value && is_wanted(one, wanted) && list->count < ADDRESSES_MAX)
                name_print((const void *)one->ifa_addr, list->text[list->count++]);
        }
    }
    int result = list->count > 0 ? 0 : none_wanted(all, wanted);
    freeifaddrs(all);
    return result;
}

/* ---- Sockets -------------------------------------------------------------------------------- */

static bool parse_ports(const char *ports, uint16_t *first, uint16_t *last)
{
    char text[16];
    uint64_t low, high;
    size_t length = strcspn(ports, "-");
    if (ports[0] == '\0')
        ports = "0", length = 1;
    if (length >= sizeof(text))
        return false;
    memcpy(text, ports, length);
    text[length] = '\0';
    if (!text_to_u64(text, &low))
        return false;
    high = low;
    if (ports[length] == '-' && !text_to_u64(ports + length + 1, &high))
        return false;
    *first = (uint16_t)low;
    *last = (uint16_t)high;
    return low <= high && high <= UINT16_MAX && (low > 0 || high == 0);
}

static int listen_at(const char *address, uint16_t port)
{
    union socket_name name;
    socklen_t length;
    if (!name_parse(address, port, &name, &length))
        return -EINVAL;
    int fd = socket(name.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    int no = 0;
    if (name.any.sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
    if (bind(fd, &name.any, length) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    int error = -errno;
    close(fd);
    return error;
}

/* Everywhere, unless an interface was chosen: then there and nowhere else. */
static int listen_on_port(const struct address_list *list, const char *wanted, uint16_t port)
{
    if (wanted[0])
        return listen_at(list->text[0], port);
    int fd = listen_at("::", port);
    return fd == -EAFNOSUPPORT || fd == -EADDRNOTAVAIL ? listen_at("0.0.0.0", port) : fd;
}

int address_listen(struct address_list *list, const char *wanted, const char *ports)
{
    uint16_t first, last;
    if (!parse_ports(ports, &first, &last))
        return error_fail(RH_EINVALID, "RHINET_PORTS=%s: a range such as 7000-7100 is expected",
                          ports);
    int fd = -EADDRINUSE;
    for (unsigned port = first; port <= last && fd < 0; port++)
        fd = listen_on_port(list, wanted, (uint16_t)port);
    if (fd < 0)
        return error_fail(
            RH_EREFUSED,
            "the task manager cannot listen on port %u to %u: %s; set RHINET_PORTS to others",
            first, last, strerror(-fd));
    union socket_name name;
    socklen_t length = sizeof(name);
    getsockname(fd, &name.any, &length);
    list->port = ntohs(name.any.sa_family == AF_INET ? name.v4.sin_port : name.v6.sin6_port);
    if (wanted[0])
        list->count = 1;
    return fd;
}

int address_connect(const char *text, uint16_t port)
{
    union socket_name name;
    socklen_t length;
    if (!name_parse(text, port, &name, &length))
        return -EINVAL;
    int fd = socket(name.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, &name.any, length) == 0 || errno == EINPROGRESS)
        return fd;
    int error = -errno;
    close(fd);
    return error;
}

void address_of_peer(int fd, char text[ADDRESS_TEXT])
{
    union socket_name name = {.any.sa_family = AF_UNSPEC};
    socklen_t length = sizeof(name);
    getpeername(fd, &name.any, &length);
    name_print(&name, text);
}

void address_of_self(int fd, char text[ADDRESS_TEXT])
{
    union socket_name name = {.any.sa_family = AF_UNSPEC};
    socklen_t length = sizeof(name);
    getsockname(fd, &name.any, &length);
    name_print(&name, text);
}

/* ---- As text -------------------------------------------------------------------------------- */

void address_list_print(const struct address_list *list, char *text, size_t text_size)
{
    size_t used = (size_t)snprintf(text, text_size, "%u", list->port);
    for (int i = 0; i < list->count && used < text_size; i++)
        used += (size_t)snprintf(text + used, text_size - used, " %s", list->text[i]);
}

bool address_list_parse(struct address_list *list, const char *text)
{
    char copy[ADDRESSES_MAX * ADDRESS_TEXT + 16];
    uint64_t port;
    char *rest = copy;
    if (strlen(text) >= sizeof(copy))
        return false;
    memcpy(copy, text, strlen(text) + 1);
    *list = (struct address_list){0};
    char *word = strsep(&rest, " ");
    if (!text_to_u64(word, &port) || port == 0 || port > UINT16_MAX)
        return false;
    list->port = (uint16_t)port;
    while ((word = strsep(&rest, " "))) {
        union socket_name name;
        socklen_t length;
        if (list->count == ADDRESSES_MAX || strlen(word) >= ADDRESS_TEXT ||
            !name_parse(word, 0, &name, &length))
            return false;
        memcpy(list->text[list->count++], word, strlen(word) + 1);
    }
    return list->count > 0;
}
