/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Domains. The first one joins the process to its job.
 */
#include "provider/op.h"

#include <stdlib.h>

static int no_scalable_endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
                                void *context)
{
    return -FI_ENOSYS;
}

/* ---- Shared send contexts ------------------------------------------------------------------- */

/* All sends of a process share its mailbox anyway, so there is nothing in it. */
struct shared_send {
    struct fid_stx fid;
    struct domain *domain;
};

static int close_shared_send(struct fid *fid)
{
    struct shared_send *shared = (struct shared_send *)fid;
    shared->domain->users--;
    free(shared);
    return 0;
}

static struct fi_ops shared_send_calls = {
    .size = sizeof(struct fi_ops),
    .close = close_shared_send,
    .bind = no_bind,
    .control = no_control,
    .ops_open = no_ops_open,
};

static struct fi_ops_ep shared_send_options = {
    .size = sizeof(struct fi_ops_ep),
    .cancel = no_cancel,
    .getopt = no_get_option,
    .setopt = no_set_option,
    .tx_ctx = no_send_context,
    .rx_ctx = no_receive_context,
    .rx_size_left = no_size_left,
    .tx_size_left = no_size_left,
};

static int shared_send_open(struct fid_domain *fid, struct fi_tx_attr *attr, struct fid_stx **stx,
                            void *context)
{
    struct domain *domain = (struct domain *)fid;
    struct shared_send *shared = calloc(1, sizeof(*shared));
    if (!shared)
        return -FI_ENOMEM;
    shared->fid = (struct fid_stx){
        .fid = {.fclass = FI_CLASS_STX_CTX, .context = context, .ops = &shared_send_calls},
        .ops = &shared_send_options};
    shared->domain = domain;
    domain->users++;
    *stx = &shared->fid;
    return 0;
}

/* ---- Domains -------------------------------------------------------------------------------- */

static int no_shared_receive(struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **ep,
                             void *context)
{
    return -FI_ENOSYS;
}

static struct fi_ops_domain domain_calls = {
    .size = sizeof(struct fi_ops_domain),
    .av_open = vector_open,
    .cq_open = queue_open,
    .endpoint = endpoint_open,
    .scalable_ep = no_scalable_endpoint,
    .cntr_open = counter_open,
    .poll_open = poll_set_open,
    .stx_ctx = shared_send_open,
    .srx_ctx = no_shared_receive,
    .query_atomic = atomic_query,
};

static int close_domain(struct fid *fid)
{
    struct domain *domain = (struct domain *)fid;
    if (domain->users > 0)
        return -FI_EBUSY;
    if (domain->is_automatic)
        progress_end(domain->engine);
    engine_close(domain->engine);
    free(domain);
    return 0;
}

static struct fi_ops domain_fid_calls = {
    .size = sizeof(struct fi_ops),
    .close = close_domain,
    .bind = no_bind,
    .control = no_control,
    .ops_open = no_ops_open,
};

int domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **made,
                void *context)
{
    struct domain *domain = calloc(1, sizeof(*domain));
    if (!domain)
        return -FI_ENOMEM;
    int result = engine_open(&domain->engine);
    if (result < 0) {
        free(domain);
        return result;
    }
    domain->is_automatic = info->domain_attr &&
                           info->domain_attr->data_progress == FI_PROGRESS_AUTO;
    if (domain->is_automatic)
        result = progress_begin(domain->engine);
    if (result < 0) {
        engine_close(domain->engine);
        free(domain);
        return result;
    }
    int mode = info->domain_attr ? info->domain_attr->mr_mode : 0;
    domain->has_virtual_addresses = mode == FI_MR_BASIC || (mode & FI_MR_VIRT_ADDR);
    domain->gives_keys = mode == FI_MR_BASIC || (mode & FI_MR_PROV_KEY);
    domain->fid = (struct fid_domain){
        .fid = {.fclass = FI_CLASS_DOMAIN, .context = context, .ops = &domain_fid_calls},
        .ops = &domain_calls,
        .mr = &region_calls};
    *made = &domain->fid;
    return 0;
}
