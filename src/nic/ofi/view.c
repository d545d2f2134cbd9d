/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Peers' segments: looked up at their owner once, kept until the owner takes them back.
 */
#include "base/error.h"
#include "nic/handover.h"
#include "nic/ofi/ofi_nic.h"

#include <stdlib.h>
#include <string.h>

static struct ofi_view **chain_of(struct ofi_nic *ofi, int rank, rh_sid sid)
{
    uint64_t key = (uint64_t)(uint32_t)rank << 32 | sid;
    return &ofi->views[key * 0x9E3779B97F4A7C15ULL >> 40 & (OFI_CHAINS - 1)];
}

struct ofi_view *ofi_view_find(struct ofi_nic *ofi, int rank, rh_sid sid)
{
    struct ofi_view *view = *chain_of(ofi, rank, sid);
    while (view && (view->rank != rank || view->sid != sid))
        view = view->next;
    return view;
}

/* ---- Looking up ----------------------------------------------------------------------------- */

/* A view that somebody may hold is set aside, not reused: to its holder it stays stale. */
static void set_aside(struct ofi_nic *ofi, struct ofi_view *view)
{
    struct ofi_view **link = chain_of(ofi, view->rank, view->sid);
    while (*link != view)
        link = &(*link)->next;
    *link = view->next;
    view->older = ofi->old_views;
    ofi->old_views = view;
}

static struct ofi_view *add(struct ofi_nic *ofi, int rank, rh_sid sid)
{
    struct ofi_view *view = calloc(1, sizeof(*view));
    if (!view)
        return NULL;
    struct ofi_view **chain = chain_of(ofi, rank, sid);
    view->rank = rank;
    view->sid = sid;
    view->next = *chain;
    *chain = view;
    return view;
}

void ofi_view_told(struct ofi_nic *ofi, int rank, rh_sid sid, const struct ofi_segment_info *info)
{
    struct ofi_view *view = ofi_view_find(ofi, rank, sid);
    if (view && view->info.generation == info->generation)
        return; /* another thread asked, too */
    if (view && (view->is_pinned || view->underway > 0)) {
        set_aside(ofi, view);
        view->is_stale = true;
        view = NULL;
    }
    if (!view)
        view = add(ofi, rank, sid);
    if (!view)
        return; /* no memory: whoever asked finds nothing */
    view->info = *info;
    view->is_stale = false;
}

static int look_up(struct ofi_nic *ofi, const struct ofi_errand *errand, rh_sid sid)
{
    int rank = errand->rank;
    struct ofi_errand asked = {
        .rank = rank, .during = "look-up", .deadline_ns = errand->deadline_ns};
    struct ofi_message message;
    if (!ofi_peer_is_known(ofi, rank)) {
        int result = ofi_peer_meet(ofi, rank);
        if (result < 0) /* not there yet: then its segments are not either */
            return result == RH_EAGAIN ? RH_ENOSEG : result;
    }
    message.head = ofi_head(OFI_LOOKUP, sid, 0);
    message.head.length = (uint16_t)ofi->card.address_length;
    memcpy(message.body, ofi->card.address, ofi->card.address_length);
    return ofi_ask(ofi, &asked, &message, sizeof(message.head) + ofi->card.address_length, NULL);
}

int ofi_refused(struct ofi_nic *ofi, int rank, rh_sid sid, int code, const char *during)
{
    if (code == RH_ENOSEG || code == RH_ESTALE)
        return shm_inside_refuse(ofi->inner, rank, sid, true, code);
    if (code == RH_ECORRUPT || code == RH_ERIGHTS || code == RH_EBOUNDS)
        return error_set(code, rank, "%s: rank %d refused it (%s)", during, rank,
                         rh_error_name(code));
    return code;
}

int ofi_refuse_queue(struct ofi_nic *ofi, const struct ofi_view *view)
{
    int rank = view->rank;
    rh_sid sid = view->sid;
    ofi_unlock(ofi);
    return error_set(RH_EINVALID, rank, "segment %u of rank %d is a queue; use rh_append()", sid,
                     rank);
}

int ofi_refuse_alignment(struct rh_remote remote)
{
    return error_set(RH_EINVALID, remote.rank, "offset %llu is not aligned to 8 bytes",
                     (unsigned long long)remote.offset);
}

struct ofi_view *ofi_view_take(struct ofi_nic *ofi, struct ofi_errand *errand, rh_sid sid,
                               bool counted)
{
    int rank = errand->rank, *result = &errand->result;
    for (int i = 0;; i++) {
        if (ofi_is_gone(ofi, rank)) {
            *result = nic_peer_gone(&ofi->nic, rank, "remote access");
            return NULL;
        }
        ofi_lock(ofi);
        struct ofi_view *view = ofi_view_find(ofi, rank, sid);
        if (likely(view && !view->is_stale && !ofi->peers[rank].has_failed))
            return view;
        ofi_unlock(ofi);
        /* It may come and go faster than we can look. */
        *result = i < 100 ? look_up(ofi, errand, sid) : RH_ESTALE;
        if (*result == 0)
            continue;
        if (*result == RH_ENOSEG || *result == RH_ESTALE)
            *result = shm_inside_refuse(ofi->inner, rank, sid, counted, *result);
        return NULL;
    }
}

struct ofi_view *ofi_view_check(struct ofi_nic *ofi, struct ofi_errand *errand,
                                struct rh_remote remote, uint64_t length, unsigned rights)
{
    struct ofi_view *view = ofi_view_take(ofi, errand, remote.sid, true);
    if (unlikely(!view))
        return NULL;
    const struct ofi_segment_info *info = &view->info;
    bool is_granted = (info->rights & rights) == rights;
    if (likely(is_granted && remote.offset <= info->length &&
               length <= info->length - remote.offset))
        return view;
    struct shm_refused refused = {.remote = remote,
                                  .length = length,
                                  .rights = rights,
                                  .rights_granted = info->rights,
                                  .segment_length = info->length};
    ofi_unlock(ofi);
    errand->result = shm_inside_refuse_access(ofi->inner, &refused);
    return NULL;
}

int ofi_view(struct nic *nic, struct rh_remote remote, uint64_t length, unsigned rights,
             struct nic_view *view)
{
    nic_assert_rank(nic, remote.rank);
    struct ofi_nic *ofi = ofi_nic_of(nic);
    int result = 0;
    if (ofi_is_near(ofi, remote.rank)) {
        result = ofi->inner->ops->view(ofi->inner, remote, length, rights, view);
        /* Programs ask for a pointer to their own memory to learn whether there are any. */
        if (result == 0 && remote.rank == nic->job->rank && !ofi->is_alone) {
            view->pointer = NULL;
            view->sleeper = NULL;
        }
        return result;
    }
    struct ofi_errand errand = ofi_errand(ofi, remote.rank, "look-up");
    struct ofi_view *found = rights ? ofi_view_check(ofi, &errand, remote, length, rights)
                                    : ofi_view_take(ofi, &errand, remote.sid, false);
    if (!found)
        return errand.result;
    if (rights)
        found->is_pinned = true;
    *view = (struct nic_view){.remote = remote,
                              .length = rights ? length : found->info.length,
                              .kind = (enum nic_segment_kind)found->info.kind,
                              .handle = found};
    ofi_unlock(ofi);
    return 0;
}

/* Far ones stay: what is kept for them is small. */
void ofi_view_release(struct nic *nic, const struct nic_view *view)
{
    struct ofi_nic *ofi = ofi_nic_of(nic);
    if (ofi_is_near(ofi, view->remote.rank))
        ofi->inner->ops->view_release(ofi->inner, view);
}

void ofi_views_close(struct ofi_nic *ofi)
{
    for (int i = 0; i < OFI_CHAINS; i++) {
        while (ofi->views[i]) {
            struct ofi_view *view = ofi->views[i];
            ofi->views[i] = view->next;
            free(view);
        }
    }
    while (ofi->old_views) {
        struct ofi_view *view = ofi->old_views;
        ofi->old_views = view->older;
        free(view);
    }
}
