/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Segments: pinned and entered into the controller's tables by their owner, looked up and checked
 * by the others before they send anything. The controller checks again: what it does not find in
 * its tables it drops.
 */
#include "base/error.h"
#include "simulated/station.h"

#include <stdlib.h>

#define LENGTH_MAX (64ULL << 30) /* that a node pins at once */

static struct station_segment *segment_find(const struct station *station, rh_sid sid)
{
    for (struct station_segment *at = station->segments; at; at = at->next) {
        if (at->sid == sid)
            return at;
    }
    return NULL;
}

/* An entry for this SID: one of an earlier segment, or a new one. */
static struct station_segment *segment_entry(struct station *station, rh_sid sid)
{
    struct station_segment *entry = segment_find(station, sid);
    if (entry)
        return entry;
    entry = calloc(1, sizeof(*entry));
    if (!entry)
        return NULL;
    entry->sid = sid;
    entry->next = station->segments;
    station->segments = entry;
    return entry;
}

static int refuse_memory(uint64_t length)
{
    return error_fail(RH_ENOSPACE, "no memory to pin %llu bytes", (unsigned long long)length);
}

int segment_add(struct station *station, struct martini_call *call)
{
    struct station_segment *segment = segment_entry(station, call->sid);
    if (!segment)
        return refuse_memory(call->length);
    if (segment->is_open)
        return error_set(RH_EEXIST, station->rank, "segment %u exists already", call->sid);
    if (call->length == 0 || call->length > LENGTH_MAX ||
        (call->kind == NIC_SEGMENT_QUEUE && martini_queue_cut(call->shape).length != call->length))
        return refuse_memory(call->length);
    segment->kind = (enum nic_segment_kind)call->kind;
    segment->rights = call->rights;
    segment->address = call->address;
    segment->length = call->length;
    segment->shape = call->shape;
    segment->cut = martini_queue_cut(call->shape);
    bool is_ring = segment->kind == NIC_SEGMENT_QUEUE && !segment->cut.is_long;
    segment->memory = (struct process_segment){
        .sid = call->sid,
        .is_private = is_ring,
        .loan = {.address = call->address, .length = call->length, .reach = station->reach}};
    if (process_segment_open(station->process, &segment->memory) < 0)
        return refuse_memory(call->length);
    if (is_ring && queue_open(station, segment) < 0) {
        process_segment_close(station->process, &segment->memory);
        return refuse_memory(call->length);
    }
    segment->generation = ++station->world->generation;
    segment->is_open = true;
    call->generation = segment->generation;
    return 0;
}

int segment_remove(struct station *station, const struct martini_call *call)
{
    struct station_segment *segment = segment_find(station, call->sid);
    if (!segment || !segment->is_open)
        return error_set(RH_ENOSEG, station->rank, "there is no segment %u to remove", call->sid);
    segment->is_open = false;
    if (segment->kind == NIC_SEGMENT_QUEUE && !segment->cut.is_long)
        queue_close(station, segment);
    process_segment_close(station->process, &segment->memory);
    world_ring(station->world);
    return 0;
}

void segments_forget(struct station *station)
{
    for (struct station_segment *at = station->segments; at; at = at->next) {
        bool is_ring = at->kind == NIC_SEGMENT_QUEUE && !at->cut.is_long;
        struct chip_segment entry = {STATION_PGID, (uint16_t)station->rank, at->sid, 0};
        if (at->is_open && is_ring)
            queue_close(station, at);
        else if (at->is_open)
            chip_segment_remove(process_chip(station->process), &entry);
    }
}

void segments_free(struct station *station)
{
    while (station->segments) {
        struct station_segment *gone = station->segments;
        station->segments = gone->next;
        free(gone);
    }
}

int segment_refuse_stale(int rank, rh_sid sid)
{
    return error_set(RH_ESTALE, rank, "segment %u of rank %d was detached", sid, rank);
}

static int check_range(const struct access *access, const struct station_segment *segment)
{
    if (access->offset <= segment->length && access->length <= segment->length - access->offset)
        return 0;
    return error_set(RH_EBOUNDS, access->rank,
                     "%llu bytes at %llu are outside segment %u of rank %d, which has %llu",
                     (unsigned long long)access->length, (unsigned long long)access->offset,
                     access->sid, access->rank, (unsigned long long)segment->length);
}

int segment_check(struct station *station, const struct access *access,
                  struct station_segment **segment)
{
    int result = station_peer_check(station, access->rank);
    if (result < 0)
        return result;
    struct station_segment *found = segment_find(station_of(station->world, access->rank),
                                                 access->sid);
    if (!found || found->generation == 0)
        return error_set(RH_ENOSEG, access->rank, "rank %d has no segment %u", access->rank,
                         access->sid);
    if (!found->is_open)
        return segment_refuse_stale(access->rank, access->sid);
    *segment = found;
    if (access->rights == 0)
        return found->kind == NIC_SEGMENT_QUEUE ? 0 : check_range(access, found);
    if ((found->kind == NIC_SEGMENT_QUEUE) != access->is_queue)
        return error_set(RH_EINVALID, access->rank, "segment %u of rank %d is %s queue",
                         access->sid, access->rank, access->is_queue ? "no" : "a");
    if (access->rights & ~found->rights)
        return error_set(RH_ERIGHTS, access->rank,
                         "segment %u of rank %d does not grant this access", access->sid,
                         access->rank);
    return access->is_queue ? 0 : check_range(access, found);
}

int segment_view(struct station *station, struct martini_call *call)
{
    struct station_segment *segment;
    struct access access = {.rank = call->rank,
                            .sid = call->sid,
                            .offset = call->offset,
                            .length = call->length,
                            .rights = call->rights};
    int result = segment_check(station, &access, &segment);
    if (result < 0)
        return result;
    call->kind = segment->kind;
    call->generation = segment->generation;
    call->address = segment->address;
    call->length = segment->length;
    return 0;
}
