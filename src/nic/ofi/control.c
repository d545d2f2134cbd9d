/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sending messages.
 */
#include "base/clock.h"
#include "base/error.h"
#include "nic/ofi/ofi_nic.h"

#include <stdlib.h>
#include <string.h>

#define PAUSE_NS (100 * NS_PER_US)

static int send_buffered(struct ofi_nic *ofi, fi_addr_t address, const struct ofi_message *message,
                         size_t length)
{
    struct ofi_buffer *buffer = ofi->free_sends;
    if (!buffer)
        return -FI_EAGAIN;
    memcpy(&buffer->message, message, length);
    struct iovec part = {.iov_base = &buffer->message, .iov_len = length};
    void *description = ofi->sends_mr ? fi_mr_desc(ofi->sends_mr) : NULL;
    struct fi_msg request = {
        .msg_iov = &part, .desc = &description, .iov_count = 1, .addr = address, .context = buffer};
    int result = (int)fi_sendmsg(ofi->ep, &request, FI_COMPLETION);
    if (result == 0)
        ofi->free_sends = buffer->next;
    return result;
}

int ofi_send(struct ofi_nic *ofi, int rank, struct ofi_message *message, size_t length)
{
    struct ofi_peer *peer = &ofi->peers[rank];
    if (unlikely(!peer->is_known))
        return RH_EAGAIN;
    message->head.sender = (uint32_t)ofi->nic.job->rank;
    message->head.token = peer->token_to;
    ssize_t result = length <= ofi->inject_max ? fi_inject(ofi->ep, message, length, peer->address)
                                               : send_buffered(ofi, peer->address, message, length);
    return result == -FI_EAGAIN ? RH_EAGAIN : (int)result;
}

struct ofi_outgoing *ofi_message_keep(int rank, const struct ofi_message *message, size_t length)
{
    struct ofi_outgoing *kept = malloc(offsetof(struct ofi_outgoing, message) + length);
    if (!kept)
        return NULL;
    kept->next = NULL;
    kept->rank = rank;
    kept->length = length;
    memcpy(&kept->message, message, length);
    return kept;
}

void ofi_send_soon(struct ofi_nic *ofi, int rank, struct ofi_message *message, size_t length)
{
    if (!ofi->outgoing && ofi_send(ofi, rank, message, length) != RH_EAGAIN)
        return; /* whoever cannot be reached is gone, or about to be */
    struct ofi_outgoing *kept = ofi_message_keep(rank, message, length);
    if (!kept)
        return; /* then the peer's deadline passes */
    *ofi->outgoing_end = kept;
    ofi->outgoing_end = &kept->next;
}

void ofi_waiting_send(struct ofi_nic *ofi)
{
    struct ofi_outgoing **link = &ofi->outgoing;
    while (*link) {
        struct ofi_outgoing *kept = *link;
        if (!ofi_is_gone(ofi, kept->rank) &&
            ofi_send(ofi, kept->rank, &kept->message, kept->length) == RH_EAGAIN) {
            link = &kept->next; /* another peer may have room */
            continue;
        }
        *link = kept->next;
        free(kept);
    }
    ofi->outgoing_end = link;
}

static bool never(void *context)
{
    return false;
}

struct ofi_errand ofi_errand(const struct ofi_nic *ofi, int rank, const char *during)
{
    return (struct ofi_errand){
        .rank = rank, .during = during, .deadline_ns = clock_deadline_ns(ofi->timeout_ns)};
}

int64_t ofi_errand_left_ns(const struct ofi_errand *errand)
{
    return deadline_left_ns(errand->deadline_ns, clock_now_ns());
}

int ofi_pause(struct ofi_nic *ofi, const struct ofi_errand *errand)
{
    int result = ofi_wait_until(ofi, errand->rank, never, NULL, PAUSE_NS);
    if (result != RH_ETIMEOUT)
        return result;
    if (ofi_errand_left_ns(errand) > 0)
        return 0;
    int rank = errand->rank;
    const struct roster_node *node = roster_node_of(ofi->nic.job->roster, rank);
    return error_set(RH_ETIMEOUT, rank,
                     "%s: the network (%s) takes nothing for rank %d%s%s; if it never did, is a "
                     "firewall in between?",
                     errand->during, ofi->info->fabric_attr->prov_name, rank,
                     node->host[0] ? " on " : "", node->host);
}
