/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What fi_getinfo() answers: one kind of endpoint, FI_EP_RDM, or that there is nothing to be had.
 */
#include "provider/provider.h"

#include "base/log.h"

#include <stdlib.h>
#include <string.h>

#define PRIMARY_CAPS (FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC)
#define SEND_CAPS    (FI_SEND | FI_READ | FI_WRITE)
#define RECEIVE_CAPS                                                                               \
    (FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_DIRECTED_RECV | FI_MULTI_RECV | FI_SOURCE |   \
     FI_RMA_EVENT)
#define DOMAIN_CAPS (FI_LOCAL_COMM | FI_REMOTE_COMM)
#define ALL_CAPS    (PRIMARY_CAPS | SEND_CAPS | RECEIVE_CAPS | DOMAIN_CAPS)
#define ORDER       FI_ORDER_SAS
#define SEND_FLAGS                                                                                 \
    (FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE |                       \
     FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)
#define RECEIVE_FLAGS (FI_COMPLETION | FI_MULTI_RECV)
#define MESSAGE_MAX   (SIZE_MAX / 4)

/* What a call names besides its hints. */
struct info_request {
    const char *node, *service;
    uint64_t flags;
    const struct fi_info *hints;
};

/* Why not, for who asks by RHINET_LOG=debug. */
static bool refuse(const char *what)
{
    log_debug("libfabric provider rhinet: fi_getinfo() asks for %s, which is not there", what);
    return false;
}

static bool send_fits(const struct fi_tx_attr *hints)
{
    if (!hints)
        return true;
    if (hints->caps & ~ALL_CAPS)
        return refuse("capabilities of sends");
    if (hints->op_flags & ~SEND_FLAGS)
        return refuse("flags of sends");
    if (hints->msg_order & ~ORDER)
        return refuse("an order of messages");
    if (hints->comp_order)
        return refuse("an order of completions");
    if (hints->inject_size > INJECT_MAX)
        return refuse("a larger inject size");
    if (hints->iov_limit > IOV_MAX_COUNT || hints->rma_iov_limit > 1)
        return refuse("more pieces");
    return true;
}

static bool receive_fits(const struct fi_rx_attr *hints)
{
    if (!hints)
        return true;
    if (hints->caps & ~ALL_CAPS)
        return refuse("capabilities of receives");
    if (hints->op_flags & ~RECEIVE_FLAGS)
        return refuse("flags of receives");
    if (hints->msg_order & ~ORDER)
        return refuse("an order of messages");
    if (hints->comp_order)
        return refuse("an order of completions");
    if (hints->iov_limit > IOV_MAX_COUNT)
        return refuse("more pieces");
    return true;
}

static bool endpoint_fits(const struct fi_ep_attr *hints)
{
    if (!hints)
        return true;
    if (hints->type != FI_EP_UNSPEC && hints->type != FI_EP_RDM)
        return refuse("another type of endpoint");
    if (hints->protocol != FI_PROTO_UNSPEC && hints->protocol != PROVIDER_PROTOCOL)
        return refuse("another protocol");
    if ((hints->tx_ctx_cnt > 1 && hints->tx_ctx_cnt != FI_SHARED_CONTEXT) || hints->rx_ctx_cnt > 1)
        return refuse("several contexts, or shared ones of receives");
    if (hints->max_msg_size > MESSAGE_MAX)
        return refuse("longer messages");
    if (hints->auth_key_size > 0)
        return refuse("a key of endpoints");
    return true;
}

static bool domain_fits(const struct fi_domain_attr *hints)
{
    if (!hints)
        return true;
    if (hints->name && strcmp(hints->name, PROVIDER_NAME) != 0)
        return refuse("another domain");
    if (hints->cq_data_size > sizeof(uint32_t))
        return refuse("more than 4 bytes of data in a completion");
    if (hints->auth_key_size > 0)
        return refuse("a key of the domain");
    if (hints->mr_key_size > sizeof(uint64_t))
        return refuse("longer keys");
    if (hints->caps & ~DOMAIN_CAPS)
        return refuse("capabilities of a domain");
    return true;
}

static bool fits(const struct fi_info *hints)
{
    if (!hints)
        return true;
    if (hints->caps & ~ALL_CAPS) {
        log_debug("libfabric provider rhinet: capabilities %s are not there",
                  fi_tostr(&(uint64_t){hints->caps & ~ALL_CAPS}, FI_TYPE_CAPS));
        return false;
    }
    if (hints->addr_format != FI_FORMAT_UNSPEC)
        return refuse("a format of addresses");
    const struct fi_fabric_attr *fabric = hints->fabric_attr;
    if (fabric && fabric->name && strcmp(fabric->name, PROVIDER_NAME) != 0)
        return refuse("another fabric");
    return endpoint_fits(hints->ep_attr) && send_fits(hints->tx_attr) &&
           receive_fits(hints->rx_attr) && domain_fits(hints->domain_attr);
}

/* ---- What there is -------------------------------------------------------------------------- */

static void fill_send(struct fi_info *info, const struct fi_tx_attr *hints)
{
    *info->tx_attr = (struct fi_tx_attr){
        .caps = info->caps & (PRIMARY_CAPS | SEND_CAPS),
        .op_flags = hints ? hints->op_flags : 0,
        .msg_order = ORDER,
        .inject_size = INJECT_MAX,
        .size = hints && hints->size ? hints->size : SENDS_DEFAULT,
        .iov_limit = IOV_MAX_COUNT,
        .rma_iov_limit = 1,
    };
}

static void fill_receive(struct fi_info *info, const struct fi_rx_attr *hints)
{
    *info->rx_attr = (struct fi_rx_attr){
        .caps = info->caps & (PRIMARY_CAPS | RECEIVE_CAPS),
        .op_flags = hints ? hints->op_flags : 0,
        .msg_order = ORDER,
        .size = hints && hints->size ? hints->size : SENDS_DEFAULT,
        .iov_limit = IOV_MAX_COUNT,
    };
}

static void fill_endpoint(struct fi_info *info, const struct fi_ep_attr *hints)
{
    *info->ep_attr = (struct fi_ep_attr){
        .type = FI_EP_RDM,
        .protocol = PROVIDER_PROTOCOL,
        .protocol_version = 1,
        .max_msg_size = MESSAGE_MAX,
        .mem_tag_format = hints && hints->mem_tag_format ? hints->mem_tag_format : UINT64_MAX,
        .tx_ctx_cnt = hints && hints->tx_ctx_cnt == FI_SHARED_CONTEXT ? FI_SHARED_CONTEXT : 1,
        .rx_ctx_cnt = 1,
    };
}

/* Which rules for registered memory the program gets: it never has to do anything for us. */
static int mr_mode(uint32_t version, const struct fi_domain_attr *hints)
{
    int wanted = hints ? hints->mr_mode : 0;
    if (wanted == FI_MR_BASIC)
        return FI_MR_BASIC;
    return FI_VERSION_LT(version, FI_VERSION(1, 5)) || wanted == FI_MR_SCALABLE ? FI_MR_SCALABLE
                                                                                : 0;
}

static void fill_domain(struct fi_info *info, uint32_t version, const struct fi_domain_attr *hints)
{
    struct fi_domain_attr *domain = info->domain_attr;
    domain->name = strdup(PROVIDER_NAME);
    domain->threading = hints && hints->threading ? hints->threading : FI_THREAD_SAFE;
    domain->control_progress = hints && hints->control_progress ? hints->control_progress
                                                                : FI_PROGRESS_AUTO;
    domain->data_progress = hints && hints->data_progress ? hints->data_progress
                                                          : FI_PROGRESS_MANUAL;
    domain->resource_mgmt = FI_RM_ENABLED;
    domain->av_type = hints && hints->av_type ? hints->av_type : FI_AV_TABLE;
    domain->mr_mode = mr_mode(version, hints);
    domain->mr_key_size = sizeof(uint64_t);
    domain->cq_data_size = sizeof(uint32_t);
    domain->cq_cnt = 1024;
    domain->ep_cnt = PORT_COUNT;
    domain->tx_ctx_cnt = PORT_COUNT;
    domain->rx_ctx_cnt = PORT_COUNT;
    domain->max_ep_tx_ctx = 1;
    domain->max_ep_rx_ctx = 1;
    domain->max_ep_stx_ctx = PORT_COUNT;
    domain->cntr_cnt = 1024;
    domain->mr_iov_limit = 1;
    domain->caps = DOMAIN_CAPS;
    domain->max_err_data = 0;
    domain->mr_cnt = 1 << 16;
}

/* ---- Names ---------------------------------------------------------------------------------- */

static bool put_address(void **copy, size_t *length, const struct address *address)
{
    *copy = malloc(sizeof(*address));
    if (*copy) {
        memcpy(*copy, address, sizeof(*address));
        *length = sizeof(*address);
    }
    return *copy != NULL;
}

/* From whom, and to whom: as the call says, else as the hints do. 0, -FI_ENODATA, -FI_ENOMEM. */
static int fill_addresses(struct fi_info *info, const struct info_request *request)
{
    const struct fi_info *hints = request->hints;
    bool is_source = request->flags & FI_SOURCE;
    bool has_name = request->node || request->service;
    struct address source, target, named;
    if (request->node && !host_is_here(request->node, request->flags & FI_NUMERICHOST))
        return -FI_ENODATA;
    if (!address_name(&named, request->service))
        return -FI_ENODATA;
    address_name(&source, NULL);
    if (is_source && has_name)
        source = named;
    else if (hints && hints->src_addr &&
             !address_read(hints->src_addr, hints->src_addrlen, &source))
        return -FI_ENODATA;
    bool has_target = has_name && !is_source;
    if (has_target)
        target = named;
    else if (hints && hints->dest_addr) {
        has_target = true;
        if (!address_read(hints->dest_addr, hints->dest_addrlen, &target))
            return -FI_ENODATA;
    }
    if (!put_address(&info->src_addr, &info->src_addrlen, &source) ||
        (has_target && !put_address(&info->dest_addr, &info->dest_addrlen, &target)))
        return -FI_ENOMEM;
    return 0;
}

int info_get(uint32_t version, const char *node, const char *service, uint64_t flags,
             const struct fi_info *hints, struct fi_info **info)
{
    /* Our own NIC may look for something to go by: that must not be us. */
    if (engine_is_opening() || !fits(hints))
        return -FI_ENODATA;
    struct fi_info *made = fi_allocinfo();
    if (!made)
        return -FI_ENOMEM;
    /* What a program has not asked for costs it nothing but these. */
    made->caps = hints && hints->caps ? hints->caps | DOMAIN_CAPS : ALL_CAPS;
    if (made->caps & (FI_MSG | FI_TAGGED) && !(made->caps & (FI_SEND | FI_RECV)))
        made->caps |= FI_SEND | FI_RECV;
    if (made->caps & (FI_RMA | FI_ATOMIC) &&
        !(made->caps & (FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)))
        made->caps |= FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    made->addr_format = FI_FORMAT_UNSPEC;
    fill_send(made, hints ? hints->tx_attr : NULL);
    fill_receive(made, hints ? hints->rx_attr : NULL);
    fill_endpoint(made, hints ? hints->ep_attr : NULL);
    fill_domain(made, version, hints ? hints->domain_attr : NULL);
    made->fabric_attr->name = strdup(PROVIDER_NAME);
    made->fabric_attr->prov_version = PROVIDER_VERSION;
    made->fabric_attr->api_version = version;
    struct info_request request = {
        .node = node, .service = service, .flags = flags, .hints = hints};
    int result = made->domain_attr->name && made->fabric_attr->name ? fill_addresses(made, &request)
                                                                    : -FI_ENOMEM;
    if (result < 0)
        fi_freeinfo(made);
    else
        *info = made;
    return result;
}
