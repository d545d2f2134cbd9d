/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Peers: who is near, how the others are reached, and the tokens by which messages of the job are
 * told from a stranger's.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/settings.h"
#include "nic/ofi/ofi_nic.h"

#include <stdlib.h>
#include <string.h>

/* ---- Tokens --------------------------------------------------------------------------------- */

/* SipHash-2-4, which Aumasson and Bernstein made for short inputs under a secret key. */
struct sip {
    uint64_t a, b, c, d;
};

static uint64_t rotate(uint64_t value, unsigned by)
{
    return value << by | value >> (64 - by);
}

static void sip_rounds(struct sip *s, int count)
{
    while (count-- > 0) {
        s->a += s->b;
        s->c += s->d;
        s->b = rotate(s->b, 13) ^ s->a;
        s->d = rotate(s->d, 16) ^ s->c;
        s->a = rotate(s->a, 32) + s->d;
        s->c += s->b;
        s->d = rotate(s->d, 21) ^ s->a;
        s->b = rotate(s->b, 17) ^ s->c;
        s->c = rotate(s->c, 32);
    }
}

/* What `from` writes into its messages to `to`. */
static uint64_t token_of(const struct nic_job *job, int from, int to)
{
    uint64_t key[2];
    uint64_t input[3] = {job->job_id, (uint64_t)(uint32_t)from << 32 | (uint32_t)to, 16ULL << 56};
    memcpy(key, job->secret, sizeof(key));
    struct sip s = {key[0] ^ 0x736f6d6570736575ULL, key[1] ^ 0x646f72616e646f6dULL,
                    key[0] ^ 0x6c7967656e657261ULL, key[1] ^ 0x7465646279746573ULL};
    for (int i = 0; i < 3; i++) {
        s.d ^= input[i];
        sip_rounds(&s, 2);
        s.a ^= input[i];
    }
    s.c ^= 0xff;
    sip_rounds(&s, 4);
    return s.a ^ s.b ^ s.c ^ s.d;
}

/* ---- Opening -------------------------------------------------------------------------------- */

static bool is_near(const struct ofi_nic *ofi, int rank)
{
    const struct nic_job *job = ofi->nic.job;
    if (rank == job->rank)
        return true;
    if (!ofi->is_mixed || job->roster->peer[rank].node != job->roster->peer[job->rank].node)
        return false;
    int together = (int)setting_number(job->settings, SETTING_MIXED_RANKS);
    return together == 0 || rank / together == job->rank / together;
}

int ofi_peers_open(struct ofi_nic *ofi)
{
    const struct nic_job *job = ofi->nic.job;
    ofi->peers = calloc((size_t)job->size, sizeof(*ofi->peers));
    if (!ofi->peers)
        return error_no_memory("%d peers", job->size);
    ofi->is_alone = true;
    for (int rank = 0; rank < job->size; rank++) {
        struct ofi_peer *peer = &ofi->peers[rank];
        peer->is_near = is_near(ofi, rank);
        peer->token_to = token_of(job, job->rank, rank);
        peer->token_from = token_of(job, rank, job->rank);
        ofi->is_alone &= peer->is_near;
    }
    return 0;
}

void ofi_peers_close(struct ofi_nic *ofi)
{
    ofi_once_close(ofi);
    free(ofi->peers);
}

/* ---- Meeting -------------------------------------------------------------------------------- */

static int check_card(const struct ofi_nic *ofi, int rank, const struct ofi_card *card,
                      size_t length)
{
    const struct ofi_card *own = &ofi->card;
    const struct roster_node *node = roster_node_of(ofi->nic.job->roster, rank);
    if (length < sizeof(*card) || card->address_length > sizeof(card->address) ||
        memchr(card->provider, '\0', sizeof(card->provider)) == NULL)
        return error_set(RH_ECORRUPT, rank, "rank %d has a card that makes no sense", rank);
    if (card->wire_version == own->wire_version &&
        card->provider_version == own->provider_version &&
        strcmp(card->provider, own->provider) == 0)
        return 0;
    return error_set(RH_EREFUSED, rank,
                     "rank %d%s%s uses libfabric's %s %u.%u (rhinet wire %u), rank %d has %s %u.%u "
                     "(wire %u); install the same versions, or set RHINET_OFI_PROVIDER for all",
                     rank, node->host[0] ? " on " : "", node->host, card->provider,
                     FI_MAJOR(card->provider_version), FI_MINOR(card->provider_version),
                     card->wire_version, ofi->nic.job->rank, own->provider,
                     FI_MAJOR(own->provider_version), FI_MINOR(own->provider_version),
                     own->wire_version);
}

void ofi_peer_learn(struct ofi_nic *ofi, int rank, const void *address, size_t length)
{
    struct ofi_peer *peer = &ofi->peers[rank];
    if (peer->is_known || length == 0)
        return;
    peer->is_known = fi_av_insert(ofi->av, address, 1, &peer->address, 0, NULL) == 1;
    memcpy(&peer->place, address, length < sizeof(peer->place) ? length : sizeof(peer->place));
    ofi_sockets_changed(ofi);
}

bool ofi_peer_is_known(struct ofi_nic *ofi, int rank)
{
    ofi_lock(ofi); /* the progress thread may be learning it */
    bool is_known = ofi->peers[rank].is_known;
    ofi_unlock(ofi);
    return is_known;
}

int ofi_peer_meet(struct ofi_nic *ofi, int rank)
{
    const struct nic_broker *broker = ofi->nic.job->broker;
    struct ofi_card card;
    size_t length = sizeof(card);
    int result = broker->card_get(broker->context, rank, &card, &length);
    if (result == 0)
        result = check_card(ofi, rank, &card, length);
    if (result < 0)
        return result;
    ofi_lock(ofi);
    ofi_peer_learn(ofi, rank, card.address, card.address_length);
    bool is_known = ofi->peers[rank].is_known;
    ofi_unlock(ofi);
    return is_known ? 0
                    : error_set(RH_ECORRUPT, rank, "libfabric (%s) refuses rank %d's address",
                                ofi->card.provider, rank);
}

/* ---- The end -------------------------------------------------------------------------------- */

void ofi_peer_fail(struct ofi_nic *ofi, int rank)
{
    if (ofi->peers[rank].has_failed)
        return;
    ofi->peers[rank].has_failed = true;
    ofi->peers[rank].has_unflushed = false;
    ofi_calls_fail(ofi, rank);
    ofi_tasks_bury(ofi, rank);
}

static bool never(void *context)
{
    return false;
}

int ofi_peer_lost(struct ofi_nic *ofi, const struct ofi_errand *errand)
{
    int rank = errand->rank;
    const struct roster_node *node = roster_node_of(ofi->nic.job->roster, rank);
    int64_t most_ns = deadline_slice_ns(errand->deadline_ns, clock_now_ns(), OFI_LOST_NS);
    int result = ofi_wait_until(ofi, rank, never, NULL, most_ns);
    if (result != RH_ETIMEOUT && result != RH_EAGAIN)
        return result;
    return error_set(RH_ETIMEOUT, rank,
                     "%s: the connection to rank %d%s%s broke, and it is not known to be dead; "
                     "look at the network between the two hosts, then try again",
                     errand->during, rank, node->host[0] ? " on " : "", node->host);
}
