/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See listed.h.
 */
#include "cache/client/listed.h"

#include "base/likely.h"
#include "cache/client/state.h"
#include "cache/raw.h"

#define ASKS_MAX 3 /* a listing may be given up while we look */

/* ---- Blocks of a listing --------------------------------------------------------------------- */

/* A block in the arena, good as long as its slot stands. */
struct seen {
    const char *data;
    uint64_t length;
    const struct cache_slot *slot;
    uint64_t token;
};

static bool look(const struct listed *folder, uint32_t block, struct seen *seen)
{
    const struct cache_client *client = folder->client;
    uint64_t id[2];
    cache_block_id(folder->id, block, id);
    uint32_t slot = cache_index_find(&client->arena, id, &seen->token);
    if (slot == CACHE_NO_SLOT)
        return false;
    seen->slot = &client->arena.slots[slot];
    seen->length = atomic_load_explicit(&seen->slot->length, memory_order_relaxed);
    seen->data = cache_slot_bytes(&client->arena, slot, 0, seen->length);
    if (!seen->data || seen->length > LISTING_PART_MAX)
        return false;
    _Atomic uint8_t *touched = &cache_touched(client->control, &client->shape)[slot];
    if (!atomic_load_explicit(touched, memory_order_relaxed))
        atomic_store_explicit(touched, 1, memory_order_relaxed);
    return true;
}

/* Have the agent get a block of the listing. */
static int ask(const struct listed *folder, uint32_t block)
{
    struct cache_wish wish = {
        .kind = CACHE_FETCH, .file_id = folder->id, .block = block, .count = 1};
    int result = cache_ask(folder->client, &wish);
    if (result != -ENOENT)
        return result;
    struct cache_named named = {.declared = folder->number, .is_folder = 1};
    memcpy(named.below, folder->below, folder->length);
    result = cache_introduce_named(folder->client, &named);
    return result < 0 ? result : cache_ask(folder->client, &wish);
}

/* Look at a block, again and again if it is given up meanwhile. `take` reads it and says whether
 * that made sense; what it took counts if the slot still stands. */
struct taking {
    int (*take)(void *context, const struct seen *seen);
    void *context;
};

static int take_block(const struct listed *folder, uint32_t block, const struct taking *taking)
{
    for (int i = 0; i <= ASKS_MAX; i++) {
        struct seen seen;
        if (look(folder, block, &seen)) {
            int result = taking->take(taking->context, &seen);
            if (likely(cache_slot_stands(seen.slot, seen.token)))
                return result;
        }
        if (i == ASKS_MAX || ask(folder, block) < 0)
            break;
    }
    return -EAGAIN;
}

static int take_head(void *context, const struct seen *seen)
{
    struct listing_head *head = context;
    if (seen->length != LISTING_HEAD)
        return -EAGAIN;
    memcpy(head, seen->data, sizeof(*head));
    return head->magic == LISTING_MAGIC && !head->is_left ? 0 : -EAGAIN;
}

int listed_head(const struct listed *folder, struct listing_head *head)
{
    struct taking taking = {take_head, head};
    return take_block(folder, 0, &taking);
}

/* ---- A name in its table --------------------------------------------------------------------- */

struct search {
    const char *name;
    size_t length;
    uint64_t hash, stamp;
    uint64_t table_at; /* in the block */
    struct cache_name *found;
    bool is_elsewhere;
};

/* An entry at this offset, if it lies in the table. Its lengths are read once: what is given up
 * meanwhile becomes something else while we look. */
struct entry {
    const struct listing_entry *at; /* NULL: it does not */
    size_t name_length, target_length;
};

static struct entry entry_at(const char *table, uint64_t length, uint64_t offset)
{
    struct entry entry = {0};
    const struct listing_entry *at = (const struct listing_entry *)(table + offset);
    if (offset % 8 || offset > length || length - offset < sizeof(*at))
        return entry;
    entry.name_length = *(const volatile uint16_t *)&at->name_length;
    entry.target_length = *(const volatile uint16_t *)&at->target_length;
    if (entry.name_length + entry.target_length + 2 <= length - offset - sizeof(*at))
        entry.at = at;
    return entry;
}

static int take_entry(struct search *search, const struct entry *entry)
{
    struct cache_name *found = search->found;
    search->is_elsewhere = entry->at->is_elsewhere;
    found->status = entry->at->status;
    if (entry->target_length > LISTING_TARGET_MAX)
        return -EAGAIN;
    memcpy(found->target, entry->at->text + entry->name_length + 1, entry->target_length);
    found->target[entry->target_length] = '\0';
    return 0;
}

/* The first place whose hash is not less. */
static uint32_t first_place(const struct listing_table *table, uint32_t count, uint32_t hash)
{
    uint32_t first = 0, end = count;
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        if (table->place[middle].hash < hash)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

static int take_name(void *context, const struct seen *seen)
{
    struct search *search = context;
    const char *base = seen->data + search->table_at;
    const struct listing_table *table = (const struct listing_table *)base;
    if (seen->length < search->table_at + sizeof(*table))
        return -EAGAIN;
    uint64_t length = seen->length - search->table_at;
    uint32_t count = table->count, hash = (uint32_t)search->hash;
    if (table->magic != LISTING_MAGIC || table->stamp != search->stamp ||
        count > (length - sizeof(*table)) / sizeof(table->place[0]))
        return -EAGAIN;
    for (uint32_t i = first_place(table, count, hash); i < count && table->place[i].hash == hash;
         i++) {
        struct entry entry = entry_at(base, length, table->place[i].offset);
        if (!entry.at)
            return -EAGAIN;
        if (entry.name_length == search->length &&
            memcmp(entry.at->text, search->name, search->length) == 0)
            return take_entry(search, &entry);
    }
    return -ENOENT;
}

int listed_find(const struct listed *folder, const char *name, size_t length,
                struct cache_name *found)
{
    struct listing_head head;
    int result = listed_head(folder, &head);
    if (result < 0)
        return result;
    struct search search = {.name = name,
                            .length = length,
                            .hash = listing_name_hash(name, length),
                            .stamp = head.stamp,
                            .table_at = head.part_count == 0 ? LISTING_TABLE : 0,
                            .found = found};
    struct taking taking = {take_name, &search};
    result = take_block(folder, listing_part(search.hash, head.part_count), &taking);
    return result == 0 && search.is_elsewhere ? -EAGAIN : result;
}

/* ---- All names ------------------------------------------------------------------------------- */

static int take_all(void *context, const struct seen *seen)
{
    memcpy(context, seen->data, seen->length);
    return (int)seen->length;
}

/* The table of a block, out of the caller's copy. */
static int tell_table(struct cache_names *names, const char *base, uint64_t length)
{
    const struct listing_table *table = (const struct listing_table *)base;
    if (length < sizeof(*table) || table->magic != LISTING_MAGIC ||
        table->stamp != names->head.stamp ||
        table->count > (length - sizeof(*table)) / sizeof(table->place[0]))
        return -EAGAIN;
    for (uint32_t i = 0; i < table->count; i++) {
        struct entry entry = entry_at(base, length, table->place[i].offset);
        if (!entry.at || !names->each(names->context, entry.at))
            return -EAGAIN;
    }
    return 0;
}

int listed_all(const struct listed *folder, struct cache_names *names)
{
    int result = listed_head(folder, &names->head);
    uint32_t first = names->head.part_count == 0 ? 0 : 1;
    for (uint32_t part = first; result == 0 && part <= names->head.part_count; part++) {
        struct taking taking = {take_all, names->room};
        int length = take_block(folder, part, &taking);
        uint64_t skip = part == 0 ? LISTING_TABLE : 0;
        if (length < 0 || (uint64_t)length < skip)
            return -EAGAIN;
        result = tell_table(names, (const char *)names->room + skip, (uint64_t)length - skip);
    }
    return result;
}
