/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The common memory and the doors in it.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/memory_room.h"
#include "base/settings.h"
#include "nic/shm/shm_nic.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#define LAYOUT_VERSION 2u

static size_t door_length(const struct shm_nic *shm)
{
    return sizeof(struct shm_door) + shm->entry_count * sizeof(struct shm_entry);
}

struct shm_door *shm_door_of(const struct shm_nic *shm, int rank)
{
    return (struct shm_door *)(shm->common->doors + (size_t)rank * door_length(shm));
}

static uint64_t process_seed;

static void make_process_seed(void)
{
    if (getrandom(&process_seed, sizeof(process_seed), 0) != sizeof(process_seed))
        process_seed = (uint64_t)getpid() << 32 ^ (uint64_t)clock_now_ns();
}

/* A child that did not execute another program has our seed, but not our number. */
uint64_t shm_process_token(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_process_seed);
    return (process_seed ^ (uint64_t)getpid()) << 1 | 1; /* never 0, which marks an empty door */
}

/* Twice as many entries as segments keeps searches short and remembers detached ones for a
 * while. */
static void choose_entry_count(struct shm_nic *shm)
{
    shm->segment_max = (uint32_t)setting_number(shm->nic.job->settings, SETTING_SEGMENTS);
    shm->entry_count = 16;
    while (shm->entry_count < 2 * shm->segment_max)
        shm->entry_count *= 2;
}

static int common_descriptor(struct shm_nic *shm, int *fd)
{
    const struct nic_broker *broker = shm->nic.job->broker;
    if (broker)
        return broker->common(broker->context, shm->common_length, fd);
    struct memory_shape shape = {.name = "rhinet-common", .length = shm->common_length};
    int made = memory_create(&shape);
    if (made < 0)
        return made;
    *fd = made;
    return 0;
}

/* All members must cut the common memory the same way; the first one says how. */
static int agree_on_layout(struct shm_nic *shm)
{
    uint64_t ours = (uint64_t)shm->entry_count << 32 | LAYOUT_VERSION;
    uint64_t theirs = 0;
    if (atomic_compare_exchange_strong(&shm->common->layout, &theirs, ours) || theirs == ours)
        return 0;
    return error_fail(
        RH_EINVALID,
        "rank %d has RHINET_SEGMENTS for %u entries, others for %u; give all ranks of a "
        "job the same value and the same rhinet",
        shm->nic.job->rank, shm->entry_count, (uint32_t)(theirs >> 32));
}

/* In an open job a door is memory only from now on, and may have been another's before, who had no
 * time to clear it. No view of that one's segments must pass for one of ours. */
static int take_door(struct shm_nic *shm, int fd)
{
    const struct nic_job *job = shm->nic.job;
    uint32_t serial = atomic_load_explicit(&job->roster->peer[job->rank].serial,
                                           memory_order_relaxed);
    size_t length = door_length(shm);
    int result = memory_reserve(fd, sizeof(struct shm_common) + (uint64_t)job->rank * length,
                                length);
    if (result == 0)
        result = memory_reserve(fd, 0, sizeof(struct shm_common));
    if (result == 0)
        memset(shm_door_of(shm, job->rank), 0, length);
    shm->generation = (uint64_t)serial << 32;
    return result;
}

int shm_common_open(struct shm_nic *shm)
{
    int fd;
    uint64_t length = 0;
    choose_entry_count(shm);
    shm->common_length = sizeof(struct shm_common) + (size_t)shm->nic.job->size * door_length(shm);
    int result = common_descriptor(shm, &fd);
    if (result < 0)
        return result;
    void *address = MAP_FAILED;
    if (memory_is_sealed(fd, &length) && length >= shm->common_length)
        address = mmap(NULL, shm->common_length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    shm->common = address == MAP_FAILED ? NULL : address;
    result = shm->common && shm->nic.job->roster->is_open ? take_door(shm, fd) : 0;
    close(fd);
    if (!shm->common)
        return error_fail(RH_ENOSPACE,
                          "cannot map the job's common memory (%zu bytes needed, %llu there); is "
                          "RHINET_SEGMENTS the same on all ranks?",
                          shm->common_length, (unsigned long long)length);
    if (result == 0)
        result = agree_on_layout(shm);
    if (result < 0) {
        shm_common_close(shm);
        return result;
    }
    shm->door = shm_door_of(shm, shm->nic.job->rank);
    atomic_store_explicit(&shm->door->process, shm_process_token(), memory_order_release);
    return 0;
}

void shm_common_close(struct shm_nic *shm)
{
    if (shm->door) /* or a job that we join later would take us for two ranks of one process */
        atomic_store_explicit(&shm->door->process, 0, memory_order_release);
    munmap(shm->common, shm->common_length);
    shm->common = NULL;
}

/* ---- Entries -------------------------------------------------------------------------------- */

static uint32_t first_place(const struct shm_nic *shm, rh_sid sid)
{
    return (uint32_t)((uint64_t)sid * 0x9E3779B97F4A7C15ULL >> 40) & (shm->entry_count - 1);
}

struct shm_entry *shm_entry_find(const struct shm_nic *shm, struct shm_door *door, rh_sid sid)
{
    uint32_t at = first_place(shm, sid);
    for (uint32_t i = 0; i < shm->entry_count; i++, at = (at + 1) & (shm->entry_count - 1)) {
        struct shm_entry *entry = &door->entry[at];
        if (atomic_load_explicit(&entry->state, memory_order_acquire) == 0)
            return NULL; /* never used: the search ends */
        if (atomic_load_explicit(&entry->sid, memory_order_acquire) == sid)
            return entry;
    }
    return NULL;
}

struct shm_entry *shm_entry_place(const struct shm_nic *shm, struct shm_door *door, rh_sid sid)
{
    struct shm_entry *same = shm_entry_find(shm, door, sid);
    if (same)
        return same;
    /* Prefer a fresh entry over forgetting a detached one, unless the table runs full. */
    struct shm_entry *detached = NULL;
    uint32_t at = first_place(shm, sid);
    for (uint32_t i = 0; i < shm->entry_count; i++, at = (at + 1) & (shm->entry_count - 1)) {
        struct shm_entry *entry = &door->entry[at];
        uint64_t state = atomic_load_explicit(&entry->state, memory_order_relaxed);
        if (state == 0)
            return i < 16 || !detached ? entry : detached;
        if (!detached && SHM_KIND(state) == 0)
            detached = entry;
    }
    return detached;
}
