/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Folders that the user has declared unchanging, and what clients name in them; see
 * cache/listing.h.
 */
#include "base/error.h"
#include "cache/agent/agent.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int declare(struct cache_card *card, const char *path)
{
    char resolved[PATH_MAX];
    if (card->declared_count == CACHE_PATHS_MAX)
        return error_fail(RH_EINVALID, "no more than %d folders can be declared immutable",
                          CACHE_PATHS_MAX);
    if (!realpath(path, resolved))
        return error_fail(RH_EINVALID, "cannot cache %s as immutable: %s", path, strerror(errno));
    size_t length = strlen(resolved);
    if (length >= CACHE_PATH_LENGTH)
        return error_fail(RH_EINVALID,
                          "cannot cache %s as immutable: no more than %d characters; name a folder "
                          "above it",
                          path, CACHE_PATH_LENGTH - 1);
    struct cache_declared *declared = &card->declared[card->declared_count++];
    memcpy(declared->path.text, resolved, length + 1);
    declared->path.length = (uint32_t)length;
    return 0;
}

int agent_declare(struct cache_card *card, const char *list)
{
    char *text = strdup(list), *rest = text;
    int result = 0;
    if (!text)
        return error_fail(RH_ENOSPACE, "no memory");
    for (char *path; result == 0 && (path = strsep(&rest, ":"));)
        result = path[0] ? declare(card, path) : 0;
    free(text);
    return result;
}

void agent_declared_look(struct agent *agent)
{
    struct cache_card *card = agent->card;
    for (uint32_t i = 0; i < card->declared_count; i++) {
        struct cache_declared *declared = &card->declared[i];
        struct stat status;
        uint64_t file_system;
        if (stat(declared->path.text, &status) < 0 || !S_ISDIR(status.st_mode) ||
            !mounts_find(&agent->mounts, status.st_dev, &file_system))
            continue;
        declared->inode = status.st_ino;
        declared->file_system = file_system;
        declared->device = status.st_dev;
    }
}

int agent_name(struct agent *agent, const struct cache_named *named)
{
    if (named->declared >= agent->card->declared_count)
        return -EINVAL;
    return loader_name(&agent->node.loader, &agent->card->declared[named->declared], named);
}

/* The head is ours, or was when we looked: it says how long the parts are. */
static bool take_length(struct agent *agent, struct loader_file *file)
{
    const struct cache_arena *arena = &agent->node.store.arena;
    struct listing_head head;
    uint64_t id[2], token;
    cache_block_id(file->id, 0, id);
    uint32_t slot = cache_index_find(arena, id, &token);
    if (slot == CACHE_NO_SLOT)
        return false;
    const char *bytes = cache_slot_bytes(arena, slot, 0, sizeof(head));
    if (!bytes)
        return false;
    memcpy(&head, bytes, sizeof(head));
    if (!cache_slot_stands(&arena->slots[slot], token) || head.magic != LISTING_MAGIC ||
        head.part_length > LISTING_PART_MAX)
        return false;
    atomic_store(&file->part_length, head.part_length);
    return true;
}

int agent_listing_prepare(struct agent *agent, struct loader_file *file)
{
    enum { TRIES = 3 };
    for (int i = 0; i < TRIES && atomic_load(&file->part_length) == 0; i++) {
        if (take_length(agent, file))
            break;
        int result = node_bring(&agent->node, file, 0, NULL);
        if (result < 0)
            return result;
    }
    return atomic_load(&file->part_length) > 0 ? 0 : -EAGAIN;
}
