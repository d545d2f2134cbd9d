/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hosts that hear the judge but not each other. Who does not hear another says so at every beat;
 * the judge collects that for a while, because whoever is cut off from several is complained of by
 * all of them, and then gives up those in whom most complaints meet: rather one that hears nobody
 * than all whom it does not hear. Between two it is the one with the higher seat.
 */
#include "job/mesh/state.h"

#include "base/array.h"

#include <stdio.h>
#include <stdlib.h>

#define COMPLAINTS_MAX 4096u /* more come again at the next beat */

void complaint_add(struct mesh *mesh, int accuser, int accused)
{
    struct complaints *all = &mesh->complaints;
    int64_t now_ns = clock_now_ns();
    for (size_t i = 0; i < all->count; i++) {
        struct complaint *one = &all->one[i];
        if (one->accuser == accuser && one->accused == accused) {
            one->last_ns = now_ns;
            return;
        }
    }
    if (all->count == COMPLAINTS_MAX || !array_grow(&all->one, &all->room, all->count + 1))
        return;
    all->one[all->count++] = (struct complaint){accuser, accused, now_ns, now_ns};
}

static bool is_heard(const struct mesh *mesh, int seat, int64_t now_ns)
{
    const struct mesh_seat *one = &mesh->seats[seat];
    return one->state == SEAT_UP && one->link && now_ns - one->link->heard_ns <= 3 * mesh->beat_ns;
}

/* What is not repeated is over. Whom the judge does not hear itself either comes back or is lost
 * for that. */
static void forget_old(struct mesh *mesh, int64_t now_ns)
{
    struct complaints *all = &mesh->complaints;
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++) {
        const struct complaint *one = &all->one[i];
        if (now_ns - one->last_ns <= 3 * mesh->beat_ns && is_heard(mesh, one->accuser, now_ns) &&
            is_heard(mesh, one->accused, now_ns))
            all->one[kept++] = *one;
    }
    all->count = kept;
}

/* Two that complain of each other are one matter. */
static bool is_answer(const struct complaints *all, size_t which)
{
    for (size_t i = 0; i < which; i++) {
        if (all->one[i].accuser == all->one[which].accused &&
            all->one[i].accused == all->one[which].accuser)
            return true;
    }
    return false;
}

int complaint_worst(const struct mesh *mesh, int *matters)
{
    const struct complaints *all = &mesh->complaints;
    int *count = calloc((size_t)mesh->seat_count, sizeof(count[0]));
    int worst = -1;
    if (!count)
        return -1;
    for (size_t i = 0; i < all->count; i++) {
        if (is_answer(all, i))
            continue;
        count[all->one[i].accuser]++;
        count[all->one[i].accused]++;
    }
    for (int seat = 1; seat < mesh->seat_count; seat++) {
        if (count[seat] > 0 && (worst < 0 || count[seat] >= count[worst]))
            worst = seat;
    }
    *matters = worst < 0 ? 0 : count[worst];
    free(count);
    return worst;
}

/* Some other with whom it has a matter; takes all its matters off the list. */
static int settle(struct mesh *mesh, int seat)
{
    struct complaints *all = &mesh->complaints;
    size_t kept = 0;
    int other = -1;
    for (size_t i = 0; i < all->count; i++) {
        const struct complaint *one = &all->one[i];
        if (one->accuser == seat)
            other = one->accused;
        else if (one->accused == seat)
            other = one->accuser;
        else
            all->one[kept++] = *one;
    }
    all->count = kept;
    return other;
}

static bool is_time(const struct mesh *mesh, int64_t now_ns)
{
    const struct complaints *all = &mesh->complaints;
    for (size_t i = 0; i < all->count; i++) {
        if (now_ns - all->one[i].first_ns >= 3 * mesh->beat_ns)
            return true;
    }
    return false;
}

void complaint_tick(struct mesh *mesh, int64_t now_ns)
{
    char text[MESH_TEXT_MAX];
    int matters;
    forget_old(mesh, now_ns);
    if (!is_time(mesh, now_ns))
        return;
    for (int seat; (seat = complaint_worst(mesh, &matters)) >= 0;) {
        const char *host = mesh->owner.host(mesh->owner.context, settle(mesh, seat));
        if (matters == 1)
            snprintf(text, sizeof(text), "it and host %s do not hear each other", host);
        else
            snprintf(text, sizeof(text),
                     "it and %d other hosts, among them %s, do not hear each "
                     "other",
                     matters, host);
        mesh_drop(mesh, seat, text);
    }
}
