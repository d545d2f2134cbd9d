/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a NIC gets without writing it: derived operations where the others suffice, and a polite
 * refusal where they do not.
 */
#include "base/clock.h"
#include "base/error.h"
#include "nic/nic.h"

static int refuse(struct nic *nic, const char *what)
{
    return error_fail(RH_EUNSUP, "NIC %s has no %s", nic->ops->name, what);
}

static int default_pull(struct nic *nic, struct rh_remote source, void *target, size_t length,
                        const struct nic_extra *extra)
{
    (void)source, (void)target, (void)length, (void)extra;
    return refuse(nic, "pull");
}

/* A store is an inline push of the value's bytes: right on any NIC that moves aligned words
 * whole. */
static int default_store(struct nic *nic, const struct nic_view *view, uint64_t offset,
                         uint64_t value, unsigned width)
{
    static const struct nic_extra inline_push = {.is_inline = true};
    struct rh_remote target = view->remote;
    target.offset += offset;
    return nic->ops->push(nic, target, &value, width, &inline_push); /* little endian */
}
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "default_store takes the low bytes first");

static int default_atomic(struct nic *nic, struct rh_remote target,
                          const struct nic_atomic_operands *operands, uint64_t *old)
{
    (void)target, (void)operands, (void)old;
    return refuse(nic, "atomic operations");
}

static int default_append(struct nic *nic, struct rh_remote queue, const void *data, size_t length,
                          int64_t timeout_ns)
{
    (void)queue, (void)data, (void)length, (void)timeout_ns;
    return refuse(nic, "append");
}

/* Right where appends are never in doubt. */
static int default_append_try(struct nic *nic, struct rh_remote queue, const void *data,
                              size_t length, struct nic_ticket *ticket)
{
    return nic->ops->append(nic, queue, data, length, 0);
}

static int default_queue_peek(struct nic *nic, void *queue, struct rh_arrival *arrival)
{
    (void)queue, (void)arrival;
    return refuse(nic, "queues");
}

static void default_queue_release(struct nic *nic, void *queue)
{
    (void)nic, (void)queue;
}

/* Right where a view needs nothing of its own. */
static void default_view_release(struct nic *nic, const struct nic_view *view)
{
    (void)nic, (void)view;
}

/* Right where every operation has completed when it returns. */
static int default_flush(struct nic *nic, int rank)
{
    (void)nic, (void)rank;
    return 0;
}

/* Right where every transfer ends by itself, at its deadline at the latest. */
static void default_withdraw(struct nic *nic, struct rh_done *done)
{
    struct nic_wait wait = {.done = done, .from = nic->job->rank, .timeout_ns = NS_PER_S};
    /* acquire: pairs with the release of whoever sets the flag */
    while (__atomic_load_n(&done->state, __ATOMIC_ACQUIRE) == 0)
        nic->ops->wait(nic, &wait);
}

/* Right where waiting needs no waking. */
static int default_wake(struct nic *nic, int rank)
{
    (void)nic, (void)rank;
    return 0;
}

static void default_copied(struct nic *nic, uint64_t length) {}

static int64_t default_now_ns(struct nic *nic)
{
    return clock_now_ns();
}

#define COMPLETE(operation) ops->operation = ops->operation ? ops->operation : default_##operation

void nic_ops_complete(struct nic_ops *ops)
{
    COMPLETE(view_release);
    COMPLETE(pull);
    COMPLETE(store);
    COMPLETE(atomic);
    COMPLETE(append);
    COMPLETE(append_try);
    COMPLETE(queue_peek);
    COMPLETE(queue_release);
    COMPLETE(flush);
    COMPLETE(withdraw);
    COMPLETE(wake);
    COMPLETE(copied);
    COMPLETE(now_ns);
}
