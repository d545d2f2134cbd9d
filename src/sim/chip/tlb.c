/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PATLB and RVATLB (two ways each, the older one is replaced; PATLB of 64-bit hosts has one), and
 * the tables in the NIC's SDRAM that they are filled from.
 */
#include "sim/chip/parts.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>

/* Never 0: that is an empty entry. */
static uint64_t entry_key(uint32_t job)
{
    return (uint64_t)job + 1;
}

static struct tlb_entry *set_of(const struct tlb *tlb, uint64_t tag)
{
    return &tlb->ways[tag % tlb->sets * 2];
}

bool tlb_find(struct tlb *tlb, uint32_t job, uint64_t tag, uint64_t *value)
{
    struct tlb_entry *recent = &tlb->recent[tag % TLB_RECENT];
    if (recent->key == entry_key(job) && recent->tag == tag) {
        *value = recent->value;
        return true;
    }
    struct tlb_entry *set = set_of(tlb, tag);
    for (int way = 0; way < 2; way++) {
        if (set[way].key != entry_key(job) || set[way].tag != tag)
            continue;
        *value = set[way].value;
        *recent = set[way];
        if (way == 1) {
            struct tlb_entry used = set[1];
            set[1] = set[0];
            set[0] = used;
        }
        return true;
    }
    return false;
}

void tlb_put(struct tlb *tlb, uint32_t job, uint64_t tag, uint64_t value)
{
    struct tlb_entry *set = set_of(tlb, tag);
    tlb_drop(tlb, job, tag);
    if (set[0].key != 0 && !tlb->is_direct) /* else that place is free, and the other way stays */
        set[1] = set[0];
    set[0] = (struct tlb_entry){entry_key(job), tag, value};
    tlb->recent[tag % TLB_RECENT] = set[0];
}

void tlb_drop(struct tlb *tlb, uint32_t job, uint64_t tag)
{
    struct tlb_entry *set = set_of(tlb, tag);
    tlb->recent[tag % TLB_RECENT] = (struct tlb_entry){0};
    for (int way = 0; way < 2; way++) {
        if (set[way].key == entry_key(job) && set[way].tag == tag)
            set[way] = (struct tlb_entry){0};
    }
}

#define TABLE_GONE UINT64_MAX /* key of an entry that was taken out: searches go on past it */

static uint32_t slot_first(const struct table *table, uint64_t key, uint64_t tag)
{
    uint64_t mixed = (key * 0x9e3779b97f4a7c15ULL) ^ (tag * 0xff51afd7ed558ccdULL);
    return (uint32_t)((mixed ^ mixed >> 32) & (table->capacity - 1));
}

/* The entry, or the place for it; NULL in an empty table. */
static struct tlb_entry *slot_find(const struct table *table, uint64_t key, uint64_t tag)
{
    struct tlb_entry *gone = NULL;
    if (table->capacity == 0)
        return NULL;
    for (uint32_t i = slot_first(table, key, tag);; i = (i + 1) & (table->capacity - 1)) {
        struct tlb_entry *slot = &table->slots[i];
        if (slot->key == 0)
            return gone ? gone : slot;
        if (slot->key == TABLE_GONE)
            gone = gone ? gone : slot;
        else if (slot->key == key && slot->tag == tag)
            return slot;
    }
}

bool table_find(const struct table *table, uint32_t job, uint64_t tag, uint64_t *value)
{
    const struct tlb_entry *slot = slot_find(table, entry_key(job), tag);
    if (!slot || slot->key != entry_key(job))
        return false;
    *value = slot->value;
    return true;
}

static int table_grow(struct table *table)
{
    struct table larger = {.capacity = table->capacity ? table->capacity * 2 : 64};
    larger.slots = calloc(larger.capacity, sizeof(*larger.slots));
    if (!larger.slots)
        return error_fail(-ENOMEM, "no memory for %u entries of a table of the NIC",
                          larger.capacity);
    for (uint32_t i = 0; i < table->capacity; i++) {
        const struct tlb_entry *slot = &table->slots[i];
        if (slot->key == 0 || slot->key == TABLE_GONE)
            continue;
        *slot_find(&larger, slot->key, slot->tag) = *slot;
        larger.count++;
    }
    free(table->slots);
    *table = larger;
    return 0;
}

int table_put(struct table *table, uint32_t job, uint64_t tag, uint64_t value)
{
    /* count has the removed ones in it: a search must always find an empty slot */
    if (table->count + 1 > table->capacity / 2) {
        int result = table_grow(table);
        if (result < 0)
            return result;
    }
    struct tlb_entry *slot = slot_find(table, entry_key(job), tag);
    table->count += slot->key == 0;
    *slot = (struct tlb_entry){entry_key(job), tag, value};
    return 0;
}

void table_drop(struct table *table, uint32_t job, uint64_t tag)
{
    struct tlb_entry *slot = slot_find(table, entry_key(job), tag);
    if (slot && slot->key == entry_key(job))
        slot->key = TABLE_GONE;
}
