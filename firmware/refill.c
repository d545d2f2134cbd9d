/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PATLB and RVATLB from the tables in SDRAM.
 */
#include "firmware.h"

/* The value of a key; 0: there is none. The driver may make a table larger meanwhile: its slots are
 * elsewhere then, so what was read counts only if the table is the one that it was. */
int table_find(u32 table, u32 slots_register, u32 job, u64 tag, u64 *value)
{
    u64 key = (u64)job + 1;
    u64 mixed = key * TABLE_KEY_FACTOR ^ tag * TABLE_TAG_FACTOR;
    u32 hash = (u32)mixed ^ (u32)(mixed >> 32);
    u32 slots, found;
    do {
        slots = get(slots_register);
        found = 0;
        for (u32 i = 0; i < slots && !found; i++) {
            u32 at = table + ((hash + i) & (slots - 1)) * SDRAM_SLOT_BYTES;
            u64 used = get_long(at);
            if (used == 0)
                break;
            found = used == key && get_long(at + 8) == tag;
            if (found)
                *value = get_long(at + 16);
        }
    } while (get(slots_register) != slots);
    return found;
}

/* The page that a module looks for. One that is unpinned between looking and entering is not
 * entered, and may be back in another slot: then the table is asked again. */
int page_refill(u32 module)
{
    u32 job = module_get(module, MODULE_JOB);
    u64 page = (u64)module_get(module, MODULE_ADDRESS) >> 12 |
               (u64)module_get(module, MODULE_ADDRESS_HIGH) << 20;
    u64 frame;
    int is_found;
    do {
        put(PATLB_JOB, job);
        put_long(PATLB_PAGE, page);
        is_found = table_find(SDRAM_PAGES, PAGES_SLOTS, job, page, &frame);
        if (is_found) {
            put_long(PATLB_FRAME, frame);
            put(PATLB_PUT, 1);
        }
    } while (!get(PATLB_OPEN));
    return is_found;
}

/* DMAC_HOST for an address of a process. The key's page must stay pinned from its writing to the
 * transfer's beginning, else that does nothing. */
static int host_find(u32 job, u64 address)
{
    u64 page = address >> 12, frame;
    put(PATLB_JOB, job);
    put_long(PATLB_PAGE, page);
    if (!get(PATLB_FIND)) {
        if (!table_find(SDRAM_PAGES, PAGES_SLOTS, job, page, &frame))
            return 0;
        put_long(PATLB_FRAME, frame);
        put(PATLB_PUT, 1);
    }
    put_long(DMAC_HOST, get_long(PATLB_FRAME) << 12 | ((u32)address & 4095));
    return 1;
}

int host_write(u32 job, u64 address, u64 word)
{
    if (!host_find(job, address))
        return 0;
    put_long(DMAC_DATA, word);
    put(DMAC_GO, 1);
    return 1;
}

int host_read(u32 job, u64 address, u64 *word)
{
    if (!host_find(job, address))
        return 0;
    put(DMAC_READ, 1);
    while (get(DMAC_READ))
        ;
    *word = get_long(DMAC_DATA);
    return get(PATLB_OPEN);
}

int host_write_if(u64 old, u64 word)
{
    u32 state;
    put_long(DMAC_OLD, old);
    put_long(DMAC_DATA, word);
    put(DMAC_IF, 1);
    while ((state = get(DMAC_IF)) == 1)
        ;
    return state == 0;
}

int segment_find(u32 job, u32 sid, u64 *start)
{
    put(RVATLB_JOB, job);
    put(RVATLB_SID, sid);
    if (!get(RVATLB_FIND) && !segment_refill(job, sid))
        return 0;
    *start = get_long(RVATLB_START);
    return 1;
}

int segment_refill(u32 job, u32 sid)
{
    u64 start;
    int is_found;
    do {
        put(RVATLB_JOB, job);
        put(RVATLB_SID, sid);
        is_found = table_find(SDRAM_SEGMENTS, SEGMENTS_SLOTS, job, sid, &start);
        if (is_found) {
            put_long(RVATLB_START, start);
            put(RVATLB_PUT, 1);
        }
    } while (!get(RVATLB_OPEN));
    return is_found;
}
