/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Registered memory. Messages need none; RMA and atomics are for what a peer can name. Nothing is
 * pinned or mapped: whoever makes progress in the owner's process moves the bytes.
 */
#include "provider/op.h"

#include <stdlib.h>

static struct region **find_link(struct domain *domain, uint64_t key)
{
    uint64_t mixed = key ^ key >> 32;
    struct region **link = &domain->regions[(mixed ^ mixed >> 6) % REGION_LISTS];
    while (*link && (*link)->key != key)
        link = &(*link)->next;
    return link;
}

char *region_find(struct domain *domain, const struct region_wish *wish, struct region **found)
{
    struct region *region = *find_link(domain, wish->key);
    if (!region || (region->access & wish->access) != wish->access)
        return NULL;
    uint64_t offset = wish->address - region->first;
    if (wish->address < region->first || offset > region->length ||
        wish->length > region->length - offset)
        return NULL;
    *found = region;
    return region->base + offset;
}

static int close_region(struct fid *fid)
{
    struct region *region = (struct region *)fid;
    struct domain *domain = region->domain;
    engine_take(domain->engine);
    ops_region_abandon(domain->engine, region);
    *find_link(domain, region->key) = region->next;
    for (int i = 0; i < COUNT_KINDS; i++) {
        if (region->counter[i])
            region->counter[i]->users--;
    }
    engine_give(domain->engine);
    domain->users--;
    free(region);
    return 0;
}

static int bind_region(struct fid *fid, struct fid *other, uint64_t flags)
{
    struct region *region = (struct region *)fid;
    struct counter *counter = (struct counter *)other;
    if (other->fclass == FI_CLASS_EP) /* all of the domain's endpoints are served */
        return 0;
    if (other->fclass != FI_CLASS_CNTR)
        return -FI_EINVAL;
    if (flags & FI_REMOTE_WRITE) {
        region->counter[COUNT_REMOTE_WRITE] = counter;
        counter->users++;
    }
    if (flags & FI_REMOTE_READ) {
        region->counter[COUNT_REMOTE_READ] = counter;
        counter->users++;
    }
    return 0;
}

static int control_region(struct fid *fid, int command, void *argument)
{
    return command == FI_ENABLE ? 0 : -FI_ENOSYS;
}

static struct fi_ops region_fid_calls = {
    .size = sizeof(struct fi_ops),
    .close = close_region,
    .bind = bind_region,
    .control = control_region,
    .ops_open = no_ops_open,
};

static int add(struct domain *domain, struct region *region, uint64_t wanted)
{
    engine_take(domain->engine);
    region->key = wanted;
    while (domain->gives_keys && *find_link(domain, region->key = ++domain->next_key))
        ;
    struct region **link = find_link(domain, region->key);
    bool is_free = !*link;
    if (is_free)
        *link = region;
    engine_give(domain->engine);
    return is_free ? 0 : -FI_ENOKEY;
}

static int reg_attr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
                    struct fid_mr **made)
{
    struct domain *domain = (struct domain *)fid;
    if (fid->fclass != FI_CLASS_DOMAIN || attr->iov_count != 1)
        return -FI_EINVAL;
    struct region *region = calloc(1, sizeof(*region));
    if (!region)
        return -FI_ENOMEM;
    region->domain = domain;
    region->base = attr->mr_iov[0].iov_base;
    region->length = attr->mr_iov[0].iov_len;
    region->first = domain->has_virtual_addresses ? (uintptr_t)region->base : 0;
    region->access = attr->access;
    int result = add(domain, region, attr->requested_key);
    if (result < 0) {
        free(region);
        return result;
    }
    region->fid = (struct fid_mr){
        .fid = {.fclass = FI_CLASS_MR, .context = attr->context, .ops = &region_fid_calls},
        .mem_desc = region,
        .key = region->key};
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
