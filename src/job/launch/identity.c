/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who a rank is, for programs that do not join: variables of its environment. Ours
 * (RHINET_RANK, ...) are always set; those that torchrun made common (RANK, ...) only where the
 * user has not set them. What an outer `rhinet run` has set is not the user's.
 *
 * The master's address and port must be the same for all, so the first launcher decides, and the
 * other hosts are told (orders.h).
 */
#include "base/descriptor.h"
#include "job/launch/parts.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

/* Below the ports that the kernel gives to those who do not care. */
#define PORT_FIRST 20000
#define PORT_COUNT 12000
#define PORT_TRIES 32

/* What the number is; the same order twice, ours and the common ones. */
enum { RANK, SIZE, LOCAL_RANK, LOCAL_SIZE, NUMBER_COUNT };
enum { MASTER_ADDRESS = 2 * NUMBER_COUNT, MASTER_PORT };

static const char *const names[LAUNCH_IDENTITY_COUNT] = {
    "RHINET_RANK", "RHINET_SIZE", "RHINET_LOCAL_RANK", "RHINET_LOCAL_SIZE", "RANK",
    "WORLD_SIZE",  "LOCAL_RANK",  "LOCAL_WORLD_SIZE",  "MASTER_ADDR",       "MASTER_PORT",
};

/* The value of a variable in this environment, or NULL: it is not there, or empty. */
static const char *value_of(char *const *environment, const char *name)
{
    size_t length = strlen(name);
    for (; *environment; environment++) {
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return (*environment)[length + 1] ? *environment + length + 1 : NULL;
    }
    return NULL;
}

/* An entry of the user's environment that ours take the place of. */
static bool is_replaced(const struct launch_identity *identity, const char *entry)
{
    for (int i = 0; i < LAUNCH_IDENTITY_COUNT; i++) {
        size_t length = strlen(names[i]);
        if (identity->is_set[i] && strncmp(entry, names[i], length) == 0 && entry[length] == '=')
            return true;
    }
    return false;
}

size_t launch_identity_open(struct launch_identity *identity, char *const *environment,
                            char **slots)
{
    size_t used = 0;
    bool is_inside = value_of(environment, names[RANK]) != NULL;
    for (int i = 0; i < LAUNCH_IDENTITY_COUNT; i++) {
        bool is_common = i >= NUMBER_COUNT && i < MASTER_ADDRESS;
        identity->is_set[i] = !is_common || is_inside || !value_of(environment, names[i]);
        if (identity->is_set[i])
            slots[used++] = identity->text[i];
    }
    identity->count = used;
    for (; *environment; environment++) {
        if (!is_replaced(identity, *environment))
            slots[used++] = *environment;
    }
    return used;
}

/* ---- The master ------------------------------------------------------------------------------ */

static bool is_port_free(uint16_t port)
{
    struct sockaddr_in6 both = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    struct sockaddr_in old = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_free;
    if (fd >= 0) {
        is_free = bind(fd, (struct sockaddr *)&both, sizeof(both)) == 0;
    } else { /* a kernel without IPv6 */
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        is_free = fd >= 0 && bind(fd, (struct sockaddr *)&old, sizeof(old)) == 0;
    }
    descriptor_close(&fd);
    return is_free;
}

/* By chance, so that two jobs rarely meet; on this host one that nobody has at the moment. */
static uint16_t choose_port(bool is_here)
{
    uint32_t chance = (uint32_t)getpid();
    (void)!getrandom(&chance, sizeof(chance), 0);
    uint16_t port = PORT_FIRST;
    for (uint32_t i = 0; i < PORT_TRIES; i++) {
        port = (uint16_t)(PORT_FIRST + (chance % PORT_COUNT + i) % PORT_COUNT);
        if (!is_here || is_port_free(port))
            break;
    }
    return port;
}

/* Rank 0's host: by an address that the other hosts have for this one, else as the user calls
 * it. */
static const char *choose_address(const struct launcher *launcher, bool is_here)
{
    if (!launcher->map)
        return "127.0.0.1";
    const struct address_list *own = manager_addresses(launcher->manager);
    if (is_here && own && own->count > 0)
        return own->text[0];
    const char *host = launcher->map->host[launcher->map->node_of[0]];
    const char *at = strrchr(host, '@'); /* the remote shell may want a user's name before it */
    return at ? at + 1 : host;
}

void launch_identity_master(struct launcher *launcher)
{
    const struct launch_options *options = launcher->options;
    struct launch_master *master = &launcher->identity.master;
    if (options->master) {
        *master = *options->master;
        return;
    }
    bool is_inside = value_of(options->environ, names[RANK]) != NULL; /* they are the outer job's */
    const char *address = is_inside ? NULL : value_of(options->environ, names[MASTER_ADDRESS]);
    const char *port = is_inside ? NULL : value_of(options->environ, names[MASTER_PORT]);
    bool is_here = job_map_is_here(launcher->map, 0);
    snprintf(master->address, sizeof(master->address), "%s",
             address ? address : choose_address(launcher, is_here));
    if (port)
        snprintf(master->port, sizeof(master->port), "%s", port);
    else
        snprintf(master->port, sizeof(master->port), "%u", choose_port(is_here));
}

/* ---- One rank -------------------------------------------------------------------------------- */

void launch_identity_write(struct launcher *launcher, int which)
{
    struct launch_identity *identity = &launcher->identity;
    const int number[NUMBER_COUNT] = {launcher->ranks[which].rank, launcher->options->size, which,
                                      launcher->local_count};
    for (int i = 0; i < MASTER_ADDRESS; i++)
        snprintf(identity->text[i], sizeof(identity->text[i]), "%s=%d", names[i],
                 number[i % NUMBER_COUNT]);
    snprintf(identity->text[MASTER_ADDRESS], sizeof(identity->text[0]), "%s=%s",
             names[MASTER_ADDRESS], identity->master.address);
    snprintf(identity->text[MASTER_PORT], sizeof(identity->text[0]), "%s=%s", names[MASTER_PORT],
             identity->master.port);
}
