/* SPDX-License-Identifier: BSD-3-Clause
 *
 * This process's own segments: added and removed under one lock, announced in the door.
 */
#include "base/error.h"
#include "base/log.h"
#include "base/memory_room.h"
#include "nic/handover.h"
#include "nic/shm/shm_nic.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE_LENGTH (2ULL << 20)
#define POPULATE_MAX     (16ULL << 20) /* larger mappings are filled as they are touched */

static struct shm_segment **find_segment(struct shm_nic *shm, rh_sid sid)
{
    struct shm_segment **link = &shm->segments;
    while (*link && (*link)->sid != sid)
        link = &(*link)->next;
    return link;
}

static int create_memory(struct shm_nic *shm, const struct nic_segment *wanted, uint64_t length)
{
    struct memory_shape shape = {.name = "rhinet-segment", .length = length};
    bool must = wanted->flags & RH_HUGE_PAGES;
    if (must || (shm->huge_pages && length >= HUGE_PAGE_LENGTH)) {
        shape.huge_pages = true;
        int fd = memory_create(&shape);
        if (fd >= 0 || must)
            return fd;
        log_info("segment %u gets ordinary pages: %s", wanted->sid, rh_error_text());
        shape.huge_pages = false;
    }
    return memory_create(&shape);
}

static int map_memory(struct shm_segment *segment)
{
    uint64_t length;
    if (!memory_is_sealed(segment->fd, &length)) /* huge pages round up */
        return error_fail(RH_ENOSPACE, "lost the memory of segment %u", segment->sid);
    int populate = length <= POPULATE_MAX ? MAP_POPULATE : 0;
    void *base = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | populate, segment->fd, 0);
    if (base == MAP_FAILED)
        return error_fail(RH_ENOSPACE, "cannot map %llu bytes for segment %u: %s",
                          (unsigned long long)length, segment->sid, strerror(errno));
    segment->base = base;
    segment->mapped_length = length;
    return 0;
}

/* Make the memory and hand its descriptor to the task manager. */
static int bring_memory(struct shm_nic *shm, const struct nic_segment *wanted,
                        struct shm_segment *segment)
{
    const struct nic_broker *broker = shm->nic.job->broker;
    bool is_queue = wanted->kind == NIC_SEGMENT_QUEUE;
    uint64_t length = is_queue ? shm_queue_length(wanted->shape) : wanted->length;
    if (length == 0)
        return error_fail(RH_EINVALID, "a queue of %u messages of %u bytes is beyond reason",
                          wanted->shape.slot_count, wanted->shape.slot_length);
    int result = create_memory(shm, wanted, length);
    if (result < 0)
        return result;
    segment->fd = result;
    result = map_memory(segment);
    if (result < 0)
        return result;
    if (is_queue)
        shm_queue_format(segment->base, wanted->shape);
    if (!(wanted->rights & (RH_WRITE | RH_ATOMIC)))
        memory_seal_read_only(segment->fd);
    return broker ? broker->publish(broker->context, wanted->sid, wanted->rights, segment->fd) : 0;
}

/* Whether other ranks are threads of this process and may hold our pointers. */
static bool shares_process(const struct shm_nic *shm)
{
    int same = 0;
    for (int rank = 0; rank < roster_used(shm->nic.job->roster) && same < 2; rank++) {
        uint64_t process = atomic_load_explicit(&shm_door_of(shm, rank)->process,
                                                memory_order_relaxed);
        same += process == shm_process_token();
    }
    return same > 1;
}

static void release_memory(struct shm_nic *shm, struct shm_segment *segment)
{
    if (segment->base && segment->kind != NIC_SEGMENT_ATTACHED) {
        /* Late writes of a rank in the same process must land somewhere harmless. */
        if (shares_process(shm))
            mmap(segment->base, segment->mapped_length, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
        else
            munmap(segment->base, segment->mapped_length);
    }
    if (segment->fd >= 0) {
        /* Peers may have it mapped until they next look; the pages need not wait for them, unless
         * the memory is sealed for reading only. */
        fallocate(segment->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                  (off_t)segment->mapped_length);
        close(segment->fd);
    }
    free(segment);
}

static void announce(struct shm_nic *shm, const struct nic_segment *wanted,
                     struct shm_segment *segment, struct shm_entry *entry)
{
    ASSERT(segment->base);
    ASSERT(!segment->entry);
    uint64_t length = wanted->kind == NIC_SEGMENT_QUEUE ? segment->mapped_length : wanted->length;
    uint64_t generation = ++shm->generation;
    /* In between the entry is "detached" with a generation nobody has seen: a reader that mixes old
     * and new fields finds the state changed and starts over. */
    atomic_store_explicit(&entry->state, generation << 2, memory_order_release);
    atomic_store_explicit(&entry->sid, wanted->sid, memory_order_release);
    atomic_store_explicit(&entry->rights, wanted->rights, memory_order_release);
    atomic_store_explicit(&entry->length, length, memory_order_release);
    atomic_store_explicit(&entry->address, (uint64_t)(uintptr_t)segment->base,
                          memory_order_release);
    atomic_store_explicit(&entry->slot_count, wanted->shape.slot_count, memory_order_release);
    atomic_store_explicit(&entry->slot_length, wanted->shape.slot_length, memory_order_release);
    atomic_store_explicit(&entry->was_seen, 0, memory_order_release);
    generation = ++shm->generation;
    order_release(segment->base);
    atomic_store_explicit(&entry->state, generation << 2 | wanted->kind, memory_order_release);
    segment->entry = entry;
}

static int add_locked(struct shm_nic *shm, struct nic_segment *wanted)
{
    if (*find_segment(shm, wanted->sid))
        return error_fail(
            RH_EEXIST, "this process already has a segment %u; detach it first or take another SID",
            wanted->sid);
    struct shm_entry *entry = shm_entry_place(shm, shm->door, wanted->sid);
    if (!entry || shm->segment_count >= shm->segment_max)
        return error_fail(RH_ENOSPACE,
                          "this process has %u segments already; raise RHINET_SEGMENTS",
                          shm->segment_count);
    struct shm_segment *segment = calloc(1, sizeof(*segment));
    if (!segment)
        return error_no_memory("segment %u", wanted->sid);
    *segment = (struct shm_segment){.sid = wanted->sid, .kind = wanted->kind, .fd = -1};
    int result = 0;
    if (wanted->kind == NIC_SEGMENT_ATTACHED) {
        segment->base = wanted->base;
        result = shm_gate_open(shm);
        if (result == 0)
            result = shm_service_start(shm);
    } else {
        result = bring_memory(shm, wanted, segment);
    }
    if (result < 0) {
        release_memory(shm, segment);
        return result;
    }
    announce(shm, wanted, segment, entry);
    segment->next = shm->segments;
    shm->segments = segment;
    shm->segment_count++;
    wanted->base = segment->base;
    wanted->fd = segment->fd;
    return 0;
}

int shm_segment_add(struct nic *nic, struct nic_segment *segment)
{
    nic_assert_segment(segment);
    struct shm_nic *shm = shm_nic_of(nic);
    pthread_mutex_lock(&shm->lock);
    int result = add_locked(shm, segment);
    pthread_mutex_unlock(&shm->lock);
    return result;
}

/* Peers are refused from now on. */
static void close_to_peers(struct shm_nic *shm, struct shm_segment *segment)
{
    if (!segment->is_closed)
        atomic_store_explicit(&segment->entry->state, ++shm->generation << 2, memory_order_release);
    segment->is_closed = true;
}

/* Until no peer uses the memory that the program brought. Where peers may only read, one that is
 * late does no harm: it finds out that the segment is gone. */
static int wait_for_peers(struct shm_nic *shm, const struct shm_segment *segment,
                          int64_t timeout_ns)
{
    full_fence(); /* the new state before the look; pairs with shm_hazard_set() */
    if (segment->kind != NIC_SEGMENT_ATTACHED ||
        !atomic_load_explicit(&segment->entry->was_seen, memory_order_acquire))
        return 0;
    unsigned rights = atomic_load_explicit(&segment->entry->rights, memory_order_relaxed);
    int result = shm_hazard_wait(shm, segment->sid, timeout_ns);
    return rights & (RH_WRITE | RH_ATOMIC) ? result : 0;
}

static void unlink_segment(struct shm_nic *shm, const struct shm_segment *segment)
{
    struct shm_segment **link = find_segment(shm, segment->sid);
    ASSERT(*link == segment);
    ASSERT(segment->is_closed); /* or peers still use it */
    *link = segment->next;
    shm->segment_count--;
}

int shm_segment_remove(struct nic *nic, rh_sid sid, int64_t timeout_ns)
{
    struct shm_nic *shm = shm_nic_of(nic);
    const struct nic_broker *broker = nic->job->broker;
    pthread_mutex_lock(&shm->lock);
    struct shm_segment *segment = *find_segment(shm, sid);
    if (segment && segment->is_removing)
        segment = NULL; /* another thread is at it */
    if (segment) {
        segment->is_removing = true;
        close_to_peers(shm, segment);
    }
    if (segment && segment->fd >= 0 && broker)
        broker->withdraw(broker->context, sid);
    pthread_mutex_unlock(&shm->lock);
    if (!segment)
        return error_fail(RH_ENOSEG, "this process has no segment %u", sid);
    int result = wait_for_peers(shm, segment, timeout_ns);
    pthread_mutex_lock(&shm->lock);
    segment->is_removing = false;
    if (result == 0)
        unlink_segment(shm, segment);
    pthread_mutex_unlock(&shm->lock);
    if (result == 0)
        release_memory(shm, segment);
    return result;
}

bool shm_segment_has(struct shm_nic *shm, const void *address)
{
    bool has = false;
    pthread_mutex_lock(&shm->lock);
    for (const struct shm_segment *segment = shm->segments; segment && !has;
         segment = segment->next) {
        uint64_t offset = (uint64_t)((uintptr_t)address - (uintptr_t)segment->base);
        has = offset < atomic_load_explicit(&segment->entry->length, memory_order_relaxed);
    }
    pthread_mutex_unlock(&shm->lock);
    return has;
}

void shm_segments_close(struct shm_nic *shm)
{
    while (shm->segments) {
        struct shm_segment *segment = shm->segments;
        close_to_peers(shm, segment);
        wait_for_peers(shm, segment, 1000000000);
        unlink_segment(shm, segment);
        release_memory(shm, segment);
    }
}
