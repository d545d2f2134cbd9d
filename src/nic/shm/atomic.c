/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Atomic operations: the instruction itself on mapped memory; on attached memory the owner does it.
 */
#include "nic/handover.h"
#include "nic/shm/quick.h"

static inline uint64_t apply(_Atomic uint64_t *word, const struct nic_atomic_operands *operands)
{
    uint64_t expected = operands->expected;
    if (likely(operands->operation == NIC_FETCH_ADD)) /* not by way of a table of jumps */
        return atomic_fetch_add(word, operands->operand);
    switch (operands->operation) {
    case NIC_FETCH_ADD:
        break;
    case NIC_FETCH_OR:
        return atomic_fetch_or(word, operands->operand);
    case NIC_FETCH_AND:
        return atomic_fetch_and(word, operands->operand);
    case NIC_SWAP:
        return atomic_exchange(word, operands->operand);
    case NIC_COMPARE_SWAP:
        atomic_compare_exchange_strong(word, &expected, operands->operand);
        return expected;
    }
    return 0;
}

uint64_t shm_atomic_apply(_Atomic uint64_t *word, const struct nic_atomic_operands *operands)
{
    return apply(word, operands);
}

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
        *old = shm_atomic_apply((_Atomic uint64_t *)(void *)(view->base + offset), operands);
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
    *old = shm_atomic_apply((_Atomic uint64_t *)(void *)(view->base + offset), operands);
    return 0;
}

static int atomic(struct shm_nic *shm, struct rh_remote target,
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

static rare_path int atomic_long_way(struct shm_nic *shm, struct rh_remote target,
                                     const struct nic_atomic_operands *operands, uint64_t *old)
{
    struct guard_record *guard = guard_enter();
    int result = atomic(shm, target, operands, old);
    guard_leave(guard);
    return result;
}

int shm_atomic(struct nic *nic, struct rh_remote target, const struct nic_atomic_operands *operands,
               uint64_t *old)
{
    nic_assert_atomic(nic, target, operands, old);
    struct shm_nic *shm = shm_nic_of(nic);
    struct guard_record *guard = guard_mine;
    if (unlikely(!guard || target.offset % 8 != 0))
        return atomic_long_way(shm, target, operands, old);
    guard_enter_by(guard);
    const struct shm_view *view = shm_quick_view(shm, target, 8, RH_ATOMIC);
    if (likely(view)) {
        struct shm_door *door = view->door;
        *old = apply((_Atomic uint64_t *)(void *)(view->base + target.offset), operands);
        guard_leave(guard);
        return shm_quick_end(shm, door);
    }
    guard_leave(guard);
    return atomic_long_way(shm, target, operands, old);
}
