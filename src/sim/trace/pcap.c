/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See pcap.h. All numbers are little endian, whatever the machine.
 */
#include "sim/trace/pcap.h"

#include <string.h>

#define BLOCK_SECTION     0x0a0d0d0au
#define BLOCK_INTERFACE   1u
#define BLOCK_PACKET      6u
#define BYTE_ORDER_MAGIC  0x1a2b3c4du
#define LINKTYPE_USER0    147u
#define OPTION_COMMENT    1
#define OPTION_NAME       2 /* of an interface */
#define OPTION_FLAGS      2 /* of a packet */
#define OPTION_RESOLUTION 9
#define FLAG_INBOUND      1u
#define FLAG_OUTBOUND     2u
#define PICOSECONDS       12 /* times are in units of 10 to the minus 12 */

static uint32_t padded(uint32_t length)
{
    return (length + 3) / 4 * 4;
}

static void put(FILE *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        fputc((int)(value >> 8 * i & 0xff), out);
}

static void put_padded(FILE *out, const void *data, uint32_t length)
{
    fwrite(data, 1, length, out);
    put(out, 0, (int)(padded(length) - length));
}

#define OPTION_BYTES(length) (4 + padded(length))

static void put_option(FILE *out, uint32_t code, const void *data, uint32_t length)
{
    put(out, code, 2);
    put(out, length, 2);
    put_padded(out, data, length);
}

void pcap_begin(FILE *out)
{
    const uint32_t length = 28;
    put(out, BLOCK_SECTION, 4);
    put(out, length, 4);
    put(out, BYTE_ORDER_MAGIC, 4);
    put(out, 1, 2); /* version 1.0 */
    put(out, 0, 2);
    put(out, UINT64_MAX, 8); /* length of the section: not given */
    put(out, length, 4);
}

void pcap_interface(FILE *out, uint32_t node)
{
    char name[32];
    uint32_t name_length = (uint32_t)snprintf(name, sizeof(name), "node %u", node);
    uint32_t length = 20 + OPTION_BYTES(name_length) + OPTION_BYTES(1) + OPTION_BYTES(0);
    put(out, BLOCK_INTERFACE, 4);
    put(out, length, 4);
    put(out, LINKTYPE_USER0, 2);
    put(out, 0, 2);
    put(out, 0, 4); /* packets are never cut short */
    put_option(out, OPTION_NAME, name, name_length);
    put_option(out, OPTION_RESOLUTION, &(uint8_t){PICOSECONDS}, 1);
    put_option(out, 0, "", 0);
    put(out, length, 4);
}

void pcap_packet(FILE *out, uint32_t interface, const struct trace_packet *packet)
{
    uint32_t data = packet->header_length + packet->payload_length;
    uint32_t text = (uint32_t)strlen(packet->text);
    uint32_t length = 32 + padded(data) + OPTION_BYTES(4) + OPTION_BYTES(text) + OPTION_BYTES(0);
    put(out, BLOCK_PACKET, 4);
    put(out, length, 4);
    put(out, interface, 4);
    put(out, (uint64_t)packet->when >> 32, 4);
    put(out, (uint64_t)packet->when & UINT32_MAX, 4);
    put(out, data, 4); /* as captured, and as it was */
    put(out, data, 4);
    fwrite(packet->header, 1, packet->header_length, out);
    fwrite(packet->payload, 1, packet->payload_length, out);
    put(out, 0, (int)(padded(data) - data));
    put(out, OPTION_FLAGS, 2);
    put(out, 4, 2);
    put(out, packet->is_sent ? FLAG_OUTBOUND : FLAG_INBOUND, 4);
    put_option(out, OPTION_COMMENT, packet->text, text);
    put_option(out, 0, "", 0);
    put(out, length, 4);
}
