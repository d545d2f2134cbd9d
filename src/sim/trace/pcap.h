/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The blocks of a pcapng file, as docs/packets.md describes them. Private to sim/trace.
 */
#pragma once

#include "sim/trace/trace.h"

void pcap_begin(FILE *out);
/* One for each node, numbered from 0 in the order of these calls. */
void pcap_interface(FILE *out, uint32_t node);
void pcap_packet(FILE *out, uint32_t interface, const struct trace_packet *packet);
