/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages as packets, and packets as messages again. Knows nothing of what messages say.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKET_LENGTH  2048u
#define PACKET_HEADER  12u
#define PACKET_PAYLOAD (PACKET_LENGTH - PACKET_HEADER)
#define PACKETS_MAX    32u
#define MESSAGE_MAX    (PACKETS_MAX * PACKET_PAYLOAD) /* fits the header's 16 bits */

struct packet {
    uint64_t message_id; /* per sender and receiver: 1, 2 and so on */
    uint16_t message_size;
    uint16_t number; /* of the packet in the message */
    char payload[PACKET_PAYLOAD];
};
_Static_assert(sizeof(struct packet) == PACKET_LENGTH, "no holes");
_Static_assert(MESSAGE_MAX <= UINT16_MAX, "a message's size fits the header");

static inline unsigned packet_count(size_t message_size)
{
    return (unsigned)((message_size + PACKET_PAYLOAD - 1) / PACKET_PAYLOAD);
}

/* Fill one packet of a message; returns its length on the wire. */
size_t packet_cut(struct packet *packet, const char *message, size_t size, uint64_t id,
                  unsigned number);

/* Messages of one sender that are on their way, and the numbers of those that have come. */
struct assembly;

struct assembly *assembly_create(void); /* NULL: no memory */
void assembly_destroy(struct assembly *assembly);

/* A packet has come; it is not trusted. If it completes a message that has not come before, returns
 * it (valid until the next call) and its size. *is_old: it belongs to one that has. One that is so
 * far behind the newest that nobody knows is neither. */
const char *assembly_add(struct assembly *assembly, const struct packet *packet, size_t length,
                         size_t *size, bool *is_old);
