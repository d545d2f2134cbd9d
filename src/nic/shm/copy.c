/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Moving bytes: push, pull and store. Allocated memory is mapped here and copied directly;
 * attached memory is moved by the kernel (cross-memory attach), or by its owner's service thread
 * where the kernel forbids that.
 */
#include "base/error.h"
#include "base/log.h"
#include "nic/handover.h"
#include "nic/shm/shm_nic.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#define CMA_CHUNK (1ULL << 30) /* the kernel moves at most 2 GiB at a time */

/* Words that a peer polls must arrive whole, and after what was written before them. */
static inline bool is_word(const void *address, size_t length)
{
    return length == 8 && ((uintptr_t)address & 7) == 0;
}

static inline void copy_in(char *target, const void *source, size_t length)
{
    if (likely(is_word(target, length))) {
        uint64_t word;
        memcpy(&word, source, sizeof(word));
        __atomic_store_n((uint64_t *)(void *)target, word, __ATOMIC_RELEASE);
        return;
    }
    if (length > 0)
        memmove(target, source, length); /* a rank may push onto itself */
}

static inline void copy_out(void *target, const char *source, size_t length)
{
    if (is_word(source, length)) {
        uint64_t word = __atomic_load_n((const uint64_t *)(const void *)source, __ATOMIC_ACQUIRE);
        memcpy(target, &word, sizeof(word));
        return;
    }
    if (length > 0)
        memmove(target, source, length);
}

/* ---- Attached memory ------------------------------------------------------------------------ */

struct attached_copy {
    const struct shm_view *view;
    uint64_t offset;
    char *local;
    size_t length;
    bool is_push;
};

static int cma_failed(struct shm_nic *shm, const struct attached_copy *copy, int code)
{
    int rank = copy->view->rank;
    if (code == ESRCH)
        return shm_refuse_vanished(shm, rank, copy->is_push ? "push" : "pull");
    if (code == EFAULT)
        return error_set(-EFAULT, rank,
                         "attached segment %u of rank %d, or the local buffer, is not mapped any "
                         "more; detach before unmapping",
                         copy->view->sid, rank);
    if (code == EPERM || code == ENOSYS) {
        if (!atomic_exchange(&shm->cma_forbidden, true))
            log_info("the kernel forbids cross-memory attach (%s; see kernel.yama.ptrace_scope, or "
                     "the container's seccomp profile): attached memory goes through its owner's "
                     "service thread, which is slower",
                     strerror(code));
        return RH_EAGAIN;
    }
    return error_set(-code, rank, "cross-memory attach to rank %d: %s", rank, strerror(code));
}

/* One call of the kernel, through the gate; returns bytes moved, or -1 with errno, which is EFAULT
 * if the gate is shut. */
static ssize_t move_through(uint64_t gate, const struct attached_copy *copy, size_t done, pid_t pid)
{
    char pass[1] = {0}; /* nobody looks at what lies in a gate */
    size_t left = copy->length - done;
    size_t chunk = left < CMA_CHUNK ? left : CMA_CHUNK;
    uint64_t there = copy->view->address + copy->offset + done;
    struct iovec local[] = {{pass, sizeof(pass)}, {copy->local + done, chunk}};
    struct iovec remote[] = {{(void *)(uintptr_t)gate, sizeof(pass)},
                             {(void *)(uintptr_t)there, chunk}};
    ssize_t moved = copy->is_push ? process_vm_writev(pid, local, 2, remote, 2, 0)
                                  : process_vm_readv(pid, local, 2, remote, 2, 0);
    if (moved < 0)
        return moved;
    if ((size_t)moved > sizeof(pass))
        return moved - (ssize_t)sizeof(pass);
    errno = EFAULT;
    return -1;
}

static int copy_by_kernel(struct shm_nic *shm, const struct attached_copy *copy)
{
    const struct shm_view *view = copy->view;
    pid_t pid = atomic_load_explicit(&shm->nic.job->roster->peer[view->rank].pid,
                                     memory_order_relaxed);
    size_t done = 0;
    while (done < copy->length) {
        uint64_t gate = shm_gate_of(view->door);
        if (!shm_view_is_current(view))
            return shm_refuse_stale(shm, view->rank, view->sid);
        ssize_t moved = move_through(gate, copy, done, pid);
        if (moved < 0 && errno == EFAULT &&
            (gate != shm_gate_of(view->door) || !shm_view_is_current(view)))
            continue; /* shut or unmapped meanwhile: look again */
        if (moved < 0)
            return cma_failed(shm, copy, errno);
        done += (size_t)moved;
    }
    return 0;
}

static int copy_by_service(struct shm_nic *shm, const struct attached_copy *copy)
{
    struct shm_service_call call = {.operation = copy->is_push ? SHM_SERVICE_PUSH
                                                               : SHM_SERVICE_PULL,
                                    .view = copy->view,
                                    .offset = copy->offset,
                                    .length = copy->length,
                                    .buffer = copy->local};
    return shm_service_ask(shm, &call);
}

static int copy_attached_guarded(struct shm_nic *shm, const struct attached_copy *copy)
{
    const struct shm_view *view = copy->view;
    if (!shm_view_is_current(view))
        return shm_refuse_stale(shm, view->rank, view->sid);
    if (view->base) { /* the owner is this process */
        if (copy->is_push)
            copy_in(view->base + copy->offset, copy->local, copy->length);
        else
            copy_out(copy->local, view->base + copy->offset, copy->length);
        return 0;
    }
    if (!atomic_load_explicit(&shm->cma_forbidden, memory_order_relaxed)) {
        int result = copy_by_kernel(shm, copy);
        if (result != RH_EAGAIN)
            return result;
    }
    return copy_by_service(shm, copy);
}

static rare_path int copy_attached(struct shm_nic *shm, const struct attached_copy *copy)
{
    if (copy->length == 0)
        return 0;
    _Atomic uint64_t *hazard = shm_hazard_set(shm, copy->view->rank, copy->view->sid);
    int result = copy_attached_guarded(shm, copy);
    shm_hazard_clear(hazard);
    return result;
}

/* ---- Push and pull -------------------------------------------------------------------------- */

static inline int push_data(struct shm_nic *shm, const struct shm_view *view, uint64_t offset,
                            const void *source, size_t length)
{
    if (likely(view->kind == NIC_SEGMENT_ALLOCATED)) {
        copy_in(view->base + offset, source, length);
        return 0;
    }
    struct attached_copy copy = {.view = view,
                                 .offset = offset,
                                 .local = (char *)(uintptr_t)source,
                                 .length = length,
                                 .is_push = true};
    return copy_attached(shm, &copy);
}

/* Everything is checked before anything is written. */
static rare_path int push_extra(struct shm_nic *shm, const struct shm_view *view,
                                struct rh_remote target, const void *source, size_t length,
                                const struct nic_extra *extra)
{
    const struct rh_notice *notice = extra->notice;
    struct shm_view *word_view = NULL;
    int result = 0;
    if (notice) {
        bool is_near = notice->word.sid == target.sid && notice->word.offset <= view->length - 8;
        word_view = likely(is_near && view->length >= 8)
                        ? (struct shm_view *)(uintptr_t)view
                        : shm_view_check(shm, notice->word, 8, RH_WRITE, &result);
        if (unlikely(!word_view))
            return result;
        if (word_view->kind == NIC_SEGMENT_QUEUE)
            return shm_refuse_queue(word_view);
        if (notice->word.offset % 8 != 0)
            return shm_refuse_alignment(notice->word);
    }
    result = push_data(shm, view, target.offset, source, length);
    if (result < 0)
        return result;
    if (notice) {
        struct nic_atomic_operands swap = {.operation = NIC_SWAP, .operand = notice->value};
        uint64_t old;
        if (likely(word_view->kind == NIC_SEGMENT_ALLOCATED))
            copy_in(word_view->base + notice->word.offset, &notice->value, 8);
        else
            result = shm_atomic_on(shm, word_view, notice->word.offset, &swap, &old);
    }
    shm_after_write(shm, view->door);
    if (extra->done && result == 0)
        __atomic_store_n(&extra->done->state, 1, __ATOMIC_RELEASE);
    return result;
}

static inline int push(struct shm_nic *shm, struct rh_remote target, const void *source,
                       size_t length, const struct nic_extra *extra)
{
    int result = 0;
    struct shm_view *view = shm_view_check(shm, target, length, RH_WRITE, &result);
    if (unlikely(!view))
        return result;
    if (unlikely(view->kind == NIC_SEGMENT_QUEUE))
        return shm_refuse_queue(view);
    if (extra && (extra->notice || extra->done))
        return push_extra(shm, view, target, source, length, extra);
    result = push_data(shm, view, target.offset, source, length);
    shm_after_write(shm, view->door);
    return result;
}

int shm_push(struct nic *nic, struct rh_remote target, const void *source, size_t length,
             const struct nic_extra *extra)
{
    nic_assert_push(nic, target, extra);
    struct guard_record *guard = guard_enter();
    int result = push(shm_nic_of(nic), target, source, length, extra);
    guard_leave(guard);
    return result;
}

static inline int pull(struct shm_nic *shm, struct rh_remote source, void *target, size_t length,
                       const struct nic_extra *extra)
{
    int result = 0;
    struct shm_view *view = shm_view_check(shm, source, length, RH_READ, &result);
    if (unlikely(!view))
        return result;
    if (view->kind == NIC_SEGMENT_QUEUE)
        return shm_refuse_queue(view);
    if (likely(view->kind == NIC_SEGMENT_ALLOCATED)) {
        copy_out(target, view->base + source.offset, length);
    } else {
        struct attached_copy copy = {
            .view = view, .offset = source.offset, .local = target, .length = length};
        result = copy_attached(shm, &copy);
    }
    if (unlikely(result == 0 && !shm_view_is_current(view)))
        return shm_refuse_stale(shm, view->rank, view->sid); /* these may be no one's bytes */
    if (extra && extra->done && result == 0)
        __atomic_store_n(&extra->done->state, 1, __ATOMIC_RELEASE);
    return result;
}

int shm_pull(struct nic *nic, struct rh_remote source, void *target, size_t length,
             const struct nic_extra *extra)
{
    nic_assert_pull(nic, source, extra);
    struct guard_record *guard = guard_enter();
    int result = pull(shm_nic_of(nic), source, target, length, extra);
    guard_leave(guard);
    return result;
}

/* ---- Store ---------------------------------------------------------------------------------- */

static int store_slow(struct nic *nic, const struct nic_view *view, uint64_t offset, uint64_t value,
                      unsigned width)
{
    const struct shm_view *segment = view->handle;
    struct rh_remote target = view->remote;
    target.offset += offset;
    /* the SID may have come back: that is another segment, and not the one that was checked */
    if (roster_state(nic->job->roster, target.rank) < RH_PEER_LEFT && !shm_view_is_current(segment))
        return shm_refuse_stale(shm_nic_of(nic), target.rank, target.sid);
    return shm_push(nic, target, &value, width, NULL); /* finds out what is wrong, or copies */
}

int shm_store(struct nic *nic, const struct nic_view *view, uint64_t offset, uint64_t value,
              unsigned width)
{
    nic_assert_store(nic, view, offset, width);
    struct shm_nic *shm = shm_nic_of(nic);
    const struct shm_view *segment = view->handle;
    if (unlikely(!view->pointer || !shm_view_is_current(segment) ||
                 roster_state(nic->job->roster, view->remote.rank) >= RH_PEER_LEFT))
        return store_slow(nic, view, offset, value, width);
    char *target = (char *)view->pointer + offset;
    switch (width) {
    case 8:
        __atomic_store_n((uint64_t *)(void *)target, value, __ATOMIC_RELEASE);
        break;
    case 4:
        __atomic_store_n((uint32_t *)(void *)target, (uint32_t)value, __ATOMIC_RELEASE);
        break;
    case 2:
        __atomic_store_n((uint16_t *)(void *)target, (uint16_t)value, __ATOMIC_RELEASE);
        break;
    default:
        __atomic_store_n((uint8_t *)target, (uint8_t)value, __ATOMIC_RELEASE);
    }
    shm_after_write(shm, segment->door);
    return 0;
}
