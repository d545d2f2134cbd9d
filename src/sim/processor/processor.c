/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory, exceptions and running; see processor.h.
 */
#include "sim/processor/inside.h"

#include "base/error.h"
#include "base/likely.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define STATUS_MODES       0x3fu /* three pairs of "user mode" and "interrupts on" */
#define STATUS_CURRENT     0x1u  /* interrupts are on */
#define LINES_SHIFT        10
#define CAUSE_PENDING      0xff00u /* also where Status has its mask */
#define CAUSE_BRANCH_DELAY 0x80000000u
#define CAUSE_CODE_SHIFT   2
#define CAUSE_CODE         0x7cu

const char *processor_exception_name(enum processor_exception exception)
{
    static const char *const names[PROCESSOR_EXCEPTIONS] = {
        [PROCESSOR_INTERRUPT] = "interrupt",
        [PROCESSOR_LOAD_ADDRESS] = "load from an address that is not a multiple of its size",
        [PROCESSOR_STORE_ADDRESS] = "store to an address that is not a multiple of its size",
        [PROCESSOR_FETCH_BUS] = "jump to where no instructions are",
        [PROCESSOR_DATA_BUS] = "access to an address where nothing is",
        [PROCESSOR_SYSCALL] = "syscall",
        [PROCESSOR_BREAK] = "break",
        [PROCESSOR_RESERVED] = "instruction that the processor does not have",
        [PROCESSOR_COPROCESSOR] = "coprocessor that the processor does not have",
        [PROCESSOR_OVERFLOW] = "overflow",
    };
    const char *name = exception < PROCESSOR_EXCEPTIONS ? names[exception] : NULL;
    return name ? name : "unknown exception";
}

int processor_create(struct processor **processor, const struct processor_spec *spec)
{
    struct processor *made = calloc(1, sizeof(*made));
    if (!made)
        return error_fail(-ENOMEM, "no memory for an on-chip processor");
    /* Mapped, not allocated: firmware touches little of it. */
    void *data = mmap(NULL, PROCESSOR_SRAM_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) {
        free(made);
        return error_fail(-ENOMEM, "no memory for an on-chip processor's data");
    }
    made->data = data;
    made->code = spec->image->code;
    made->spec = *spec;
    made->sram_cycles = (uint32_t)spec->constants->cpu_sram_cycles;
    made->multiply_cycles = (uint32_t)spec->constants->cpu_multiply_cycles;
    made->divide_cycles = (uint32_t)spec->constants->cpu_divide_cycles;
    processor_reset(made);
    *processor = made;
    return 0;
}

void processor_destroy(struct processor *processor)
{
    if (!processor)
        return;
    munmap(processor->data, PROCESSOR_SRAM_BYTES);
    free(processor);
}

void processor_reset(struct processor *p)
{
    const struct processor_image *image = p->spec.image;
    memset(p->registers, 0, sizeof(p->registers));
    /* pages that are given back read as 0 */
    if (madvise(p->data, PROCESSOR_SRAM_BYTES, MADV_DONTNEED) != 0)
        memset(p->data, 0, PROCESSOR_SRAM_BYTES);
    memcpy(p->data, image->data, image->data_bytes);
    p->registers[29] = PROCESSOR_STACK - 16; /* of which the callee may use 16 bytes */
    p->pc = image->entry;
    p->next_pc = p->pc + 4;
    p->is_slot = p->is_branch = false;
    p->loading = NO_REGISTER;
    p->high = p->low = 0;
    p->status = p->cause = p->epc = p->bad_address = 0;
    p->busy_until = p->cycles;
    p->attention = 0;
}

void processor_interrupts_look(struct processor *p)
{
    bool is_wanted = p->status & STATUS_CURRENT && p->status & p->cause & CAUSE_PENDING;
    p->attention = (p->attention & ~(uint32_t)ATTENTION_INTERRUPT) |
                   (is_wanted ? ATTENTION_INTERRUPT : 0);
}

void processor_lines_set(struct processor *p, uint32_t lines)
{
    uint32_t mask = 0x3fu << LINES_SHIFT;
    p->cause = (p->cause & ~mask) | (lines << LINES_SHIFT & mask);
    processor_interrupts_look(p);
}

void processor_raise(struct processor *p, enum processor_exception exception)
{
    if (exception != PROCESSOR_INTERRUPT)
        p->fault = (struct processor_fault){exception, p->current, p->bad_address};
    if (p->spec.fatal >> exception & 1) {
        p->attention |= ATTENTION_FAULT;
        return;
    }
    p->epc = p->is_slot ? p->current - 4 : p->current;
    p->cause = (p->cause & CAUSE_PENDING) | (uint32_t)exception << CAUSE_CODE_SHIFT |
               (p->is_slot ? CAUSE_BRANCH_DELAY : 0);
    p->status = (p->status & ~STATUS_MODES) | (p->status << 2 & STATUS_MODES);
    p->pc = PROCESSOR_VECTOR;
    p->next_pc = PROCESSOR_VECTOR + 4;
    p->is_branch = false;
    processor_interrupts_look(p);
}

void processor_raise_address(struct processor *p, enum processor_exception exception,
                             uint32_t address)
{
    p->bad_address = address;
    processor_raise(p, exception);
}

/* What the bus has answered. False: no value. */
static bool bus_answer(struct processor *p, int answer, uint32_t address)
{
    if (answer == PROCESSOR_BUS_LATER) {
        p->attention |= ATTENTION_WAIT;
        return false;
    }
    if (answer < 0) {
        processor_raise_address(p, PROCESSOR_DATA_BUS, address);
        return false;
    }
    p->cycles += (uint64_t)answer;
    return true;
}

static bool load_slow(struct processor *p, uint32_t address, uint32_t bytes, uint32_t *value)
{
    uint32_t at = address - PROCESSOR_CODE_BASE;
    if (address % bytes != 0) {
        processor_raise_address(p, PROCESSOR_LOAD_ADDRESS, address);
        return false;
    }
    if (at < PROCESSOR_SRAM_BYTES) {
        uint32_t word = p->code[at / 4] >> at % 4 * 8;
        *value = bytes == 4 ? word : word & ((1u << bytes * 8) - 1);
        p->cycles += p->sram_cycles;
        return true;
    }
    *value = 0;
    int answer = p->spec.bus.read ? p->spec.bus.read(p->spec.bus.context, address, bytes, value)
                                  : PROCESSOR_BUS_ERROR;
    return bus_answer(p, answer, address);
}

bool processor_load(struct processor *p, uint32_t address, uint32_t bytes, uint32_t *value)
{
    uint32_t at = address - PROCESSOR_DATA_BASE;
    if (unlikely(at >= PROCESSOR_SRAM_BYTES || at % bytes != 0))
        return load_slow(p, address, bytes, value);
    uint32_t found = 0;
    memcpy(&found, p->data + at, bytes);
    *value = found;
    p->cycles += p->sram_cycles;
    return true;
}

static bool store_slow(struct processor *p, uint32_t address, uint32_t bytes, uint32_t value)
{
    if (address % bytes != 0) {
        processor_raise_address(p, PROCESSOR_STORE_ADDRESS, address);
        return false;
    }
    bool is_code = address - PROCESSOR_CODE_BASE < PROCESSOR_SRAM_BYTES; /* cannot be written */
    int answer = p->spec.bus.write && !is_code
                     ? p->spec.bus.write(p->spec.bus.context, address, bytes, value)
                     : PROCESSOR_BUS_ERROR;
    return bus_answer(p, answer, address);
}

bool processor_store(struct processor *p, uint32_t address, uint32_t bytes, uint32_t value)
{
    uint32_t at = address - PROCESSOR_DATA_BASE;
    if (unlikely(at >= PROCESSOR_SRAM_BYTES || at % bytes != 0))
        return store_slow(p, address, bytes, value);
    memcpy(p->data + at, &value, bytes);
    p->cycles += p->sram_cycles;
    return true;
}

static void load_end(struct processor *p)
{
    p->registers[p->loading] = p->loaded;
    p->loading = NO_REGISTER;
}

/* Something is to be done before the next instruction. False: the run ends. */
static bool attend(struct processor *p, enum processor_stop *stop)
{
    if (p->attention & (ATTENTION_FAULT | ATTENTION_HALT | ATTENTION_WAIT)) {
        *stop = p->attention & ATTENTION_FAULT  ? PROCESSOR_FAULTED
                : p->attention & ATTENTION_WAIT ? PROCESSOR_WAITS
                                                : PROCESSOR_HALTED;
        p->attention &= ~(uint32_t)ATTENTION_HALT;
        return false;
    }
    load_end(p);
    p->current = p->pc;
    p->is_slot = p->is_branch;
    processor_raise(p, PROCESSOR_INTERRUPT);
    return true;
}

static void fetch_fail(struct processor *p)
{
    load_end(p);
    p->current = p->pc;
    p->is_slot = p->is_branch;
    p->cycles++; /* so that a run ends even if the vector cannot be fetched */
    processor_raise_address(p, p->pc % 4 ? PROCESSOR_LOAD_ADDRESS : PROCESSOR_FETCH_BUS, p->pc);
}

/* The access that was put off. */
static void wait_end(struct processor *p)
{
    p->attention &= ~(uint32_t)ATTENTION_WAIT;
    processor_perform(p, p->waiting.word, p->waiting.s, p->waiting.t);
    p->registers[0] = 0;
}

enum processor_stop processor_run(struct processor *p, uint64_t until)
{
    enum processor_stop stop = PROCESSOR_LIMIT;
    if (p->attention & ATTENTION_WAIT)
        wait_end(p);
    for (;;) {
        if (unlikely(p->attention) && !attend(p, &stop))
            return stop;
        if (unlikely(p->cycles >= until))
            return PROCESSOR_LIMIT;
        uint32_t at = p->pc - PROCESSOR_CODE_BASE;
        if (unlikely(at >= PROCESSOR_SRAM_BYTES || at % 4 != 0)) {
            fetch_fail(p);
            continue;
        }
        uint32_t word = p->code[at / 4];
        uint32_t s = p->registers[word >> 21 & 31], t = p->registers[word >> 16 & 31];
        load_end(p);
        p->current = p->pc;
        p->pc = p->next_pc;
        p->next_pc += 4;
        p->is_slot = p->is_branch;
        p->is_branch = false;
        p->cycles++;
        p->instructions++;
        processor_perform(p, word, s, t);
        p->registers[0] = 0;
        if (unlikely(p->attention & ATTENTION_WAIT)) {
            p->waiting.word = word;
            p->waiting.s = s;
            p->waiting.t = t;
        }
    }
}

void processor_halt(struct processor *p)
{
    p->attention |= ATTENTION_HALT;
}

struct processor_fault processor_fault(const struct processor *p)
{
    return p->fault;
}

uint64_t processor_cycles(const struct processor *p)
{
    return p->cycles;
}

uint64_t processor_instructions(const struct processor *p)
{
    return p->instructions;
}

void processor_cycles_skip(struct processor *p, uint64_t to)
{
    if (to > p->cycles)
        p->cycles = to;
}

uint32_t processor_pc(const struct processor *p)
{
    return p->pc;
}

uint32_t processor_register(const struct processor *p, uint32_t number)
{
    if (number >= PROCESSOR_HI)
        return number == PROCESSOR_HI ? p->high : p->low;
    return number == p->loading ? p->loaded : p->registers[number];
}

void processor_register_set(struct processor *p, uint32_t number, uint32_t value)
{
    if (number == PROCESSOR_HI)
        p->high = value;
    else if (number == PROCESSOR_LO)
        p->low = value;
    else if (number > 0 && number < 32)
        p->registers[number] = value;
}

static bool is_data(uint32_t address, uint32_t size)
{
    uint32_t at = address - PROCESSOR_DATA_BASE;
    return at <= PROCESSOR_SRAM_BYTES && size <= PROCESSOR_SRAM_BYTES - at;
}

bool processor_memory_read(const struct processor *p, uint32_t address, void *bytes, uint32_t size)
{
    if (!is_data(address, size))
        return false;
    memcpy(bytes, p->data + (address - PROCESSOR_DATA_BASE), size);
    return true;
}

bool processor_memory_write(struct processor *p, uint32_t address, const void *bytes, uint32_t size)
{
    if (!is_data(address, size))
        return false;
    memcpy(p->data + (address - PROCESSOR_DATA_BASE), bytes, size);
    return true;
}
