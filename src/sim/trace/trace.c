/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See trace.h. Times in the time line are microseconds with six decimals: picoseconds.
 */
#include "sim/trace/trace.h"

#include "base/array.h"
#include "base/error.h"
#include "sim/trace/pcap.h"

#include <errno.h>
#include <stdlib.h>

/* What a span of the time line and a packet are at most, besides its bytes. */
#define SPAN_BYTES   120
#define PACKET_BYTES 320

struct trace {
    FILE *out; /* time line */
    FILE *packets, *pcap;
    uint32_t interface_count;
    uint32_t *interfaces; /* node -> number of its interface in the pcap file */
    size_t interface_room;
    uint32_t track_count;
    uint32_t *groups; /* track -> group number */
    size_t group_room;
    bool is_begun;
    uint64_t limit, length; /* of the longest file, as far as it is counted */
    uint64_t pcap_length;
    sim_time full; /* since when nothing is added; SIM_NEVER: it is not so long yet */
    bool is_short; /* memory ran out: something is at the wrong place */
};

struct trace *trace_open(const struct trace_files *files)
{
    struct trace *trace = calloc(1, sizeof(*trace));
    if (!trace) {
        error_fail(-ENOMEM, "no memory for a trace");
        return NULL;
    }
    trace->out = files->timeline;
    trace->packets = files->packets;
    trace->pcap = files->pcap;
    trace->limit = files->limit ? files->limit : UINT64_MAX;
    trace->full = SIM_NEVER;
    if (trace->out)
        fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", trace->out);
    if (trace->pcap)
        pcap_begin(trace->pcap);
    return trace;
}

int trace_close(struct trace *trace)
{
    if (!trace)
        return 0;
    if (trace->out)
        fputs("\n]}\n", trace->out);
    FILE *const files[] = {trace->out, trace->packets, trace->pcap};
    bool failed = false, is_short = trace->is_short;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        failed = failed || (files[i] && (fflush(files[i]) != 0 || ferror(files[i])));
    free(trace->groups);
    free(trace->interfaces);
    free(trace);
    if (failed)
        return error_fail(-EIO, "the trace could not be written");
    return is_short ? error_fail(-ENOMEM, "no memory for all of the trace") : 0;
}

sim_time trace_full(const struct trace *trace)
{
    return trace ? trace->full : SIM_NEVER;
}

/* So many bytes more at this time: is there still room? */
static bool room_take(struct trace *trace, uint64_t *length, uint64_t bytes, sim_time when)
{
    if (trace->full != SIM_NEVER)
        return false;
    *length += bytes;
    if (*length > trace->limit)
        trace->full = when;
    return trace->full == SIM_NEVER;
}

static void line_begin(struct trace *trace)
{
    fputs(trace->is_begun ? ",\n" : "\n", trace->out);
    trace->is_begun = true;
}

uint32_t trace_track(struct trace *trace, const char *group, uint32_t group_number,
                     const char *part)
{
    if (!trace || !trace->out)
        return 0;
    if (!array_grow(&trace->groups, &trace->group_room, (size_t)trace->track_count + 1)) {
        trace->is_short = true;
        return 0; /* drawn on the first line */
    }
    uint32_t track = trace->track_count++;
    trace->groups[track] = group_number;
    line_begin(trace);
    fprintf(trace->out,
            "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"args\":{\"name\":\"%s %u\"}},\n",
            group_number, group, group_number);
    fprintf(trace->out,
            "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,\"tid\":%u,"
            "\"args\":{\"name\":\"%s\"}}",
            group_number, track, part);
    return track;
}

static void place_print(const struct trace *trace, uint32_t track, sim_time when)
{
    fprintf(trace->out, "\"pid\":%u,\"tid\":%u,\"ts\":%lld.%06lld", trace->groups[track], track,
            when / SIM_US, when % SIM_US);
}

void trace_span(struct trace *trace, uint32_t track, const char *what, sim_time begin, sim_time end)
{
    if (!trace || trace->track_count == 0 || !room_take(trace, &trace->length, SPAN_BYTES, end))
        return;
    line_begin(trace);
    fprintf(trace->out, "{\"ph\":\"X\",\"name\":\"%s\",", what);
    place_print(trace, track, begin);
    fprintf(trace->out, ",\"dur\":%lld.%06lld}", (end - begin) / SIM_US, (end - begin) % SIM_US);
}

bool trace_has_packets(const struct trace *trace)
{
    return trace && (trace->packets || trace->pcap);
}

void trace_node(struct trace *trace, uint32_t node)
{
    if (!trace || !trace->pcap)
        return;
    size_t before = trace->interface_room;
    if (!array_grow(&trace->interfaces, &trace->interface_room, (size_t)node + 1)) {
        trace->is_short = true;
        return; /* its packets are those of the first */
    }
    for (size_t i = before; i < trace->interface_room; i++)
        trace->interfaces[i] = 0;
    trace->interfaces[node] = trace->interface_count++;
    pcap_interface(trace->pcap, node);
}

void trace_packet(struct trace *trace, const struct trace_packet *packet)
{
    uint64_t bytes = PACKET_BYTES + packet->header_length + packet->payload_length;
    if (!trace_has_packets(trace) || !room_take(trace, &trace->pcap_length, bytes, packet->when))
        return;
    if (trace->packets)
        fprintf(trace->packets, "%lld.%06lld us  node %-3u %s  %s\n", packet->when / SIM_US,
                packet->when % SIM_US, packet->node, packet->is_sent ? "sends" : "gets ",
                packet->text);
    if (trace->pcap && packet->node < trace->interface_room)
        pcap_packet(trace->pcap, trace->interfaces[packet->node], packet);
}
