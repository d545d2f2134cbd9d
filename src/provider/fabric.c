/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What libfabric finds when it loads us, and fabrics.
 */
#include "provider/op.h"

#include <stdlib.h>

/* ---- What is not there ---------------------------------------------------------------------- */

int no_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
    return -FI_ENOSYS;
}

int no_control(struct fid *fid, int command, void *argument)
{
    return -FI_ENOSYS;
}

int no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
    return -FI_ENOSYS;
}

int fi_error(int result)
{
    switch (result) {
    case 0:
        return 0;
    case RH_EDEAD:
        return FI_ECONNRESET;
    case RH_ETOOBIG:
        return FI_ETRUNC;
    case RH_ENOSPACE:
        return FI_ENOMEM;
    case RH_ECANCELED:
        return FI_ECANCELED;
    case RH_ETIMEOUT:
        return FI_ETIMEDOUT;
    case RH_EREFUSED:
        return FI_EACCES;
    case RH_EINVALID:
        return FI_EINVAL;
    case RH_EUNSUP:
        return FI_EOPNOTSUPP;
    default:
        return FI_EIO;
    }
}

/* ---- Fabrics -------------------------------------------------------------------------------- */

static int no_passive_endpoint(struct fid_fabric *fabric, struct fi_info *info,
                               struct fid_pep **pep, void *context)
{
    return -FI_ENOSYS;
}

static struct fi_ops_fabric fabric_calls = {
    .size = sizeof(struct fi_ops_fabric),
    .domain = domain_open,
    .passive_ep = no_passive_endpoint,
    .eq_open = event_queue_open,
    .wait_open = wait_set_open,
    .trywait = wait_try,
};

static int close_fabric(struct fid *fid)
{
    free(fid);
    return 0;
}

static struct fi_ops fabric_fid_calls = {
    .size = sizeof(struct fi_ops),
    .close = close_fabric,
    .bind = no_bind,
    .control = no_control,
    .ops_open = no_ops_open,
};

int fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
    struct fid_fabric *made = calloc(1, sizeof(*made));
    if (!made)
        return -FI_ENOMEM;
    made->fid = (struct fid){
        .fclass = FI_CLASS_FABRIC, .context = context, .ops = &fabric_fid_calls};
    made->ops = &fabric_calls;
    made->api_version = attr->api_version;
    *fabric = made;
    return 0;
}

/* ---- Loading -------------------------------------------------------------------------------- */

static void clean_up(void) {}

struct fi_provider provider = {
    .version = PROVIDER_VERSION,
    .fi_version = API_VERSION,
    .name = PROVIDER_NAME,
    .getinfo = info_get,
    .fabric = fabric_open,
    .cleanup = clean_up,
};

struct fi_provider *fi_prov_ini(void);

FI_EXT_INI
{
    hold_define();
    return &provider;
}
