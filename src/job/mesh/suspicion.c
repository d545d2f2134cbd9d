/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hosts that hear the coordinator but not each other. Who does not hear another says so at every
 * beat; the coordinator collects that for a while, because whoever is cut off from several is
 * suspected by all of them, and then gives up those in whom most suspicions meet: rather one that
 * hears nobody than all whom it does not hear. Between two it is the one with the higher seat.
 */
#include "job/mesh/state.h"

#include "base/array.h"

#include <stdio.h>
#include <stdlib.h>

#define SUSPICIONS_MAX 4096u /* more come again at the next beat */

void suspicion_add(struct mesh *mesh, int reporter, int suspect)
{
    struct suspicions *all = &mesh->suspicions;
    int64_t now_ns = clock_now_ns();
    for (size_t i = 0; i < all->count; i++) {
        struct suspicion *one = &all->one[i];
        if (one->reporter == reporter && one->suspect == suspect) {
            one->last_ns = now_ns;
            return;
        }
    }
    if (all->count == SUSPICIONS_MAX || !array_grow(&all->one, &all->room, all->count + 1))
        return;
    all->one[all->count++] = (struct suspicion){reporter, suspect, now_ns, now_ns};
}

static bool is_heard(const struct mesh *mesh, int seat, int64_t now_ns)
{
    const struct mesh_seat *one = &mesh->seats[seat];
    return one->state == SEAT_UP && one->link && now_ns - one->link->heard_ns <= 3 * mesh->beat_ns;
}

/* What is not repeated is over. Whom the coordinator does not hear itself either comes back or is
 * lost for that. */
static void forget_old(struct mesh *mesh, int64_t now_ns)
{
    struct suspicions *all = &mesh->suspicions;
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++) {
        const struct suspicion *one = &all->one[i];
        if (now_ns - one->last_ns <= 3 * mesh->beat_ns && is_heard(mesh, one->reporter, now_ns) &&
            is_heard(mesh, one->suspect, now_ns))
            all->one[kept++] = *one;
    }
    all->count = kept;
}

/* Two that suspect each other are one matter. */
static bool is_answer(const struct suspicions *all, size_t which)
{
    for (size_t i = 0; i < which; i++) {
        if (all->one[i].reporter == all->one[which].suspect &&
            all->one[i].suspect == all->one[which].reporter)
            return true;
    }
    return false;
}

int suspicion_worst(const struct mesh *mesh, int *matters)
{
    const struct suspicions *all = &mesh->suspicions;
    int *count = calloc((size_t)mesh->seat_count, sizeof(count[0]));
    int worst = -1;
    if (!count)
        return -1;
    for (size_t i = 0; i < all->count; i++) {
        if (is_answer(all, i))
            continue;
        count[all->one[i].reporter]++;
        count[all->one[i].suspect]++;
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
    struct suspicions *all = &mesh->suspicions;
    size_t kept = 0;
    int other = -1;
    for (size_t i = 0; i < all->count; i++) {
        const struct suspicion *one = &all->one[i];
        if (one->reporter == seat)
            other = one->suspect;
        else if (one->suspect == seat)
            other = one->reporter;
        else
            all->one[kept++] = *one;
    }
    all->count = kept;
    return other;
}

static bool is_time(const struct mesh *mesh, int64_t now_ns)
{
    const struct suspicions *all = &mesh->suspicions;
    for (size_t i = 0; i < all->count; i++) {
        if (now_ns - all->one[i].first_ns >= 3 * mesh->beat_ns)
            return true;
    }
    return false;
}

void suspicion_tick(struct mesh *mesh, int64_t now_ns)
{
    char text[MESH_TEXT_MAX];
    int matters;
    forget_old(mesh, now_ns);
    if (!is_time(mesh, now_ns))
        return;
    for (int seat; (seat = suspicion_worst(mesh, &matters)) >= 0;) {
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
