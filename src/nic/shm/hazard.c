/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who copies attached memory, and how its owner gets it back. Model: tests/model/detach.pml.
 *
 * Whoever copies sets a hazard first; an owner that detaches waits until it is cleared. A peer that
 * is stopped would keep it waiting, or copy long afterwards: the owner then shuts the gate. That is
 * a page of the owner's own, into which every copy by the kernel writes a byte before anything
 * else; once it is not writable the copy ends there. A call of the kernel that is past the gate
 * runs to its end, stopped or not; so a peer that is seen stopped after its gate was shut moves
 * nothing more.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "base/rest.h"
#include "nic/shm/shm_nic.h"

#include <sys/mman.h>
#include <unistd.h>

#define GATES        1024u    /* how often a gate can be shut; then one waits for the time-out */
#define STOP_LOOK_NS 20000000 /* a copy takes less, but for a peer that is stopped or starved */

/* ---- Gates ---------------------------------------------------------------------------------- */

static size_t gate_length(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static bool gate_make(struct shm_nic *shm, uint32_t number)
{
    char *gate = shm->gates + number * gate_length();
    if (mprotect(gate, gate_length(), PROT_READ | PROT_WRITE) < 0)
        return false;
    shm->gate_number = number;
    /* release: who sees this gate sees the changes of generation before it */
    atomic_store_explicit(&shm->door->gate, (uint64_t)(uintptr_t)gate, memory_order_release);
    return true;
}

int shm_gate_open(struct shm_nic *shm)
{
    if (shm->gates)
        return 0;
    void *gates = mmap(NULL, GATES * gate_length(), PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (gates != MAP_FAILED) {
        shm->gates = gates;
        if (gate_make(shm, 0))
            return 0;
        munmap(gates, GATES * gate_length());
        shm->gates = NULL;
    }
    return error_no_memory("the gate of attached memory");
}

/* The next gate is open before this one is shut, so that copies into other segments go on. All
 * earlier ones are shut with it, should that have failed before. */
static bool gate_shut(struct shm_nic *shm)
{
    pthread_mutex_lock(&shm->lock);
    uint32_t number = shm->gate_number;
    bool is_shut = shm->gates && number + 1 < GATES && gate_make(shm, number + 1) &&
                   mprotect(shm->gates, (number + 1) * gate_length(), PROT_NONE) == 0;
    pthread_mutex_unlock(&shm->lock);
    return is_shut;
}

void shm_gate_close(struct shm_nic *shm)
{
    /* One that was shut may still be tried by a peer that goes on later: nothing else may come to
     * lie there. */
    if (shm->gates && shm->gate_number == 0)
        munmap(shm->gates, GATES * gate_length());
    else if (shm->gates)
        mprotect(shm->gates, GATES * gate_length(), PROT_NONE);
    shm->gates = NULL;
}

/* ---- Hazards -------------------------------------------------------------------------------- */

static uint64_t hazard_key(int rank, rh_sid sid)
{
    return (uint64_t)(uint32_t)(rank + 1) << 32 | sid;
}

_Atomic uint64_t *shm_hazard_set(struct shm_nic *shm, int rank, rh_sid sid)
{
    uint64_t key = hazard_key(rank, sid);
    struct rest rest = {0};
    for (unsigned i = 0;; i++) {
        _Atomic uint64_t *hazard = &shm->door->hazard[i % SHM_HAZARDS];
        uint64_t none = 0;
        /* seq_cst: the owner's change of generation and our look at it, which follows, are ordered
         * with this; pairs with shm_hazard_wait(). */
        if (atomic_compare_exchange_strong(hazard, &none, key))
            return hazard;
        if (i % SHM_HAZARDS == SHM_HAZARDS - 1)
            rest_once(&rest); /* more threads at it than hazards: each is soon free again */
    }
}

static bool hazard_is_set(struct shm_nic *shm, int rank, uint64_t key)
{
    struct shm_door *door = shm_door_of(shm, rank);
    if (roster_state(shm->nic.job->roster, rank) != RH_PEER_JOINED)
        return false; /* the dead do not copy */
    for (unsigned i = 0; i < SHM_HAZARDS; i++) {
        if (atomic_load_explicit(&door->hazard[i], memory_order_acquire) == key)
            return true;
    }
    return false;
}

/* A copy into or out of our memory that we wait for. */
struct copy_wait {
    int rank;
    rh_sid sid;
    bool is_shut; /* the gate that it may have seen */
};

static void describe_copy(void *context, struct wait_note *note)
{
    const struct copy_wait *copy = context;
    *note = (struct wait_note){.call = WAIT_DETACH, .peer = copy->rank, .number = copy->sid};
}

/* Whether the peer can copy no more, though its hazard is set. Its threads are looked at after the
 * gate was shut: who is in the kernel's copy is not stopped. */
static bool is_kept_out(struct shm_nic *shm, struct copy_wait *copy)
{
    const struct roster_peer *peer = &shm->nic.job->roster->peer[copy->rank];
    int pid = atomic_load_explicit(&peer->pid, memory_order_relaxed);
    uint64_t process = atomic_load_explicit(&shm_door_of(shm, copy->rank)->process,
                                            memory_order_relaxed);
    if (process == shm_process_token() || !process_is_stopped(pid))
        return false; /* threads of ours use no gate */
    if (!copy->is_shut)
        copy->is_shut = gate_shut(shm);
    return copy->is_shut && process_is_stopped(pid);
}

static int copy_is_late(const struct copy_wait *copy)
{
    return error_set(RH_ETIMEOUT, copy->rank,
                     "rank %d is still copying memory of segment %u, which stays in its reach; "
                     "see what holds it up (rhinet doctor), then detach again",
                     copy->rank, copy->sid);
}

static int wait_for_copy(struct shm_nic *shm, struct copy_wait *copy, int64_t deadline_ns)
{
    uint64_t key = hazard_key(shm->nic.job->rank, copy->sid);
    int64_t look_ns = clock_now_ns() + STOP_LOOK_NS;
    struct stall_watch stall = {.job = &shm->nic.job->watch,
                                .since_ns = clock_now_ns(),
                                .describe = describe_copy,
                                .context = copy};
    struct rest rest = {0};
    int result = 0;
    for (unsigned spin = 0; hazard_is_set(shm, copy->rank, key); spin++) {
        int64_t now_ns = clock_now_ns();
        if (now_ns > deadline_ns || now_ns > look_ns) {
            look_ns = now_ns + STOP_LOOK_NS;
            if (is_kept_out(shm, copy))
                break;
        }
        if (now_ns > deadline_ns) {
            result = copy_is_late(copy);
            break;
        }
        if (spin > 100) {
            stall_watch_keep(&stall, now_ns);
            rest_once(&rest);
        }
    }
    stall_watch_end(&stall);
    return result;
}

int shm_hazard_wait(struct shm_nic *shm, rh_sid sid, int64_t timeout_ns)
{
    uint64_t key = hazard_key(shm->nic.job->rank, sid);
    int64_t deadline_ns = clock_deadline_ns(timeout_ns);
    struct copy_wait copy = {.sid = sid};
    int result = 0;
    full_fence(); /* the entry's new state before the hazards; pairs with shm_hazard_set() */
    for (copy.rank = 0; copy.rank < roster_used(shm->nic.job->roster) && result == 0; copy.rank++) {
        if (hazard_is_set(shm, copy.rank, key))
            result = wait_for_copy(shm, &copy, deadline_ns);
    }
    return result;
}
