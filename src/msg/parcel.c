/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parcels: see parcel.h.
 */
#include "msg/parcel.h"

#include "msg/match.h"
#include "msg/rendezvous/rendezvous.h"

#include <stdlib.h>

#define LOOKS_AT_LANES 8 /* of which one is at everything */

int parcels_open(struct mail *mail, parcel_sink sink, void *context)
{
    struct parcels *parcels = calloc(1, sizeof(*parcels));
    if (!parcels)
        return error_no_memory("parcels");
    parcels->sink = sink;
    parcels->context = context;
    parcels->over_end = &parcels->over_first;
    mail->parcels = parcels;
    return 0;
}

void parcels_close(struct mail *mail)
{
    free(mail->parcels);
    mail->parcels = NULL;
}

bool parcel_hand(struct mail *mail, const struct arrived *arrived)
{
    struct parcel parcel = {.source = arrived->source,
                            .label = (uint32_t)arrived->head->tag,
                            .is_long = arrived->head->kind == SLOT_RTS,
                            .data = arrived->data,
                            .length = arrived->length};
    if (unlikely(parcel.is_long)) {
        memcpy(&parcel.rts, arrived->data, sizeof(parcel.rts));
        parcel.data += sizeof(parcel.rts);
        parcel.length -= sizeof(parcel.rts);
    }
    return mail->parcels->sink(mail->parcels->context, &parcel);
}

void parcel_send(struct mail *mail, struct rh_request *send)
{
    ASSERT(send->is_parcel && send->envelope_length <= ENVELOPE_MAX);
    ASSERT(send->rank != mail->rank);
    progress_send(mail, send);
}

bool parcel_send_short(struct mail *mail, int rank, uint32_t label, const void *whole,
                       size_t length)
{
    return wire_short(mail, rank, (int32_t)label, whole, length);
}

void parcel_fetch(struct mail *mail, struct rh_request *receive, int source, const struct rts *rts)
{
    /* Nobody puts it back: who has asked keeps it, whatever comes of it. */
    struct unexpected *record = calloc(1, sizeof(*record));
    receive->state = STATE_PENDING;
    receive->rank = source;
    receive->in = (struct receive_part){.rts = *rts, .record = record};
    receive->status = (struct rh_status){
        .source = source, .tag = receive->tag, .length = rts->length};
    int result = record ? rendezvous_receive(mail, receive) : RH_ENOSPACE;
    if (result < 0)
        request_complete(receive, result);
}

bool parcel_abort(struct mail *mail, struct rh_request *request)
{
    bool is_waited_for = !request->is_send && request->state == STATE_UNDERWAY &&
                         rendezvous_abandon(mail, request);
    if (request->is_send)
        progress_abort(mail, request, RH_ECANCELED);
    else
        request_complete(request, RH_ECANCELED);
    return is_waited_for;
}

void parcels_progress(struct mail *mail)
{
    progress(mail);
}

bool parcels_look(struct mail *mail)
{
    bool is_quiet = mail->pending_count == 0 && mail->long_count == 0 && mail->waiters == 0 &&
                    atomic_load_explicit(mail->joins, memory_order_acquire) == mail->joins_seen;
    if (likely(is_quiet && ++mail->parcels->looks % LOOKS_AT_LANES != 0)) {
        wire_lanes_poll(mail);
        return false;
    }
    progress(mail);
    return true;
}
