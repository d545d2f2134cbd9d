/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The room of the simulator: what is here, and in which order to read it. Including this header
 * gives all of it.
 *
 *   engine/    virtual time, events, chance, fibers. Start at engine.h.
 *   constants  every number of the simulated hardware, with the section that gives it.
 *   platform/  machines as files: constants with their sources.
 *   switch/    RHiNET-2 and -3 switches and links, the books that every run keeps, the deadlock
 *              detector.
 *   workload/  traffic for networks, and what is measured of it (`rhinet sim run`).
 *   host/      memory, PCI bus, stores and polling of a node's CPU.
 *   processor/ the on-chip processor: MIPS-I, its memories, firmware files.
 *   chip/      the Martini controller: modules, states, tables, firmware.
 *   driver/    the kernel's part: who may use a controller, and for which memory.
 *   cluster/   nodes (host and chip) on a network.
 *   process/   a process on a node: windows, pinned memory, PUSH, PULL, BOTF, AOTF.
 *   trace/     time lines for Perfetto, packets for Wireshark.
 *   usage/     where the time went: how busy each part was, percentiles.
 *
 * Lower knows nothing of higher: engine < {switch, host, processor} < chip < driver < cluster <
 * process; the chip does not know the network, cluster joins them. The room needs src/base only.
 *
 * A world (struct sim) lives in one thread and holds no global state, so a process may have many.
 * Everything that happens is an event of a numbered actor without pointers in it; sim_hash() of two
 * runs with the same seed is the same, and a difference is a bug. Programs are fibers.
 *
 * What stands behind NIC martini is src/simulated. Measurements with all of this, the thesis's
 * among them, are src/experiment.
 */
#pragma once

#include "sim/process/process.h"
#include "sim/processor/processor.h"
#include "sim/workload/workload.h"
