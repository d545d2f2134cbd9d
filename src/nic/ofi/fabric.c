/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libfabric's objects: one domain with one endpoint, one completion queue and one address table,
 * the buffers for messages, and registered memory.
 */
#include "base/error.h"
#include "base/log.h"
#include "nic/ofi/ofi_nic.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define CQ_LENGTH 8192

/* An error of libfabric in words. */
static int ofi_failed(const struct ofi_nic *ofi, const char *what, ssize_t code)
{
    return error_fail(
        RH_EUNSUP,
        "NIC ofi: libfabric's provider %s cannot %s: %s; FI_LOG_LEVEL=warn tells more, "
        "RHINET_OFI_PROVIDER takes another one",
        ofi->info->fabric_attr->prov_name, what, ofi_library.strerror((int)-code));
}

/* ---- Registered memory ---------------------------------------------------------------------- */

static uint64_t random_key(const struct ofi_nic *ofi)
{
    uint64_t key = 0;
    size_t room = ofi->info->domain_attr->mr_key_size;
    if (getrandom(&key, sizeof(key), 0) != sizeof(key))
        key = (uint64_t)(uintptr_t)&key ^ ofi->nic.job->job_id;
    return room < sizeof(key) ? key & ((1ULL << room * 8) - 1) : key;
}

int ofi_register(struct ofi_nic *ofi, const void *base, size_t length, uint64_t access,
                 struct fid_mr **mr)
{
    ssize_t result = 0;
    for (int i = 0; i < 8; i++) { /* a key of our choice may be taken */
        result = fi_mr_reg(ofi->domain, base, length, access, 0, random_key(ofi), 0, mr, NULL);
        if (result != -FI_ENOKEY)
            break;
    }
    if (result == 0 && (ofi->info->domain_attr->mr_mode & FI_MR_ENDPOINT)) {
        result = fi_mr_bind(*mr, &ofi->ep->fid, 0);
        if (result == 0)
            result = fi_mr_enable(*mr);
        if (result < 0)
            fi_close(&(*mr)->fid);
    }
    if (result < 0)
        return error_fail(RH_ENOSPACE,
                          "NIC ofi: libfabric's provider %s cannot register %zu bytes: %s; look at "
                          "`ulimit -l`",
                          ofi->info->fabric_attr->prov_name, length,
                          ofi_library.strerror((int)-result));
    return 0;
}

/* ---- Buffers -------------------------------------------------------------------------------- */

int ofi_receive_post(struct ofi_nic *ofi, struct ofi_buffer *buffer)
{
    void *description = ofi->receives_mr ? fi_mr_desc(ofi->receives_mr) : NULL;
    ssize_t result = fi_recv(ofi->ep, &buffer->message, sizeof(buffer->message), description,
                             FI_ADDR_UNSPEC, buffer);
    if (result < 0)
        log_warning("%s does not take a receive buffer back: %s", ofi->info->fabric_attr->prov_name,
                    ofi_library.strerror((int)-result));
    return (int)result;
}

static int open_buffers(struct ofi_nic *ofi)
{
    ofi->receives = calloc(OFI_RECEIVES, sizeof(*ofi->receives));
    ofi->sends = calloc(OFI_SENDS, sizeof(*ofi->sends));
    ofi->calls = calloc(OFI_CALLS, sizeof(*ofi->calls));
    if (!ofi->receives || !ofi->sends || !ofi->calls)
        return error_fail(RH_ENOSPACE, "NIC ofi: no memory for buffers");
    int result = 0;
    if (ofi->has_local_mr) {
        result = ofi_register(ofi, ofi->receives, OFI_RECEIVES * sizeof(*ofi->receives), FI_RECV,
                              &ofi->receives_mr);
        if (result == 0)
            result = ofi_register(ofi, ofi->sends, OFI_SENDS * sizeof(*ofi->sends), FI_SEND,
                                  &ofi->sends_mr);
    }
    for (int i = 0; i < OFI_SENDS; i++) {
        ofi->sends[i].context.use = OFI_USE_SEND;
        ofi->sends[i].next = ofi->free_sends;
        ofi->free_sends = &ofi->sends[i];
    }
    for (int i = 0; i < OFI_RECEIVES && result == 0; i++) {
        ofi->receives[i].context.use = OFI_USE_RECEIVE;
        result = ofi_receive_post(ofi, &ofi->receives[i]);
        if (result < 0)
            result = ofi_failed(ofi, "take receive buffers", result);
    }
    return result;
}

/* ---- The objects ---------------------------------------------------------------------------- */

static ssize_t open_queue(struct ofi_nic *ofi)
{
    struct fi_cq_attr attributes = {
        .format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_FD, .size = CQ_LENGTH};
    ofi->cq_fd = -1;
    if (!ofi->is_stream && fi_cq_open(ofi->domain, &attributes, &ofi->cq, NULL) == 0) {
        if (fi_control(&ofi->cq->fid, FI_GETWAIT, &ofi->cq_fd) != 0)
            ofi->cq_fd = -1;
        return 0;
    }
    attributes.wait_obj = FI_WAIT_NONE;
    return fi_cq_open(ofi->domain, &attributes, &ofi->cq, NULL);
}

static int open_endpoint(struct ofi_nic *ofi)
{
    struct fi_av_attr attributes = {.type = FI_AV_TABLE, .count = (size_t)ofi->nic.job->size};
    const char *what = "open an address table";
    ssize_t result = fi_av_open(ofi->domain, &attributes, &ofi->av, NULL);
    if (result == 0) {
        what = "open an endpoint";
        result = fi_endpoint(ofi->domain, ofi->info, &ofi->ep, NULL);
    }
    if (result == 0)
        result = fi_ep_bind(ofi->ep, &ofi->av->fid, 0);
    if (result == 0)
        result = fi_ep_bind(ofi->ep, &ofi->cq->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION);
    if (result == 0)
        result = fi_ep_bind(ofi->ep, &ofi->cq->fid, FI_RECV);
    if (result == 0) {
        what = "enable its endpoint (is the host's address right, and may a port be opened?)";
        result = fi_enable(ofi->ep);
    }
    return result < 0 ? ofi_failed(ofi, what, result) : 0;
}

static int make_card(struct ofi_nic *ofi)
{
    const struct nic_broker *broker = ofi->nic.job->broker;
    struct ofi_card *card = &ofi->card;
    size_t length = sizeof(card->address);
    _Static_assert(sizeof(*card) <= NIC_CARD_MAX, "a card has room for this");
    ssize_t result = fi_getname(&ofi->ep->fid, card->address, &length);
    if (result < 0)
        return ofi_failed(ofi, "tell its address", result);
    card->address_length = (uint32_t)length;
    card->wire_version = OFI_WIRE_VERSION;
    card->provider_version = ofi->info->fabric_attr->prov_version;
    size_t name_length = strlen(ofi->info->fabric_attr->prov_name);
    if (name_length >= sizeof(card->provider))
        return ofi_failed(ofi, "be used, for its long name", -FI_EINVAL);
    memcpy(card->provider, ofi->info->fabric_attr->prov_name, name_length + 1);
    ofi_sockets_open(ofi);
    return broker->card_put(broker->context, card, sizeof(*card));
}

static void note_traits(struct ofi_nic *ofi)
{
    int mode = ofi->info->domain_attr->mr_mode;
    ofi->has_local_mr = mode & FI_MR_LOCAL;
    ofi->has_virtual_addresses = mode & FI_MR_VIRT_ADDR;
    ofi->keeps_write_before_send = ofi->info->tx_attr->msg_order & FI_ORDER_SAW;
    const char *name = ofi->info->fabric_attr->prov_name;
    ofi->is_stream = strncmp(name, "tcp", 3) == 0 || strncmp(name, "net", 3) == 0 ||
                     strncmp(name, "sockets", 7) == 0;
    ofi->inject_max = ofi->info->tx_attr->inject_size;
    log_info("NIC %s uses libfabric's %s", ofi->nic.ops->name, ofi->info->fabric_attr->prov_name);
}

int ofi_fabric_open(struct ofi_nic *ofi)
{
    int found = ofi_provider_find(ofi->nic.job, &ofi->info);
    if (found < 0)
        return found;
    note_traits(ofi);
    ssize_t result = ofi_library.fabric(ofi->info->fabric_attr, &ofi->fabric, NULL);
    if (result == 0)
        result = fi_domain(ofi->fabric, ofi->info, &ofi->domain, NULL);
    if (result == 0)
        result = open_queue(ofi);
    if (result < 0)
        return ofi_failed(ofi, "open its domain", result);
    int opened = open_endpoint(ofi);
    if (opened == 0)
        opened = open_buffers(ofi);
    return opened < 0 ? opened : make_card(ofi);
}

static void close_object(struct fid *object)
{
    if (object)
        fi_close(object);
}

/* Also after a failure in the middle of opening. */
void ofi_fabric_close(struct ofi_nic *ofi)
{
    ofi_sockets_close(ofi);
    close_object(ofi->ep ? &ofi->ep->fid : NULL);
    close_object(ofi->receives_mr ? &ofi->receives_mr->fid : NULL);
    close_object(ofi->sends_mr ? &ofi->sends_mr->fid : NULL);
    close_object(ofi->av ? &ofi->av->fid : NULL);
    close_object(ofi->cq ? &ofi->cq->fid : NULL);
    close_object(ofi->domain ? &ofi->domain->fid : NULL);
    close_object(ofi->fabric ? &ofi->fabric->fid : NULL);
    if (ofi->info)
        ofi_library.freeinfo(ofi->info);
    free(ofi->receives);
    free(ofi->sends);
    free(ofi->calls);
}
