/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a processor consists of. Private to sim/processor.
 */
#pragma once

#include "sim/processor/processor.h"

struct processor_symbol {
    uint32_t start, size;
    const char *name;
};
/* From this address on, up to the next one's. */
struct processor_line {
    uint32_t start, line; /* line 0: nothing is known from here on */
    const char *file;
};

struct processor_image {
    uint32_t entry;
    uint32_t *code; /* PROCESSOR_SRAM_BYTES */
    uint8_t *data;  /* PROCESSOR_SRAM_BYTES, of which so many are not 0 */
    uint32_t data_bytes;
    struct processor_symbol *symbols; /* by address */
    size_t symbol_count;
    struct processor_line *lines; /* by address */
    size_t line_count;
    char *text; /* what the names point into: the file */
};

/* Why the loop of processor_run() looks up before the next instruction. */
enum { ATTENTION_INTERRUPT = 1, ATTENTION_HALT = 2, ATTENTION_WAIT = 4, ATTENTION_FAULT = 8 };

/* Registers of the system's coprocessor. */
enum { CP0_BAD_ADDRESS = 8, CP0_STATUS = 12, CP0_CAUSE = 13, CP0_EPC = 14, CP0_IDENTITY = 15 };

#define NO_REGISTER 32 /* a place that nobody reads */

struct processor {
    uint32_t registers[33];
    uint32_t attention;
    uint32_t pc, next_pc;     /* of the next instruction, and the one after it */
    uint32_t current;         /* of the one that is being carried out */
    bool is_slot;             /* that one follows a branch */
    bool is_branch;           /* the next one does */
    uint32_t loading, loaded; /* register that a load is about to change, and its value */
    uint64_t cycles, instructions;
    const uint32_t *code;
    uint8_t *data;
    uint32_t high, low;
    uint64_t busy_until; /* multiplier and divider */
    uint32_t status, cause, epc, bad_address;
    struct {
        uint32_t word, s, t;
    } waiting; /* the access that the bus has put off */
    struct processor_fault fault;
    uint32_t sram_cycles, multiply_cycles, divide_cycles; /* beyond the instruction's one */
    struct processor_spec spec;
};

typedef void processor_operation(struct processor *p, uint32_t word, uint32_t s, uint32_t t);

/* operations.c: what the instruction does; s and t are what its registers had before it. */
extern processor_operation *const processor_operations[64], *const processor_specials[64];

static inline void processor_perform(struct processor *p, uint32_t word, uint32_t s, uint32_t t)
{
    uint32_t code = word >> 26;
    (code ? processor_operations[code] : processor_specials[word & 63])(p, word, s, t);
}

/* processor.c */
void processor_raise(struct processor *p, enum processor_exception exception);
void processor_raise_address(struct processor *p, enum processor_exception exception,
                             uint32_t address);
/* After Status or Cause has changed. */
void processor_interrupts_look(struct processor *p);
/* Memory and bus. False: there is no value; an exception has been raised, or the access is put off
 * and will be carried out again. */
bool processor_load(struct processor *p, uint32_t address, uint32_t bytes, uint32_t *value);
bool processor_store(struct processor *p, uint32_t address, uint32_t bytes, uint32_t value);

/* lines.c: the table of a file's .debug_line, as far as it is understood; -ENOMEM. A damaged one is
 * no error: then less is known. */
struct processor_section {
    const uint8_t *bytes;
    size_t size;
};
int processor_lines_read(struct processor_image *image, struct processor_section lines,
                         struct processor_section strings);
