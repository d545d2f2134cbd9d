/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Segments: opening one's own to the job, and asking about a peer's.
 */
#include "base/rest.h"
#include "base/struct_size.h"
#include "rma/rma.h"

static int check_segment(const struct rh_segment *segment)
{
    if (!struct_size_is_sound(segment->struct_size, sizeof(*segment)))
        return error_fail(RH_EINVALID, "set segment.struct_size to sizeof(struct rh_segment)");
    if (segment->length == 0 || segment->length > INT64_MAX)
        return error_fail(RH_EINVALID, "segment %u: a length of %llu makes no sense", segment->sid,
                          (unsigned long long)segment->length);
    if (segment->rights & ~RH_ALL)
        return error_fail(RH_EINVALID,
                          "segment %u: rights %#x; combine RH_READ, RH_WRITE and RH_ATOMIC",
                          segment->sid, segment->rights);
    if ((segment->flags & ~RH_HUGE_PAGES) || (segment->base && segment->flags))
        return error_fail(RH_EINVALID,
                          "segment %u: flags %#x; RH_HUGE_PAGES is for allocated memory only",
                          segment->sid, segment->flags);
    if (segment->base && (uintptr_t)segment->base + segment->length < (uintptr_t)segment->base)
        return error_fail(RH_EINVALID, "segment %u: %p + %llu is beyond the address space",
                          segment->sid, segment->base, (unsigned long long)segment->length);
    return 0;
}

int rma_segment_create(struct rh_job *job, struct rh_segment *segment, int *fd)
{
    int result = check_segment(segment);
    if (result < 0)
        return result;
    struct nic_segment request = {.sid = segment->sid,
                                  .kind = segment->base ? NIC_SEGMENT_ATTACHED
                                                        : NIC_SEGMENT_ALLOCATED,
                                  .rights = segment->rights ? segment->rights : RH_ALL,
                                  .flags = segment->flags,
                                  .base = segment->base,
                                  .length = segment->length};
    result = job->nic->ops->segment_add(job->nic, &request);
    if (result < 0)
        return result;
    segment->base = request.base;
    if (fd)
        *fd = request.fd;
    return 0;
}

int rh_segment_create(struct rh_job *job, struct rh_segment *segment)
{
    return rma_segment_create(job, segment, NULL);
}

int rh_segment_alloc(struct rh_job *job, rh_sid sid, uint64_t length, void **base)
{
    struct rh_segment segment = {
        .struct_size = sizeof(segment), .sid = sid, .length = length, .rights = RH_ALL};
    int result = rh_segment_create(job, &segment);
    if (result == 0)
        *base = segment.base;
    return result;
}

int rh_segment_attach(struct rh_job *job, rh_sid sid, void *base, uint64_t length)
{
    struct rh_segment segment = {.struct_size = sizeof(segment),
                                 .sid = sid,
                                 .base = base,
                                 .length = length,
                                 .rights = RH_ALL};
    if (!base)
        return error_fail(RH_EINVALID, "segment %u: no memory to attach (NULL)", sid);
    return rh_segment_create(job, &segment);
}

/* Ask without being counted as a denied access. */
static int look(struct rh_job *job, int rank, rh_sid sid, struct nic_view *view)
{
    return job->nic->ops->view(job->nic, rh_at(rank, sid, 0), 0, 0, view);
}

static int refuse_queue(rh_sid sid)
{
    return error_fail(
        RH_EINVALID, "%u is a queue, which has no length and is closed by rh_queue_destroy()", sid);
}

int rh_segment_detach(struct rh_job *job, rh_sid sid)
{
    struct nic_view view;
    if (look(job, job->nic_job.rank, sid, &view) == 0 && view.kind == NIC_SEGMENT_QUEUE)
        return refuse_queue(sid);
    return job->nic->ops->segment_remove(job->nic, sid, job->timeout_ns);
}

static void describe(void *context, struct wait_note *note)
{
    const struct rh_remote *awaited = context;
    *note = (struct wait_note){.call = WAIT_SEGMENT, .peer = awaited->rank, .number = awaited->sid};
}

static int late(int rank, rh_sid sid)
{
    return error_set(RH_ETIMEOUT, rank, "rank %d has not opened segment %u in time", rank, sid);
}

/* It is not there yet. */
static int watch(struct rh_job *job, int rank, rh_sid sid, int64_t timeout_ns,
                 struct stall_watch *stall)
{
    uint64_t never = 0;
    struct nic_view view;
    int64_t deadline = nic_deadline_ns(job->nic, timeout_ns);
    for (;;) {
        int64_t now = nic_now_ns(job->nic);
        int64_t rest_ns = rest_between_ns(now - stall->since_ns);
        if (now >= deadline)
            return late(rank, sid);
        struct nic_wait pause = {.word = &never,
                                 .when = RH_NOT_EQUAL,
                                 .stall = stall,
                                 .from = rank,
                                 .timeout_ns = deadline_slice_ns(deadline, now, rest_ns)};
        int result = job->nic->ops->wait(job->nic, &pause);
        if (result < 0 && result != RH_ETIMEOUT)
            return result;
        result = look(job, rank, sid, &view);
        if (result != RH_ENOSEG && result != RH_ESTALE)
            return result;
        stall_watch_keep(stall, now);
    }
}

int rh_segment_wait(struct rh_job *job, int rank, rh_sid sid, int64_t timeout_ns)
{
    struct nic_view view;
    if (!rma_rank_is_valid(job, rank))
        return rma_refuse_rank(job, rank);
    int result = look(job, rank, sid, &view);
    if (result != RH_ENOSEG && result != RH_ESTALE)
        return result;
    if (timeout_ns == 0)
        return RH_EAGAIN;
    struct rh_remote awaited = rh_at(rank, sid, 0);
    struct stall_watch stall = {.job = &job->nic_job.watch,
                                .since_ns = nic_now_ns(job->nic),
                                .describe = describe,
                                .context = &awaited};
    result = watch(job, rank, sid, rma_timeout_ns(job, timeout_ns), &stall);
    stall_watch_end(&stall);
    return result;
}

/* One after the other: whoever waits for all of them waits for the slowest, in whichever order. */
int rh_segment_wait_all(struct rh_job *job, rh_sid sid, int64_t timeout_ns)
{
    int64_t deadline_ns = rma_deadline_ns(job, timeout_ns);
    for (int rank = 0; rank < job->nic_job.size; rank++) {
        int64_t left_ns = timeout_ns == 0 ? 0 : rma_left_ns(job, deadline_ns);
        int result = rh_segment_wait(job, rank, sid, left_ns);
        if (result == RH_EAGAIN && timeout_ns != 0)
            result = late(rank, sid);
        if (result == RH_EDEAD && rh_peer_state(job, rank) == RH_PEER_LEFT)
            continue; /* it has come and gone: others may be done before we have begun */
        if (result < 0)
            return result;
    }
    return 0;
}

int rh_segment_length(struct rh_job *job, int rank, rh_sid sid, uint64_t *length)
{
    struct nic_view view;
    if (!rma_rank_is_valid(job, rank))
        return rma_refuse_rank(job, rank);
    int result = look(job, rank, sid, &view);
    if (result < 0)
        return result;
    if (view.kind == NIC_SEGMENT_QUEUE)
        return refuse_queue(sid);
    *length = view.length;
    return 0;
}
