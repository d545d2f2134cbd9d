/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The shared-memory NIC: opening, closing and its table of operations. How it works: shm_nic.h.
 */
#include "nic/shm/shm.h"

#include "base/cores.h"
#include "base/error.h"
#include "base/settings.h"
#include "nic/handover.h"
#include "nic/shm/shm_nic.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Whether there are surely fewer cores than ranks. Who may run on one core only may have it for
 * itself, bound by a launcher, or share it with all others: that is learnt (habit.h). */
static bool is_crowded(int neighbours)
{
    struct core_set set;
    int bound = cores_of(0, &set) == 0 ? CPU_COUNT_S(sizeof(set), set.part) : 0;
    return bound != 1 && (unsigned)neighbours > cores_allowed();
}

static bool register_membarrier(const struct settings *settings)
{
    if (setting_number(settings, SETTING_MEMBARRIER) != 0) /* off */
        return false;
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

static void configure(struct shm_nic *shm)
{
    const struct settings *settings = shm->nic.job->settings;
    shm->spin_ns = (int64_t)setting_number(settings, SETTING_SPIN);
    shm->huge_pages = setting_number(settings, SETTING_HUGE_PAGES) != 0;
    shm->has_membarrier = register_membarrier(settings);
    int neighbours = roster_neighbours(shm->nic.job->roster, shm->nic.job->rank);
    habit_begin(&shm->habit, is_crowded(neighbours));
    shm->nic.is_crowded = &shm->habit.yields;
    shm->nic.has_pointers = shm->has_membarrier; /* else every write needs a fence of ours */
    shm->nic.fence_flushes = true;
    shm->nic.looks_first = &shm->habit.looks;
    atomic_store(&shm->cma_forbidden, setting_number(settings, SETTING_CMA) != 0);
    shm->nic.attached_is_slow = &shm->cma_forbidden;
}

static int shm_open_nic(struct nic **nic, struct nic_job *job, const char *inner)
{
    if (inner)
        return error_fail(RH_EINVALID, "NIC shm wraps nothing: drop \"(%s)\"", inner);
    struct shm_nic *shm = calloc(1, sizeof(*shm));
    if (!shm)
        return error_no_memory("NIC shm");
    shm->nic.ops = &shm_ops;
    shm->nic.job = job;
    configure(shm);
    int result = shm_views_open(shm);
    if (result < 0)
        goto free_shm;
    result = shm_common_open(shm);
    if (result < 0)
        goto close_views;
    pthread_mutex_init(&shm->view_lock, NULL);
    pthread_mutex_init(&shm->lock, NULL);
    *nic = &shm->nic;
    return 0;
close_views:
    shm_views_close(shm);
free_shm:
    free(shm);
    return result;
}

static void shm_close_nic(struct nic *nic)
{
    struct shm_nic *shm = shm_nic_of(nic);
    shm_segments_close(shm);
    shm_gate_close(shm);
    shm_service_stop(shm);
    shm_views_close(shm);
    shm_common_close(shm);
    pthread_mutex_destroy(&shm->view_lock);
    pthread_mutex_destroy(&shm->lock);
    free(shm);
}

/* Every operation has reached the target's memory when it returns; what is left is to keep later
 * ones from passing earlier ones. */
static int shm_flush(struct nic *nic, int rank)
{
    nic_assert_any_rank(nic, rank);
    full_fence();
    if (rank != RH_ANY_RANK && roster_state(nic->job->roster, rank) >= RH_PEER_LEFT)
        return nic_peer_gone(nic, rank, "flush");
    return 0;
}

const struct nic_ops shm_ops = {
    .name = "shm",
    .help = "processes of one machine, by shared memory",
    .open = shm_open_nic,
    .close = shm_close_nic,
    .segment_add = shm_segment_add,
    .segment_remove = shm_segment_remove,
    .view = shm_view,
    .view_release = shm_view_release,
    .push = shm_push,
    .pull = shm_pull,
    .store = shm_store,
    .atomic = shm_atomic,
    .append = shm_append,
    .queue_peek = shm_queue_peek,
    .queue_release = shm_queue_release,
    .flush = shm_flush,
    .wait = shm_wait,
    .wake = shm_wake,
};
