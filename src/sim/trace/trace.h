/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What happened in a world, in files for other programs and for people:
 *
 *   time line  what each part did when, for ui.perfetto.dev and chrome://tracing (the JSON form of
 *              Chrome's trace events)
 *   packets    each packet that a controller sent or got, a line of text each
 *   pcap       the same with all bytes, for Wireshark and tcpdump (pcapng; docs/packets.md)
 *
 * One small interface; who has no trace passes NULL.
 */
#pragma once

#include "sim/engine/engine.h"

struct trace;

/* Each may be NULL; they stay the caller's. Once one of them is as long as the limit, nothing is
 * added to any; they are complete all the same. */
struct trace_files {
    FILE *timeline, *packets, *pcap;
    uint64_t limit; /* bytes; 0: none */
};

/* NULL, with an error set, when memory is out. */
struct trace *trace_open(const struct trace_files *files);
/* When it became too long; SIM_NEVER: it did not. */
sim_time trace_full(const struct trace *trace);

/* Ends the files. 0, or -EIO. */
int trace_close(struct trace *trace);

/* A line of the picture: `part` of `group`, such as "RFend" of "node 1". Returns its number. */
uint32_t trace_track(struct trace *trace, const char *group, uint32_t group_number,
                     const char *part);

/* `what` lasted from `begin` to `end`. */
void trace_span(struct trace *trace, uint32_t track, const char *what, sim_time begin,
                sim_time end);

/* A node that sends and gets packets; before its first one. */
void trace_node(struct trace *trace, uint32_t node);
bool trace_has_packets(const struct trace *trace);

struct trace_packet {
    sim_time when;
    uint32_t node; /* which sent it, or got it */
    bool is_sent;
    const void *header, *payload;
    uint32_t header_length, payload_length;
    const char *text; /* in words, without time and node */
};
void trace_packet(struct trace *trace, const struct trace_packet *packet);
