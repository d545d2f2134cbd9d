/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hearing each other while a link is stuck. After an outage TCP sends again what was lost only
 * when its time comes, which is up to as long again as the outage was: by then a host would be
 * given up that has been reachable for long. So the seat that made the link calls anew, at every
 * beat as long as it hears nothing or its words are not acknowledged. Such a call is proved like
 * any other, brings nothing but the news that both are there, and ends.
 */
#include "job/mesh/state.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

static bool is_stuck(const struct mesh *mesh, const struct mesh_link *link, int64_t now_ns)
{
    int unacknowledged = 0;
    return now_ns - link->heard_ns >= 2 * mesh->beat_ns ||
           (ioctl(link->fd, SIOCOUTQ, &unacknowledged) == 0 && unacknowledged > 0);
}

static void probe(struct mesh *mesh, int seat, int64_t now_ns)
{
    struct mesh_seat *one = &mesh->seats[seat];
    int which = (one->dial_count - 1) % one->addresses.count; /* that was answered */
    int fd = address_connect(one->addresses.text[which], one->addresses.port);
    struct mesh_link *link = fd < 0 ? NULL : link_open(mesh, fd, seat, true);
    if (!link)
        return; /* again at the next beat */
    link->is_probe = true;
    link->ours.purpose = MESH_PROBE;
    link->deadline_ns = now_ns + 3 * mesh->beat_ns;
}

void probe_tick(struct mesh *mesh, int64_t now_ns)
{
    for (int seat = 0; seat < mesh->seat; seat++) {
        const struct mesh_seat *one = &mesh->seats[seat];
        if (one->state == SEAT_UP && one->link && one->dial_count > 0 &&
            is_stuck(mesh, one->link, now_ns))
            probe(mesh, seat, now_ns);
    }
}

void probe_heard(struct mesh *mesh, int seat)
{
    struct mesh_seat *one = &mesh->seats[seat];
    if (one->link)
        one->link->heard_ns = clock_now_ns();
}
