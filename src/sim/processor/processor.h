/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The on-chip processor: 32-bit MIPS-I as the R3000 has it, low byte first, without caches, TLB and
 * coprocessors other than the system's. Instructions are carried out one by one; a branch's next
 * instruction is carried out before it jumps, and what a load has fetched is seen by the second
 * instruction after it, as on the real one.
 *
 * Memory: 128 KB of instructions and 128 KB of data (thesis, 4.6.2), at addresses that are ours.
 * Nothing is at address 0, so that firmware that follows a null pointer is stopped. Instructions
 * can be read as data, not written: all processors of a world share them. Any other address
 * belongs to the bus, which whoever owns the processor provides: it says what an access gives and
 * how many cycles it takes.
 *
 * Time is counted in cycles of the core. An instruction takes one, besides what memory, bus,
 * multiplier and divider add. A processor knows no world: its owner lets it run for some cycles,
 * and an access to the bus that must not happen before others have caught up is put off
 * (BUS_LATER): the run ends, and the next one begins with that access.
 *
 * Files: processor.c (memory, exceptions, running), operations.c (what instructions do), image.c
 * (ELF files), lines.c (their line numbers).
 */
#pragma once

#include "sim/constants.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROCESSOR_SRAM_BYTES 0x20000u
#define PROCESSOR_CODE_BASE  0x00010000u
#define PROCESSOR_DATA_BASE  0x00030000u
#define PROCESSOR_VECTOR     (PROCESSOR_CODE_BASE + 0x80)                 /* where exceptions go */
#define PROCESSOR_STACK      (PROCESSOR_DATA_BASE + PROCESSOR_SRAM_BYTES) /* first of it: below */

/* Firmware as a file has it; may be shared by many processors, and must outlive them. */
struct processor_image;

/* -ENOENT and other errors of open(), -EINVAL: no firmware; the message names the file and what is
 * wrong. */
int processor_image_open(struct processor_image **image, const char *path);
/* The same of bytes; `name` is what messages call it. The bytes are copied. */
int processor_image_parse(struct processor_image **image, const void *bytes, size_t size,
                          const char *name);
void processor_image_close(struct processor_image *image);
/* Without a file: words of instructions from PROCESSOR_CODE_BASE on; it begins with the first. */
int processor_image_words(struct processor_image **image, const uint32_t *words, size_t count);
/* Address of a symbol; 0: there is none. */
uint32_t processor_image_symbol(const struct processor_image *image, const char *name);
/* "patlb_refill (patlb.c:42)", "patlb_refill+0x10", or "0x00010010": what the file tells. */
void processor_image_place(const struct processor_image *image, uint32_t address, char *text,
                           size_t size);

/* What a bus access answers, if not the cycles that it takes. */
enum { PROCESSOR_BUS_ERROR = -1, PROCESSOR_BUS_LATER = -2 };

struct processor_bus {
    void *context;
    /* bytes: 1, 2 or 4; the address is a multiple of it. */
    int (*read)(void *context, uint32_t address, uint32_t bytes, uint32_t *value);
    int (*write)(void *context, uint32_t address, uint32_t bytes, uint32_t value);
};

/* Codes of the Cause register. */
enum processor_exception {
    PROCESSOR_INTERRUPT = 0,
    PROCESSOR_LOAD_ADDRESS = 4, /* not a multiple of its size; also of an instruction */
    PROCESSOR_STORE_ADDRESS = 5,
    PROCESSOR_FETCH_BUS = 6, /* nothing is at this address */
    PROCESSOR_DATA_BUS = 7,
    PROCESSOR_SYSCALL = 8,
    PROCESSOR_BREAK = 9,
    PROCESSOR_RESERVED = 10, /* no such instruction */
    PROCESSOR_COPROCESSOR = 11,
    PROCESSOR_OVERFLOW = 12,
    PROCESSOR_EXCEPTIONS = 16
};
const char *processor_exception_name(enum processor_exception exception);

struct processor_spec {
    const struct processor_image *image;
    struct processor_bus bus;
    const struct sim_constants *constants; /* those named cpu_ */
    uint32_t fatal; /* exceptions, by bit, that end the run instead of going to the vector */
};

struct processor;
int processor_create(struct processor **processor, const struct processor_spec *spec); /* -ENOMEM */
void processor_destroy(struct processor *processor);
/* Data as the image has it, registers 0 but the stack's, at the image's entry. Cycles go on. */
void processor_reset(struct processor *processor);

enum processor_stop {
    PROCESSOR_LIMIT,  /* so many cycles are over */
    PROCESSOR_WAITS,  /* the bus has put an access off */
    PROCESSOR_HALTED, /* processor_halt() */
    PROCESSOR_FAULTED /* a fatal exception; processor_fault() tells which */
};
/* Until this cycle, counted since it was created, or until it stops. */
enum processor_stop processor_run(struct processor *processor, uint64_t until);
/* From inside a bus access: the run ends after this instruction. */
void processor_halt(struct processor *processor);
/* The six lines of interrupts that the Cause register shows from bit 10 on, by bit. */
void processor_lines_set(struct processor *processor, uint32_t lines);

struct processor_fault {
    enum processor_exception exception;
    uint32_t pc, address; /* address: what was accessed, if that was it */
};
/* The last exception other than an interrupt. */
struct processor_fault processor_fault(const struct processor *processor);

uint64_t processor_cycles(const struct processor *processor);
uint64_t processor_instructions(const struct processor *processor);
/* The bus has been busy, or the owner wants it to wait: nothing happens until then. */
void processor_cycles_skip(struct processor *processor, uint64_t to);
uint32_t processor_pc(const struct processor *processor);
enum { PROCESSOR_HI = 32, PROCESSOR_LO };
uint32_t processor_register(const struct processor *processor, uint32_t number);
void processor_register_set(struct processor *processor, uint32_t number, uint32_t value);
/* Data SRAM; false: not all of it is there. */
bool processor_memory_read(const struct processor *processor, uint32_t address, void *bytes,
                           uint32_t size);
bool processor_memory_write(struct processor *processor, uint32_t address, const void *bytes,
                            uint32_t size);
