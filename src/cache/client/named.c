/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See named.h: from a path to what it leads to, name by name.
 */
#include "cache/client/named.h"

#include "base/likely.h"
#include "cache/client/state.h"
#include "cache/raw.h"

#define ASKS_MAX  3  /* a listing may be given up while we look */
#define LINKS_MAX 40 /* as the kernel */

void cache_name_count(struct cache_client *client, enum cache_counter which)
{
    cache_count(client->control, cache_stripe(), which, 1);
}

/* ---- Declared folders ------------------------------------------------------------------------ */

static bool is_below(const char *path, const struct cache_path *top)
{
    uint32_t length = top->length;
    if (length == 1)
        return path[0] == '/';
    return strncmp(path, top->text, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* The innermost, or -1. */
static int find_declared(const struct cache_client *client, const char *path)
{
    int found = -1;
    uint32_t most = 0;
    for (uint32_t i = 0; i < client->card->declared_count && i < CACHE_PATHS_MAX; i++) {
        const struct cache_declared *declared = &client->card->declared[i];
        if (declared->device != 0 && declared->path.length > most &&
            is_below(path, &declared->path)) {
            found = (int)i;
            most = declared->path.length;
        }
    }
    return found;
}

bool cache_name_is_declared(const struct cache_client *client, const char *path)
{
    return client && client->card->declared_count > 0 && find_declared(client, path) >= 0;
}

/* ---- Blocks of a listing --------------------------------------------------------------------- */

/* A listing, by its folder. */
struct folder {
    struct cache_client *client;
    const struct cache_declared *declared;
    uint32_t number; /* of the declared one */
    const char *below;
    size_t length;
    uint64_t id[2];
};

/* A block in the arena, good as long as its slot stands. */
struct seen {
    const char *data;
    uint64_t length;
    const struct cache_slot *slot;
    uint64_t token;
};

static bool look(const struct folder *folder, uint32_t block, struct seen *seen)
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
static int ask(const struct folder *folder, uint32_t block)
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

static int take_block(const struct folder *folder, uint32_t block, const struct taking *taking)
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

static int find_head(const struct folder *folder, struct listing_head *head)
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

/* An entry at this offset, if it lies in the table. */
static const struct listing_entry *entry_at(const char *table, uint64_t length, uint64_t offset)
{
    const struct listing_entry *entry = (const struct listing_entry *)(table + offset);
    if (offset % 8 || offset > length || length - offset < sizeof(*entry))
        return NULL;
    uint64_t text = (uint64_t)entry->name_length + entry->target_length + 2;
    return text <= length - offset - sizeof(*entry) ? entry : NULL;
}

static int take_entry(struct search *search, const struct listing_entry *entry)
{
    struct cache_name *found = search->found;
    size_t target_length = entry->target_length;
    search->is_elsewhere = entry->is_elsewhere;
    found->status = entry->status;
    if (target_length > LISTING_TARGET_MAX)
        return -EAGAIN;
    memcpy(found->target, entry->text + search->length + 1, target_length);
    found->target[target_length] = '\0';
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
        const struct listing_entry *entry = entry_at(base, length, table->place[i].offset);
        if (!entry)
            return -EAGAIN;
        if (entry->name_length == search->length &&
            memcmp(entry->text, search->name, search->length) == 0)
            return take_entry(search, entry);
    }
    return -ENOENT;
}

static int find_in(const struct folder *folder, const char *name, size_t length,
                   struct cache_name *found)
{
    struct listing_head head;
    int result = find_head(folder, &head);
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

/* ---- A path ---------------------------------------------------------------------------------- */

/* One of which the status is not known yet. */
static const struct listing_status bare_folder = {.mode = S_IFDIR};

/* On the way: name->path is where we are, `rest` what is left of the path. */
struct walk {
    struct cache_client *client;
    struct cache_name *name;
    size_t length; /* of name->path */
    size_t top;    /* of its declared part */
    char rest[CACHE_NAME_PATH_MAX + LISTING_TARGET_MAX + 1];
    int links;
};

static struct folder folder_of(struct cache_client *client, const struct cache_name *name,
                               size_t length)
{
    const struct cache_declared *declared = &client->card->declared[name->declared];
    struct folder folder = {.client = client,
                            .declared = declared,
                            .number = name->declared,
                            .below = name->path + name->below};
    folder.length = length > name->below ? length - name->below : 0;
    listing_id(declared->file_system, declared->inode, folder.below, folder.length, folder.id);
    return folder;
}

static int take_own_status(struct walk *walk)
{
    struct listing_head head;
    struct folder folder = folder_of(walk->client, walk->name, walk->length);
    int result = find_head(&folder, &head);
    walk->name->status = head.status;
    return result;
}

/* To the declared folder that a path is in; the rest is still to go. */
static int begin(struct walk *walk, const char *path)
{
    struct cache_name *name = walk->name;
    int number = find_declared(walk->client, path);
    if (number < 0 || strlen(path) >= CACHE_NAME_PATH_MAX)
        return -EAGAIN;
    const struct cache_declared *declared = &walk->client->card->declared[number];
    size_t top = declared->path.length > 1 ? declared->path.length : 0;
    memmove(walk->rest, path + top, strlen(path + top) + 1);
    memcpy(name->path, declared->path.text, top);
    name->path[top] = '\0';
    name->declared = (uint32_t)number;
    name->below = (uint32_t)top + 1;
    name->device = declared->device;
    walk->length = walk->top = top;
    name->status = bare_folder;
    return 0;
}

/* Put a link's target before what is left, and go on from the link's folder or from the top. */
static int follow(struct walk *walk, size_t folder_length)
{
    char joined[sizeof(walk->rest)];
    const char *target = walk->name->target;
    size_t target_length = strlen(target), rest_length = strlen(walk->rest);
    if (++walk->links > LINKS_MAX)
        return -ELOOP;
    if (target_length + rest_length + 2 > sizeof(joined))
        return -EAGAIN;
    memcpy(joined, target, target_length);
    joined[target_length] = '/';
    memcpy(joined + target_length + 1, walk->rest, rest_length + 1);
    if (rest_length == 0)
        joined[target_length] = '\0';
    if (joined[0] == '/')
        return begin(walk, joined);
    memcpy(walk->rest, joined, sizeof(joined));
    walk->length = folder_length;
    walk->name->path[folder_length] = '\0';
    walk->name->status = bare_folder;
    return 0;
}

static int step_up(struct walk *walk)
{
    if (walk->length == walk->top)
        return -EAGAIN; /* out of the declared folder */
    while (walk->name->path[walk->length - 1] != '/')
        walk->length--;
    walk->name->path[--walk->length] = '\0';
    walk->name->status = bare_folder;
    return 0;
}

/* One name further. */
static int step_down(struct walk *walk, const char *part, size_t length, bool follows)
{
    struct cache_name *name = walk->name;
    size_t before = walk->length;
    if (length > LISTING_NAME_MAX || before + length + 2 > CACHE_NAME_PATH_MAX ||
        before + length - walk->top >= CACHE_BELOW_MAX)
        return -EAGAIN;
    struct folder folder = folder_of(walk->client, name, before);
    int result = find_in(&folder, part, length, name);
    if (result < 0)
        return result;
    if (S_ISLNK(name->status.mode) && (follows || walk->rest[0]))
        return follow(walk, before);
    name->path[before] = '/';
    memcpy(name->path + before + 1, part, length);
    walk->length = before + 1 + length;
    name->path[walk->length] = '\0';
    return 0;
}

static int step(struct walk *walk, bool follows)
{
    char part[CACHE_NAME_PATH_MAX + LISTING_TARGET_MAX + 1];
    size_t slashes = strspn(walk->rest, "/");
    size_t length = strcspn(walk->rest + slashes, "/");
    memcpy(part, walk->rest + slashes, length);
    size_t used = slashes + length;
    memmove(walk->rest, walk->rest + used, strlen(walk->rest + used) + 1);
    /* A path that goes on, be it with a slash only, goes on from a folder. */
    if (!S_ISDIR(walk->name->status.mode))
        return -ENOTDIR;
    if (length == 0 || (length == 1 && part[0] == '.'))
        return 0;
    if (length == 2 && part[0] == '.' && part[1] == '.')
        return step_up(walk);
    return step_down(walk, part, length, follows);
}

int cache_name_find(struct cache_client *client, const char *path, bool follows,
                    struct cache_name *name)
{
    struct walk walk = {.client = client, .name = name};
    name->target[0] = '\0';
    if (!cache_client_is_alive(client))
        return -EAGAIN;
    int result = begin(&walk, path);
    while (result == 0 && walk.rest[0])
        result = step(&walk, follows);
    if (result == 0 && name->status.inode == 0)
        result = take_own_status(&walk);
    return result;
}

/* ---- A folder -------------------------------------------------------------------------------- */

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
        const struct listing_entry *entry = entry_at(base, length, table->place[i].offset);
        if (!entry || !names->each(names->context, entry))
            return -EAGAIN;
    }
    return 0;
}

int cache_names_list(struct cache_client *client, const struct cache_name *name,
                     struct cache_names *names)
{
    struct folder folder = folder_of(client, name, strlen(name->path));
    int result = find_head(&folder, &names->head);
    uint32_t first = names->head.part_count == 0 ? 0 : 1;
    for (uint32_t part = first; result == 0 && part <= names->head.part_count; part++) {
        struct taking taking = {take_all, names->room};
        int length = take_block(&folder, part, &taking);
        uint64_t skip = part == 0 ? LISTING_TABLE : 0;
        if (length < 0 || (uint64_t)length < skip)
            return -EAGAIN;
        result = tell_table(names, (const char *)names->room + skip, (uint64_t)length - skip);
    }
    return result;
}
