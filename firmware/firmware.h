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
int segment_find(u32 job, u32 sid, u64 *start); /* RVATLB first */

/* Eight bytes at a virtual address of a process; 0: its page is not pinned. */
int host_write(u32 job, u64 address, u64 word);
int host_read(u32 job, u64 address, u64 *word);
/* To where host_read() has read, if that is still there; 0: it is not. */
int host_write_if(u64 old, u64 word);

/* A packet that hardware does not know, for firmware that does (examples/fetch_add.c). 0: it does
 * not. */
int special_packet(void) __attribute__((weak));

/* The header of the packet at which RFend has stopped. */
static inline u32 rfend_word(u32 which)
{
    return module_get(MODULE_RFEND, MODULE_HEADER + 4 * which);
}

static inline u64 rfend_long(u32 which)
{
    return rfend_word(which) | (u64)rfend_word(which + 1) << 32;
}

/* Words to where that packet wants its ack, if anywhere. bytes: 8 or 16. */
void rfend_answer(u64 first, u64 second, u32 bytes);

/* lock.c. 0: refused. */
int lock_request(void);
int lock_packet(void);
void locks_forget(u32 job);

/* atomic.c */
void atomic_packet(void);

/* vpush.c */
extern u32 is_delivering; /* a message is between RFend and Replier: RFend has to wait */
int vpush_rfend(void);
int vpush_replier(void);
void vpush_lost(void);

/* A handler for each module that can stop, and for what the host tells. */
void host_serve(void);
void initiator_serve(void);
void replier_serve(void);
void rfend_serve(void);
void rbend_serve(void);
