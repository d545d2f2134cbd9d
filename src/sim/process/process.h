/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A process on a simulated node, as driver and user library set it up: windows of its own, pinned
 * memory, a segment that its job may reach. What it does costs the time that the host's CPU and bus
 * need for it. All calls that let time pass are made in a fiber.
 *
 * Memory is named by offsets into the process's own memory; the first page is the library's
 * (contflags and the flag for acks), programs begin at PROCESS_DATA.
 */
#pragma once

#include "sim/cluster/cluster.h"

#define PROCESS_DATA    4096
#define PROCESS_SID     1 /* the segment: all of its memory */
#define PROCESS_WINDOWS 8 /* most of one process */

struct process;

struct process_spec {
    struct cluster *cluster;
    uint32_t node;
    uint16_t pgid, pid;
    uint32_t window_first, window_count; /* of the node; 0: one */
    uint64_t base, size;                 /* physical, whole pages; size 0: all of the node's */
    bool is_combining;                   /* windows are mapped write-combining */
    bool is_cold;                        /* TLBs are left empty: the firmware fills them */
    /* The segment PROCESS_SID, all of its memory, belongs to this process in name, so that every
     * SID of its own is free; 0: to itself. */
    uint16_t library_pid;
};

/* -EINVAL: too many windows, memory that the node has not; -ENOMEM. */
int process_create(struct process **process, const struct process_spec *spec);
void process_destroy(struct process *process);

void *process_memory(const struct process *process, uint64_t offset, uint64_t length);
/* The program has just written it: the CPU's cache has it (host_dirty()). */
void process_written(const struct process *process, uint64_t offset, uint64_t length);
struct host *process_host(const struct process *process);
struct chip *process_chip(const struct process *process);

/* A transfer to or from another process of the job. */
struct process_transfer {
    const struct process *peer;
    uint32_t sid; /* 0: PROCESS_SID */
    uint64_t local, remote;
    uint32_t length;
    bool wants_flag; /* the flag is set when the target has it all (push), or we have (pull) */
};

/* Each waits for a free window, writes the request and kicks; returns when the chip has it. 0, or
 * -EACCES: the request before in that window was refused. BOTF takes the data along: at most
 * PROCESS_IMAGE_MAX bytes. */
#define PROCESS_IMAGE_MAX ((CHIP_WINDOW_WORDS - CHIP_HEADER_WORDS) * 8)
int process_push(struct process *process, const struct process_transfer *transfer);
int process_pull(struct process *process, const struct process_transfer *transfer);
int process_botf_push(struct process *process, const struct process_transfer *transfer);
int process_botf_pull(struct process *process, const struct process_transfer *transfer);
/* For requests that only a firmware knows. */
int process_ask(struct process *process, const struct process_transfer *transfer,
                enum chip_kick kick);

/* What the calls above are made of, for a library that has memory of its own. */
struct process_request {
    const struct process *peer;
    enum chip_kick kick;
    uint8_t type; /* enum chip_type of an image (CHIP_BOTF) */
    uint32_t sid;
    bool to_library; /* sid is the peer's PROCESS_SID, under its library_pid */
    uint64_t local;  /* virtual address: of process_lend(), or PROCESS_VIRTUAL + offset */
    uint64_t remote; /* offset in the peer's segment */
    uint32_t length;
    uint64_t flag;       /* virtual address of the flag for the ack; 0: none is wanted */
    const void *payload; /* of an image: `length` bytes */
};
#define PROCESS_VIRTUAL 0x40000000ULL /* where a process sees its own memory: not where it is */
int process_submit(struct process *process, const struct process_request *request);

/* Pins memory that a transfer uses and puts it into PATLB, as a library does that keeps what it has
 * pinned: *virtual is where the chip sees it. At most PROCESS_LOAN_MAX bytes, PROCESS_LOANS at a
 * time. -ENOMEM; -EAGAIN: too many. To end it, wait until the chip does not touch it. */
#define PROCESS_LOAN_MAX (256u << 10)
#define PROCESS_LOANS    64
int process_lend(struct process *process, const struct host_loan *loan, uint64_t *virtual);
/* is_lost: somebody may still write to it, who must not reach the next loan: its address is not
 * used again. */
void process_lend_end(struct process *process, uint64_t virtual, bool is_lost);

/* Opens memory to the job as a segment; its first accesses miss the TLBs. *segment is what ends it.
 * Closing waits (in a fiber) for transfers under way. -ENOMEM. */
struct process_segment {
    uint32_t sid; /* 0 with is_private: has none */
    bool is_private;
    struct host_loan loan;
    uint64_t virtual, physical; /* filled in */
};
int process_segment_open(struct process *process, struct process_segment *segment);
void process_segment_close(struct process *process, struct process_segment *segment);

/* Registers a page of the peer's memory, then stores words into it, one packet each. */
void process_page_open(struct process *process, uint32_t page, const struct process *peer,
                       uint64_t remote);
void process_store(struct process *process, const struct chip_store *store);
/* The same for any segment of the peer. */
void process_page_register(struct process *process, uint32_t page,
                           const struct process_request *request);

/* Waits until all requests have been worked on. 0 or -EACCES: one was refused. */
int process_finish(struct process *process);

/* Flag of acks and pulls: clear before, wait after. 0 or -ETIMEDOUT. */
void process_flag_clear(struct process *process);
int process_flag_wait(struct process *process, sim_time deadline);

/* Waits for a word of the own memory to be this. 0 or -ETIMEDOUT. */
int process_poll(struct process *process, uint64_t offset, uint64_t value, sim_time deadline);

/* Opens a ring of `slots` slots at `offset`, for messages to PROCESS_RING_SID; the word before it
 * is the receive pointer. Then: waits until more than `taken` bytes have been put in, and gives
 * slots back by a store to the card. */
#define PROCESS_RING_SID 0xffff
void process_ring_open(struct process *process, uint64_t offset, uint32_t slots);
int process_ring_wait(struct process *process, uint64_t offset, uint64_t taken, sim_time deadline);
void process_ring_release(struct process *process, uint64_t taken);

/* Makes the next access to this page of the own memory miss PATLB. */
void process_page_forget(struct process *process, uint64_t offset);
