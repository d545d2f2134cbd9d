/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every number that the simulated hardware is made of, in one table: its value, its unit, where the
 * thesis gives it, and which row of the specification's list of figures set it.
 *
 * These are the numbers of the platform rhinet2-le, which share/platforms has as a file; a test
 * compares the two. Other machines are platforms of their own (sim/platform).
 *
 * Origin: "K …" is a constant of the architecture, "C …" was calibrated on that row, "assumed" is
 * what no source tells and is ours to choose, "switch" is off and there for what-if questions. Rows
 * that serve for validation (V) set nothing here; tests/sim checks that. All of it can be changed
 * for what-if questions (`rhinet sim … --set`).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(name, value, unit, section of the thesis, origin, meaning) */
#define SIM_CONSTANTS(X)                                                                           \
    /* links and switches */                                                                       \
    X(flit_bits, 80, "bit", "6.1.1", "K L1", "a flit on the link: 64 data, 2 kind, 14 ECC or CRC") \
    X(flit_bytes, 8, "B", "4.6.2", "K M6", "data of a flit")                                       \
    X(mtu_bytes, 2048, "B", "4.2.1", "K L7", "most data of a packet")                              \
    X(header_flits, 6, "flit", "6.1.2", "C M8", "header of a packet")                              \
    X(rhinet2_mbps, 8000, "Mbit/s", "2.3.2", "K L2", "RHiNET-2 link")                              \
    X(rhinet3_mbps, 10000, "Mbit/s", "2.3.3", "K L5", "RHiNET-3 link")                             \
    X(rhinet2_metres, 200, "m", "2.3.2", "K L8", "longest RHiNET-2 link")                          \
    X(rhinet3_metres, 1000, "m", "2.3.3", "K L8", "longest RHiNET-3 link")                         \
    X(fibre_ps_per_metre, 5000, "ps/m", "-", "assumed", "light in glass, two thirds of c")         \
    X(switch_ps, 100000, "ps", "-", "assumed", "header in to header out of an idle switch")        \
    X(stop_go_flits, 1024, "flit", "2.3.2", "assumed", "RHiNET-2 buffer of a virtual channel")     \
    X(slack_flits, 256, "flit", "2.3.2", "assumed", "part of it kept for what follows a stop")     \
    X(go_flits, 32, "flit", "2.3.2", "assumed", "more room than that of a stop, for go")           \
    X(credit_flits, 2048, "flit", "2.3.3", "assumed", "RHiNET-3 buffer of a virtual channel")      \
    X(sequence_flits, 2048, "flit", "2.3.3", "assumed", "flits under way, by sequence numbers")    \
    X(retry_limit, 1000, "", "2.3.3", "assumed", "resendings of one packet before it is lost")     \
    X(cluster_mbps, 6000, "Mbit/s", "6.1.1", "C L3", "links of the measured clusters")             \
    /* host */                                                                                     \
    X(pio_ps, 324000, "ps", "6.1.2", "C T6.2 accept", "store leaves the CPU until it is on PCI")   \
    X(pio_word_ps, 66000, "ps", "6.1.2", "C T6.2 accept", "each 64-bit word of it")                \
    X(combine_bytes, 32, "B", "-", "K P-III", "write-combining buffer: one burst on PCI")          \
    X(post_cycles, 18, "clk", "6.1.2", "C T6.2 complete",                                          \
      "DMA write on PCI until it is in memory")                                                    \
    X(see_cycles, 5, "clk", "8.3.2", "C R4", "from there until a poll sees it: a cache miss")      \
    X(pci_ps, 15152, "ps", "6.1.3", "K M2", "PCI clock: 66 MHz")                                   \
    X(pci_arbitrate_cycles, 2, "clk", "-", "assumed", "PCI: request to start, on an idle bus")     \
    X(pci_address_cycles, 1, "clk", "-", "K PCI", "PCI: address phase")                            \
    X(pci_read_cycles, 13, "clk", "6.1.2", "C T6.3 tx", "PCI: address to first word of a read")    \
    X(pci_write_cycles, 3, "clk", "-", "assumed", "PCI: address to first word of a write")         \
    X(pci_line_cycles, 0, "clk", "-", "switch", "what if: PCI waits at each 32 bytes of a read")   \
    X(pci_snoop_cycles, 1, "clk", "-", "assumed",                                                  \
      "PCI: each further line of a read that the CPU's cache has changed")                         \
    X(pci_turn_cycles, 2, "clk", "-", "assumed", "PCI: idle between transactions")                 \
    X(pci_latency_cycles, 64, "clk", "-", "assumed", "PCI: latency timer, then stores may cut in") \
    X(pci_word_bytes, 8, "B", "6.1.3", "K M2", "PCI: bytes of a data phase")                       \
    X(l1_ps, 3200, "ps", "-", "K P-III", "reading: first cache, 3 clocks of 933 MHz")              \
    X(l2_ps, 7500, "ps", "-", "K P-III", "reading: second cache, 7 clocks")                        \
    X(walk_ps, 7500, "ps", "-", "assumed", "reading: TLB miss, its entry in the second cache")     \
    X(memory_ps, 63000, "ps", "8.3.2", "C R4", "reading: memory")                                  \
    X(library_ps, 1450000, "ps", "8.4.3", "C R2", "a library's work for one request")              \
    X(look_ps, 20000, "ps", "-", "assumed", "some 20 instructions: looking at one of many places") \
    X(copy_ps, 3000, "ps/B", "-", "assumed", "the CPU copies memory: 330 MB/s")                    \
    /* the controller */                                                                           \
    X(core_ps, 15152, "ps", "4.6.3", "K M1", "core clock: 66 MHz")                                 \
    X(page_bytes, 4096, "B", "4.2.2", "K M7", "page of the host, and window")                      \
    X(patlb_sets, 1024, "", "4.6.2", "K M3", "PATLB: sets of two ways, 2048 entries")              \
    X(patlb_ways, 2, "", "4.6.2", "K M3", "PATLB: ways; 1 with 64-bit hosts: 1024 entries")        \
    X(rvatlb_sets, 1024, "", "4.6.2", "K M4", "RVATLB: about the same")                            \
    X(window_cycles, 6, "clk", "4.6.2", "C T6.2 tx", "window to Send Controller")                  \
    X(idle_cycles, 1, "clk", "7.4", "C T6.2 tx", "Initiator IDLE: which request")                  \
    X(pgid_cycles, 2, "clk", "7.4", "C T6.2 tx", "Initiator PGID: PGIDTBL")                        \
    X(ipa_cycles, 2, "clk", "7.4", "C T6.2 tx", "IPA: page and length")                            \
    X(ipa2_cycles, 3, "clk", "7.4", "C T6.2 tx", "IPA2: PATLB")                                    \
    X(chk1_cycles, 3, "clk", "7.4", "C T6.2 tx", "CHK1: what is left of page and MTU")             \
    X(chk2_cycles, 3, "clk", "7.4", "C T6.2 tx", "CHK2: DMA request")                              \
    X(cont_cycles, 3, "clk", "7.4", "assumed", "CONT: CONTTBL")                                    \
    X(header_cycles, 24, "clk", "4.6.2", "C T6.3 tx", "PULL: header generation, not overlapped")   \
    X(image_cycles, 12, "clk", "4.3.1", "C T6.2 tx", "BOTF: PGID into the image, to Send FIFO")    \
    X(aotf_queue_cycles, 4, "clk", "4.3.2", "C T6.2 tx", "AOTF: store queue")                      \
    X(aotf_tlb_cycles, 3, "clk", "4.3.2", "C T6.2 tx", "AOTF: Header TLB")                         \
    X(aotf_header_cycles, 14, "clk", "4.3.2", "C T6.2 tx", "AOTF: Header Buffer")                  \
    X(dma_cycles, 9, "clk", "4.6.2", "C T6.2 DMA", "DMAC: request FIFO and set-up")                \
    X(join_cycles, 2, "clk", "4.6.2", "C T6.3 tx", "header and payload to Send FIFO")              \
    X(swi_tx_cycles, 2, "clk", "4.6.2", "C T6.3 tx", "SWI: Send FIFO to link")                     \
    X(send_fifo_packets, 2, "", "4.6.2", "assumed", "packets that the Send FIFO holds")            \
    X(swi_rx_cycles, 16, "clk", "6.1.2", "C T6.2 start", "SWI: link to RFend, for each packet")    \
    X(flit_cycles, 1, "clk", "7.4", "C T6.2 PCI", "RFend: each of FLIT0 to FLIT3")                 \
    X(rvachk_cycles, 1, "clk", "7.4", "C T6.2 PCI", "RFend RVACHK, RVACHK2")                       \
    X(rva_cycles, 1, "clk", "7.4", "C T6.2 PCI", "RFend RVA: RVATLB")                              \
    X(set_cycles, 1, "clk", "7.4", "C T6.2 PCI", "RFend: each of SET1 to SET4")                    \
    X(rbend_cycles, 3, "clk", "4.6.2", "C T6.2 PCI", "RBend: PATLB, DMA request")                  \
    X(swi_discard, 0, "", "6.1.3", "switch", "what if: 1, SWI drops all that arrives")             \
    X(windows, 0, "", "6.1.3", "switch",                                                           \
      "what if: streams use so many windows in turn; 0: as theirs")                                \
    X(double_buffer, 0, "", "6.1.3", "switch", "what if: 1, RFend works while payload drains")     \
    /* firmware on the on-chip CPU */                                                              \
    X(cpu_write_cycles, 2, "clk", "7.5.4", "C M10", "CPU writes a module's register")              \
    X(cpu_read_cycles, 3, "clk", "7.5.4", "C M10", "CPU reads a module's register")                \
    X(cpu_sdram_cycles, 122, "clk", "7.5.2", "C T6", "CPU reads a word of the NIC's SDRAM")        \
    X(cpu_sram_cycles, 0, "clk", "4.6.2", "assumed", "CPU reads or writes its SRAM: beyond 1")     \
    X(cpu_multiply_cycles, 12, "clk", "4.6.2", "K R3000", "CPU: until a product can be read")      \
    X(cpu_divide_cycles, 35, "clk", "4.6.2", "K R3000", "CPU: until a quotient can be read")       \
    X(cpu_percent, 100, "%", "8.7.1", "switch",                                                    \
      "what if: speed of the on-chip CPU, of what it is")                                          \
    X(miss_loops, 0, "", "7.5.2", "switch", "what if: 1, a refused miss goes to IDLE, not CONT")   \
    X(soft_push, 0, "", "7.5.2", "switch", "what if: 1, firmware completes missed PUSHes")         \
    X(soft_vpush, 0, "", "7.5.3", "switch", "what if: 1, firmware does all of a VPUSH")            \
    X(silent_vpush, 0, "", "8.5", "switch", "what if: 1, no acks of VPUSH, as PM/RHiNET-VP")       \
    X(ring_check_cycles, 4, "clk", "8.7.1", "C M16", "hardware VPUSH: is there room in the ring")  \
    X(hardware_vpush, 0, "", "8.7.1", "switch", "what if: 1, RFend knows the ring itself")         \
    X(timeout_cycles, 0, "clk", "7.4.1", "assumed", "time-out of a waiting module; 0: none")       \
    /* DIMMnet-1: the same controller in a memory slot, from its own paper (sections of that) */   \
    X(dimm_core_ps, 20000, "ps", "DIMMnet 3", "K D1", "core clock: half of the memory's 100 MHz")  \
    X(dimm_unknown_cycles, 20, "clk", "DIMMnet 4.1", "C D7", "SWI to RFend: more, not in the RTL") \
    X(dimm_read_cycles, 6, "clk", "-", "assumed", "SO-DIMM: address to first word of a read")      \
    X(dimm_pio_ps, 60000, "ps", "-", "assumed", "store leaves the CPU until it is in the slot")    \
    X(dimm_pio_word_ps, 10000, "ps", "-", "assumed", "each word of it, write combining at 100 MHz")

struct sim_constants {
#define SIM_CONSTANT_FIELD(name, value, unit, section, origin, meaning) int64_t name;
    SIM_CONSTANTS(SIM_CONSTANT_FIELD)
#undef SIM_CONSTANT_FIELD
    /* Not a number: the ELF file that on-chip processors execute; NULL: what is part of the
     * program. Lives as long as it is used. */
    const char *firmware;
};

/* The table itself, for people and for setting by name. */
struct sim_constant {
    const char *name;
    int64_t value;
    const char *unit, *section, *origin, *meaning;
    size_t offset; /* in struct sim_constants */
};

/* Ends with an entry whose name is NULL. */
extern const struct sim_constant sim_constant_list[];

struct sim_constants sim_constants_default(void);

/* The same controller as DIMMnet-1: the constants named dimm_ take the place of PCI's. */
struct sim_constants sim_constants_dimm(const struct sim_constants *pci);

/* "name=value". -EINVAL, with the nearest name, if there is no such constant or no such value. */
int sim_constants_set(struct sim_constants *constants, const char *text);

/* -EINVAL: a value of which no machine can be made, such as a clock that stands still. */
int sim_constants_check(const struct sim_constants *constants);

/* Takes over what belongs to links and switches, which all nodes of a network share. */
void sim_constants_share_network(struct sim_constants *constants,
                                 const struct sim_constants *network);

/* By number: the place in the list. */
size_t sim_constant_count(void);
bool sim_constant_find(const char *name, size_t *index);
const char *sim_constant_nearest(const char *name); /* NULL: none comes near it */
int64_t sim_constant_get(const struct sim_constants *constants, size_t index);
void sim_constant_put(struct sim_constants *constants, size_t index, int64_t value);
