/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests that must be carried out once, however often they are sent: atomics, appends and claims.
 *
 * A sender numbers them, for each peer. The target remembers what it answered, by number modulo
 * OFI_WINDOW, and answers a repeat from there. The sender does not use the number OFI_WINDOW
 * further on before this one is decided for it (answered, or given up without a ticket), so what is
 * forgotten is not needed; whatever comes later with an older number than the one in its place is
 * dropped. Numbers wrap, which their difference does not mind; they begin shortly before the end so
 * that every longer run gets there. Model: tests/model/repeat.pml.
 */
#include "nic/ofi/ofi_nic.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_NUMBER (0u - 4 * OFI_WINDOW)
_Static_assert((OFI_WINDOW & (OFI_WINDOW - 1)) == 0, "numbers wrap at a power of two");
_Static_assert(OFI_WINDOW == 64, "a bit of peer->once_open for each");

/* ---- The sender ----------------------------------------------------------------------------- */

bool ofi_once_begin(struct ofi_nic *ofi, int rank, uint32_t *number)
{
    struct ofi_peer *peer = &ofi->peers[rank];
    uint32_t next = FIRST_NUMBER + peer->once_count;
    uint64_t bit = 1ULL << next % OFI_WINDOW;
    if (peer->once_open & bit)
        return false;
    peer->once_open |= bit;
    peer->once_count++;
    *number = next;
    return true;
}

void ofi_once_end(struct ofi_nic *ofi, int rank, uint32_t number)
{
    ASSERT(ofi->peers[rank].once_open >> number % OFI_WINDOW & 1);
    ofi->peers[rank].once_open &= ~(1ULL << number % OFI_WINDOW);
}

/* ---- The target ----------------------------------------------------------------------------- */

/* What was answered to one request. */
struct ofi_remembered {
    uint32_t number;
    int32_t code;
    uint32_t length;
    unsigned char body[OFI_REMEMBERED_MAX];
};

static struct ofi_remembered *place_of(struct ofi_nic *ofi, const struct ofi_head *head)
{
    struct ofi_peer *peer = &ofi->peers[head->sender];
    if (!peer->remembered) {
        peer->remembered = calloc(OFI_WINDOW, sizeof(*peer->remembered));
        for (uint32_t i = 0; peer->remembered && i < OFI_WINDOW; i++)
            peer->remembered[i].number = FIRST_NUMBER - OFI_WINDOW + i; /* before the first */
    }
    return peer->remembered ? &peer->remembered[head->once % OFI_WINDOW] : NULL;
}

enum ofi_seen ofi_once_look(struct ofi_nic *ofi, const struct ofi_head *head,
                            struct ofi_answered *answered)
{
    const struct ofi_remembered *place = place_of(ofi, head);
    if (!place)
        return OFI_SEEN_OLD; /* no memory: better not at all than twice */
    int32_t newer = (int32_t)(head->once - place->number);
    if (newer != 0)
        return newer > 0 ? OFI_SEEN_NEVER : OFI_SEEN_OLD;
    *answered = (struct ofi_answered){
        .code = place->code, .body = place->body, .length = place->length};
    return OFI_SEEN_REPEAT;
}

void ofi_once_remember(struct ofi_nic *ofi, const struct ofi_head *head,
                       const struct ofi_answered *answered)
{
    ASSERT(answered->length <= OFI_REMEMBERED_MAX);
    struct ofi_remembered *place = place_of(ofi, head);
    place->number = head->once;
    place->code = answered->code;
    place->length = (uint32_t)answered->length;
    if (answered->length > 0)
        memcpy(place->body, answered->body, answered->length);
}

void ofi_once_close(struct ofi_nic *ofi)
{
    for (int rank = 0; ofi->peers && rank < ofi->nic.job->size; rank++)
        free(ofi->peers[rank].remembered);
}
