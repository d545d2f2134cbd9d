/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making links: the higher seat calls the lower one, at each of its addresses in turn, a few times.
 */
#include "base/log.h"
#include "job/mesh/state.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROUNDS       3
#define PENDING_MAX  256 /* connections of which we do not know yet whose they are */
#define LOGGED_COUNT 16  /* afterwards strangers are only counted */
#define PATIENCE_NS  (2 * NS_PER_S)

/* ---- Calling -------------------------------------------------------------------------------- */

static void give_up(struct mesh *mesh, int seat)
{
    struct mesh_seat *one = &mesh->seats[seat];
    char tried[MESH_TEXT_MAX - 200] = "";
    size_t used = 0;
    for (int i = 0; i < one->addresses.count && used + 1 < sizeof(tried); i++)
        used += (size_t)snprintf(tried + used, sizeof(tried) - used, "%s%s port %u (%s)",
                                 i > 0 ? ", " : "", one->addresses.text[i], one->addresses.port,
                                 one->dial_error[i]);
    coordinator_cut(
        mesh,
        "cannot reach the task manager of host %s at %s; is the port open in the firewall? "
        "RHINET_PORTS and RHINET_INTERFACE choose where it listens",
        mesh->owner.host(mesh->owner.context, seat), tried);
}

static void note_error(struct mesh_seat *one, int attempt, const char *why)
{
    char *note = one->dial_error[attempt % one->addresses.count];
    snprintf(note, sizeof(one->dial_error[0]), "%s", why);
}

static void dial(struct mesh *mesh, int seat, int64_t now_ns)
{
    struct mesh_seat *one = &mesh->seats[seat];
    if (one->dial_count >= ROUNDS * one->addresses.count) {
        give_up(mesh, seat);
        return;
    }
    int attempt = one->dial_count++;
    const char *text = one->addresses.text[attempt % one->addresses.count];
    int fd = address_connect(text, one->addresses.port);
    if (fd < 0) {
        note_error(one, attempt, strerror(-fd));
        return;
    }
    one->link = link_open(mesh, fd, seat, true);
    if (!one->link)
        note_error(one, attempt, "out of memory");
    else if (one->addresses.count > 1)
        one->link->deadline_ns = now_ns + PATIENCE_NS;
}

void dial_tick(struct mesh *mesh, int64_t now_ns)
{
    for (int seat = 0; seat < mesh->seat && !mesh->is_cut; seat++) {
        struct mesh_seat *one = &mesh->seats[seat];
        if (one->state == SEAT_AWAITED && one->is_known && !one->link)
            dial(mesh, seat, now_ns);
    }
}

void dial_failed(struct mesh *mesh, struct mesh_link *link, const char *why)
{
    struct mesh_seat *one = &mesh->seats[link->seat];
    if (one->state == SEAT_AWAITED && one->dial_count > 0)
        note_error(one, one->dial_count - 1, why);
}

/* ---- Being called --------------------------------------------------------------------------- */

static int pending_count(const struct mesh *mesh)
{
    int count = 0;
    for (const struct mesh_link *link = mesh->links; link; link = link->next)
        count += !link->is_caller && link->phase < LINK_CONFIRM;
    return count;
}

void dial_accept(struct mesh *mesh)
{
    for (;;) {
        int fd = accept4(mesh->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        if (pending_count(mesh) >= PENDING_MAX)
            close(fd);
        else
            link_open(mesh, fd, -1, false);
    }
}

void dial_refuse(struct mesh *mesh, struct mesh_link *link, const char *why)
{
    mesh->refused_count++;
    mesh->owner.refused(mesh->owner.context, mesh->refused_count);
    if (mesh->refused_count <= LOGGED_COUNT)
        log_warning("task manager: refused a connection from %s: %s", link->from, why);
}

bool dial_is_skewed(struct mesh *mesh, const struct mesh_link *link)
{
    const struct mesh_hello *theirs = &link->theirs;
    if (theirs->version == MESH_VERSION && strcmp(theirs->library, RHINET_VERSION) == 0)
        return false;
    char text[MESH_TEXT_MAX];
    snprintf(text, sizeof(text),
             "it is rhinet %s (mesh version %u), this one is %s (%u); install the same version on "
             "all hosts",
             theirs->library, theirs->version, RHINET_VERSION, MESH_VERSION);
    link_close(mesh, (struct mesh_link *)link, text);
    if (link->is_caller)
        coordinator_cut(mesh, "the task manager of host %s refuses us: %s",
                        mesh->owner.host(mesh->owner.context, link->seat), text);
    return true;
}
