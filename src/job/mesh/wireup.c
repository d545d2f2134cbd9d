/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How all get to know each other: everyone calls the coordinator and says where it listens; when
 * all have, the coordinator tells everyone; they call each other, say that they are ready, and the
 * coordinator says go. The higher seat calls the lower one, at each of its addresses in turn, a few
 * times.
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

/* Begin and repeat what is to be dialled. */
static void dial_tick(struct mesh *mesh, int64_t now_ns)
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

/* ---- Getting to know each other -------------------------------------------------------------- */

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

/* What comes next, after anything has changed. */
static void go_on(struct mesh *mesh)
{
    struct mesh_seat *self = &mesh->seats[mesh->seat];
    if (mesh->is_ready || mesh->is_cut)
        return;
    bool has_all = all_are_up(mesh);
    if (mesh->seat == 0 && !mesh->has_table && has_all && all_are(mesh, false))
        tell_everyone(mesh);
    if (!self->is_ready && mesh->has_table && has_all) {
        struct mesh_frame frame = {.kind = MESH_READY};
        self->is_ready = true;
        if (mesh->seat != 0)
            mesh_send(mesh, 0, &frame);
    }
    if (mesh->seat == 0 ? !has_all || !all_are(mesh, true) : !mesh->seats[0].is_ready)
        return;
    if (mesh->seat == 0) {
        struct mesh_frame frame = {.kind = MESH_GO};
        mesh_send_all(mesh, &frame);
    }
    mesh->is_ready = true;
    mesh->owner.ready(mesh->owner.context);
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
    if (mesh->seat != 0 && link->seat == 0) {
        struct mesh_frame frame = {.kind = MESH_NODE};
        char text[MESH_DATA_MAX];
        address_list_print(&mesh->own, text, sizeof(text));
        put_text(&frame, text);
        mesh_send(mesh, 0, &frame);
    }
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
        mesh->seats[0].is_ready = true;
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
