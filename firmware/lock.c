/* SPDX-License-Identifier: BSD-3-Clause
 *
 * LOCK and UNLOCK (5.5.2): a queue of processes, each of which knows only who comes after it.
 *
 *   request   from who wants the lock to the lock's representative, which remembers who asked last
 *   reserve   from there to the one who had asked last before: who comes next
 *   allow     from the holder to the next, when it unlocks (or at once, if it has already): a PUSH
 *
 * At most three packets, and none when both ends are processes of one node. A reservation names the
 * request that it follows, for the one who gets it may have given the lock back and asked again.
 *
 * What is known of a lock stands in SDRAM, as the thesis has it; which locks there are, in the CPU's
 * own memory.
 */
#include "firmware.h"

/* Somebody who wants the lock: its how manieth request, where its grant word is, who it is. */
struct waiter {
    u32 ticket; /* 0: nobody */
    u32 segment;
    u32 offset, offset_high;
    u32 process; /* node, and PID in the upper half */
};
#define WAITER_WORDS (sizeof(struct waiter) / 4)
/* Packets carry a waiter, and reservations the ticket that it follows. */
#define LOCK_PACKET_BYTES (sizeof(struct waiter) + 4)

/* A lock as one process of this node knows it, in SDRAM. */
struct lock {
    struct waiter last; /* the representative's: who asked last */
    struct waiter own;  /* its latest request */
    struct waiter next; /* who comes after `own` */
    u32 given;          /* the latest ticket that it has given back */
    u32 manager;        /* process of the representative */
};

#define LOCKS     1024 /* a power of two */
#define LOCKS_MAX (LOCKS * 3 / 4)
_Static_assert(LOCKS * sizeof(struct lock) <= SDRAM_WORK_BYTES, "room in SDRAM");

/* Found by process and number, from a hash on until a slot that was never used. */
enum { SLOT_FREE, SLOT_USED, SLOT_GONE };
static struct {
    u32 job, id, state;
} slots[LOCKS];
static u32 slots_taken; /* that are not free */

static volatile struct lock *lock_of(u32 slot)
{
    return (volatile struct lock *)(SDRAM_WORK + slot * sizeof(struct lock));
}

static u32 slot_first(u32 job, u32 id)
{
    return (job * 0x9e3779b1u ^ id * 0x85ebca77u) >> 8;
}

static volatile struct lock *lock_find(u32 job, u32 id)
{
    for (u32 i = slot_first(job, id);; i++) {
        u32 slot = i % LOCKS;
        if (slots[slot].state == SLOT_FREE)
            return 0;
        if (slots[slot].state == SLOT_USED && slots[slot].job == job && slots[slot].id == id)
            return lock_of(slot);
    }
}

/* The lock, new if need be; 0: there are too many. */
static volatile struct lock *lock_make(u32 job, u32 id)
{
    volatile struct lock *lock = lock_find(job, id);
    u32 slot = slot_first(job, id) % LOCKS;
    if (lock)
        return lock;
    while (slots[slot].state == SLOT_USED)
        slot = (slot + 1) % LOCKS;
    if (slots[slot].state == SLOT_FREE && slots_taken == LOCKS_MAX)
        return 0;
    slots_taken += slots[slot].state == SLOT_FREE;
    slots[slot].job = job;
    slots[slot].id = id;
    slots[slot].state = SLOT_USED;
    put(HOST_LISTEN, 1); /* for the end of its process */
    lock = lock_of(slot);
    lock->last.ticket = lock->own.ticket = lock->next.ticket = lock->given = 0;
    return lock;
}

void locks_forget(u32 job)
{
    for (u32 i = LOCKS; i-- > 0 && slots_taken > 0;) {
        if (slots[i].state == SLOT_USED && slots[i].job == job)
            slots[i].state = SLOT_GONE;
        /* no search goes past a free one: what is before it need not be kept */
        if (slots[i].state == SLOT_GONE && slots[(i + 1) % LOCKS].state == SLOT_FREE) {
            slots[i].state = SLOT_FREE;
            slots_taken--;
        }
    }
}

static u32 job_of(u32 job, u32 process)
{
    return (job & 0xffff0000u) | process >> 16;
}

static int is_here(u32 process)
{
    return (process & 0xffff) == get(CHIP_NODE);
}

/* What packets of a lock have in common; their words are in SEND_DATA. */
static void lock_send(u32 type, u32 job, u32 process, u32 bytes)
{
    put(SEND_HEADER + 4 * HEADER_TYPE, type | (job & 0xffff0000u));
    put(SEND_HEADER + 4 * HEADER_LENGTH, bytes);
    put(SEND_HEADER + 4 * HEADER_SOURCE, 0);
    put(SEND_HEADER + 4 * HEADER_TARGET, process);
    put_long(SEND_HEADER + 4 * HEADER_LOCAL, 0);
    put_long(SEND_HEADER + 4 * HEADER_FLAG, 0);
    put(SEND_GO, 1);
}

/* The waiter has the lock: its grant word says so. */
static void allow(u32 job, const struct waiter *waiter)
{
    u64 offset = waiter->offset | (u64)waiter->offset_high << 32, start;
    if (!is_here(waiter->process)) {
        put_long(SEND_HEADER + 4 * HEADER_SID, waiter->segment);
        put_long(SEND_HEADER + 4 * HEADER_OFFSET, offset);
        put_long(SEND_DATA, waiter->ticket);
        lock_send(TYPE_PUSH, job, waiter->process, 8);
    } else if (segment_find(job_of(job, waiter->process), waiter->segment, &start)) {
        host_write(job_of(job, waiter->process), start + offset, waiter->ticket);
    }
}

/* This process had asked with ticket `after`; the waiter comes next. */
static void reserve(u32 job, u32 id, const struct waiter *waiter, u32 after)
{
    volatile struct lock *lock = lock_find(job, id);
    if (!lock)
        return;
    if ((int)(lock->given - after) >= 0)
        allow(job, waiter);
    else
        lock->next = *waiter;
}

static void words_send(u32 type, u32 job, u32 id, u32 process, const struct waiter *waiter,
                       u32 after)
{
    const u32 *words = &waiter->ticket;
    for (u32 i = 0; i < WAITER_WORDS; i++)
        put(SEND_DATA + 4 * i, words[i]);
    put(SEND_DATA + 4 * WAITER_WORDS, after);
    put_long(SEND_HEADER + 4 * HEADER_SID, id);
    put_long(SEND_HEADER + 4 * HEADER_OFFSET, 0);
    lock_send(type, job, process, LOCK_PACKET_BYTES);
}

/* This process is the lock's representative. 0: there are too many locks. */
static int manage(u32 job, u32 id, const struct waiter *waiter)
{
    volatile struct lock *lock = lock_make(job, id);
    if (!lock)
        return 0;
    u32 before = lock->last.ticket, process = lock->last.process;
    lock->last = *waiter;
    if (before == 0)
        allow(job, waiter);
    else if (is_here(process))
        reserve(job_of(job, process), id, waiter, before);
    else
        words_send(TYPE_LOCK_RESERVE, job, id, process, waiter, before);
    return 1;
}

static int take(u32 job, u32 id, volatile struct lock *lock)
{
    u32 manager = lock->manager;
    struct waiter own = lock->own;
    own.ticket += own.ticket == ~0u ? 2 : 1; /* 0 is nobody */
    lock->own.ticket = own.ticket;
    if (is_here(manager))
        return manage(job_of(job, manager), id, &own);
    words_send(TYPE_LOCK_REQUEST, job, id, manager, &own, 0);
    return 1;
}

static int give(u32 job, volatile struct lock *lock)
{
    u32 ticket = lock->own.ticket;
    if (lock->given == ticket)
        return 0;
    struct waiter next = lock->next;
    lock->given = ticket;
    lock->next.ticket = 0;
    if (next.ticket)
        allow(job, &next);
    return 1;
}

static u32 request_word(u32 which)
{
    return module_get(MODULE_INITIATOR, MODULE_HEADER + 4 * which);
}

static int open(u32 job, u32 id)
{
    volatile struct lock *lock = lock_make(job, id);
    if (!lock)
        return 0;
    lock->manager = request_word(HEADER_TARGET);
    lock->own.process = get(CHIP_NODE) | job << 16;
    lock->own.segment = request_word(HEADER_LENGTH) >> 8;
    lock->own.offset = request_word(HEADER_OFFSET);
    lock->own.offset_high = request_word(HEADER_OFFSET + 1);
    return 1;
}

int lock_request(void)
{
    u32 job = module_get(MODULE_INITIATOR, MODULE_JOB), id = request_word(HEADER_SID);
    u32 operation = request_word(HEADER_LENGTH) & 0xff;
    if (operation == LOCK_OPEN)
        return open(job, id);
    volatile struct lock *lock = lock_find(job, id);
    if (!lock)
        return 0;
    return operation == LOCK_TAKE ? take(job, id, lock) : operation == LOCK_GIVE && give(job, lock);
}

int lock_packet(void)
{
    u32 job = module_get(MODULE_RFEND, MODULE_JOB), id = rfend_word(HEADER_SID), words[WAITER_WORDS + 1];
    struct waiter waiter;
    if (rfend_word(HEADER_LENGTH) != LOCK_PACKET_BYTES)
        return 0;
    for (u32 i = 0; i <= WAITER_WORDS; i++)
        words[i] = module_get(MODULE_RFEND, MODULE_PAYLOAD + 4 * i);
    waiter = (struct waiter){words[0], words[1], words[2], words[3], words[4]};
    if ((rfend_word(HEADER_TYPE) & 0xff) == TYPE_LOCK_REQUEST)
        return manage(job, id, &waiter);
    reserve(job, id, &waiter, words[WAITER_WORDS]);
    return 1;
}
