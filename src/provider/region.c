/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Registered memory. Messages need none, so a program that has registered its buffers because
 * others want that gets what it asks for.
 */
#include "provider/op.h"

#include <stdlib.h>

static int close_region(struct fid *fid)
{
    struct region *region = (struct region *)fid;
    region->domain->users--;
    free(region);
    return 0;
}

static struct fi_ops region_fid_calls = {
    .size = sizeof(struct fi_ops),
    .close = close_region,
    .bind = no_bind,
    .control = no_control,
    .ops_open = no_ops_open,
};

static int reg_attr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
                    struct fid_mr **made)
{
    struct domain *domain = (struct domain *)fid;
    if (fid->fclass != FI_CLASS_DOMAIN || attr->iov_count > 1)
        return -FI_EINVAL;
    struct region *region = calloc(1, sizeof(*region));
    if (!region)
        return -FI_ENOMEM;
    region->domain = domain;
    region->key = domain->gives_keys ? ++domain->next_key : attr->requested_key;
    region->fid = (struct fid_mr){
        .fid = {.fclass = FI_CLASS_MR, .context = attr->context, .ops = &region_fid_calls},
        .key = region->key};
    region->fid.mem_desc = region;
    domain->users++;
    *made = &region->fid;
    return 0;
}

static int reg_pieces(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access,
                      uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **made,
                      void *context)
{
    struct fi_mr_attr attr = {.mr_iov = iov,
                              .iov_count = count,
                              .access = access,
                              .offset = offset,
                              .requested_key = key,
                              .context = context};
    return reg_attr(fid, &attr, flags, made);
}

static int reg(struct fid *fid, const void *buffer, size_t length, uint64_t access, uint64_t offset,
               uint64_t key, uint64_t flags, struct fid_mr **made, void *context)
{
    struct iovec iov = {.iov_base = (void *)(uintptr_t)buffer, .iov_len = length};
    return reg_pieces(fid, &iov, 1, access, offset, key, flags, made, context);
}

struct fi_ops_mr region_calls = {
    .size = sizeof(struct fi_ops_mr),
    .reg = reg,
    .regv = reg_pieces,
    .regattr = reg_attr,
};
