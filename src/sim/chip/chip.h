/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The Martini controller, by the names of the thesis: windows with kick and contflag, PGIDTBL,
 * CONTTBL, Initiator and Replier (sending), RFend and RBend (receiving), PATLB and RVATLB, the AOTF
 * send controller, DMAC, SWI, and an on-chip CPU whose firmware is called for what hardware cannot
 * do. Each module is a state machine whose states have the thesis's names and cycle counts
 * (sim/constants.h); modules with take-over can be stopped, looked into and set to another state.
 *
 * The chip knows neither the network nor who drives it. Packets go out through chip_wire, and come
 * in by chip_receive(). A driver (a fiber, or code that acts for another process) writes windows
 * and kicks; what that costs the host's CPU and bus is host_pio()'s business (sim/host/host.h), so
 * that both kinds of driver use the same calls.
 *
 * Files: chip.c (tables, windows), module.c (states, take-over), initiator.c, replier.c, rfend.c,
 * rbend.c, aotf.c, dmac.c, tlb.c, vpush.c, note.c (for traces); cpu.c (firmware, in step with
 * virtual time), registers.c, take_over.c and cpu_dma.c (the chip as firmware sees it), firmware.c
 * (when it is called).
 */
#pragma once

#include "sim/host/host.h"
#include "sim/processor/processor.h"

#define CHIP_WINDOWS          64
#define CHIP_WINDOW_WORDS     64 /* 512 bytes of request or packet image */
#define CHIP_HEADER_WORDS     6
#define CHIP_SEND_WORDS       8 /* payload of a packet that firmware makes */
#define CHIP_AOTF_PAGES       1024
#define CHIP_AOTF_OFFSET_BITS 12 /* of the address: the place in the page */

struct chip;

enum chip_kick {
    CHIP_PUSH,
    CHIP_PULL,
    CHIP_BOTF,
    CHIP_SOFTWARE /* for the firmware */
};

enum chip_type {
    CHIP_PACKET_PUSH = 1,
    CHIP_PACKET_ACK,
    CHIP_PACKET_PULL_REQUEST,
    CHIP_PACKET_PULL_REPLY,
    CHIP_PACKET_CONTROL, /* recognised at FLIT1 */
    CHIP_PACKET_OTHER,   /* anything from here on is for the firmware, recognised at FLIT3 */
    CHIP_PACKET_LOCK_REQUEST,
    CHIP_PACKET_LOCK_RESERVE,
    CHIP_PACKET_ATOMIC = 64
};

/* A packet's header, and what a window takes as a request. 6 words on the wire and in windows. */
struct chip_header {
    uint8_t type;
    bool wants_ack, is_aotf, is_last; /* is_last: of a pull's replies */
    uint16_t pgid;
    uint16_t source_node, source_pid, target_node, target_pid;
    uint32_t length;
    uint32_t sid;
    uint64_t offset;
    uint64_t local; /* request: where the data is; pull: where it goes; in replies: its target */
    uint64_t flag;  /* where the ack or the pull's done flag goes; 0: nowhere */
};

void chip_header_pack(const struct chip_header *header, uint64_t words[CHIP_HEADER_WORDS]);
void chip_header_unpack(struct chip_header *header, const uint64_t words[CHIP_HEADER_WORDS]);

struct chip_packet {
    struct chip_header header;
    uint8_t origin; /* enum chip_module: who sent it, for chip_sent() */
    uint16_t holds; /* the chip's: transfers that still need it */
    struct chip_packet *next;
    uint8_t payload[]; /* mtu_bytes, and never less than a window holds */
};

/* What the chip needs of the network. */
struct chip_wire {
    void *context;
    /* Takes the packet; gives it back by chip_packet_free() of any chip of this world. */
    void (*send)(void *context, struct chip *chip, struct chip_packet *packet);
    /* The packet that came as `stay` leaves the receive FIFO, from now until `end`. */
    void (*drain)(void *context, struct chip *chip, uint32_t stay, sim_time end);
    /* Is there such a node? */
    bool (*has)(void *context, uint32_t node);
};

struct chip_spec {
    uint32_t number; /* of the node */
    struct host *host;
    struct chip_wire wire;
    const struct sim_constants *constants; /* outlive it, as all chips share them */
    const struct processor_image *image;   /* its firmware; outlives it */
    struct trace *trace;                   /* may be NULL */
};

/* The firmware that is part of the program, as an ELF file: firmware/firmware.elf. */
extern const unsigned char chip_firmware[];
extern const size_t chip_firmware_length;

/* -ENOMEM. */
int chip_create(struct chip **chip, struct sim *sim, const struct chip_spec *spec);
void chip_destroy(struct chip *chip);
uint32_t chip_number(const struct chip *chip);

/* The wire's side: the first flit of a packet is here, its last will be at `tail`. */
void chip_receive(struct chip *chip, struct chip_packet *packet, uint32_t stay, sim_time tail);
/* A packet of this origin has left completely: room in the Send FIFO. */
void chip_sent(struct chip *chip, uint8_t origin);
/* NULL when memory is out. */
struct chip_packet *chip_packet_make(struct chip *chip);
void chip_packet_free(struct chip *chip, struct chip_packet *packet);

/* The privileged side (the driver): who owns a window, where its contflag is, which pages are
 * pinned. Page table and SID table lie in the NIC's SDRAM; the TLBs are filled by misses. */
void chip_window_set(struct chip *chip, uint32_t window, uint16_t pgid, uint16_t pid);
void chip_window_clear(struct chip *chip, uint32_t window);
void chip_contflag_set(struct chip *chip, uint32_t window, uint64_t physical);
struct chip_page {
    uint16_t pgid, pid;
    uint64_t virtual_page, physical_page; /* numbers */
};
int chip_page_pin(struct chip *chip, const struct chip_page *page);    /* -ENOMEM */
void chip_page_unpin(struct chip *chip, const struct chip_page *page); /* TLB first, then table */
struct chip_segment {
    uint16_t pgid, pid;
    uint32_t sid;
    uint64_t start; /* virtual address */
};
int chip_segment_add(struct chip *chip, const struct chip_segment *segment); /* -ENOMEM */
void chip_segment_remove(struct chip *chip, const struct chip_segment *segment);
/* Fills the TLBs from the tables, as if all had been missed before. */
void chip_tlb_warm(struct chip *chip);
void chip_page_warm(struct chip *chip, const struct chip_page *page); /* one page of PATLB */
/* A checked header for stores to an AOTF page. */
void chip_aotf_register(struct chip *chip, uint32_t page, const struct chip_header *header);
void chip_aotf_forget(struct chip *chip, uint32_t page);

/* The process's side, once host_pio() says that the words are there. */
void chip_window_write(struct chip *chip, uint32_t window, uint32_t word, uint64_t value);
void chip_window_kick(struct chip *chip, uint32_t window, enum chip_kick kick);
/* A store to an AOTF page: sends a push of these bytes. */
struct chip_store {
    uint32_t page;
    uint32_t offset; /* in the page, 0 … 4095 */
    uint32_t length; /* 1 … 8 */
    uint64_t value;  /* its first bytes */
};
void chip_aotf_store(struct chip *chip, const struct chip_store *store);
/* Stores that have not become packets yet; the queue holds CHIP_AOTF_STORES. */
#define CHIP_AOTF_STORES 64
uint32_t chip_aotf_pending(const struct chip *chip);

/* VPUSH: a ring in a process's memory into which packets to one SID go, in order of arrival. The
 * SID must be one that no segment has: its packets miss RVATLB, and the firmware takes over. The
 * receive pointer (bytes put in, ever) is written to memory after each message, the release pointer
 * (bytes taken out, ever) is a register that the host stores to. Every message takes a slot of
 * CHIP_RING_SLOT bytes. A message that asks for an ack gets one, after the pointer. */
#define CHIP_RING_SLOT 2048
struct chip_ring {
    uint16_t pgid, pid;
    uint32_t sid;
    uint64_t start, size; /* virtual; size: whole slots */
    uint64_t pointer;     /* virtual address of the receive pointer */
    /* The pointer is a table instead, of a word for each slot: CHIP_RING_WORD() of the message. */
    bool has_table;
    /* When it is full: a message that asks for an ack is dropped and answered with
     * CHIP_ANSWER_FULL, instead of stopping RFend until there is room. */
    bool refuses;
};
#define CHIP_RING_WORD(number, pid, length)                                                        \
    (((uint64_t)(number) + 1) << 32 | (uint64_t)(pid) << 16 | (length))
/* Returns the ring's number, or -ENOMEM. */
int chip_ring_open(struct chip *chip, const struct chip_ring *ring);
/* What is being delivered may still be written: see chip_touches(). */
void chip_ring_close(struct chip *chip, int ring);
void chip_ring_release(struct chip *chip, int ring, uint64_t released);

/* Atomic operations, which the thesis's chip has not: a packet of type CHIP_PACKET_ATOMIC with
 * these three words, sent as an image, which the firmware carries out by DMA. It answers at the
 * header's flag with two words: enum chip_answer, and the value before. */
enum chip_atomic {
    CHIP_FETCH_ADD,
    CHIP_FETCH_OR,
    CHIP_FETCH_AND,
    CHIP_SWAP,
    CHIP_COMPARE_SWAP,
    /* A queue's slot: the words are tail, head, and CHIP_CLAIM_TABLE bytes behind the first a table
     * of `operand` words, a power of two. If less than so many are between head and tail,
     * `expected` goes to the table at tail, which moves on; the value before is tail, or
     * CHIP_CLAIM_NONE. */
    CHIP_CLAIM
};
struct chip_operands {
    uint64_t operation, operand, expected;
};
#define CHIP_CLAIM_TABLE 64
#define CHIP_CLAIM_NONE  UINT64_MAX

/* What acks and the firmware's answers write. */
enum chip_answer { CHIP_ANSWER_DONE = 1, CHIP_ANSWER_FULL, CHIP_ANSWER_REFUSED };

/* LOCK and UNLOCK: requests for the firmware (CHIP_SOFTWARE). A header's fields mean: sid the
 * lock's number, length CHIP_LOCK_WORD(); to open: target the representative process, offset where
 * in the segment the grant word is. That becomes the number of the request (1, 2, …) when it has
 * the lock. A queue: the representative knows who asked last and tells that one who comes next; a
 * holder hands the lock on when it unlocks. */
enum chip_lock { CHIP_LOCK_OPEN = 1, CHIP_LOCK_TAKE, CHIP_LOCK_GIVE };
#define CHIP_LOCK_WORD(operation, segment) ((uint32_t)(operation) | (uint32_t)(segment) << 8)
/* The process has ended: firmware forgets what it knows of its locks, as user and as
 * representative. */
void chip_process_ended(struct chip *chip, uint16_t pgid, uint16_t pid);

/* Is there a transfer under way that uses a part of this? Physical address. */
bool chip_touches(const struct chip *chip, uint64_t physical, uint64_t length);

/* The on-chip CPU takes so many times as long for everything. */
void chip_cpu_slow(struct chip *chip, uint32_t factor);

/* What contflag becomes. */
#define CHIP_CONT_DONE    1
#define CHIP_CONT_REFUSED 2

/* Take-over: the firmware's view of modules. */
enum chip_module {
    CHIP_INITIATOR,
    CHIP_REPLIER,
    CHIP_RFEND,
    CHIP_RBEND,
    CHIP_AOTF, /* no take-over */
    CHIP_CPU,
    CHIP_MODULES
};
enum chip_exception {
    CHIP_SPECIAL_REQUEST, /* Initiator, from IDLE */
    CHIP_PROTECTION,      /* Initiator, from PGID */
    CHIP_PATLB_MISS,      /* Initiator, Replier, RBend */
    CHIP_SPECIAL_PACKET,  /* RFend, from FLIT1 or FLIT3 */
    CHIP_RVATLB_MISS,     /* RFend, from RVA */
    CHIP_TIMEOUT,         /* all four: it has waited for another module too long */
    CHIP_BREAKPOINT,
    CHIP_EXCEPTIONS
};
const char *chip_state_name(const struct chip *chip, enum chip_module module);
const char *chip_last_state_name(const struct chip *chip, enum chip_module module);
const char *chip_module_name(enum chip_module module);
const char *chip_state_text(enum chip_module module, uint32_t state); /* NULL: it has no more */
/* How long it was in a state, without the last time that has not ended. False: no such state. */
bool chip_state_time(const struct chip *chip, enum chip_module module, uint32_t state,
                     sim_time *time);
bool chip_is_suspended(const struct chip *chip, enum chip_module module);
/* Number of a state by its name; UINT32_MAX if the module has none such. */
uint32_t chip_state_find(enum chip_module module, const char *name);
/* Stops the module when it reaches the state; the firmware is called. -EINVAL: the state is not
 * suspendable. */
int chip_breakpoint_set(struct chip *chip, enum chip_module module, uint32_t state, bool is_on);

struct chip_count {
    uint64_t pushes, pulls, botfs, aotfs; /* packets sent for them */
    uint64_t acks, replies;
    uint64_t received, discarded;
    uint64_t exceptions[CHIP_EXCEPTIONS];
    uint64_t refused; /* requests cancelled by the firmware */
    uint64_t made;    /* packets that firmware made */
    uint64_t vpushes; /* messages put into rings */
    sim_time cpu;     /* time that handlers took */
    sim_time stopped; /* time that modules were suspended, summed up */
};
const struct chip_count *chip_count(const struct chip *chip);

/* The moments of Table 6.2 and 6.3, of the last packet: for experiments. 0: has not happened. */
enum chip_moment {
    CHIP_ACCEPTED, /* request or store is in the chip */
    CHIP_TX_START, /* packet transmission starts */
    CHIP_ARRIVED,  /* first flit is here */
    CHIP_RFEND_BEGIN,
    CHIP_PCI_START, /* of the payload's DMA */
    CHIP_PCI_READ,  /* of Replier's DMA */
    CHIP_MOMENTS
};
sim_time chip_moment(const struct chip *chip, enum chip_moment moment);
