/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rows, by the ids of the specification's list of figures.
 */
#include "experiment/thesis/thesis.h"

#include <math.h>
#include <string.h>

#define CELL(id, table, what, value, class)                                                        \
    {                                                                                              \
        id, table, what, THESIS_NUMBER, value, "us", class                                         \
    }
#define STATEMENT(id, group, what)                                                                 \
    {                                                                                              \
        id, group, what, THESIS_ORDER, NAN, "", 'V'                                                \
    }
#define CONSTANT(id, what, value, unit)                                                            \
    {                                                                                              \
        id, "constants", what, THESIS_NUMBER, value, unit, 'K'                                     \
    }

#define FOUND(id, group, what, unit)                                                               \
    {                                                                                              \
        id, group, what, THESIS_FOUND, NAN, unit, 'V'                                              \
    }

/* What the page of figures lists and no simulation can give: the text says why. */
#define ABSENT(id, group, what, value, unit, class)                                                \
    {                                                                                              \
        id, group, what, THESIS_ABSENT, value, unit, class                                         \
    }

/* clang-format off */
const struct thesis_row thesis_rows[] = {
    CONSTANT("L1", "a flit of 64 bits on the link", 80, "bit"),
    CONSTANT("L2", "RHiNET-2 link, of that data", 6400, "Mbit/s"),
    CONSTANT("L3", "link of the measured clusters, of that data", 600, "MB/s"),
    CONSTANT("L4", "time of a flit there", 13.33, "ns"),
    CONSTANT("L5", "RHiNET-3 link, of that data", 8000, "Mbit/s"),
    ABSENT("L6", "constants", "RHiNET-1 link; not simulated: its controller is another one", 1330,
           "Mbit/s", 'K'),
    CONSTANT("L7", "MTU", 2048, "B"),
    CONSTANT("L8", "longest RHiNET-2 link", 200, "m"),
    CONSTANT("L8-3", "longest RHiNET-3 link", 1000, "m"),
    CONSTANT("L9", "ports of a switch of the simulated clusters", 8, "ports"),
    {"L10", "constants", "ports of 1, 2 and 8 Gbit/s in one switch, each at its own", THESIS_ORDER,
     NAN, "", 'K'},
    ABSENT("L11", "constants", "I/O clock of RHiNET-2; not simulated: a flit's time has it", 800,
           "MHz", 'I'),
    CONSTANT("M1", "core clock", 66, "MHz"),
    CONSTANT("M2", "PCI", 528, "MB/s"),
    CONSTANT("M3", "PATLB", 2048, "entries"),
    CONSTANT("M4", "RVATLB: about as PATLB", 2048, "entries"),
    CONSTANT("M5", "on-chip CPU's SRAM", 256, "KB"),
    CONSTANT("M6", "unit of data", 64, "bit"),
    CONSTANT("M7", "window", 4096, "B"),
    CONSTANT("M8", "words of a request", 6, "words"),
    CONSTANT("M9", "AOTF: bits of the address for the offset", 12, "bit"),
    CONSTANT("M10", "on-chip CPU writes a register", 2, "clk"),
    CONSTANT("M10-read", "on-chip CPU reads a register", 3, "clk"),
    ABSENT("M11", "constants", "saving registers: tens of clk; not simulated: firmware polls", NAN,
           "clk", 'C'),
    ABSENT("M12", "constants", "memory on the chip; not simulated: silicon", 620, "KB", 'I'),
    ABSENT("M13", "constants", "gates of the chip; not simulated: silicon", 2221000, "gates", 'I'),
    ABSENT("M14", "constants", "area of the chip; not simulated: silicon", 272.91, "mm2", 'I'),
    ABSENT("M15", "constants", "take-over makes Replier larger; not simulated: silicon", 5.5, "%",
           'I'),
    CONSTANT("M16", "hardware VPUSH: test of free space", 4, "clk"),
    CONSTANT("T12", "largest VPUSH", 2048, "B"),
    CONSTANT("D1", "DIMMnet-1: most inside the chip", 400, "MB/s"),
    CONSTANT("D4", "DIMMnet-1: most data of a BOTF packet", 464, "B"),
    CONSTANT("D7", "DIMMnet-1: Unknown", 20, "clk"),
    ABSENT("D10", "constants", "DIMMnet-1: memories; not simulated: as large as needed", 128, "MB",
           'K'),
    CONSTANT("D11", "DIMMnet-1: most data of AOTF (BOTF: D4; 474 B is a slip)", 8, "B"),
    CELL("T6.2-PUSH-1", "table-6.2", "PUSH: Martini accepts the request", 0.72, 'C'),
    CELL("T6.2-PUSH-2", "table-6.2", "PUSH: packet transmission starts", 1.48, 'C'),
    CELL("T6.2-PUSH-3", "table-6.2", "PUSH: packet arrives at remote", 1.49, 'C'),
    CELL("T6.2-PUSH-4", "table-6.2", "PUSH: remote starts packet processing", 1.73, 'C'),
    CELL("T6.2-PUSH-5", "table-6.2", "PUSH: PCI transaction starts", 2.06, 'C'),
    CELL("T6.2-PUSH-6", "table-6.2", "PUSH: remote write complete", 2.48, 'C'),
    CELL("T6.2-BOTF-1", "table-6.2", "BOTF: Martini accepts the request", 0.79, 'C'),
    CELL("T6.2-BOTF-2", "table-6.2", "BOTF: packet transmission starts", 1.14, 'C'),
    CELL("T6.2-BOTF-3", "table-6.2", "BOTF: packet arrives at remote", 1.15, 'C'),
    CELL("T6.2-BOTF-4", "table-6.2", "BOTF: remote starts packet processing", 1.39, 'C'),
    CELL("T6.2-BOTF-5", "table-6.2", "BOTF: PCI transaction starts", 1.72, 'C'),
    CELL("T6.2-BOTF-6", "table-6.2", "BOTF: remote write complete", 2.14, 'C'),
    CELL("T6.2-AOTF-1", "table-6.2", "AOTF: Martini accepts the request", 0.39, 'C'),
    CELL("T6.2-AOTF-2", "table-6.2", "AOTF: packet transmission starts", 0.74, 'C'),
    CELL("T6.2-AOTF-3", "table-6.2", "AOTF: packet arrives at remote", 0.75, 'C'),
    CELL("T6.2-AOTF-4", "table-6.2", "AOTF: remote starts packet processing", 0.99, 'C'),
    CELL("T6.2-AOTF-5", "table-6.2", "AOTF: PCI transaction starts", 1.32, 'C'),
    CELL("T6.2-AOTF-6", "table-6.2", "AOTF: remote write complete", 1.74, 'C'),
    CELL("T6.2-chip", "table-6.2", "time inside the chips of a remote write", 0.92, 'V'),
    CELL("T6.3-PULL-1", "table-6.3", "PULL: Martini accepts the request", 0.72, 'C'),
    CELL("T6.3-PULL-2", "table-6.3", "PULL: request transmission starts", 1.25, 'C'),
    CELL("T6.3-PULL-3", "table-6.3", "PULL: request arrives at remote", 1.26, 'C'),
    CELL("T6.3-PULL-4", "table-6.3", "PULL: remote PCI transaction starts", 1.97, 'C'),
    CELL("T6.3-PULL-5", "table-6.3", "PULL: response transmission starts", 2.26, 'C'),
    CELL("T6.3-PULL-6", "table-6.3", "PULL: response arrives at local", 2.27, 'V'),
    CELL("T6.3-PULL-7", "table-6.3", "PULL: local PCI transaction starts", 2.84, 'V'),
    CELL("T6.3-PULL-8", "table-6.3", "PULL: remote read complete", 3.26, 'V'),
    CELL("T6.3-BOTF-1", "table-6.3", "BOTF: Martini accepts the request", 0.72, 'V'),
    CELL("T6.3-BOTF-2", "table-6.3", "BOTF: request transmission starts", 1.07, 'V'),
    CELL("T6.3-BOTF-3", "table-6.3", "BOTF: request arrives at remote", 1.08, 'V'),
    CELL("T6.3-BOTF-4", "table-6.3", "BOTF: remote PCI transaction starts", 1.79, 'V'),
    CELL("T6.3-BOTF-5", "table-6.3", "BOTF: response transmission starts", 2.08, 'V'),
    CELL("T6.3-BOTF-6", "table-6.3", "BOTF: response arrives at local", 2.09, 'V'),
    CELL("T6.3-BOTF-7", "table-6.3", "BOTF: local PCI transaction starts", 2.66, 'V'),
    CELL("T6.3-BOTF-8", "table-6.3", "BOTF: remote read complete", 3.08, 'V'),
    STATEMENT("T6.3-sizes", "fig-6.2", "a pull by BOTF is faster by that at every size"),
    CELL("T6.3-gain", "table-6.3", "BOTF pull faster than PULL by", 0.18, 'V'),
    CELL("P1", "fig-6.1", "AOTF of 8 B, one way, half a round trip", 1.74, 'V'),
    STATEMENT("P2", "fig-6.1", "lowest latency: AOTF at 8 B, BOTF from 16 to 64 B, then PUSH"),
    {"P2-cross", "fig-6.1", "BOTF is the quickest up to", THESIS_NUMBER, 64, "B", 'V'},
    {"P3", "fig-6.3", "PUSH in one direction, most", THESIS_NUMBER, 444, "MB/s", 'V'},
    {"P4", "fig-6.3", "PUSH in both directions, sum, most", THESIS_NUMBER, 470, "MB/s", 'V'},
    {"P5", "fig-6.3", "size with half of the most, one window", THESIS_NUMBER, 1024, "B", 'V'},
    STATEMENT("P6", "fig-6.4", "receiver's SWI drops: faster above 1 KB, the same up to 1 KB"),
    STATEMENT("P7", "fig-6.4", "double buffering in SWI makes the stream faster"),
    STATEMENT("P8", "fig-6.3", "several windows in turn make small PUSHes faster"),
    FOUND("P8-512", "fig-6.3", "PUSH of 512 B in one direction, one window or --windows", "MB/s"),
    {"T6-32", "fig-7.9", "round trip of 32 B with PATLB misses, HARD", THESIS_NUMBER, 37.6, "us",
     'C'},
    {"T6-2048", "fig-7.9", "round trip of 2048 B with PATLB misses, HARD", THESIS_NUMBER, 52.5,
     "us", 'V'},
    STATEMENT("T7", "fig-7.9", "SOFT, HARD and NOEX grow equally with size"),
    STATEMENT("T1", "fig-7.8", "streams: 1 to 1 = 1 to 2 < 2 to 1"),
    STATEMENT("T2", "fig-7.8", "sender's RFend in exception: its rate is unchanged"),
    STATEMENT("T3", "fig-7.8", "receiver's requests cancelled: slower; in a loop: unchanged"),
    {"T4", "fig-7.9", "round trip: SOFT slower than HARD by", THESIS_NUMBER, 10, "us", 'V'},
    {"T5-32", "fig-7.9", "reduction by HARD at 32 B", THESIS_NUMBER, 21, "%", 'V'},
    {"T5-2048", "fig-7.9", "reduction by HARD at 2048 B", THESIS_NUMBER, 16, "%", 'V'},
    {"T8", "fig-7.11", "VPUSH stream of 2048 B", THESIS_NUMBER, 180.3, "MB/s", 'V'},
    {"T9", "fig-7.11", "the same, all in software", THESIS_NUMBER, 78.6, "MB/s", 'V'},
    {"T10", "fig-7.12", "on-chip CPU's share of a VPUSH", THESIS_NUMBER, 6.6, "us", 'V'},
    {"T11", "fig-7.12", "time for a packet is constant up to", THESIS_NUMBER, 512, "B", 'V'},
    {"R1", "pm-facts", "PM/RHiNET: receive ring for each source", THESIS_NUMBER, 128, "KB", 'K'},
    {"R2", "pm", "least round trip of PM/RHiNET", THESIS_NUMBER, 10.1, "us", 'C'},
    {"R3", "pm-nodes", "PM/RHiNET: round trip more at 16 nodes by", THESIS_NUMBER, 1.8, "us", 'V'},
    {"R4", "fig-8.5", "scan of 128 receive buffers", THESIS_NUMBER, 9, "us", 'C'},
    STATEMENT("R4-shape", "fig-8.5", "Head jumps at 64, Random at 128, then linear; 16: nothing"),
    {"R5", "fig-8.5", "Head's lines collide more than Random's by", THESIS_NUMBER, 2, "x", 'I'},
    STATEMENT("R6", "pm", "PM/RHiNET, 2040 B: a little less throughput at 16 nodes"),
    {"R7", "pm", "least round trip of PM/RHiNET-VP", THESIS_NUMBER, 25.5, "us", 'V'},
    STATEMENT("R8", "pm", "PM/RHiNET-VP flat up to 512 B"),
    STATEMENT("R9", "pm", "VP slower up to 1 KB; PM/RHiNET jumps between 1 and 2 KB"),
    {"R10", "pm-facts", "above 2040 B: several PUSHes, each acked before the next", THESIS_ORDER,
     NAN, "", 'K'},
    {"R11", "pm-facts", "longest message of PM/RHiNET", THESIS_NUMBER, 8184, "B", 'K'},
    {"R11-VP", "pm-facts", "longest message of PM/RHiNET-VP", THESIS_NUMBER, 2040, "B", 'K'},
    STATEMENT("R12", "pm", "burst throughputs nearly the same up to 1 KB"),
    STATEMENT("R13", "mpi", "MPI Sendrecv (PM and copies for it): knee at 2 KB, PM/RHiNET"),
    STATEMENT("R13-peak", "mpi", "the same: both have their peak near 32 KB, then flat"),
    {"R14", "pm", "RMA of more than 16 KB, more than", THESIS_LEAST, 300, "MB/s", 'V'},
    STATEMENT("R15", "mpi", "MPI PingPong: PM/RHiNET lower below 2 KB, VP above"),
    {"R16", "fig-7.12", "VPUSH: time in which only software runs", THESIS_NUMBER, 7.4, "us", 'V'},
    {"R17", "pm", "VP round trip with software twice as fast", THESIS_NUMBER, 18.1, "us", 'V'},
    {"R18", "fig-7.12", "DMA request until its data is seen", THESIS_NUMBER, 1.0, "us", 'C'},
    {"R19", "pm", "hardware VPUSH: more latency by at most", THESIS_MOST, 1.0, "us", 'V'},
    STATEMENT("R20", "pm-nodes", "hardware VPUSH better than PM/RHiNET beyond 16 nodes"),
    ABSENT("R21", "mpi", "NPB's speed-ups (EP: ideal); not simulated: computing takes no time", NAN,
           "", 'V'),
    STATEMENT("R21-S", "mpi", "NPB IS's messages (PM for MPI), class S, 4 to 16 nodes: VP slower"),
    STATEMENT("R21-A", "mpi", "the same, class A: VP not slower"),
    STATEMENT("R21-gap", "mpi", "the same, class A: the gap grows with nodes"),
    ABSENT("R22", "mpi", "compilers, PMB, MPICH-SCore; not simulated: no figure", NAN, "", 'I'),
    FOUND("N64-ring", "pm-nodes", "least round trip, PM/RHiNET, 64 nodes", "us"),
    FOUND("N64-queue", "pm-nodes", "least round trip, PM/RHiNET-VP, 64 nodes", "us"),
    FOUND("N64-hard", "pm-nodes", "least round trip, VPUSH in hardware, 64 nodes", "us"),
    FOUND("N64-auto", "pm-nodes", "least round trip, pm-auto, 64 nodes", "us"),
    FOUND("N256-ring", "pm-nodes", "least round trip, PM/RHiNET, 256 nodes", "us"),
    FOUND("N256-queue", "pm-nodes", "least round trip, PM/RHiNET-VP, 256 nodes", "us"),
    FOUND("N256-hard", "pm-nodes", "least round trip, VPUSH in hardware, 256 nodes", "us"),
    FOUND("N256-auto", "pm-nodes", "least round trip, pm-auto, 256 nodes", "us"),
    FOUND("N1024-ring", "pm-nodes", "least round trip, PM/RHiNET, 1024 nodes", "us"),
    FOUND("N1024-queue", "pm-nodes", "least round trip, PM/RHiNET-VP, 1024 nodes", "us"),
    FOUND("N1024-hard", "pm-nodes", "least round trip, VPUSH in hardware, 1024 nodes", "us"),
    FOUND("N1024-auto", "pm-nodes", "least round trip, pm-auto, 1024 nodes", "us"),
    {"D2", "dimm", "RDMA between SO-DIMMs, sustained", THESIS_NUMBER, 330, "MB/s", 'V'},
    {"D3", "dimm", "the same to itself: less by", THESIS_NUMBER, 40, "%", 'V'},
    {"D5", "dimm", "BOTF of 464 B, two windows, sustained", THESIS_NUMBER, 190, "MB/s", 'V'},
    {"D6", "dimm", "model (1) too fast by", THESIS_NUMBER, 50, "MB/s", 'V'},
    {"D8", "dimm", "BOTF: share of receive and recont", THESIS_NUMBER, 30, "%", 'V'},
    {"D8-unknown", "dimm", "BOTF: share of Unknown", THESIS_NUMBER, 20, "%", 'V'},
    {"D8-dma", "dimm", "BOTF: share of DMA", THESIS_NUMBER, 50, "%", 'V'},
    {"D9", "dimm", "BOTF with receive hidden, no Unknown", THESIS_NUMBER, 320, "MB/s", 'V'},
    ABSENT("F1", "fagus", "Fagus: nodes; not simulated: InfiniBand hosts", 4, "nodes", 'I'),
    ABSENT("F2", "fagus", "data of a UD packet; not simulated: InfiniBand", 2042, "B", 'K'),
    ABSENT("F3", "fagus", "slot of the receive ring; not simulated: InfiniBand", 2049, "B", 'K'),
    ABSENT("F4", "fagus", "verbs faster by; not simulated: InfiniBand against IP on it", 100, "us",
           'I'),
    ABSENT("F5", "fagus", "Himeno: 2 nodes slower than 1; not simulated: InfiniBand loss", NAN, "",
           'I'),
    ABSENT("F6", "fagus", "Himeno at 4 nodes, verbs faster by; not simulated: InfiniBand", 20,
           "MFLOPS", 'I'),
    ABSENT("F7", "fagus", "1 server, n clients: a method; not simulated: see bench of DSM", NAN, "",
           'K'),
    {NULL, NULL, NULL, THESIS_NUMBER, 0, NULL, 0},
};
/* clang-format on */

/* Rows of class V that are no predictions, as what they follow from was measured and made into
 * constants; and what the text calls "about", with how far that is: 5 % of the figure's axis. */
static const struct {
    const char *id, *from;
    double within;
} notes[] = {
    {"T6.2-chip", "T6.2", 0},
    {"T6.3-PULL-6", "T6.2, T6.3", 0},
    {"T6.3-PULL-7", "T6.2, T6.3", 0},
    {"T6.3-PULL-8", "T6.2, T6.3", 0},
    {"T6.3-BOTF-1", "T6.2", 0},
    {"T6.3-BOTF-2", "T6.2", 0},
    {"T6.3-BOTF-3", "T6.2", 0},
    {"T6.3-BOTF-4", "T6.2, T6.3", 0},
    {"T6.3-BOTF-5", "T6.2, T6.3", 0},
    {"T6.3-BOTF-6", "T6.2, T6.3", 0},
    {"T6.3-BOTF-7", "T6.2, T6.3", 0},
    {"T6.3-BOTF-8", "T6.2, T6.3", 0},
    {"T6.3-gain", "T6.2, T6.3", 0},
    {"T6.3-sizes", "T6.2, T6.3", 0},
    {"P1", "T6.2", 0},
    {"T5-32", "T4, T6", 0},
    {"D6", "D7", 20},
    {"D8", "D5, D7", 5},
    {"D8-unknown", "D5, D7", 5},
    {"D8-dma", "D5, D7", 5},
};

const char *thesis_follows(const struct thesis_row *row)
{
    for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
        if (strcmp(notes[i].id, row->id) == 0)
            return notes[i].from;
    }
    return NULL;
}

double thesis_within(const struct thesis_row *row)
{
    for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
        if (strcmp(notes[i].id, row->id) == 0)
            return notes[i].within;
    }
    return 0;
}

bool thesis_is_prediction(const struct thesis_row *row)
{
    return row->class == 'V' && !thesis_follows(row) && row->kind != THESIS_FOUND &&
           row->kind != THESIS_ABSENT;
}

bool thesis_knows(const char *which)
{
    if (strcmp(which, "all") == 0)
        return true;
    for (const struct thesis_row *row = thesis_rows; row->id; row++) {
        if (strcmp(row->id, which) == 0 || strcmp(row->group, which) == 0)
            return true;
    }
    return false;
}
