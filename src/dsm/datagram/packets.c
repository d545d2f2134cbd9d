/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cutting messages into packets and putting them together.
 */
#include "dsm/datagram/packets.h"

#include <stdlib.h>
#include <string.h>

#define PARTS  16u      /* incomplete messages of a sender; the oldest gives way */
#define WINDOW 0x10000u /* numbers up to the newest of which it is known whether they have come */

struct part {
    bool is_used;
    uint64_t id;
    uint16_t size;
    uint32_t have; /* bit per packet */
    uint64_t age;  /* count of packets when it was begun */
    char *data;    /* MESSAGE_MAX bytes, made when first needed */
};

struct assembly {
    struct part part[PARTS];
    uint64_t packets;
    uint64_t newest;            /* number of which a packet has come */
    uint64_t done[WINDOW / 64]; /* bit per number, modulo WINDOW */
};

size_t packet_cut(struct packet *packet, const char *message, size_t size, uint64_t id,
                  unsigned number)
{
    size_t at = (size_t)number * PACKET_PAYLOAD;
    size_t length = size - at < PACKET_PAYLOAD ? size - at : PACKET_PAYLOAD;
    packet->message_size = (uint16_t)size;
    packet->message_id = id;
    packet->number = (uint16_t)number;
    memcpy(packet->payload, message + at, length);
    return PACKET_HEADER + length;
}

struct assembly *assembly_create(void)
{
    return calloc(1, sizeof(struct assembly));
}

void assembly_destroy(struct assembly *assembly)
{
    for (unsigned i = 0; assembly && i < PARTS; i++)
        free(assembly->part[i].data);
    free(assembly);
}

static bool is_done(const struct assembly *assembly, uint64_t id)
{
    return assembly->done[id % WINDOW / 64] >> (id % 64) & 1;
}

static void set_done(struct assembly *assembly, uint64_t id)
{
    assembly->done[id % WINDOW / 64] |= (uint64_t)1 << (id % 64);
}

/* The window ends with this number; what falls out of it is forgotten. */
static void advance(struct assembly *assembly, uint64_t id)
{
    if (id - assembly->newest >= WINDOW)
        memset(assembly->done, 0, sizeof(assembly->done));
    else
        for (uint64_t i = assembly->newest + 1; i <= id; i++)
            assembly->done[i % WINDOW / 64] &= ~((uint64_t)1 << (i % 64));
    assembly->newest = id;
}

/* The place of a message, new or begun; NULL if there is no memory. */
static struct part *part_of(struct assembly *assembly, const struct packet *packet)
{
    struct part *oldest = &assembly->part[0];
    for (unsigned i = 0; i < PARTS; i++) {
        struct part *part = &assembly->part[i];
        if (part->is_used && part->id == packet->message_id && part->size == packet->message_size)
            return part;
        if (!part->is_used || (oldest->is_used && part->age < oldest->age))
            oldest = part;
    }
    if (!oldest->data)
        oldest->data = malloc(MESSAGE_MAX);
    if (!oldest->data)
        return NULL;
    oldest->is_used = true;
    oldest->id = packet->message_id;
    oldest->size = packet->message_size;
    oldest->have = 0;
    oldest->age = assembly->packets;
    return oldest;
}

static bool is_sound(const struct packet *packet, size_t length)
{
    if (length < PACKET_HEADER || packet->message_size == 0 || packet->message_size > MESSAGE_MAX)
        return false;
    unsigned count = packet_count(packet->message_size);
    if (packet->number >= count)
        return false;
    size_t last = packet->message_size - (size_t)(count - 1) * PACKET_PAYLOAD;
    return length - PACKET_HEADER == (packet->number == count - 1u ? last : PACKET_PAYLOAD);
}

const char *assembly_add(struct assembly *assembly, const struct packet *packet, size_t length,
                         size_t *size, bool *is_old)
{
    *is_old = false;
    if (!is_sound(packet, length))
        return NULL;
    assembly->packets++;
    if (packet->message_id > assembly->newest)
        advance(assembly, packet->message_id);
    if (assembly->newest - packet->message_id >= WINDOW)
        return NULL;
    *is_old = is_done(assembly, packet->message_id);
    struct part *part = *is_old ? NULL : part_of(assembly, packet);
    if (!part)
        return NULL;
    memcpy(part->data + (size_t)packet->number * PACKET_PAYLOAD, packet->payload,
           length - PACKET_HEADER);
    part->have |= (uint32_t)1 << packet->number;
    unsigned count = packet_count(part->size);
    if (part->have != (uint32_t)(((uint64_t)1 << count) - 1))
        return NULL;
    part->is_used = false;
    set_done(assembly, part->id);
    *size = part->size;
    return part->data;
}
