/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The chip as a whole: making it, its tables and windows, its events.
 */
#include "sim/chip/cpu.h"

#include "base/assert.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const char *const event_names[EVENT_COUNT] = {"step", "request", "dma",    "seen",
                                                     "send", "hand",    "timeout"};

void chip_header_pack(const struct chip_header *header, uint64_t words[CHIP_HEADER_WORDS])
{
    uint64_t flags = (uint64_t)header->wants_ack | (uint64_t)header->is_aotf << 1 |
                     (uint64_t)header->is_last << 2;
    words[0] = header->type | flags << 8 | (uint64_t)header->pgid << 16 |
               (uint64_t)header->length << 32;
    words[1] = header->source_node | (uint64_t)header->source_pid << 16 |
               (uint64_t)header->target_node << 32 | (uint64_t)header->target_pid << 48;
    words[2] = header->sid;
    words[3] = header->offset;
    words[4] = header->local;
    words[5] = header->flag;
}

void chip_header_unpack(struct chip_header *header, const uint64_t words[CHIP_HEADER_WORDS])
{
    *header = (struct chip_header){.type = (uint8_t)words[0],
                                   .wants_ack = words[0] >> 8 & 1,
                                   .is_aotf = words[0] >> 9 & 1,
                                   .is_last = words[0] >> 10 & 1,
                                   .pgid = (uint16_t)(words[0] >> 16),
                                   .length = (uint32_t)(words[0] >> 32),
                                   .source_node = (uint16_t)words[1],
                                   .source_pid = (uint16_t)(words[1] >> 16),
                                   .target_node = (uint16_t)(words[1] >> 32),
                                   .target_pid = (uint16_t)(words[1] >> 48),
                                   .sid = (uint32_t)words[2],
                                   .offset = words[3],
                                   .local = words[4],
                                   .flag = words[5]};
}

static void request_arrive(struct chip *chip)
{
    struct request *request = chip->kicked.first;
    chip->kicked.first = request->next;
    if (!request->next)
        chip->kicked.last = NULL;
    initiator_take(chip, request);
}

static void chip_event(void *context, uint32_t kind, uint64_t argument)
{
    struct chip *chip = context;
    switch ((enum chip_event)kind) {
    case EVENT_STEP:
        module_step(chip, (enum chip_module)argument);
        break;
    case EVENT_REQUEST:
        request_arrive(chip);
        break;
    case EVENT_DMA:
    case EVENT_SEEN:
        dma_event(chip, (enum chip_event)kind, (uint32_t)argument);
        break;
    case EVENT_SEND:
        send_start(chip);
        break;
    case EVENT_HAND:
        rfend_hand(chip);
        break;
    case EVENT_TIMEOUT:
        module_timeout(chip, argument);
        break;
    case EVENT_COUNT:
        break;
    }
}

#define LINE_BYTES 64

static void lines_fetch(const void *first, size_t length)
{
    for (size_t at = 0; at < length; at += LINE_BYTES)
        __builtin_prefetch((const char *)first + at);
}

static void chip_expect(void *context, uint32_t kind, uint64_t argument)
{
    const struct chip *chip = context;
    bool is_step = kind == EVENT_STEP;
    bool is_initiator = kind == EVENT_REQUEST || (is_step && argument == CHIP_INITIATOR);
    lines_fetch(chip, offsetof(struct chip, modules));
    if (is_step)
        __builtin_prefetch(&chip->modules[argument]);
    lines_fetch(is_initiator ? (const void *)&chip->initiator : &chip->rfend, 2 * LINE_BYTES);
}

static int memory_make(struct chip *chip)
{
    const struct sim_constants *c = chip->constants;
    chip->patlb.sets = (uint32_t)c->patlb_sets;
    chip->patlb.is_direct = c->patlb_ways == 1;
    chip->rvatlb.sets = (uint32_t)c->rvatlb_sets;
    size_t patlb = 2 * (size_t)chip->patlb.sets * sizeof(struct tlb_entry);
    size_t rvatlb = 2 * (size_t)chip->rvatlb.sets * sizeof(struct tlb_entry);
    size_t headers = CHIP_AOTF_PAGES * sizeof(struct chip_header);
    size_t windows = CHIP_WINDOWS * sizeof(struct window);
    /* Mapped, not allocated: a node that is idle touches little of it. */
    chip->room_size = patlb + rvatlb + headers + windows;
    char *room = mmap(NULL, chip->room_size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return -ENOMEM;
    chip->room = room;
    chip->patlb.ways = (struct tlb_entry *)(void *)room;
    chip->rvatlb.ways = (struct tlb_entry *)(void *)(room + patlb);
    chip->aotf.headers = (struct chip_header *)(void *)(room + patlb + rvatlb);
    chip->windows = (struct window *)(void *)(room + patlb + rvatlb + headers);
    return 0;
}

int chip_create(struct chip **chip, struct sim *sim, const struct chip_spec *spec)
{
    char name[32];
    struct chip *made = calloc(1, sizeof(*made));
    if (!made)
        return error_fail(-ENOMEM, "no memory for controller %u", spec->number);
    made->sim = sim;
    made->number = spec->number;
    made->host = spec->host;
    made->wire = spec->wire;
    made->constants = spec->constants;
    made->trace = spec->trace;
    made->image = spec->image;
    made->cpu_factor = 1;
    snprintf(name, sizeof(name), "chip-%u", spec->number);
    int result = memory_make(made);
    int actor = result < 0 ? result
                           : sim_actor_add(sim, &(struct sim_actor){.name = name,
                                                                    .handle = chip_event,
                                                                    .expect = chip_expect,
                                                                    .context = made,
                                                                    .kinds = event_names,
                                                                    .kind_count = EVENT_COUNT});
    if (actor < 0) {
        chip_destroy(made);
        return error_fail(-ENOMEM, "no memory for controller %u", spec->number);
    }
    made->actor = (uint32_t)actor;
    module_init(made);
    *chip = made;
    return 0;
}

#define LIST_FREE(list)                                                                            \
    while (list) {                                                                                 \
        void *gone = (list);                                                                       \
        (list) = (list)->next;                                                                     \
        free(gone);                                                                                \
    }

void chip_destroy(struct chip *chip)
{
    if (!chip)
        return;
    for (uint32_t i = 0; i < chip->dma_count; i++) { /* written, and not seen yet */
        if (chip->dmas[i]->request.kind == PCI_WRITE && chip->dmas[i]->packet)
            chip_packet_free(chip, chip->dmas[i]->packet);
    }
    for (struct arrival *at = chip->rfend.first; at; at = at->next)
        free(at->packet);
    if (chip->rfend.current)
        free(chip->rfend.current->packet);
    if (chip->rbend.arrival)
        free(chip->rbend.arrival->packet);
    free(chip->rfend.current);
    free(chip->rbend.arrival);
    LIST_FREE(chip->rfend.first);
    LIST_FREE(chip->joining.first);
    LIST_FREE(chip->kicked.first);
    LIST_FREE(chip->initiator.first);
    LIST_FREE(chip->free_packets);
    LIST_FREE(chip->free_requests);
    LIST_FREE(chip->free_arrivals);
    for (uint32_t i = 0; i < chip->dma_count; i++) {
        if (chip->dmas[i]->request.kind == PCI_READ) /* until it ends, the packet is its own */
            free(chip->dmas[i]->packet);
        free(chip->dmas[i]);
    }
    free(chip->dmas);
    free(chip->replier.jobs);
    cpu_close(chip);
    free(chip->firmware.rings);
    free(chip->pages.slots);
    free(chip->segments.slots);
    if (chip->room)
        munmap(chip->room, chip->room_size);
    free(chip);
}

uint32_t chip_number(const struct chip *chip)
{
    return chip->number;
}

static size_t payload_bytes(const struct chip *chip)
{
    size_t mtu = (size_t)chip->constants->mtu_bytes, window = CHIP_WINDOW_WORDS * sizeof(uint64_t);
    return mtu > window ? mtu : window;
}

struct chip_packet *chip_packet_make(struct chip *chip)
{
    struct chip_packet *packet = chip->free_packets;
    if (packet)
        chip->free_packets = packet->next;
    else
        packet = malloc(sizeof(*packet) + payload_bytes(chip));
    if (!packet) {
        sim_stop(chip->sim);
        return NULL;
    }
    packet->origin = 0;
    packet->holds = 0;
    packet->next = NULL;
    return packet;
}

void chip_packet_free(struct chip *chip, struct chip_packet *packet)
{
    if (packet->holds > 0) {
        packet->holds--;
        return;
    }
    packet->next = chip->free_packets;
    chip->free_packets = packet;
}

void chip_sent(struct chip *chip, uint8_t origin)
{
    if (origin == CHIP_INITIATOR)
        initiator_room(chip);
    else if (origin == CHIP_REPLIER)
        replier_room(chip);
}

void chip_window_set(struct chip *chip, uint32_t window, uint16_t pgid, uint16_t pid)
{
    ASSERT(window < CHIP_WINDOWS);
    struct window *at = &chip->windows[window];
    at->is_valid = true;
    at->pgid = pgid;
    at->pid = pid;
}

void chip_window_clear(struct chip *chip, uint32_t window)
{
    ASSERT(window < CHIP_WINDOWS);
    chip->windows[window].is_valid = false;
}

void chip_contflag_set(struct chip *chip, uint32_t window, uint64_t physical)
{
    ASSERT(window < CHIP_WINDOWS);
    chip->windows[window].contflag = physical;
}

int chip_page_pin(struct chip *chip, const struct chip_page *page)
{
    return table_put(&chip->pages, job_key(page->pgid, page->pid), page->virtual_page,
                     page->physical_page);
}

void chip_page_unpin(struct chip *chip, const struct chip_page *page)
{
    uint32_t job = job_key(page->pgid, page->pid);
    tlb_drop(&chip->patlb, job, page->virtual_page);
    tlb_port_drop(&chip->firmware.patlb, job, page->virtual_page);
    table_drop(&chip->pages, job, page->virtual_page);
}

int chip_segment_add(struct chip *chip, const struct chip_segment *segment)
{
    return table_put(&chip->segments, job_key(segment->pgid, segment->pid), segment->sid,
                     segment->start);
}

void chip_segment_remove(struct chip *chip, const struct chip_segment *segment)
{
    uint32_t job = job_key(segment->pgid, segment->pid);
    tlb_drop(&chip->rvatlb, job, segment->sid);
    tlb_port_drop(&chip->firmware.rvatlb, job, segment->sid);
    table_drop(&chip->segments, job, segment->sid);
}

void chip_page_warm(struct chip *chip, const struct chip_page *page)
{
    tlb_put(&chip->patlb, job_key(page->pgid, page->pid), page->virtual_page, page->physical_page);
}

static void tlb_fill(struct tlb *tlb, const struct table *table)
{
    for (uint32_t i = 0; i < table->capacity; i++) {
        const struct tlb_entry *slot = &table->slots[i];
        if (slot->key != 0 && slot->key != UINT64_MAX)
            tlb_put(tlb, (uint32_t)(slot->key - 1), slot->tag, slot->value);
    }
}

void chip_tlb_warm(struct chip *chip)
{
    tlb_fill(&chip->patlb, &chip->pages);
    tlb_fill(&chip->rvatlb, &chip->segments);
}

void chip_aotf_register(struct chip *chip, uint32_t page, const struct chip_header *header)
{
    ASSERT(page < CHIP_AOTF_PAGES);
    chip->aotf.headers[page] = *header;
    chip->aotf.headers[page].type = CHIP_PACKET_PUSH;
    chip->aotf.headers[page].source_node = (uint16_t)chip->number;
}

void chip_aotf_forget(struct chip *chip, uint32_t page)
{
    chip->aotf.headers[page].type = 0;
}

void chip_window_write(struct chip *chip, uint32_t window, uint32_t word, uint64_t value)
{
    ASSERT(window < CHIP_WINDOWS);
    ASSERT(word < CHIP_WINDOW_WORDS);
    chip->windows[window].words[word] = value;
}

void chip_window_kick(struct chip *chip, uint32_t window, enum chip_kick kick)
{
    struct request *request = chip->free_requests;
    ASSERT(window < CHIP_WINDOWS);
    if (request)
        chip->free_requests = request->next;
    else
        request = malloc(sizeof(*request));
    if (!request) {
        sim_stop(chip->sim);
        return;
    }
    chip_moment_note(chip, CHIP_ACCEPTED);
    request->window = window;
    request->kick = kick;
    request->next = NULL;
    bool is_long = kick == CHIP_BOTF || kick == CHIP_SOFTWARE;
    uint32_t words = is_long ? CHIP_WINDOW_WORDS : CHIP_HEADER_WORDS;
    memcpy(request->words, chip->windows[window].words, words * sizeof(request->words[0]));
    *(chip->kicked.last ? &chip->kicked.last->next : &chip->kicked.first) = request;
    chip->kicked.last = request;
    chip_post(chip, chip->constants->window_cycles, EVENT_REQUEST, window);
}

const struct chip_count *chip_count(const struct chip *chip)
{
    return &chip->count;
}

sim_time chip_moment(const struct chip *chip, enum chip_moment moment)
{
    return chip->moments[moment];
}
