/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Atomic operations: the instruction itself on mapped memory; on attached memory the owner does it.
 */
#include "nic/handover.h"
#include "nic/shm/shm_nic.h"

/* Only the owner can change its attached memory atomically towards its own threads. */
static rare_path int atomic_on_attached(struct shm_nic *shm, const struct shm_view *view,
                                        uint64_t offset, const struct nic_atomic_operands *operands,
                                        uint64_t *old)
{
    int result = 0;
    _Atomic uint64_t *hazard = shm_hazard_set(shm, view->rank, view->sid);
    if (!shm_view_is_current(view)) {
        result = shm_refuse_stale(shm, view->rank, view->sid);
    } else if (view->base) {
        *old = nic_atomic_apply((_Atomic uint64_t *)(void *)(view->base + offset), operands);
    } else {
        struct shm_service_call call = {
            .operation = SHM_SERVICE_ATOMIC, .view = view, .offset = offset, .operands = *operands};
        result = shm_service_ask(shm, &call);
        if (result == 0)
            *old = call.old;
    }
    shm_hazard_clear(hazard);
    return result;
}

int shm_atomic_on(struct shm_nic *shm, const struct shm_view *view, uint64_t offset,
                  const struct nic_atomic_operands *operands, uint64_t *old)
{
    if (unlikely(view->kind != NIC_SEGMENT_ALLOCATED))
        return atomic_on_attached(shm, view, offset, operands, old);
    *old = nic_atomic_apply((_Atomic uint64_t *)(void *)(view->base + offset), operands);
    return 0;
}

static inline int atomic(struct shm_nic *shm, struct rh_remote target,
                         const struct nic_atomic_operands *operands, uint64_t *old)
{
    int result = 0;
    struct shm_view *view = shm_view_check(shm, target, 8, RH_ATOMIC, &result);
    if (unlikely(!view))
        return result;
    if (unlikely(view->kind == NIC_SEGMENT_QUEUE))
        return shm_refuse_queue(view);
    if (unlikely(target.offset % 8 != 0))
        return shm_refuse_alignment(target);
    result = shm_atomic_on(shm, view, target.offset, operands, old);
    shm_after_write(shm, view->door);
    return result;
}

int shm_atomic(struct nic *nic, struct rh_remote target, const struct nic_atomic_operands *operands,
               uint64_t *old)
{
    nic_assert_atomic(nic, target, operands, old);
    struct guard_record *guard = guard_enter();
    int result = atomic(shm_nic_of(nic), target, operands, old);
    guard_leave(guard);
    return result;
}
