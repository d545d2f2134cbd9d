/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What fits a packet: stores, inline pushes, atomic operations, fences, wake-ups.
 */
#include "base/error.h"
#include "simulated/station.h"

int image_send(struct station *station, const struct image *image)
{
    struct process_request request = {.peer = station_of(station->world, image->rank)->process,
                                      .kick = CHIP_BOTF,
                                      .type = image->type ? image->type : CHIP_PACKET_PUSH,
                                      .sid = image->sid,
                                      .to_library = image->to_library,
                                      .remote = image->offset,
                                      .length = image->length,
                                      .flag = image->flag,
                                      .payload = image->data};
    if (!image->flag)
        station->is_dirty[image->rank] = true;
    return station_submit(station, &request);
}

/* ---- Inline pushes --------------------------------------------------------------------------- */

/* In images, one behind the other: they stay in order. */
static int inline_send(struct station *station, const struct martini_call *call, const char *data)
{
    int result = 0;
    for (uint64_t at = 0; at < call->length && result == 0;) {
        uint64_t rest = call->length - at;
        struct image image = {.rank = call->rank,
                              .sid = call->sid,
                              .offset = call->offset + at,
                              .data = data + at,
                              .length = rest < PROCESS_IMAGE_MAX ? (uint32_t)rest
                                                                 : PROCESS_IMAGE_MAX};
        result = image_send(station, &image);
        at += image.length;
    }
    return result;
}

int small_inline(struct station *station, const struct martini_call *call)
{
    char data[RH_INLINE_MAX];
    struct station_segment *segment, *word;
    struct access access = {call->rank, call->sid, call->offset, call->length, RH_WRITE, false};
    struct access notice = {call->rank, call->notice.sid, call->notice.offset, 8, RH_WRITE, false};
    int result = segment_check(station, &access, &segment);
    if (result == 0 && call->notice.is_wanted)
        result = segment_check(station, &notice, &word);
    if (result < 0)
        return result;
    if (call->length > sizeof(data) || call->rank == station->rank)
        return transfer_push(station, call); /* waits, which is allowed */
    station_read(station, call->address, data, call->length);
    result = inline_send(station, call, data);
    if (result < 0 || !call->notice.is_wanted)
        return result;
    struct image image = {.rank = call->rank,
                          .sid = call->notice.sid,
                          .offset = call->notice.offset,
                          .data = &call->notice.value,
                          .length = sizeof(call->notice.value)};
    return image_send(station, &image);
}

/* ---- Stores ---------------------------------------------------------------------------------- */

/* The AOTF page that stands for a page of the peer's segment; the driver registers it if need
 * be. */
static uint32_t page_find(struct station *station, const struct martini_call *call)
{
    uint64_t number = call->offset / 4096;
    for (uint32_t i = 0; i < STATION_PAGES; i++) {
        const struct station_page *page = &station->pages[i];
        if (page->generation == call->generation && page->rank == call->rank &&
            page->sid == call->sid && page->number == number)
            return i;
        if (page->generation == 0)
            break;
    }
    uint32_t made = station->page_next++ % STATION_PAGES;
    struct process_request request = {.peer = station_of(station->world, call->rank)->process,
                                      .sid = call->sid,
                                      .remote = number * 4096};
    while (chip_aotf_pending(process_chip(station->process)) > 0) /* it may use the old header */
        station_sleep(station, 100 * SIM_NS);
    process_page_register(station->process, made, &request);
    station->pages[made] = (struct station_page){call->rank, call->sid, number, call->generation};
    return made;
}

static int store_own(struct station *station, const struct martini_call *call,
                     const struct station_segment *segment)
{
    station_write(station, segment->address + call->offset, &call->value, call->length);
    host_memory_changed(process_host(station->process));
    return 0;
}

int small_store(struct station *station, const struct martini_call *call)
{
    struct station_segment *segment;
    struct access access = {call->rank, call->sid, call->offset, call->length, RH_WRITE, false};
    if (call->length > sizeof(call->value))
        return error_set(RH_EINVALID, call->rank, "a store of %llu bytes",
                         (unsigned long long)call->length);
    int result = segment_check(station, &access, &segment);
    if (result == 0 && segment->generation != call->generation)
        result = segment_refuse_stale(call->rank, call->sid);
    if (result < 0)
        return result;
    if (call->rank == station->rank)
        return store_own(station, call, segment);
    if (call->length == 0)
        return 0;
    station->is_dirty[call->rank] = true;
    process_store(station->process, &(struct chip_store){.page = page_find(station, call),
                                                         .offset = (uint32_t)(call->offset % 4096),
                                                         .length = (uint32_t)call->length,
                                                         .value = call->value});
    return 0;
}

/* ---- Firmware -------------------------------------------------------------------------------- */

int image_ask(struct station *station, struct image *image, struct awaited *awaited, uint64_t *old)
{
    uint32_t flag;
    int result = flag_take(station, &flag);
    if (result < 0)
        return result;
    image->flag = flag_address(flag);
    result = image_send(station, image);
    if (result == 0)
        result = flag_wait(station, flag, awaited);
    if (old)
        *old = flag_words(station, flag)[1];
    flag_give(station, flag, result < 0);
    return result;
}

int firmware_ask(struct station *station, const struct access *access,
                 const struct chip_operands *operands, uint64_t *old)
{
    struct station_segment *segment;
    int result = segment_check(station, access, &segment);
    if (result < 0)
        return result;
    struct image image = {.rank = access->rank,
                          .sid = access->sid,
                          .offset = access->offset,
                          .data = operands,
                          .length = sizeof(*operands),
                          .type = CHIP_PACKET_ATOMIC};
    struct awaited awaited = awaited_make(station, access->rank, segment, 0);
    result = image_ask(station, &image, &awaited, old);
    if (result != CHIP_ANSWER_REFUSED)
        return result < 0 ? result : 0;
    result = station_peer_check(station, access->rank); /* its segments went with it */
    return result < 0 ? result : segment_refuse_stale(access->rank, access->sid);
}

static uint64_t operate(const struct nic_atomic_operands *operands, uint64_t value)
{
    switch (operands->operation) {
    case NIC_FETCH_ADD:
        return value + operands->operand;
    case NIC_FETCH_OR:
        return value | operands->operand;
    case NIC_FETCH_AND:
        return value & operands->operand;
    case NIC_SWAP:
        return operands->operand;
    case NIC_COMPARE_SWAP:
        return value == operands->expected ? operands->operand : value;
    }
    return value;
}

static int atomic_own(struct station *station, const struct martini_call *call, uint64_t *old,
                      const struct access *access)
{
    struct station_segment *segment;
    int result = segment_check(station, access, &segment);
    if (result < 0)
        return result;
    station_read(station, segment->address + call->offset, old, sizeof(*old));
    uint64_t value = operate(&call->operands, *old);
    station_write(station, segment->address + call->offset, &value, sizeof(value));
    host_memory_changed(process_host(station->process));
    return 0;
}

int small_atomic(struct station *station, struct martini_call *call)
{
    static const enum chip_atomic operations[] = {
        [NIC_FETCH_ADD] = CHIP_FETCH_ADD,       [NIC_FETCH_OR] = CHIP_FETCH_OR,
        [NIC_FETCH_AND] = CHIP_FETCH_AND,       [NIC_SWAP] = CHIP_SWAP,
        [NIC_COMPARE_SWAP] = CHIP_COMPARE_SWAP,
    };
    struct access access = {call->rank, call->sid, call->offset, 8, RH_ATOMIC, false};
    if ((unsigned)call->operands.operation > NIC_COMPARE_SWAP)
        return error_set(RH_EINVALID, call->rank, "there is no such atomic operation");
    struct chip_operands operands = {.operation = operations[call->operands.operation],
                                     .operand = call->operands.operand,
                                     .expected = call->operands.expected};
    if (call->rank == station->rank)
        return atomic_own(station, call, &call->value, &access);
    return firmware_ask(station, &access, &operands, &call->value);
}

/* ---- Fences ---------------------------------------------------------------------------------- */

/* Stores first leave the AOTF queue; then packets stay in order, so one that is acked tells of all
 * before it. */
static int fence(struct station *station, int rank)
{
    uint64_t nothing = 0;
    struct image image = {.rank = rank,
                          .to_library = true,
                          .offset = STATION_SINK_AT,
                          .data = &nothing,
                          .length = sizeof(nothing)};
    struct awaited awaited = awaited_make(station, rank, NULL, 0);
    while (chip_aotf_pending(process_chip(station->process)) > 0)
        station_sleep(station, 100 * SIM_NS);
    station->is_dirty[rank] = false;
    int result = image_ask(station, &image, &awaited, NULL);
    if (result < 0)
        station->is_dirty[rank] = true;
    return result < 0 ? result : 0;
}

static int flush_one(struct station *station, int rank)
{
    int result = rank == station->rank ? 0 : station_peer_check(station, rank);
    if (result == 0 && station->is_dirty[rank])
        result = fence(station, rank);
    while (result == 0 && transfers_are_under_way(station, rank)) {
        (void)station_wait(station, transfers_deadline(station));
        transfers_look(station);
    }
    return result;
}

int small_flush(struct station *station, const struct martini_call *call)
{
    if (call->rank != RH_ANY_RANK)
        return flush_one(station, call->rank);
    for (int rank = 0; rank < (int)station->world->spec.size; rank++) {
        int result = flush_one(station, rank);
        if (result < 0 && result != RH_EDEAD) /* with a dead rank there is nothing to wait for */
            return result;
    }
    return 0;
}

/* A word in the library's memory of the peer changes, which whoever polls there notices. */
int small_wake(struct station *station, const struct martini_call *call)
{
    uint64_t one = 1;
    struct image image = {.rank = call->rank,
                          .to_library = true,
                          .offset = STATION_WAKE_AT,
                          .data = &one,
                          .length = sizeof(one)};
    if (call->rank == station->rank) {
        host_memory_changed(process_host(station->process));
        return 0;
    }
    if (station_peer_check(station, call->rank) < 0)
        return 0; /* nobody is asleep there */
    return image_send(station, &image);
}
