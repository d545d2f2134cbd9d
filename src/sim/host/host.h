/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulated host as the controller sees it: memory, a PCI bus of 64 bit and 66 MHz on which one
 * may talk at a time, and a CPU that stores into windows (PIO) and polls memory.
 *
 * Memory is real memory: physical address 0 is its first byte. DMA moves real bytes, at the time at
 * which a poll could first see them. What a program computes costs no time unless it says so.
 */
#pragma once

#include "sim/constants.h"
#include "sim/engine/engine.h"
#include "sim/trace/trace.h"

struct host;

struct host_spec {
    uint32_t number;                       /* of the node */
    uint64_t memory;                       /* bytes */
    const struct sim_constants *constants; /* outlive it, as all hosts share them */
    struct trace *trace;                   /* may be NULL */
};

/* -ENOMEM. */
int host_create(struct host **host, struct sim *sim, const struct host_spec *spec);
void host_destroy(struct host *host);

struct sim *host_sim(const struct host *host);
uint64_t host_memory_size(const struct host *host);

/* The byte at a physical address; the range must lie inside the memory, or inside one attached
 * range of this address space. */
void *host_memory(const struct host *host, uint64_t physical, uint64_t length);

/* Gives memory that a program brings physical addresses of its own, so that it can be pinned and
 * moved by DMA: *physical is that of its first byte, and keeps its place in the page. All pages
 * that it touches are attached. It stays the caller's, who detaches it before it goes away and when
 * no transfer uses it. -ENOMEM. */
int host_memory_attach(struct host *host, void *base, uint64_t length, uint64_t *physical);
/* -ENOENT: nothing is attached there. */
int host_memory_detach(struct host *host, uint64_t physical);

/* How memory of another address space is reached. A failure (its process has ended) reads zeros and
 * writes nothing. */
struct host_reach {
    void *context;
    int (*read)(void *context, uint64_t address, void *target, size_t length);
    int (*write)(void *context, uint64_t address, const void *source, size_t length);
};

/* The same for memory whose place must not matter, because where malloc puts it differs from run to
 * run: *physical is the start of a page, whatever the address. reach: NULL if the address is a
 * pointer of ours; else it outlives the loan. Ended by host_memory_detach(). -ENOMEM. */
struct host_loan {
    uint64_t address, length;
    const struct host_reach *reach;
};
int host_memory_lend(struct host *host, const struct host_loan *loan, uint64_t *physical);

/* Does the range lie inside the memory, or inside one attached or lent range? */
bool host_memory_has(const struct host *host, uint64_t physical, uint64_t length);
/* What DMA does. The range lies inside the memory, or inside one attached or lent range. */
void host_memory_read(const struct host *host, uint64_t physical, void *target, uint64_t length);
void host_memory_write(struct host *host, uint64_t physical, const void *source, uint64_t length);

enum pci_kind {
    PCI_READ,     /* DMA from memory */
    PCI_WRITE,    /* DMA to memory */
    PCI_PIO,      /* stores of the CPU, one by one */
    PCI_COMBINED, /* stores that the CPU has gathered in a write-combining buffer */
    PCI_KINDS
};
const char *pci_kind_name(enum pci_kind kind);

/* Since the beginning: how long the bus was used for what. */
struct host_usage {
    sim_time time[PCI_KINDS];
    uint64_t transactions[PCI_KINDS], bytes[PCI_KINDS];
};
const struct host_usage *host_usage(const struct host *host);

/* A transaction. Memory of the caller until `ended` is called. */
struct pci_request {
    enum pci_kind kind;
    uint32_t bytes;
    uint64_t physical;   /* of DMA */
    sim_time data_ready; /* PCI_WRITE: the last word is not there before; 0: it is */
    void (*started)(void *context, struct pci_request *request); /* on the bus; may be NULL */
    void (*ended)(void *context, struct pci_request *request);   /* last word has passed */
    void *context;
    sim_time start, end; /* set when it starts */
    struct pci_request *next;
};

/* Asks for the bus; it is given in order of asking. */
void pci_ask(struct host *host, struct pci_request *request);

/* Only in a fiber: stores `words` 64-bit words to the card; returns when they are there. Combining:
 * the pages are mapped write-combining, so that whole lines cross the bus in one transaction. */
void host_pio(struct host *host, uint32_t words, bool is_combining);

/* A DMA write becomes visible: wakes those who poll a word of it, and those who wait for any. */
void host_memory_written(struct host *host, uint64_t physical, uint64_t length);
/* Wakes all of them: whatever they wait for may have changed. */
void host_memory_changed(struct host *host);

/* Only in a fiber: waits until memory changes or somebody calls one of the above. 0, or
 * -ETIMEDOUT. */
int host_wait(struct host *host, sim_time deadline);

/* Only in a fiber: waits until the word at a physical address is `value` (or, with is_not, is not).
 * 0, or -ETIMEDOUT. */
int host_poll(struct host *host, uint64_t physical, uint64_t value, bool is_not, sim_time deadline);

/* What reading a word costs the CPU: a Pentium III's two caches and its TLB for data, with the
 * pages of memory spread over the second cache by chance, as an operating system does. Remembers
 * that it was read. That a word has changed by DMA costs nothing more: the miss is in the time
 * after which a poll sees it. */
sim_time host_read_cost(struct host *host, uint64_t physical);
/* The CPU has written this: its lines are in its cache and not in memory, until DMA reads them or
 * others take their places. */
void host_dirty(struct host *host, uint64_t physical, uint64_t length);
/* Forgets what is in them, as a program that has used other memory meanwhile. */
void host_cache_forget(struct host *host);
