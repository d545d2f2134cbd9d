/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls that are not there. libfabric's inline functions go through the tables without looking, so
 * each must have all of them; where libfabric does look, there is none.
 */
#include "provider/provider.h"

#include <rdma/fi_collective.h>

/* ---- Connections ---------------------------------------------------------------------------- */

int no_set_name(fid_t fid, void *address, size_t length)
{
    return -FI_ENOSYS;
}

int no_get_peer(struct fid_ep *ep, void *address, size_t *length)
{
    return -FI_ENOSYS;
}

int no_connect(struct fid_ep *ep, const void *address, const void *data, size_t length)
{
    return -FI_ENOSYS;
}

int no_listen(struct fid_pep *pep)
{
    return -FI_ENOSYS;
}

int no_accept(struct fid_ep *ep, const void *data, size_t length)
{
    return -FI_ENOSYS;
}

int no_reject(struct fid_pep *pep, fid_t handle, const void *data, size_t length)
{
    return -FI_ENOSYS;
}

int no_shutdown(struct fid_ep *ep, uint64_t flags)
{
    return -FI_ENOSYS;
}

int no_join(struct fid_ep *ep, const void *address, uint64_t flags, struct fid_mc **mc,
            void *context)
{
    return -FI_ENOSYS;
}

/* ---- Scalable endpoints --------------------------------------------------------------------- */

int no_send_context(struct fid_ep *ep, int index, struct fi_tx_attr *attr, struct fid_ep **made,
                    void *context)
{
    return -FI_ENOSYS;
}

int no_receive_context(struct fid_ep *ep, int index, struct fi_rx_attr *attr, struct fid_ep **made,
                       void *context)
{
    return -FI_ENOSYS;
}

/* ---- Shared contexts ------------------------------------------------------------------------ */

ssize_t no_cancel(fid_t fid, void *context)
{
    return -FI_ENOSYS;
}

int no_get_option(fid_t fid, int level, int name, void *value, size_t *length)
{
    return -FI_ENOPROTOOPT;
}

int no_set_option(fid_t fid, int level, int name, const void *value, size_t length)
{
    return -FI_ENOPROTOOPT;
}

ssize_t no_size_left(struct fid_ep *ep)
{
    return -FI_ENOSYS;
}

/* ---- Collective operations ------------------------------------------------------------------ */

static ssize_t no_barrier(struct fid_ep *ep, fi_addr_t group, void *context)
{
    return -FI_ENOSYS;
}

static ssize_t no_barrier_with_flags(struct fid_ep *ep, fi_addr_t group, uint64_t flags,
                                     void *context)
{
    return -FI_ENOSYS;
}

static ssize_t no_broadcast(struct fid_ep *ep, void *buffer, size_t count, void *desc,
                            fi_addr_t group, fi_addr_t root, enum fi_datatype type, uint64_t flags,
                            void *context)
{
    return -FI_ENOSYS;
}

/* alltoall, allgather */
static ssize_t no_exchange(struct fid_ep *ep, const void *buffer, size_t count, void *desc,
                           void *result, void *result_desc, fi_addr_t group, enum fi_datatype type,
                           uint64_t flags, void *context)
{
    return -FI_ENOSYS;
}

/* allreduce, reduce_scatter */
static ssize_t no_reduce_to_all(struct fid_ep *ep, const void *buffer, size_t count, void *desc,
                                void *result, void *result_desc, fi_addr_t group,
                                enum fi_datatype type, enum fi_op operation, uint64_t flags,
                                void *context)
{
    return -FI_ENOSYS;
}

static ssize_t no_reduce(struct fid_ep *ep, const void *buffer, size_t count, void *desc,
                         void *result, void *result_desc, fi_addr_t group, fi_addr_t root,
                         enum fi_datatype type, enum fi_op operation, uint64_t flags, void *context)
{
    return -FI_ENOSYS;
}

/* scatter, gather */
static ssize_t no_spread(struct fid_ep *ep, const void *buffer, size_t count, void *desc,
                         void *result, void *result_desc, fi_addr_t group, fi_addr_t root,
                         enum fi_datatype type, uint64_t flags, void *context)
{
    return -FI_ENOSYS;
}

static ssize_t no_message(struct fid_ep *ep, const struct fi_msg_collective *message,
                          struct fi_ioc *result, void **result_desc, size_t count, uint64_t flags)
{
    return -FI_ENOSYS;
}

struct fi_ops_collective no_collective_calls = {
    .size = sizeof(struct fi_ops_collective),
    .barrier = no_barrier,
    .broadcast = no_broadcast,
    .alltoall = no_exchange,
    .allreduce = no_reduce_to_all,
    .allgather = no_exchange,
    .reduce_scatter = no_reduce_to_all,
    .reduce = no_reduce,
    .scatter = no_spread,
    .gather = no_spread,
    .msg = no_message,
    .barrier2 = no_barrier_with_flags,
};
