/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a process consists of. Private to sim/process.
 */
#pragma once

#include "sim/process/process.h"

#define VIRTUAL             PROCESS_VIRTUAL
#define PROCESS_SEGMENTS_AT 0x8000000000ULL /* virtual addresses of segments */
#define PAGE                4096ULL
#define PROCESS_PAUSE       (100 * SIM_NS) /* between looks at what is soon over */

struct process {
    struct cluster *cluster;
    struct host *host;
    struct chip *chip;
    struct driver *driver;
    int file;    /* the device, as it has opened it */
    int library; /* the same under its library_pid; `file` if that is no other */
    struct process_spec spec;
    uint32_t window_next;
    bool is_kicked[PROCESS_WINDOWS]; /* and not waited for */
    int ring;                        /* of process_ring_open() */
    struct {
        uint64_t physical, length; /* length 0: free */
        uint32_t generation;       /* how often its address was given up */
    } loans[PROCESS_LOANS];
    uint64_t segment_next; /* virtual address of the next segment */
};
