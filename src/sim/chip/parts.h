/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the chip consists of. Private to sim/chip. Longer than most files: all modules' parts are
 * members of one struct.
 */
#pragma once

#include "sim/chip/chip.h"

#include "sim/processor/processor.h"

enum chip_event {
    EVENT_STEP,    /* module: its state's time is over */
    EVENT_REQUEST, /* window: a kicked request is at the Initiator */
    EVENT_DMA,     /* DMA: set up, asks for PCI */
    EVENT_SEEN,    /* DMA: what was written is visible */
    EVENT_SEND,    /* packet: joined, to the link */
    EVENT_HAND,    /* SWI hands the next packet to RFend */
    EVENT_TIMEOUT, /* module and since when: has it waited all the time? */
    EVENT_COUNT
};

/* States, in the order of their names in module.c. */
enum initiator_state { I_IDLE, I_PGID, I_IPA, I_IPA2, I_CHK1, I_CHK2, I_CONT, I_MISS };
enum replier_state { R_IDLE, R_RPA, R_RPA2, R_CHK1, R_CHK2, R_ACK, R_MISS };
enum rfend_state {
    F_IDLE,
    F_FLIT0,
    F_FLIT1,
    F_FLIT2,
    F_FLIT3,
    F_RVACHK,
    F_RVA,
    F_RVACHK2,
    F_SET1,
    F_SET2,
    F_SET3,
    F_SET4,
    F_AOTF,
    F_AOTFR,
    F_MISS
};
enum rbend_state { B_IDLE, B_PATLB, B_DMA, B_FLAG, B_MISS };
enum aotf_state { A_IDLE, A_QUEUE, A_TLB, A_HEADER };
enum cpu_state { C_POLL, C_HANDLER }; /* C_HANDLER + the bit of INTC_PENDING */

#define MODULE_STATES_MAX 16

struct module {
    uint32_t state, last_state;
    sim_time since;
    uint32_t breakpoints; /* states */
    bool is_suspended;
    bool is_stopping_off; /* just resumed: the breakpoint of this state is passed */
    enum chip_exception cause;
    sim_time waits_since; /* for another module; 0: it does not */
    uint32_t track;
    sim_time spent[MODULE_STATES_MAX]; /* in each state, up to `since` */
};

/* A DMA transfer between host memory and a packet or flag. */
struct dma {
    struct pci_request request;
    struct chip *chip;
    struct chip_packet *packet; /* read: into its payload; write: from there at `at` */
    uint64_t physical;
    uint32_t at, length;
    uint64_t flag;                                /* written if there is no packet */
    uint64_t expected;                            /* is_conditional: what must still be there */
    bool is_conditional, is_posted;               /* is_posted: has passed the bus, is not seen */
    void (*started)(struct chip *, struct dma *); /* may be NULL */
    void (*ended)(struct chip *, struct dma *);   /* may be NULL */
    bool is_last;                                 /* of its packet */
    uint32_t number;
    struct dma *next;
};

/* A request on its way from a window to the Initiator. */
struct request {
    uint32_t window;
    enum chip_kick kick;
    uint64_t words[CHIP_WINDOW_WORDS];
    struct request *next;
};

struct window {
    bool is_valid;
    uint16_t pgid, pid;
    uint64_t contflag; /* physical */
    uint64_t words[CHIP_WINDOW_WORDS];
};

struct initiator {
    struct request *first, *last; /* the first is being worked on */
    struct chip_header header;    /* of the request, with its rest */
    uint64_t physical;
    uint32_t part, sent; /* bytes of this packet; bytes requested so far */
    uint32_t reading;    /* DMA reads under way */
    uint32_t fifo;       /* packets in Header and Send FIFO */
    bool waits_for_room, waits_for_data;
    bool is_soft; /* firmware has made the next packet's header: */
    struct chip_header soft_header;
    uint64_t cont_value;
};

/* So many that RFend and RBend practically never wait for the Replier: if they did, two nodes that
 * pull from each other could wait for each other. */
#define REPLIER_JOBS 1024
struct replier_job {
    struct chip_header header; /* what came in */
    uint64_t start;            /* virtual address to read, found by RFend */
};
struct replier {
    struct replier_job *jobs; /* a ring */
    uint32_t first, count, capacity;
    uint64_t physical;
    uint32_t part, sent, fifo;
    bool waits_for_room;
};

struct arrival {
    struct chip_packet *packet;
    uint32_t stay;
    sim_time tail;
    struct arrival *next;
};

struct rfend {
    struct arrival *first, *last; /* in the receive FIFO; the first is being worked on */
    bool is_handing;              /* SWI hands over */
    bool payload_waits;           /* the first's payload is RBend's now, and not drained */
    struct arrival *current;
    uint64_t virtual;
    bool skips_rvatlb; /* take-over register */
    bool waits;        /* in SET4, for RBend or Replier */
};

struct rbend {
    struct arrival *arrival;
    uint64_t virtual;
    uint32_t done; /* bytes requested */
};

struct tlb_entry {
    uint64_t key, tag; /* 0: empty */
    uint64_t value;
};
#define TLB_RECENT 4
struct tlb {
    struct tlb_entry *ways; /* [set * 2 + way]; the first way is the younger */
    uint32_t sets;
    bool is_direct; /* only the first way is used */
    /* What was found last, by the low bits of the tag. All of a set share a place here, so the one
     * that is here is its youngest; looking it up again changes nothing. */
    struct tlb_entry recent[TLB_RECENT];
};
/* The table behind it, in SDRAM: open addressing. */
struct table {
    struct tlb_entry *slots;
    uint32_t count, capacity; /* capacity: a power of two */
};

/* A ring of VPUSH. */
struct ring {
    struct chip_ring shape;      /* size 0: closed */
    uint64_t received, released; /* bytes, ever: given a slot; taken by the host */
    uint64_t delivered;          /* that the host knows of */
};

/* A TLB as the firmware fills it. Dropping the key between its writing and `put` prevents that. */
struct tlb_port {
    uint32_t job;
    uint64_t tag, value;
    bool is_open, was_put;
};

/* The processor that carries the firmware out; see cpu.c. */
struct cpu {
    struct processor *processor;   /* NULL: nothing has happened yet */
    uint64_t cycles, instructions; /* when it was last in step with the world */
    bool is_booting, has_failed;
    bool is_on_time; /* in step: the access that was put off happens now */
    bool is_parked;  /* nobody need simulate it: it polls, and sees the same */
    bool has_polled;
    uint32_t polled;   /* what it saw last */
    uint32_t accesses; /* to other registers since then */
    sim_time poll_time, period;
    sim_time noticed; /* since when it could serve what it serves */
    uint32_t stack_limit;
};

/* What the firmware sees and is seen of it. */
struct firmware {
    struct cpu cpu;
    struct tlb_port patlb, rvatlb;
    uint64_t send_header[CHIP_HEADER_WORDS], send_data[CHIP_SEND_WORDS];
    uint64_t dma_host, dma_data, dma_old;
    uint32_t dma_length;
    bool is_reading;   /* dma_data is on its way from the host */
    bool is_moving;    /* a packet's payload is on its way to the host */
    uint32_t if_state; /* DMAC_IF */
    sim_time begin;    /* of the handler */
    uint32_t serving;  /* a bit of INTC_PENDING */
    uint32_t *work;    /* SDRAM_WORK; NULL: not used yet */
    bool listens;      /* to what ends: */
    uint32_t *ended;   /* processes */
    uint32_t ended_count;
    size_t ended_room;
    struct ring *rings;
    uint32_t ring_count;
    size_t ring_room;
    bool waits_for_room; /* RFend is stopped until the host releases */
};

struct aotf {
    struct chip_store stores[CHIP_AOTF_STORES];
    uint32_t first, count;
    struct chip_header *headers; /* [page]; type 0: not registered */
};

/* What every event needs comes first, what few need last. */
struct chip {
    struct sim *sim;
    uint32_t actor, number;
    const struct sim_constants *constants;
    struct host *host;
    struct trace *trace;
    struct chip_wire wire;
    struct window *windows; /* CHIP_WINDOWS */
    struct dma **dmas;      /* by number */
    struct dma *free_dmas;
    uint32_t dma_count;
    size_t dma_room;
    struct chip_packet *free_packets;
    struct request *free_requests;
    struct arrival *free_arrivals;
    struct {
        struct chip_packet *first, *last;
    } joining; /* packets between join and link */
    struct {
        struct request *first, *last;
    } kicked;            /* requests between window and Initiator */
    uint32_t interrupts; /* modules that the firmware has to serve, by bit */
    uint32_t cpu_factor; /* how slow the CPU is */
    const struct processor_image *image;
    struct module modules[CHIP_MODULES];
    struct initiator initiator;
    struct rfend rfend;
    struct rbend rbend;
    struct tlb patlb, rvatlb;
    struct chip_count count;
    sim_time moments[CHIP_MOMENTS];
    struct replier replier;
    struct firmware firmware;
    struct aotf aotf;
    struct table pages, segments;
    void *room; /* of windows, TLBs and registered headers */
    size_t room_size;
};

static inline sim_time chip_cycles(const struct chip *chip, int64_t cycles)
{
    return cycles * chip->constants->core_ps;
}

static inline void chip_post(struct chip *chip, int64_t cycles, enum chip_event event,
                             uint64_t argument)
{
    sim_post(chip->sim, sim_now(chip->sim) + chip_cycles(chip, cycles),
             (struct sim_event){chip->actor, event, argument});
}

static inline void chip_moment_note(struct chip *chip, enum chip_moment moment)
{
    chip->moments[moment] = sim_now(chip->sim);
}

/* module.c */
void module_init(struct chip *chip);
/* Enters a state; its step comes after so many cycles, unless a breakpoint stops it. */
void module_go(struct chip *chip, enum chip_module module, uint32_t state, int64_t cycles);
/* Passes through several states, each with its cycles; one step comes at the end of the last. The
 * states between have nothing to decide. With a breakpoint among them it goes state by state. */
struct module_path {
    uint32_t state;
    int64_t cycles;
};
void module_pass(struct chip *chip, enum chip_module module, const struct module_path *path,
                 uint32_t count);
/* Enters a state and stays there until somebody calls. */
void module_rest(struct chip *chip, enum chip_module module, uint32_t state);
void module_suspend(struct chip *chip, enum chip_module module, enum chip_exception cause);
/* It waits, in its state, until another module calls: a time-out may come first. */
void module_wait(struct chip *chip, enum chip_module module);
void module_timeout(struct chip *chip, uint64_t argument);
/* The firmware lets it go on: at a state, or (release) by what it does next. */
void module_release(struct chip *chip, enum chip_module module);
void module_resume(struct chip *chip, enum chip_module module, uint32_t state);
void module_step(struct chip *chip, enum chip_module module);
/* By bit. False: one of them is not suspendable. */
bool module_breakpoints_set(struct chip *chip, enum chip_module module, uint32_t states);

/* initiator.c */
void initiator_step(struct chip *chip, uint32_t state);
void initiator_take(struct chip *chip, struct request *request);
void initiator_cancel(struct chip *chip);   /* contflag says refused */
void initiator_complete(struct chip *chip); /* the firmware has done it */
void initiator_room(struct chip *chip);
/* The firmware has done what IPA2 to CHK2 do: a packet with this header, its data from there. */
void initiator_soft(struct chip *chip, const struct chip_header *header, uint64_t physical);

/* replier.c */
void replier_step(struct chip *chip, uint32_t state);
/* The job that it works on. */
static inline struct replier_job *replier_job(const struct chip *chip)
{
    return &chip->replier.jobs[chip->replier.first];
}
bool replier_take(struct chip *chip, const struct chip_header *job, uint64_t start);
void replier_cancel(struct chip *chip);
void replier_drop(struct chip *chip); /* the job is done by others */
void replier_room(struct chip *chip);
/* From target to requester, as the request told. */
void header_answer(const struct chip_header *asked, struct chip_header *answer);

/* rfend.c */
void rfend_step(struct chip *chip, uint32_t state);
void rfend_hand(struct chip *chip);
void rfend_next(struct chip *chip); /* hands the next packet over, if it may */
void rfend_discard(struct chip *chip);
void rfend_consume(struct chip *chip); /* the firmware has done what the packet asked */
void rfend_retry(struct chip *chip);   /* RBend or Replier is free again */

/* rbend.c */
void rbend_step(struct chip *chip, uint32_t state);
bool rbend_take(struct chip *chip, struct arrival *arrival, uint64_t virtual);
void rbend_discard(struct chip *chip);
void rbend_give_up(struct chip *chip); /* the data is in memory, but the ack finds no room */
/* Writes one word to a virtual address. */
void flag_write(struct chip *chip, uint32_t job, uint64_t virtual, uint64_t value);
void rbend_retry(struct chip *chip); /* Replier has room again */

/* aotf.c */
void aotf_step(struct chip *chip, uint32_t state);

/* note.c: for the trace, which has_packets. */
void packet_note(const struct chip *chip, const struct chip_packet *packet, bool is_sent);

/* dmac.c */
struct dma *dma_make(struct chip *chip, enum pci_kind kind);
void dma_begin(struct chip *chip, struct dma *dma); /* into the request FIFO */
void dma_event(struct chip *chip, enum chip_event event, uint32_t number);
/* Header and payload are there: to the Send FIFO, then the link. */
void send_join(struct chip *chip, struct chip_packet *packet, int64_t cycles);
void send_start(struct chip *chip);

/* tlb.c: keys are (PGID, PID) and page or SID. */
bool tlb_find(struct tlb *tlb, uint32_t job, uint64_t tag, uint64_t *value);
void tlb_put(struct tlb *tlb, uint32_t job, uint64_t tag, uint64_t value);
void tlb_drop(struct tlb *tlb, uint32_t job, uint64_t tag);
bool table_find(const struct table *table, uint32_t job, uint64_t tag, uint64_t *value);
int table_put(struct table *table, uint32_t job, uint64_t tag, uint64_t value);
void table_drop(struct table *table, uint32_t job, uint64_t tag);

static inline uint32_t job_key(uint16_t pgid, uint16_t pid)
{
    return (uint32_t)pgid << 16 | pid;
}

/* Physical address of a virtual one; false: a miss. */
static inline bool patlb_find(struct chip *chip, uint32_t job, uint64_t virtual, uint64_t *physical)
{
    uint64_t page_bytes = (uint64_t)chip->constants->page_bytes, page;
    if (!tlb_find(&chip->patlb, job, virtual / page_bytes, &page))
        return false;
    *physical = page * page_bytes + virtual % page_bytes;
    return true;
}

/* Bytes up to the end of the page, the MTU or the rest. */
static inline uint32_t part_length(const struct chip *chip, uint64_t virtual, uint32_t rest)
{
    uint64_t page_bytes = (uint64_t)chip->constants->page_bytes;
    uint64_t part = page_bytes - virtual % page_bytes;
    if (part > (uint64_t)chip->constants->mtu_bytes)
        part = (uint64_t)chip->constants->mtu_bytes;
    return part < rest ? (uint32_t)part : rest;
}

/* vpush.c: in hardware, as a what-if. */
bool vpush_is_for_ring(const struct chip *chip, const struct chip_header *header);
/* RBend could not write it. */
void vpush_lost(struct chip *chip, const struct chip_header *header);
enum vpush_slot { VPUSH_GIVEN, VPUSH_WAITS, VPUSH_REFUSES };
enum vpush_slot vpush_slot(struct chip *chip, uint64_t *virtual);
void vpush_deliver(struct chip *chip, const struct chip_header *header); /* it is in memory */

/* firmware.c; what the processor and its registers need is in cpu.h */
void firmware_step(struct chip *chip, uint32_t state);
void firmware_interrupt(struct chip *chip);
