/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The chip as its processor sees it: every register, in one table. Firmware includes this header
 * too, so there is nothing in it but numbers; docs/firmware.md has the table for people, and a test
 * compares the two.
 *
 * A register is a word of 32 bits; values of 64 bits are two of them, the low half first. The four
 * modules with take-over have the same registers at the same places of their blocks; those of a
 * module that is not stopped can be looked at but not be written.
 */
#pragma once

#define CHIP_REGISTERS_FIRST 0x40000000
#define CHIP_BLOCK_BYTES     0x1000

/* X(name, address, access, meaning) */
#define CHIP_REGISTERS(X)                                                                          \
    X(INTC_PENDING, 0x40000000, "R",                                                               \
      "modules that have stopped and wait for firmware, by bit; INTC_HOST")                        \
    X(INTC_CLEAR, 0x40000004, "W", "these are served, though they stay stopped")                   \
    X(CHIP_MODE, 0x4000000c, "R", "what-if switches (MODE_ …)")                                    \
    X(CHIP_MTU, 0x40000010, "R", "most bytes that a packet carries")                               \
    X(CHIP_NODE, 0x40000014, "R", "number of this node")                                           \
    X(HOST_LISTEN, 0x40000018, "W", "1: INTC_HOST is set when processes end")                      \
    X(HOST_ENDED, 0x4000001c, "RW",                                                                \
      "read: PGID and PID of a process that has ended, as PATLB_JOB; write: it is forgotten")      \
    X(DMAC_HOST, 0x40006000, "RW", "physical address in the host's memory")                        \
    X(DMAC_HOST_HIGH, 0x40006004, "RW", "upper half of it")                                        \
    X(DMAC_LENGTH, 0x40006008, "RW", "bytes")                                                      \
    X(DMAC_DATA, 0x4000600c, "RW", "eight bytes to write")                                         \
    X(DMAC_DATA_HIGH, 0x40006010, "RW", "upper half of it")                                        \
    X(DMAC_GO, 0x40006014, "W",                                                                    \
      "write DMAC_DATA, unless PATLB_PAGE was unpinned since it was set")                          \
    X(SEND_GO, 0x40006018, "W", "the packet of SEND_HEADER and SEND_DATA goes to the link")        \
    X(RINGS, 0x4000601c, "R", "rings of VPUSH: numbers below this")                                \
    X(DMAC_READ, 0x40006020, "RW",                                                                 \
      "write: read DMAC_DATA, as DMAC_GO writes it; read: 1, not yet")                             \
    X(DMAC_IF, 0x40006024, "RW",                                                                   \
      "write: as DMAC_GO, if the host still has DMAC_OLD there; read: 1, not yet; 2: it had not")  \
    X(DMAC_OLD, 0x40006028, "RW", "eight bytes, low and high half")                                \
    X(DMAC_FIFO, 0x40006030, "RW",                                                                 \
      "write: DMAC_LENGTH bytes of RFend's packet from this one on, as DMAC_GO; read: 1, not yet") \
    X(SEND_DATA, 0x40006080, "RW", "sixteen words: its payload")                                   \
    X(SEND_HEADER, 0x40006040, "RW", "twelve words: header of a packet that firmware makes")       \
    X(PATLB_JOB, 0x40005000, "RW", "key: PGID in the upper half, PID in the lower")                \
    X(PATLB_PAGE, 0x40005004, "RW", "key: number of the virtual page; writing begins a refill")    \
    X(PATLB_PAGE_HIGH, 0x40005008, "RW", "upper half of it")                                       \
    X(PATLB_FRAME, 0x4000500c, "RW", "number of the physical page")                                \
    X(PATLB_FRAME_HIGH, 0x40005010, "RW", "upper half of it")                                      \
    X(PATLB_PUT, 0x40005014, "RW", "write: enter it; read: 1, or 0 if it was unpinned meanwhile")  \
    X(PATLB_FIND, 0x40005018, "R", "1: the key is in, and its page in PATLB_FRAME; 0: it is not")  \
    X(PATLB_OPEN, 0x4000501c, "R", "1, or 0 if the key was unpinned since PATLB_PAGE was written") \
    X(RVATLB_JOB, 0x40005040, "RW", "key: PGID in the upper half, PID in the lower")               \
    X(RVATLB_SID, 0x40005044, "RW", "key: number of the segment; writing begins a refill")         \
    X(RVATLB_START, 0x4000504c, "RW", "virtual address at which it starts")                        \
    X(RVATLB_START_HIGH, 0x40005050, "RW", "upper half of it")                                     \
    X(RVATLB_PUT, 0x40005054, "RW", "write: enter it; read: 1, or 0 if it was removed meanwhile")  \
    X(RVATLB_FIND, 0x40005058, "R",                                                                \
      "1: the key is in, and its start in RVATLB_START; 0: it is not")                             \
    X(RVATLB_OPEN, 0x4000505c, "R", "1, or 0 if the key was removed since RVATLB_SID was written") \
    X(PAGES_SLOTS, 0x40005080, "R", "slots of the page table in SDRAM, a power of two or 0")       \
    X(SEGMENTS_SLOTS, 0x40005084, "R", "slots of the SID table in SDRAM, a power of two or 0")

/* In the block of a module: 0x40001000 Initiator, 0x40002000 Replier, 0x40003000 RFend, 0x40004000
 * RBend. */
#define CHIP_MODULE_REGISTERS(X)                                                                   \
    X(MODULE_STATE, 0x00, "RW", "its state; writing lets it go on, at a state where it can")       \
    X(MODULE_LAST, 0x04, "R", "the state before: where it stopped")                                \
    X(MODULE_CAUSE, 0x08, "R", "why it stopped (CAUSE_ …)")                                        \
    X(MODULE_BREAK, 0x0c, "RW", "breakpoints: states that stop it, by bit")                        \
    X(MODULE_COMMAND, 0x10, "W", "lets it go on otherwise (COMMAND_ …)")                           \
    X(MODULE_JOB, 0x14, "R", "whose address it looks for: PGID and PID, as PATLB_JOB")             \
    X(MODULE_ADDRESS, 0x18, "R", "virtual address that it looks for")                              \
    X(MODULE_ADDRESS_HIGH, 0x1c, "R", "upper half of it")                                          \
    X(MODULE_PART, 0x20, "R", "Initiator: bytes of the request that are sent")                     \
    X(MODULE_SKIP, 0x24, "RW", "RFend: 1, the address is the header's offset; no RVATLB")          \
    X(MODULE_WINDOW, 0x28, "R", "Initiator: 1, the request's window has an owner in PGIDTBL")      \
    X(MODULE_HEADER, 0x40, "RW",                                                                   \
      "twelve words: header of its request or packet; RFend: offset, "                             \
      "flag and HEADER_WANTS_ACK can be written, Replier: flag")                                   \
    X(MODULE_PAYLOAD, 0x800, "R",                                                                  \
      "512 words: RFend: what the packet carries; Initiator: what is behind a special request")

/* In the block of a ring of VPUSH: 0x40010000 + 0x40 times its number. */
#define CHIP_RING_REGISTERS(X)                                                                     \
    X(RING_JOB, 0x00, "R", "whose it is: PGID and PID, as PATLB_JOB")                              \
    X(RING_SID, 0x04, "R", "its segment's number")                                                 \
    X(RING_SLOTS, 0x08, "R", "slots of 2048 bytes; 0: it is closed")                               \
    X(RING_FLAGS, 0x0c, "R", "RING_REFUSES, RING_HAS_TABLE")                                       \
    X(RING_START, 0x10, "R", "virtual address of the first slot, low and high half")               \
    X(RING_POINTER, 0x18, "R", "virtual address of the receive pointer, low and high half")        \
    X(RING_RECEIVED, 0x20, "RW", "messages that were given a slot, ever")                          \
    X(RING_DELIVERED, 0x24, "RW", "messages that the host knows of, ever")                         \
    X(RING_RELEASED, 0x28, "R", "messages that the host has taken out, ever")                      \
    X(RING_WAIT, 0x2c, "W", "1: RFend counts as served until the host takes something out")

enum chip_register {
#define CHIP_REGISTER_NUMBER(name, address, access, meaning) name = (address),
    CHIP_REGISTERS(CHIP_REGISTER_NUMBER) CHIP_MODULE_REGISTERS(CHIP_REGISTER_NUMBER)
        CHIP_RING_REGISTERS(CHIP_REGISTER_NUMBER)
#undef CHIP_REGISTER_NUMBER
};

#define CHIP_MODULE_BLOCK(module) (CHIP_REGISTERS_FIRST + ((module) + 1) * CHIP_BLOCK_BYTES)
#define CHIP_HEADER_REGISTERS     12
#define CHIP_SEND_REGISTERS       16
#define CHIP_RING_BLOCK(ring)     (0x40010000 + (ring)*0x40)
#define CHIP_RINGS_MOST           1024

/* MODULE_CAUSE: enum chip_exception. */
enum {
    CAUSE_SPECIAL_REQUEST,
    CAUSE_PROTECTION,
    CAUSE_PATLB_MISS,
    CAUSE_SPECIAL_PACKET,
    CAUSE_RVATLB_MISS,
    CAUSE_TIMEOUT,
    CAUSE_BREAKPOINT
};
/* Bits of INTC_PENDING, and blocks: enum chip_module. */
enum { MODULE_INITIATOR, MODULE_REPLIER, MODULE_RFEND, MODULE_RBEND, MODULE_COUNT };
#define INTC_HOST (1 << MODULE_COUNT) /* HOST_ENDED has something */

/* MODULE_COMMAND. Cancel: the Initiator tells its process that the request is refused, the others
 * drop what they have. Complete: firmware has done it. Soft (Initiator, PATLB miss): firmware has
 * made the header of the next packet (SEND_HEADER) and found where its data is (DMAC_HOST,
 * DMAC_LENGTH). */
enum { COMMAND_CANCEL = 1, COMMAND_COMPLETE, COMMAND_SOFT };
enum { MODE_SOFT_PUSH = 1, MODE_MISS_LOOPS = 2, MODE_SOFT_VPUSH = 4, MODE_HARDWARE_VPUSH = 8 };
enum { RING_REFUSES = 1, RING_HAS_TABLE = 2 };
enum { IF_RUNS = 1, IF_DIFFERS }; /* DMAC_IF */
#define RING_SLOT_BYTES 2048

/* States at which modules may be let go on (besides the one where they stopped). */
enum { INITIATOR_IDLE = 0, INITIATOR_IPA = 2, REPLIER_IDLE = 0, REPLIER_RPA = 1, RBEND_PATLB = 1 };
enum { RFEND_RVA = 6, RFEND_RVACHK2 = 7 };

/* Tables in the NIC's SDRAM: open addressing. A slot has three values of 64 bits: key (job + 1, 0:
 * never used), page or SID, physical page or address. A search begins at TABLE_HASH and goes on
 * until a slot that was never used. */
#define SDRAM_PAGES       0x20000000
#define SDRAM_SEGMENTS    0x24000000
#define SDRAM_TABLE_BYTES 0x04000000
#define SDRAM_SLOT_BYTES  24
#define SDRAM_WORK        0x28000000 /* the firmware's own */
#define SDRAM_WORK_BYTES  0x00040000
#define TABLE_KEY_FACTOR  0x9e3779b97f4a7c15ULL
#define TABLE_TAG_FACTOR  0xff51afd7ed558ccdULL

/* A header's words (chip_header_pack() has all of it), and what the first has. */
enum {
    HEADER_TYPE = 0,
    HEADER_LENGTH = 1,
    HEADER_SOURCE = 2, /* node, and process in the upper half */
    HEADER_TARGET = 3,
    HEADER_SID = 4,
    HEADER_OFFSET = 6,
    HEADER_LOCAL = 8,
    HEADER_FLAG = 10
};
enum {
    TYPE_PUSH = 1,
    TYPE_ACK,
    TYPE_PULL_REQUEST,
    TYPE_PULL_REPLY,
    TYPE_CONTROL,
    TYPE_OTHER,
    TYPE_LOCK_REQUEST,
    TYPE_LOCK_RESERVE,
    TYPE_ATOMIC = 64
};
enum { HEADER_WANTS_ACK = 1 << 8, HEADER_IS_AOTF = 1 << 9 };
/* What acks write. */
enum { ANSWER_DONE = 1, ANSWER_FULL, ANSWER_REFUSED };
/* Special requests: the lowest byte of HEADER_LENGTH, with a segment above it. */
enum { LOCK_OPEN = 1, LOCK_TAKE, LOCK_GIVE };
/* Atomic operations (enum chip_atomic), and where a queue's table is. */
enum {
    ATOMIC_FETCH_ADD,
    ATOMIC_FETCH_OR,
    ATOMIC_FETCH_AND,
    ATOMIC_SWAP,
    ATOMIC_COMPARE_SWAP,
    ATOMIC_CLAIM
};
#define ATOMIC_CLAIM_TABLE 64
