/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What each instruction does: a function each, in two tables. s and t are the values of its two
 * source registers before the load in front of it has ended; writing to registers[] comes after.
 *
 * What the R3000's description leaves open is decided thus: dividing by 0 gives -1 or 1 in LO (by
 * the sign, as its divider does) and the dividend in HI; a branch in a branch's delay slot jumps
 * where the second one says, after one instruction at the first one's target.
 */
#include "sim/processor/inside.h"

#define OPERATION(name) static void name(struct processor *p, uint32_t word, uint32_t s, uint32_t t)

#define RT(word)       ((word) >> 16 & 31)
#define RD(word)       ((word) >> 11 & 31)
#define SHIFT(word)    ((word) >> 6 & 31)
#define UNSIGNED(word) ((word)&0xffff)
#define SIGNED(word)   ((uint32_t)(int32_t)(int16_t)((word)&0xffff))
#define NUMBER(value)  ((int32_t)(value))

/* rd = …, rt = … */
#define TO_RD(name, expression)                                                                    \
    OPERATION(name)                                                                                \
    {                                                                                              \
        p->registers[RD(word)] = (expression);                                                     \
    }
#define TO_RT(name, expression)                                                                    \
    OPERATION(name)                                                                                \
    {                                                                                              \
        p->registers[RT(word)] = (expression);                                                     \
    }

OPERATION(reserved)
{
    processor_raise(p, PROCESSOR_RESERVED);
}

TO_RD(sll, t << SHIFT(word))
TO_RD(srl, t >> SHIFT(word))
TO_RD(sra, (uint32_t)(NUMBER(t) >> SHIFT(word)))
TO_RD(sllv, t << (s & 31))
TO_RD(srlv, t >> (s & 31))
TO_RD(srav, (uint32_t)(NUMBER(t) >> (s & 31)))
TO_RD(addu, s + t)
TO_RD(subu, s - t)
TO_RD(and, s &t)
TO_RD(or, s | t)
TO_RD(xor, s ^ t)
TO_RD(nor, ~(s | t))
TO_RD(slt, NUMBER(s) < NUMBER(t))
TO_RD(sltu, s < t)
TO_RT(addiu, s + SIGNED(word))
TO_RT(slti, NUMBER(s) < NUMBER(SIGNED(word)))
TO_RT(sltiu, s < SIGNED(word))
TO_RT(andi, s &UNSIGNED(word))
TO_RT(ori, s | UNSIGNED(word))
TO_RT(xori, s ^ UNSIGNED(word))
TO_RT(lui, UNSIGNED(word) << 16)

/* What overflows changes nothing but raises an exception. */
static void checked(struct processor *p, uint32_t target, int64_t result)
{
    if (result != (int32_t)result)
        processor_raise(p, PROCESSOR_OVERFLOW);
    else
        p->registers[target] = (uint32_t)result;
}

OPERATION(add)
{
    checked(p, RD(word), (int64_t)NUMBER(s) + NUMBER(t));
}

OPERATION(sub)
{
    checked(p, RD(word), (int64_t)NUMBER(s) - NUMBER(t));
}

OPERATION(addi)
{
    checked(p, RT(word), (int64_t)NUMBER(s) + NUMBER(SIGNED(word)));
}

static void product(struct processor *p, uint64_t result)
{
    p->high = (uint32_t)(result >> 32);
    p->low = (uint32_t)result;
    p->busy_until = p->cycles + p->multiply_cycles;
}

OPERATION(mult)
{
    product(p, (uint64_t)((int64_t)NUMBER(s) * NUMBER(t)));
}

OPERATION(multu)
{
    product(p, (uint64_t)s * t);
}

static void quotient(struct processor *p, uint32_t low, uint32_t high)
{
    p->low = low;
    p->high = high;
    p->busy_until = p->cycles + p->divide_cycles;
}

OPERATION(div)
{
    if (t == 0) /* none of the programs that compilers make asks for it */
        quotient(p, NUMBER(s) < 0 ? 1 : UINT32_MAX, s);
    else if (s == 0x80000000u && t == UINT32_MAX) /* the one that does not fit */
        quotient(p, s, 0);
    else
        quotient(p, (uint32_t)(NUMBER(s) / NUMBER(t)), (uint32_t)(NUMBER(s) % NUMBER(t)));
}

OPERATION(divu)
{
    if (t == 0)
        quotient(p, UINT32_MAX, s);
    else
        quotient(p, s / t, s % t);
}

static void result_wait(struct processor *p)
{
    if (p->cycles < p->busy_until)
        p->cycles = p->busy_until;
}

OPERATION(mfhi)
{
    result_wait(p);
    p->registers[RD(word)] = p->high;
}

OPERATION(mflo)
{
    result_wait(p);
    p->registers[RD(word)] = p->low;
}

OPERATION(mthi)
{
    p->high = s;
}

OPERATION(mtlo)
{
    p->low = s;
}

/* The instruction after a branch is in its delay slot also when it does not jump. */
static void branch(struct processor *p, uint32_t word, bool is_taken)
{
    p->is_branch = true;
    if (is_taken)
        p->next_pc = p->pc + (SIGNED(word) << 2);
}

OPERATION(beq)
{
    branch(p, word, s == t);
}

OPERATION(bne)
{
    branch(p, word, s != t);
}

OPERATION(blez)
{
    branch(p, word, NUMBER(s) <= 0);
}

OPERATION(bgtz)
{
    branch(p, word, NUMBER(s) > 0);
}

/* BLTZ, BGEZ and those that keep the way back; the others of this group came later. */
OPERATION(regimm)
{
    uint32_t kind = RT(word);
    if (kind & 0x0e) {
        processor_raise(p, PROCESSOR_RESERVED);
        return;
    }
    if (kind & 0x10)
        p->registers[31] = p->current + 8;
    branch(p, word, kind & 1 ? NUMBER(s) >= 0 : NUMBER(s) < 0);
}

static void jump(struct processor *p, uint32_t target)
{
    p->is_branch = true;
    p->next_pc = target;
}

OPERATION(j)
{
    jump(p, (p->pc & 0xf0000000u) | (word & 0x03ffffffu) << 2);
}

OPERATION(jal)
{
    p->registers[31] = p->current + 8;
    jump(p, (p->pc & 0xf0000000u) | (word & 0x03ffffffu) << 2);
}

OPERATION(jr)
{
    jump(p, s);
}

OPERATION(jalr)
{
    p->registers[RD(word)] = p->current + 8;
    jump(p, s);
}

OPERATION(syscall_)
{
    processor_raise(p, PROCESSOR_SYSCALL);
}

OPERATION(break_)
{
    processor_raise(p, PROCESSOR_BREAK);
}

/* Seen by the second instruction after this one. */
static void load_begin(struct processor *p, uint32_t target, uint32_t value)
{
    p->loading = target ? target : NO_REGISTER;
    p->loaded = value;
}

#define LOAD(name, bytes, type)                                                                    \
    OPERATION(name)                                                                                \
    {                                                                                              \
        uint32_t value;                                                                            \
        if (processor_load(p, s + SIGNED(word), bytes, &value))                                    \
            load_begin(p, RT(word), (uint32_t)(int32_t)(type)value);                               \
    }
#define STORE(name, bytes)                                                                         \
    OPERATION(name)                                                                                \
    {                                                                                              \
        processor_store(p, s + SIGNED(word), bytes, t);                                            \
    }

LOAD(lb, 1, int8_t)
LOAD(lbu, 1, uint8_t)
LOAD(lh, 2, int16_t)
LOAD(lhu, 2, uint16_t)
LOAD(lw, 4, int32_t)
STORE(sb, 1)
STORE(sh, 2)
STORE(sw, 4)

/* Half of an unaligned load. It is the one instruction that sees what the load before it fetched:
 * registers[] has that already. */
OPERATION(lwl)
{
    uint32_t address = s + SIGNED(word), value, shift = (3 - address % 4) * 8;
    uint32_t kept = p->registers[RT(word)] & ((1u << shift) - 1);
    if (processor_load(p, address & ~3u, 4, &value))
        load_begin(p, RT(word), kept | value << shift);
}

OPERATION(lwr)
{
    uint32_t address = s + SIGNED(word), value, shift = address % 4 * 8;
    uint32_t kept = p->registers[RT(word)] & ~(UINT32_MAX >> shift);
    if (processor_load(p, address & ~3u, 4, &value))
        load_begin(p, RT(word), kept | value >> shift);
}

/* Byte by byte, as the bytes on the other side of the word are not touched. The last is the one
 * at the address: a bus that puts one off puts off the first, before any is written. */
static void store_bytes(struct processor *p, uint32_t address, uint32_t count, uint32_t value)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!processor_store(p, address + i, 1, value >> i * 8 & 0xff))
            return;
    }
}

OPERATION(swl)
{
    uint32_t address = s + SIGNED(word), count = address % 4 + 1;
    store_bytes(p, address & ~3u, count, t >> (4 - count) * 8);
}

OPERATION(swr)
{
    uint32_t address = s + SIGNED(word);
    store_bytes(p, address, 4 - address % 4, t);
}

static uint32_t system_read(const struct processor *p, uint32_t number)
{
    switch (number) {
    case CP0_BAD_ADDRESS:
        return p->bad_address;
    case CP0_STATUS:
        return p->status;
    case CP0_CAUSE:
        return p->cause;
    case CP0_EPC:
        return p->epc;
    case CP0_IDENTITY:
        return 0x230; /* R3000A */
    default:
        return 0;
    }
}

/* MFC0, MTC0, RFE: all that there is without a TLB. There is one mode, the kernel's. */
OPERATION(cop0)
{
    uint32_t kind = word >> 21 & 31, number = RD(word);
    if (kind == 0) {
        load_begin(p, RT(word), system_read(p, number));
    } else if (kind == 4) {
        if (number == CP0_STATUS)
            p->status = t;
        else if (number == CP0_CAUSE) /* only the two interrupts that software makes */
            p->cause = (p->cause & ~0x300u) | (t & 0x300u);
        processor_interrupts_look(p);
    } else if (kind & 0x10 && (word & 63) == 0x10) {
        p->status = (p->status & ~0xfu) | (p->status >> 2 & 0xfu);
        processor_interrupts_look(p);
    } else {
        processor_raise(p, PROCESSOR_RESERVED);
    }
}

OPERATION(coprocessor)
{
    processor_raise(p, PROCESSOR_COPROCESSOR);
}

/* By the first six bits of the word, and by its last six where those are 0: rows of eight. */
#define COPROCESSORS coprocessor, coprocessor, coprocessor
#define NONE         reserved
/* clang-format off */
processor_operation *const processor_operations[64] = {
    NONE, regimm, j,    jal,   beq,  bne, blez, bgtz,
    addi, addiu,  slti, sltiu, andi, ori, xori, lui,
    cop0, COPROCESSORS,        NONE, NONE, NONE, NONE,
    NONE, NONE,   NONE, NONE,  NONE, NONE, NONE, NONE,
    lb,   lh,     lwl,  lw,    lbu,  lhu, lwr,  NONE,
    sb,   sh,     swl,  sw,    NONE, NONE, swr, NONE,
    NONE, COPROCESSORS,        NONE, NONE, NONE, NONE,
    NONE, COPROCESSORS,        NONE, NONE, NONE, NONE,
};

processor_operation *const processor_specials[64] = {
    sll,  NONE,  srl,  sra,  sllv,     NONE,   srlv, srav,
    jr,   jalr,  NONE, NONE, syscall_, break_, NONE, NONE,
    mfhi, mthi,  mflo, mtlo, NONE,     NONE,   NONE, NONE,
    mult, multu, div,  divu, NONE,     NONE,   NONE, NONE,
    add,  addu,  sub,  subu, and,      or,     xor,  nor,
    NONE, NONE,  slt,  sltu, NONE,     NONE,   NONE, NONE,
    NONE, NONE,  NONE, NONE, NONE,     NONE,   NONE, NONE,
    NONE, NONE,  NONE, NONE, NONE,     NONE,   NONE, NONE,
};
/* clang-format on */
