/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the parts of the firmware share. It runs on the simulated chip's processor (MIPS-I, 128 KB of
 * instructions and of data, no library); docs/firmware.md explains the registers.
 */
#pragma once

#include "../src/sim/chip/registers.h"

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

_Static_assert(sizeof(u32) == 4 && sizeof(u64) == 8, "a 32-bit MIPS");

static inline u32 get(u32 address)
{
    return *(volatile u32 *)address;
}

static inline void put(u32 address, u32 value)
{
    *(volatile u32 *)address = value;
}

static inline u64 get_long(u32 address)
{
    u64 low = get(address);
    return low | (u64)get(address + 4) << 32;
}

static inline void put_long(u32 address, u64 value)
{
    put(address, (u32)value);
    put(address + 4, (u32)(value >> 32));
}

static inline u32 module_get(u32 module, u32 which)
{
    return get(CHIP_MODULE_BLOCK(module) + which);
}

static inline void module_put(u32 module, u32 which, u32 value)
{
    put(CHIP_MODULE_BLOCK(module) + which, value);
}

/* refill.c. Each 0: not in the table. */
int table_find(u32 table, u32 slots_register, u32 job, u64 tag, u64 *value);
int page_refill(u32 module);
int segment_refill(u32 job, u32 sid);

/* Eight bytes to a virtual address of a process; to a page that is not pinned: nothing. */
void host_write(u32 job, u64 address, u64 word);

/* A packet that hardware does not know, for firmware that does (examples/fetch_add.c). 0: it does
 * not. */
int special_packet(void) __attribute__((weak));

/* vpush.c */
extern u32 is_delivering; /* a message is between RFend and Replier: RFend has to wait */
int vpush_rfend(void);
int vpush_replier(void);
void vpush_lost(void);

/* A handler for each module that can stop. */
void initiator_serve(void);
void replier_serve(void);
void rfend_serve(void);
void rbend_serve(void);
