/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See named.h: from a path to what it leads to, name by name.
 */
#include "cache/client/named.h"

#include "cache/client/listed.h"
#include "cache/client/state.h"

#include <errno.h>

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

bool cache_client_declares(const struct cache_client *client)
{
    return client && client->sees_declared && client->card->declared_count > 0;
}

void cache_client_declared(const struct cache_client *client, char *text, size_t room)
{
    size_t used = 0;
    for (uint32_t i = 0; i < client->card->declared_count && i < CACHE_PATHS_MAX; i++) {
        const struct cache_path *path = &client->card->declared[i].path;
        if (used + path->length + 2 > room)
            break;
        if (used > 0)
            text[used++] = ':';
        memcpy(text + used, path->text, path->length);
        used += path->length;
    }
    text[used] = '\0';
}

bool cache_name_is_declared(const struct cache_client *client, const char *path)
{
    return cache_client_declares(client) && find_declared(client, path) >= 0;
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

static struct listed folder_of(struct cache_client *client, const struct cache_name *name,
                               size_t length)
{
    const struct cache_declared *declared = &client->card->declared[name->declared];
    struct listed folder = {.client = client,
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
    struct listed folder = folder_of(walk->client, walk->name, walk->length);
    int result = listed_head(&folder, &head);
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
    struct listed folder = folder_of(walk->client, name, before);
    int result = listed_find(&folder, part, length, name);
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

int cache_names_list(struct cache_client *client, const struct cache_name *name,
                     struct cache_names *names)
{
    struct listed folder = folder_of(client, name, strlen(name->path));
    return listed_all(&folder, names);
}
