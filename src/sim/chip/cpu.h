/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The processor in the chip, its registers, and what stands between firmware and the model. Private
 * to sim/chip.
 */
#pragma once

#include "sim/chip/parts.h"

/* cpu.c */
void cpu_wake(struct chip *chip); /* there is something to see */
void cpu_step(struct chip *chip); /* virtual time is where the processor is */
void cpu_close(struct chip *chip);
/* The world ends: sim_run() returns, and whoever called it finds the message. */
void cpu_fail(struct chip *chip, const char *what);

/* registers.c: cycles, or what processor_bus says. */
int register_read(struct chip *chip, uint32_t address, uint32_t *value);
int register_write(struct chip *chip, uint32_t address, uint32_t value);
/* take_over.c: in the block of a module, without the cycles. */
int module_register_read(const struct chip *chip, enum chip_module module, uint32_t at,
                         uint32_t *value);
int module_register_write(struct chip *chip, enum chip_module module, uint32_t at, uint32_t value);
/* Nobody but the firmware changes it now: it may be read ahead of time. */
bool register_is_still(const struct chip *chip, uint32_t address);
/* Nobody but the firmware ever minds it: it may be written ahead of time, too. */
bool register_is_own(uint32_t address);
/* cpu_dma.c: registers of the DMAC, without the cycles. */
int cpu_dma_read(const struct chip *chip, uint32_t address, uint32_t *value);
int cpu_dma_write(struct chip *chip, uint32_t address, uint32_t value);
void tlb_port_drop(struct tlb_port *port, uint32_t job, uint64_t tag);

/* Values of 64 bits, half by half. */
static inline void half_set(uint64_t *value, bool is_high, uint32_t half)
{
    *value = is_high ? (*value & UINT32_MAX) | (uint64_t)half << 32
                     : (*value & ~(uint64_t)UINT32_MAX) | half;
}

static inline uint32_t half_of(uint64_t value, bool is_high)
{
    return (uint32_t)(is_high ? value >> 32 : value);
}

/* firmware.c */
void firmware_busy(struct chip *chip); /* its main loop has seen something to do */
void firmware_idle(struct chip *chip); /* it is back there */
