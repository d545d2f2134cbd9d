/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packets in words and in bytes, for a trace.
 */
#include "sim/chip/parts.h"

#include <stdio.h>

static const char *type_name(uint8_t type)
{
    switch ((enum chip_type)type) {
    case CHIP_PACKET_PUSH:
        return "push";
    case CHIP_PACKET_ACK:
        return "ack";
    case CHIP_PACKET_PULL_REQUEST:
        return "pull request";
    case CHIP_PACKET_PULL_REPLY:
        return "pull reply";
    case CHIP_PACKET_CONTROL:
        return "control";
    case CHIP_PACKET_OTHER:
        return "other";
    case CHIP_PACKET_LOCK_REQUEST:
        return "lock request";
    case CHIP_PACKET_LOCK_RESERVE:
        return "lock reserve";
    case CHIP_PACKET_ATOMIC:
        return "atomic";
    }
    return "unknown";
}

/* "push, job 1: node 0 process 0 to node 1 process 1, 8 B to segment 1 + 0x2000, wants ack" */
static void header_print(const struct chip_header *header, char *text, size_t size)
{
    bool has_segment = header->type == CHIP_PACKET_PUSH || header->type == CHIP_PACKET_PULL_REQUEST;
    int length = snprintf(text, size,
                          "%s%s, job %u: node %u process %u to node %u process %u, %u B",
                          type_name(header->type), header->is_aotf ? " (AOTF)" : "", header->pgid,
                          header->source_node, header->source_pid, header->target_node,
                          header->target_pid, header->length);
    if (length < 0 || (size_t)length >= size)
        return;
    if (has_segment)
        length += snprintf(text + length, size - (size_t)length, " %s segment %u + 0x%llx",
                           header->type == CHIP_PACKET_PUSH ? "to" : "of", header->sid,
                           (unsigned long long)header->offset);
    else if (header->type == CHIP_PACKET_ACK || header->type == CHIP_PACKET_PULL_REPLY)
        length += snprintf(text + length, size - (size_t)length, " to address 0x%llx",
                           (unsigned long long)header->local);
    if ((size_t)length < size && header->wants_ack)
        snprintf(text + length, size - (size_t)length, ", wants ack");
}

/* What a header looks like on the wire: words, the low byte first. */
static void header_bytes(const struct chip_header *header, uint8_t bytes[CHIP_HEADER_WORDS * 8])
{
    uint64_t words[CHIP_HEADER_WORDS];
    chip_header_pack(header, words);
    for (uint32_t i = 0; i < CHIP_HEADER_WORDS * 8; i++)
        bytes[i] = (uint8_t)(words[i / 8] >> i % 8 * 8);
}

void packet_note(const struct chip *chip, const struct chip_packet *packet, bool is_sent)
{
    const struct chip_header *header = &packet->header;
    uint8_t bytes[CHIP_HEADER_WORDS * 8];
    char text[256];
    header_print(header, text, sizeof(text));
    header_bytes(header, bytes);
    bool is_header_only = header->type == CHIP_PACKET_PULL_REQUEST;
    trace_packet(chip->trace,
                 &(struct trace_packet){.when = sim_now(chip->sim),
                                        .node = chip->number,
                                        .is_sent = is_sent,
                                        .header = bytes,
                                        .header_length = sizeof(bytes),
                                        .payload = packet->payload,
                                        .payload_length = is_header_only ? 0 : header->length,
                                        .text = text});
}
