/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The NIC: turns the contract's operations into calls of the rank's station. Runs in the rank,
 * which may be a fiber of the simulation or another process.
 */
#include "base/error.h"
#include "base/settings.h"
#include "nic/handover.h"
#include "nic/martini/client.h"
#include "nic/martini/martini_nic.h"

#include <stdlib.h>
#include <sys/mman.h>

/* ---- Opening --------------------------------------------------------------------------------- */

static int martini_open(struct nic **nic, struct nic_job *job, const char *inner)
{
    if (inner)
        return error_fail(RH_EINVALID, "NIC martini has no other inside: \"%s\"", inner);
    struct martini_nic *made = calloc(1, sizeof(*made));
    if (!made)
        return error_no_memory("a NIC");
    made->nic.ops = &martini_ops;
    made->nic.job = job;
    made->port = job->for_nic; /* NULL: the world is elsewhere */
    if (!made->port) {
        int result = martini_client_open(&made->client, job);
        if (result < 0) {
            free(made);
            return result;
        }
        made->port = martini_client_port(made->client);
    }
    pthread_mutex_init(&made->lock, NULL);
    *nic = &made->nic;
    return 0;
}

static void martini_close(struct nic *nic)
{
    struct martini_nic *martini = martini_of(nic);
    struct martini_call call = {.operation = MARTINI_LEAVE};
    martini_tell(nic, &call);
    while (martini->segments) {
        struct martini_segment *gone = martini->segments;
        martini->segments = gone->next;
        if (gone->mapped)
            munmap(gone->base, gone->mapped);
        free(gone);
    }
    martini_client_close(martini->client);
    pthread_mutex_destroy(&martini->lock);
    free(martini);
}

/* ---- Segments -------------------------------------------------------------------------------- */

/* Zeroed, and shared, as on the other NICs: it can be mapped once more. */
static int memory_make(struct martini_segment *segment, uint64_t length)
{
    void *base = mmap(NULL, length, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return error_no_memory("a segment of %llu bytes", (unsigned long long)length);
    segment->base = base;
    segment->mapped = length;
    return 0;
}

static int segment_prepare(struct martini_nic *martini, struct martini_segment *made,
                           const struct nic_segment *segment, uint64_t *length)
{
    uint64_t most = setting_number(martini->nic.job->settings, SETTING_SEGMENTS);
    *made = (struct martini_segment){
        .sid = segment->sid, .kind = segment->kind, .base = segment->base};
    *length = segment->length;
    if (martini->segment_count >= most)
        return error_fail(RH_ENOSPACE,
                          "there are %llu segments already; RHINET_SEGMENTS allows no more",
                          (unsigned long long)most);
    if (segment->flags & RH_HUGE_PAGES)
        return error_fail(RH_ENOSPACE, "simulated nodes have no huge pages");
    if (segment->kind == NIC_SEGMENT_QUEUE) {
        made->cut = martini_queue_cut(segment->shape);
        *length = made->cut.length;
    }
    if (*length == 0)
        return error_fail(RH_ENOSPACE, "a queue of %u times %u bytes is too large",
                          segment->shape.slot_count, segment->shape.slot_length);
    return segment->kind == NIC_SEGMENT_ATTACHED ? 0 : memory_make(made, *length);
}

static int martini_segment_add(struct nic *nic, struct nic_segment *segment)
{
    nic_assert_segment(segment);
    struct martini_nic *martini = martini_of(nic);
    struct martini_segment *made = calloc(1, sizeof(*made));
    uint64_t length;
    if (!made)
        return error_no_memory("a segment");
    int result = segment_prepare(martini, made, segment, &length);
    struct martini_call call = {.operation = MARTINI_SEGMENT_ADD,
                                .sid = segment->sid,
                                .rights = segment->rights,
                                .address = (uintptr_t)made->base,
                                .length = length,
                                .kind = segment->kind,
                                .shape = segment->shape};
    if (result == 0)
        result = martini_tell(nic, &call);
    if (result < 0) {
        if (made->mapped)
            munmap(made->base, made->mapped);
        free(made);
        return result;
    }
    segment->base = made->base;
    pthread_mutex_lock(&martini->lock);
    made->next = martini->segments;
    martini->segments = made;
    martini->segment_count++;
    pthread_mutex_unlock(&martini->lock);
    return 0;
}

static int martini_segment_remove(struct nic *nic, rh_sid sid, int64_t timeout_ns)
{
    struct martini_nic *martini = martini_of(nic);
    struct martini_segment *gone = NULL;
    struct martini_call call = {
        .operation = MARTINI_SEGMENT_REMOVE, .sid = sid, .timeout_ns = timeout_ns};
    int result = martini_tell(nic, &call);
    if (result < 0)
        return result;
    pthread_mutex_lock(&martini->lock);
    for (struct martini_segment **at = &martini->segments; *at; at = &(*at)->next) {
        if ((*at)->sid != sid)
            continue;
        gone = *at;
        *at = gone->next;
        martini->segment_count--;
        break;
    }
    pthread_mutex_unlock(&martini->lock);
    if (gone && gone->mapped)
        munmap(gone->base, gone->mapped);
    free(gone);
    return 0;
}

static int martini_view(struct nic *nic, struct rh_remote remote, uint64_t length, unsigned rights,
                        struct nic_view *view)
{
    nic_assert_rank(nic, remote.rank);
    struct martini_call call = {.operation = MARTINI_VIEW,
                                .rank = remote.rank,
                                .sid = remote.sid,
                                .offset = remote.offset,
                                .length = length,
                                .rights = rights};
    int result = rights ? martini_ask(nic, &call, "remote access") : martini_tell(nic, &call);
    if (result == RH_EDEAD && !rights)
        return martini_peer_gone(nic, remote.rank, "remote access");
    if (result < 0)
        return result;
    *view = (struct nic_view){.remote = remote,
                              .length = rights ? length : call.length,
                              .kind = (enum nic_segment_kind)call.kind,
                              .handle = (void *)(uintptr_t)call.generation};
    return 0;
}

/* ---- Transfers ------------------------------------------------------------------------------- */

static int transfer(struct nic *nic, struct martini_call *call, const struct nic_extra *extra,
                    const char *during)
{
    if (extra) {
        call->done = extra->done ? (uintptr_t)&extra->done->state : 0;
        call->is_inline = extra->is_inline;
    }
    if (extra && extra->notice) {
        const struct rh_remote *word = &extra->notice->word;
        if (word->offset % 8 != 0)
            return error_set(RH_EINVALID, word->rank,
                             "the notice at %llu is not aligned to 8 bytes",
                             (unsigned long long)word->offset);
        call->notice = (struct martini_notice){.sid = word->sid,
                                               .is_wanted = 1,
                                               .follows = extra->notice_follows,
                                               .offset = word->offset,
                                               .value = extra->notice->value};
    }
    return martini_ask(nic, call, during);
}

static int martini_push(struct nic *nic, struct rh_remote target, const void *source, size_t length,
                        const struct nic_extra *extra)
{
    nic_assert_push(nic, target, extra);
    struct martini_call call = {.operation = MARTINI_PUSH,
                                .rank = target.rank,
                                .sid = target.sid,
                                .offset = target.offset,
                                .address = (uintptr_t)source,
                                .length = length};
    return transfer(nic, &call, extra, "push");
}

static int martini_pull(struct nic *nic, struct rh_remote source, void *target, size_t length,
                        const struct nic_extra *extra)
{
    nic_assert_pull(nic, source, extra);
    struct martini_call call = {.operation = MARTINI_PULL,
                                .rank = source.rank,
                                .sid = source.sid,
                                .offset = source.offset,
                                .address = (uintptr_t)target,
                                .length = length};
    return transfer(nic, &call, extra, "pull");
}

static int martini_store(struct nic *nic, const struct nic_view *view, uint64_t offset,
                         uint64_t value, unsigned width)
{
    nic_assert_store(nic, view, offset, width);
    struct martini_call call = {.operation = MARTINI_STORE,
                                .rank = view->remote.rank,
                                .sid = view->remote.sid,
                                .offset = view->remote.offset + offset,
                                .length = width,
                                .generation = (uintptr_t)view->handle,
                                .value = value};
    return martini_ask(nic, &call, "store");
}

static int martini_atomic(struct nic *nic, struct rh_remote target,
                          const struct nic_atomic_operands *operands, uint64_t *old)
{
    nic_assert_atomic(nic, target, operands, old);
    struct martini_call call = {.operation = MARTINI_ATOMIC,
                                .rank = target.rank,
                                .sid = target.sid,
                                .offset = target.offset,
                                .operands = *operands};
    if (target.offset % 8 != 0)
        return error_set(RH_EINVALID, target.rank,
                         "an atomic operation at %llu: not 8-byte aligned",
                         (unsigned long long)target.offset);
    int result = martini_ask(nic, &call, "atomic operation");
    if (result == 0)
        *old = call.value;
    return result;
}

static int martini_flush(struct nic *nic, int rank)
{
    nic_assert_any_rank(nic, rank);
    struct martini_call call = {.operation = MARTINI_FLUSH, .rank = rank};
    return martini_ask(nic, &call, "flush");
}

static int martini_wake(struct nic *nic, int rank)
{
    struct martini_call call = {.operation = MARTINI_WAKE, .rank = rank};
    return martini_tell(nic, &call);
}

/* Ranks whose world is here, or that do not live in virtual time, are not charged. */
static void martini_copied(struct nic *nic, uint64_t length)
{
    struct martini_client *client = martini_of(nic)->client;
    if (client)
        martini_client_copied(client, length);
}

const struct nic_ops martini_ops = {
    .name = "martini",
    .help = "a simulated controller and network, in virtual time",
    .open = martini_open,
    .close = martini_close,
    .segment_add = martini_segment_add,
    .segment_remove = martini_segment_remove,
    .view = martini_view,
    .push = martini_push,
    .pull = martini_pull,
    .store = martini_store,
    .atomic = martini_atomic,
    .append = martini_append,
    .append_try = martini_append_try,
    .queue_peek = martini_queue_peek,
    .queue_release = martini_queue_release,
    .flush = martini_flush,
    .wait = martini_wait,
    .wake = martini_wake,
    .copied = martini_copied,
    .now_ns = martini_now_ns,
};
