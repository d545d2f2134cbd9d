/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who is out: the rules are in mesh.h.
 *
 * Only hearing counts. A link that TCP believes in, but that brings nothing, is a dead one; and a
 * link that is cut one way brings nothing to one side, which is enough.
 */
#include "base/log.h"
#include "job/mesh/state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *host_of(const struct mesh *mesh, int seat)
{
    return mesh->owner.host(mesh->owner.context, seat);
}

/* An outage of silence_ns may begin just before a beat and end just after a probe; one beat more is
 * for what the probe takes. */
static int64_t patience_ns(const struct mesh *mesh)
{
    return mesh->silence_ns + 3 * mesh->beat_ns;
}

void coordinator_cut(struct mesh *mesh, const char *format, ...)
{
    char text[MESH_TEXT_MAX];
    va_list arguments;
    if (mesh->is_cut)
        return;
    mesh->is_cut = true;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    mesh->owner.cut(mesh->owner.context, text);
}

static void set_lost(struct mesh *mesh, int seat, const char *why)
{
    struct mesh_seat *one = &mesh->seats[seat];
    one->state = SEAT_LOST;
    if (why != one->why)
        snprintf(one->why, sizeof(one->why), "%s", why);
    if (one->link)
        link_finish(mesh, one->link);
    mesh->owner.lost(mesh->owner.context, seat, why);
}

static void send_lost(struct mesh *mesh, struct mesh_link *link, int seat)
{
    struct mesh_frame frame = {.kind = MESH_LOST, .seat = seat};
    size_t length = strlen(mesh->seats[seat].why);
    memcpy(frame.data, mesh->seats[seat].why, length);
    frame.length = (uint32_t)length;
    link_send(mesh, link, &frame);
}

/* The coordinator's word: to the lost one first, then to all others. */
static void declare(struct mesh *mesh, int seat, const char *why)
{
    struct mesh_seat *one = &mesh->seats[seat];
    if (one->state == SEAT_LOST || one->state == SEAT_LEFT || mesh->is_leaving)
        return;
    one->state = SEAT_LOST; /* from now on: a link that breaks while we tell is no news */
    snprintf(one->why, sizeof(one->why), "%s", why);
    if (one->link)
        send_lost(mesh, one->link, seat);
    for (int other = 1; other < mesh->seat_count; other++) {
        struct mesh_link *link = mesh->seats[other].link;
        if (other != seat && link)
            send_lost(mesh, link, seat);
    }
    set_lost(mesh, seat, one->why);
}

void mesh_drop(struct mesh *mesh, int seat, const char *why)
{
    declare(mesh, seat, why);
}

static void report_suspect(struct mesh *mesh, int seat)
{
    struct mesh_frame frame = {.kind = MESH_SUSPECT, .seat = seat};
    mesh_send(mesh, 0, &frame);
}

void coordinator_link_broke(struct mesh *mesh, int seat, const char *why)
{
    struct mesh_seat *one = &mesh->seats[seat];
    char text[MESH_TEXT_MAX];
    if (one->state != SEAT_UP || mesh->is_cut || mesh->is_leaving)
        return;
    if (mesh->seat == 0) {
        snprintf(text, sizeof(text), "the connection to its task manager broke: %s", why);
        declare(mesh, seat, text);
    } else if (seat == 0) {
        coordinator_cut(mesh, "lost the first launcher: %s", why);
    } else {
        report_suspect(mesh, seat);
    }
}

void coordinator_suspected(struct mesh *mesh, int reporter, int suspect)
{
    if (mesh->seat != 0)
        return;
    if (suspect == 0)
        declare(mesh, reporter, "it does not hear the first launcher");
    else if (suspect != reporter)
        suspicion_add(mesh, reporter, suspect);
}

void coordinator_told_lost(struct mesh *mesh, int seat, const char *why)
{
    if (seat == mesh->seat)
        coordinator_cut(mesh, "the first launcher has given up this host: %s", why);
    else if (mesh->seats[seat].state != SEAT_LOST)
        set_lost(mesh, seat, why);
}

void coordinator_left(struct mesh *mesh, int seat, int status)
{
    struct mesh_seat *one = &mesh->seats[seat];
    if (one->state != SEAT_UP)
        return;
    one->state = SEAT_LEFT;
    link_finish(mesh, one->link);
    if (seat == 0) {
        coordinator_cut(mesh, "the first launcher has ended");
        return;
    }
    mesh->owner.left(mesh->owner.context, seat, status);
}

void coordinator_turn_away(struct mesh *mesh, struct mesh_link *link)
{
    log_warning("task manager: host %s came back after it was lost; turned away",
                host_of(mesh, link->seat));
    if (mesh->seat == 0)
        send_lost(mesh, link, link->seat);
    link_finish(mesh, link);
}

static void check_silence(struct mesh *mesh, int seat, int64_t now_ns)
{
    struct mesh_seat *one = &mesh->seats[seat];
    char text[MESH_TEXT_MAX];
    if (one->state != SEAT_UP || seat == mesh->seat)
        return;
    if (!one->link) { /* it broke, of which the coordinator has been told, but may not have heard */
        report_suspect(mesh, seat);
        return;
    }
    int64_t silent_ns = now_ns - one->link->heard_ns;
    if (silent_ns < patience_ns(mesh))
        return;
    if (mesh->seat == 0) {
        snprintf(text, sizeof(text), "it does not answer (nothing heard for %.1f s)",
                 (double)silent_ns / NS_PER_S);
        declare(mesh, seat, text);
    } else if (seat == 0) {
        report_suspect(mesh, 0); /* perhaps it still hears us */
        coordinator_cut(mesh, "the first launcher does not answer (nothing heard for %.1f s)",
                        (double)silent_ns / NS_PER_S);
    } else {
        report_suspect(mesh, seat);
    }
}

/* While we were stopped or starved ourselves we could not hear anybody, and what was suspected
 * then is stale. */
static void forgive(struct mesh *mesh, int64_t absent_ns, int64_t now_ns)
{
    for (struct mesh_link *link = mesh->links; link; link = link->next)
        link->heard_ns = link->heard_ns + absent_ns < now_ns ? link->heard_ns + absent_ns : now_ns;
    mesh->suspicions.count = 0;
}

void coordinator_tick(struct mesh *mesh, int64_t now_ns)
{
    struct mesh_frame beat = {.kind = MESH_BEAT};
    int64_t since_ns = now_ns - mesh->last_beat_ns;
    if (since_ns < mesh->beat_ns * 9 / 10)
        return;
    if (mesh->last_beat_ns > 0 && since_ns > 2 * mesh->beat_ns)
        forgive(mesh, since_ns - mesh->beat_ns, now_ns);
    mesh->last_beat_ns = now_ns;
    if (mesh->is_cut || mesh->is_leaving)
        return;
    if (!mesh->is_paused)
        probe_tick(mesh, now_ns);
    mesh_send_all(mesh, &beat);
    if (mesh->is_paused)
        return;
    for (int seat = 0; seat < mesh->seat_count; seat++)
        check_silence(mesh, seat, now_ns);
    if (mesh->seat == 0)
        suspicion_tick(mesh, now_ns);
}
