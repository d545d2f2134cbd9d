/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Instructions of MIPS-I as words, and a small ELF file around them.
 */
#pragma once

#include "sim/processor/processor.h"

/* Registers, as programs call them. */
enum { ZERO, AT, V0, V1, A0, A1, A2, A3, T0, T1, T2, T3, T4, T5, T6, T7, SP = 29, RA = 31 };

static inline uint32_t mips_r(uint32_t function, uint32_t rd, uint32_t rs, uint32_t rt)
{
    return rs << 21 | rt << 16 | rd << 11 | function;
}

static inline uint32_t mips_i(uint32_t code, uint32_t rt, uint32_t rs, int32_t number)
{
    return code << 26 | rs << 21 | rt << 16 | ((uint32_t)number & 0xffff);
}

#define NOP                   0u
#define SLL(rd, rt, by)       (mips_r(0, rd, 0, rt) | (uint32_t)(by) << 6)
#define SRL(rd, rt, by)       (mips_r(2, rd, 0, rt) | (uint32_t)(by) << 6)
#define SRA(rd, rt, by)       (mips_r(3, rd, 0, rt) | (uint32_t)(by) << 6)
#define SLLV(rd, rt, rs)      mips_r(4, rd, rs, rt)
#define SRAV(rd, rt, rs)      mips_r(7, rd, rs, rt)
#define JR(rs)                mips_r(8, 0, rs, 0)
#define JALR(rd, rs)          mips_r(9, rd, rs, 0)
#define SYSCALL               12u
#define BREAK                 13u
#define MFHI(rd)              mips_r(16, rd, 0, 0)
#define MTHI(rs)              mips_r(17, 0, rs, 0)
#define MFLO(rd)              mips_r(18, rd, 0, 0)
#define MULT(rs, rt)          mips_r(24, 0, rs, rt)
#define MULTU(rs, rt)         mips_r(25, 0, rs, rt)
#define DIV(rs, rt)           mips_r(26, 0, rs, rt)
#define DIVU(rs, rt)          mips_r(27, 0, rs, rt)
#define ADD(rd, rs, rt)       mips_r(32, rd, rs, rt)
#define ADDU(rd, rs, rt)      mips_r(33, rd, rs, rt)
#define SUB(rd, rs, rt)       mips_r(34, rd, rs, rt)
#define SUBU(rd, rs, rt)      mips_r(35, rd, rs, rt)
#define NOR(rd, rs, rt)       mips_r(39, rd, rs, rt)
#define SLT(rd, rs, rt)       mips_r(42, rd, rs, rt)
#define SLTU(rd, rs, rt)      mips_r(43, rd, rs, rt)
#define BLTZAL(rs, by)        mips_i(1, 16, rs, by)
#define BGEZAL(rs, by)        mips_i(1, 17, rs, by)
#define J(address)            (2u << 26 | (address) >> 2)
#define JAL(address)          (3u << 26 | (address) >> 2)
#define BEQ(rs, rt, by)       mips_i(4, rt, rs, by)
#define BNE(rs, rt, by)       mips_i(5, rt, rs, by)
#define ADDI(rt, rs, number)  mips_i(8, rt, rs, number)
#define ADDIU(rt, rs, number) mips_i(9, rt, rs, number)
#define SLTI(rt, rs, number)  mips_i(10, rt, rs, number)
#define SLTIU(rt, rs, number) mips_i(11, rt, rs, number)
#define ANDI(rt, rs, number)  mips_i(12, rt, rs, number)
#define ORI(rt, rs, number)   mips_i(13, rt, rs, number)
#define LUI(rt, number)       mips_i(15, rt, 0, number)
#define MFC0(rt, rd)          (16u << 26 | (uint32_t)(rt) << 16 | (uint32_t)(rd) << 11)
#define MTC0(rt, rd)          (MFC0(rt, rd) | 4u << 21)
#define RFE                   (16u << 26 | 1u << 25 | 16u)
#define LB(rt, offset, rs)    mips_i(32, rt, rs, offset)
#define LH(rt, offset, rs)    mips_i(33, rt, rs, offset)
#define LWL(rt, offset, rs)   mips_i(34, rt, rs, offset)
#define LW(rt, offset, rs)    mips_i(35, rt, rs, offset)
#define LBU(rt, offset, rs)   mips_i(36, rt, rs, offset)
#define LHU(rt, offset, rs)   mips_i(37, rt, rs, offset)
#define LWR(rt, offset, rs)   mips_i(38, rt, rs, offset)
#define SB(rt, offset, rs)    mips_i(40, rt, rs, offset)
#define SH(rt, offset, rs)    mips_i(41, rt, rs, offset)
#define SWL(rt, offset, rs)   mips_i(42, rt, rs, offset)
#define SW(rt, offset, rs)    mips_i(43, rt, rs, offset)
#define SWR(rt, offset, rs)   mips_i(46, rt, rs, offset)
#define HIGH(address)         (int32_t)((address) >> 16)
#define LOW(address)          (int32_t)((address)&0xffff)

/* The program at CODE_BASE + 4 KB, where it begins, with a symbol `start`, and 4 KB of zeros as
 * data. */
#define ELF_CODE  (PROCESSOR_CODE_BASE + 0x1000)
#define ELF_BYTES (0x4000 + PROCESSOR_SRAM_BYTES)
size_t elf_make(uint8_t *file, const uint32_t *words, size_t count);
