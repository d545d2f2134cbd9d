/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How all get to know each other: everyone calls the coordinator and says where it listens; when
 * all have, the coordinator tells everyone; they call each other, say that they are ready, and the
 * coordinator says go.
 */
#include "job/mesh/state.h"

#include <stdio.h>
#include <string.h>

static bool is_among(const struct address_list *list, const char *text)
{
    for (int i = 0; i < list->count; i++) {
        if (strcmp(list->text[i], text) == 0)
            return true;
    }
    return false;
}

/* The address by which we have seen it work, if it is one of those that were chosen. */
static void choose_address(struct mesh_seat *one, const char *seen)
{
    const char *best = is_among(&one->addresses, seen) ? seen : one->addresses.text[0];
    if (one->address[0] == '\0')
        memcpy(one->address, best, strlen(best) + 1);
}

static void put_text(struct mesh_frame *frame, const char *text)
{
    size_t length = strnlen(text, MESH_DATA_MAX - 1);
    memcpy(frame->data, text, length);
    frame->length = (uint32_t)length;
}

/* The data as text; frame->data has room for the end, since it is zeroed before it is filled. */
static const char *text_of(const struct mesh_frame *frame)
{
    return (const char *)frame->data;
}

static void report_to_coordinator(struct mesh *mesh)
{
    char text[MESH_DATA_MAX];
    struct mesh_frame frame = {.kind = MESH_NODE};
    address_list_print(&mesh->own, text, sizeof(text));
    put_text(&frame, text);
    mesh_send(mesh, 0, &frame);
}

static void told_where(struct mesh *mesh, struct mesh_link *link, const struct mesh_frame *frame)
{
    struct mesh_seat *one = &mesh->seats[link->seat];
    char seen[ADDRESS_TEXT];
    if (mesh->seat != 0 || one->is_known || !address_list_parse(&one->addresses, text_of(frame)))
        return;
    one->is_known = true;
    address_of_peer(link->fd, seen);
    choose_address(one, seen);
    address_of_self(link->fd, seen);
    choose_address(&mesh->seats[0], seen);
}

static void tell_everyone(struct mesh *mesh)
{
    for (int seat = 0; seat < mesh->seat_count; seat++) {
        struct mesh_seat *one = &mesh->seats[seat];
        struct mesh_frame frame = {.kind = MESH_ENTRY, .seat = seat};
        char list[MESH_DATA_MAX - ADDRESS_TEXT - 1];
        char text[MESH_DATA_MAX];
        address_list_print(&one->addresses, list, sizeof(list));
        snprintf(text, sizeof(text), "%s|%s", one->address, list);
        put_text(&frame, text);
        mesh_send_all(mesh, &frame);
    }
    mesh->has_table = true;
}

static void got_entry(struct mesh *mesh, const struct mesh_frame *frame)
{
    const char *text = text_of(frame);
    const char *bar = strchr(text, '|');
    struct mesh_seat *one = &mesh->seats[frame->seat];
    if (!bar || bar - text >= ADDRESS_TEXT || !address_list_parse(&one->addresses, bar + 1))
        return;
    memcpy(one->address, text, (size_t)(bar - text));
    one->address[bar - text] = '\0';
    one->is_known = true;
    mesh->has_table = frame->seat == mesh->seat_count - 1;
    dial_tick(mesh, clock_now_ns());
}

static bool all_are_up(const struct mesh *mesh)
{
    for (int seat = 0; seat < mesh->seat_count; seat++) {
        if (seat != mesh->seat && mesh->seats[seat].state != SEAT_UP)
            return false;
    }
    return true;
}

static bool all_are(const struct mesh *mesh, bool ready)
{
    for (int seat = 0; seat < mesh->seat_count; seat++) {
        const struct mesh_seat *one = &mesh->seats[seat];
        if (ready ? !one->is_ready : !one->is_known)
            return false;
    }
    return true;
}

static void get_ready(struct mesh *mesh)
{
    if (mesh->is_ready)
        return;
    mesh->is_ready = true;
    mesh->owner.ready(mesh->owner.context);
}

/* What comes next, after anything has changed. */
static void go_on(struct mesh *mesh)
{
    struct mesh_seat *self = &mesh->seats[mesh->seat];
    if (mesh->is_ready || mesh->is_cut || !all_are_up(mesh))
        return;
    if (mesh->seat == 0 && !mesh->has_table && all_are(mesh, false))
        tell_everyone(mesh);
    if (!self->is_ready && mesh->has_table) {
        struct mesh_frame frame = {.kind = MESH_READY};
        self->is_ready = true;
        if (mesh->seat != 0)
            mesh_send(mesh, 0, &frame);
    }
    if (mesh->seat == 0 && all_are(mesh, true)) {
        struct mesh_frame frame = {.kind = MESH_GO};
        mesh_send_all(mesh, &frame);
        get_ready(mesh);
    }
}

void wireup_link_is_up(struct mesh *mesh, struct mesh_link *link)
{
    struct mesh_seat *one = &mesh->seats[link->seat];
    link->heard_ns = clock_now_ns();
    if (one->state == SEAT_LOST || one->state == SEAT_LEFT || mesh->is_cut) {
        coordinator_turn_away(mesh, link);
        return;
    }
    if (link->is_probe) {
        probe_heard(mesh, link->seat);
        if (!link->is_caller)
            link_finish(mesh, link); /* else when it ends it: it may have to tell us that we are
                                        lost */
        return;
    }
    if (one->state == SEAT_UP || (one->link && one->link != link)) {
        link->phase = LINK_PROOF; /* it has proved itself, but that seat is taken */
        link_close(mesh, link, "its seat is taken");
        return;
    }
    one->state = SEAT_UP;
    one->link = link;
    if (mesh->seat != 0 && link->seat == 0)
        report_to_coordinator(mesh);
    go_on(mesh);
}

void wireup_tick(struct mesh *mesh, int64_t now_ns)
{
    char missing[MESH_TEXT_MAX - 200] = "";
    size_t used = 0;
    if (mesh->is_ready || mesh->is_cut)
        return;
    dial_tick(mesh, now_ns);
    if (now_ns < mesh->start_deadline_ns || mesh->is_cut)
        return;
    for (int seat = 0; seat < mesh->seat_count && used + 80 < sizeof(missing); seat++) {
        const struct mesh_seat *one = &mesh->seats[seat];
        bool is_here = seat == mesh->seat || (mesh->seat == 0 ? one->is_ready : one->link != NULL);
        if (!is_here)
            used += (size_t)snprintf(missing + used, sizeof(missing) - used, "%s%s",
                                     used > 0 ? ", " : "",
                                     mesh->owner.host(mesh->owner.context, seat));
    }
    coordinator_cut(
        mesh,
        "not all hosts were there in time (RHINET_TIMEOUT); missing: %s. Do they reach each "
        "other's ports? RHINET_PORTS and RHINET_INTERFACE choose where they listen",
        missing);
}

static bool is_from_coordinator(const struct mesh_frame *frame)
{
    return frame->kind == MESH_ENTRY || frame->kind == MESH_GO || frame->kind == MESH_LOST ||
           frame->kind == MESH_PAUSE || frame->kind == MESH_RESUME;
}

static bool is_sound(const struct mesh *mesh, const struct mesh_link *link,
                     const struct mesh_frame *frame)
{
    if (frame->kind >= MESH_OWNER)
        return true;
    if (is_from_coordinator(frame) && link->seat != 0)
        return false;
    return frame->seat >= 0 && frame->seat < mesh->seat_count;
}

static void pause_others(struct mesh *mesh, bool yes)
{
    mesh->is_paused = yes;
    for (struct mesh_link *link = mesh->links; link; link = link->next)
        link->heard_ns = clock_now_ns();
    mesh->owner.paused(mesh->owner.context, yes);
}

void wireup_frame(struct mesh *mesh, struct mesh_link *link, const struct mesh_frame *frame)
{
    struct mesh_frame own = *frame;
    own.data[MESH_DATA_MAX - 1] = '\0';
    if (!is_sound(mesh, link, frame)) {
        link_close(mesh, link, "what it says makes no sense");
        return;
    }
    switch (frame->kind) {
    case MESH_BEAT:
        break;
    case MESH_NODE:
        told_where(mesh, link, &own);
        break;
    case MESH_ENTRY:
        got_entry(mesh, &own);
        break;
    case MESH_READY:
        mesh->seats[link->seat].is_ready = true;
        break;
    case MESH_GO:
        get_ready(mesh);
        break;
    case MESH_SUSPECT:
        coordinator_suspected(mesh, link->seat, frame->seat);
        break;
    case MESH_LOST:
        coordinator_told_lost(mesh, frame->seat, text_of(&own));
        break;
    case MESH_BYE:
        coordinator_left(mesh, link->seat, frame->value[0]);
        break;
    case MESH_PAUSE:
    case MESH_RESUME:
        pause_others(mesh, frame->kind == MESH_PAUSE);
        break;
    default:
        mesh->owner.frame(mesh->owner.context, link->seat, frame);
        break;
    }
    go_on(mesh);
}
