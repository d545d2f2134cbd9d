/* SPDX-License-Identifier: BSD-3-Clause
 *
 * LOCK and UNLOCK in firmware: a queue of processes, each of which knows only who comes after it.
 *
 *   request   from who wants the lock to the lock's representative, which remembers who asked last
 *   reserve   from there to the one who had asked last before: who comes next
 *   allow     from the holder to the next, when it unlocks (or at once, if it has already): a PUSH
 *
 * At most three packets, and none when both ends are processes of one node. A reservation names the
 * request that it follows, for the one who gets it may have given the lock back and asked again.
 */
#include "sim/chip/parts.h"

#include "base/array.h"

#include <string.h>

/* Somebody who wants the lock: where, its how manieth request, where its grant word is. */
struct waiter {
    uint64_t ticket; /* 0: nobody */
    uint64_t offset;
    uint32_t segment;
    uint16_t node, pid;
};

/* A lock as one process of this node knows it; found by process and number. */
struct lock {
    uint32_t job, id;
    struct waiter last; /* the representative's: who asked last */
    uint16_t manager_node, manager_pid;
    struct waiter own;  /* its latest request */
    uint64_t given;     /* the latest ticket that it has given back */
    struct waiter next; /* who comes after `own` */
};

/* What the packets carry. */
struct lock_words {
    struct waiter waiter;
    uint64_t after; /* reserve: the request that it follows */
};

static struct lock *lock_find(const struct chip *chip, uint32_t job, uint32_t id)
{
    for (uint32_t i = 0; i < chip->firmware.lock_count; i++) {
        struct lock *lock = &chip->firmware.locks[i];
        if (lock->job == job && lock->id == id)
            return lock;
    }
    return NULL;
}

/* The lock, new if need be; NULL when memory is out. */
static struct lock *lock_make(struct chip *chip, uint32_t job, uint32_t id)
{
    struct firmware *firmware = &chip->firmware;
    struct lock *lock = lock_find(chip, job, id);
    if (lock)
        return lock;
    if (!array_grow(&firmware->locks, &firmware->lock_room, (size_t)firmware->lock_count + 1))
        return NULL;
    lock = &firmware->locks[firmware->lock_count++];
    *lock = (struct lock){.job = job, .id = id};
    return lock;
}

void chip_locks_forget(struct chip *chip, uint16_t pgid, uint16_t pid)
{
    struct firmware *firmware = &chip->firmware;
    for (uint32_t i = firmware->lock_count; i-- > 0;) {
        if (firmware->locks[i].job == job_key(pgid, pid))
            firmware->locks[i] = firmware->locks[--firmware->lock_count];
    }
}

static void packet_send(struct chip *chip, const struct chip_header *header, const void *payload)
{
    struct chip_packet *packet = chip_packet_make(chip);
    if (!packet)
        return;
    packet->header = *header;
    packet->header.source_node = (uint16_t)chip->number;
    packet->origin = CHIP_CPU;
    memcpy(packet->payload, payload, header->length);
    chip->count.locks++;
    send_join(chip, packet, chip->constants->swi_tx_cycles);
}

/* The waiter has the lock: its grant word says so. */
static void allow(struct chip *chip, uint16_t pgid, const struct waiter *waiter)
{
    uint64_t start;
    uint32_t job = job_key(pgid, waiter->pid);
    if (waiter->node != chip->number) {
        struct chip_header header = {.type = CHIP_PACKET_PUSH,
                                     .pgid = pgid,
                                     .target_node = waiter->node,
                                     .target_pid = waiter->pid,
                                     .sid = waiter->segment,
                                     .offset = waiter->offset,
                                     .length = sizeof(waiter->ticket)};
        packet_send(chip, &header, &waiter->ticket);
    } else if (table_find(&chip->segments, job, waiter->segment, &start)) {
        flag_write(chip, job, start + waiter->offset, waiter->ticket);
    }
}

/* This process had asked with ticket `after`; the waiter comes next. */
static void reserve(struct chip *chip, uint32_t job, uint32_t id, const struct lock_words *words)
{
    struct lock *lock = lock_find(chip, job, id);
    if (!lock)
        return;
    if (lock->given >= words->after)
        allow(chip, (uint16_t)(job >> 16), &words->waiter);
    else
        lock->next = words->waiter;
}

static void words_send(struct chip *chip, uint8_t type, uint32_t id, const uint16_t target[3],
                       const struct lock_words *words)
{
    struct chip_header header = {.type = type,
                                 .pgid = target[0],
                                 .target_node = target[1],
                                 .target_pid = target[2],
                                 .sid = id,
                                 .length = sizeof(*words)};
    packet_send(chip, &header, words);
}

/* This process is the lock's representative. */
static void manage(struct chip *chip, uint32_t job, uint32_t id, const struct waiter *waiter)
{
    struct lock *lock = lock_make(chip, job, id);
    if (!lock)
        return;
    struct waiter before = lock->last;
    uint16_t pgid = (uint16_t)(job >> 16);
    struct lock_words words = {.waiter = *waiter, .after = before.ticket};
    lock->last = *waiter;
    if (before.ticket == 0)
        allow(chip, pgid, waiter);
    else if (before.node == chip->number)
        reserve(chip, job_key(pgid, before.pid), id, &words);
    else
        words_send(chip, CHIP_PACKET_LOCK_RESERVE, id,
                   (const uint16_t[]){pgid, before.node, before.pid}, &words);
}

static void take(struct chip *chip, struct lock *lock)
{
    uint16_t pgid = (uint16_t)(lock->job >> 16);
    lock->own.ticket++;
    struct lock_words words = {.waiter = lock->own};
    if (lock->manager_node == chip->number)
        manage(chip, job_key(pgid, lock->manager_pid), lock->id, &words.waiter);
    else
        words_send(chip, CHIP_PACKET_LOCK_REQUEST, lock->id,
                   (const uint16_t[]){pgid, lock->manager_node, lock->manager_pid}, &words);
}

static void give(struct chip *chip, struct lock *lock)
{
    struct waiter next = lock->next;
    lock->given = lock->own.ticket;
    lock->next.ticket = 0;
    if (next.ticket > 0)
        allow(chip, (uint16_t)(lock->job >> 16), &next);
}

bool lock_request(struct chip *chip)
{
    const struct request *request = chip->initiator.first;
    const struct window *window = &chip->windows[request->window];
    struct chip_header header;
    chip_header_unpack(&header, request->words);
    uint32_t job = job_key(window->pgid, window->pid), operation = header.length & 0xff;
    struct lock *lock = window->is_valid ? lock_find(chip, job, header.sid) : NULL;
    if (window->is_valid && operation == CHIP_LOCK_OPEN)
        lock = lock_make(chip, job, header.sid);
    if (!lock || (operation == CHIP_LOCK_GIVE && lock->given == lock->own.ticket))
        return false;
    if (operation == CHIP_LOCK_OPEN) {
        lock->manager_node = header.target_node;
        lock->manager_pid = header.target_pid;
        lock->own.node = (uint16_t)chip->number;
        lock->own.pid = window->pid;
        lock->own.segment = header.length >> 8;
        lock->own.offset = header.offset;
    } else if (operation == CHIP_LOCK_TAKE) {
        take(chip, lock);
    } else if (operation == CHIP_LOCK_GIVE) {
        give(chip, lock);
    }
    return operation >= CHIP_LOCK_OPEN && operation <= CHIP_LOCK_GIVE;
}

bool lock_packet(struct chip *chip)
{
    const struct chip_packet *packet = chip->rfend.current->packet;
    const struct chip_header *header = &packet->header;
    uint32_t job = job_key(header->pgid, header->target_pid);
    struct lock_words words;
    if (header->length != sizeof(words))
        return false;
    memcpy(&words, packet->payload, sizeof(words));
    if (header->type == CHIP_PACKET_LOCK_REQUEST)
        manage(chip, job, header->sid, &words.waiter);
    else if (header->type == CHIP_PACKET_LOCK_RESERVE)
        reserve(chip, job, header->sid, &words);
    else
        return false;
    return true;
}
