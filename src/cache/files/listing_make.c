/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See listing_make.h.
 */
#include "cache/files/listing_make.h"

#include "base/array.h"
#include "cache/raw.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

/* A name that was found. */
struct found {
    uint64_t hash;
    struct listing_entry *entry;
    uint32_t length; /* of the entry */
};

struct gathering {
    int folder;
    uint64_t device;
    struct found *found;
    size_t count, room;
    uint64_t parent_inode;
    bool is_too_long;
};

/* ---- One name -------------------------------------------------------------------------------- */

static void copy_status(struct listing_status *status, const struct statx *from)
{
    *status = (struct listing_status){
        .mode = from->stx_mode,
        .links = from->stx_nlink,
        .user = from->stx_uid,
        .group = from->stx_gid,
        .inode = from->stx_ino,
        .size = from->stx_size,
        .blocks = from->stx_blocks,
        .special = makedev(from->stx_rdev_major, from->stx_rdev_minor),
        .block_size = from->stx_blksize,
        .mask = from->stx_mask & (STATX_BASIC_STATS | STATX_BTIME),
        .read = {from->stx_atime.tv_sec, from->stx_atime.tv_nsec},
        .written = {from->stx_mtime.tv_sec, from->stx_mtime.tv_nsec},
        .changed = {from->stx_ctime.tv_sec, from->stx_ctime.tv_nsec},
        .born = {from->stx_btime.tv_sec, from->stx_btime.tv_nsec}};
}

/* As the server knows it now: from here on nobody asks again. */
static int ask(int folder, const char *name, struct statx *status)
{
    int flags = AT_STATX_FORCE_SYNC | AT_NO_AUTOMOUNT | AT_SYMLINK_NOFOLLOW;
    return (int)RAW(SYS_statx, folder, name, (long)(name[0] ? flags : flags | AT_EMPTY_PATH),
                    STATX_BASIC_STATS | STATX_BTIME, status);
}

static uint64_t device_of(const struct statx *status)
{
    return makedev(status->stx_dev_major, status->stx_dev_minor);
}

/* What is not plain is left to the kernel: the name is known, and that is all. */
static int describe(const struct gathering *gathering, const char *name, struct found *found)
{
    struct statx status;
    char target[LISTING_TARGET_MAX + 1];
    ssize_t target_length = 0;
    int result = ask(gathering->folder, name, &status);
    if (result == -ENOENT)
        return result; /* just gone */
    bool is_elsewhere = result < 0 || device_of(&status) != gathering->device ||
                        (status.stx_mask & STATX_BASIC_STATS) != STATX_BASIC_STATS;
    if (!is_elsewhere && S_ISLNK(status.stx_mode)) {
        target_length = readlinkat(gathering->folder, name, target, sizeof(target));
        is_elsewhere = target_length <= 0 || (size_t)target_length == sizeof(target);
    }
    if (is_elsewhere)
        target_length = 0;
    size_t name_length = strlen(name);
    found->hash = listing_name_hash(name, name_length);
    found->length = (uint32_t)cache_round_up(
        sizeof(struct listing_entry) + name_length + (size_t)target_length + 2, 8);
    struct listing_entry *entry = found->entry = calloc(1, found->length);
    if (!entry)
        return -ENOMEM;
    if (!is_elsewhere)
        copy_status(&entry->status, &status);
    entry->is_elsewhere = is_elsewhere;
    entry->name_length = (uint16_t)name_length;
    entry->target_length = (uint16_t)target_length;
    memcpy(entry->text, name, name_length);
    memcpy(entry->text + name_length + 1, target, (size_t)target_length);
    return 0;
}

/* ---- All of them ----------------------------------------------------------------------------- */

static int add(struct gathering *gathering, const struct dirent *name)
{
    if (!array_grow(&gathering->found, &gathering->room, gathering->count + 1))
        return -ENOMEM;
    int result = describe(gathering, name->d_name, &gathering->found[gathering->count]);
    if (result == 0)
        gathering->count++;
    return result == -ENOENT ? 0 : result;
}

static int gather(struct gathering *gathering, DIR *folder)
{
    const struct dirent *name;
    int result = 0;
    while (result == 0 && !gathering->is_too_long) {
        errno = 0;
        name = readdir(folder);
        if (!name)
            return -errno;
        if (strcmp(name->d_name, "..") == 0)
            gathering->parent_inode = name->d_ino;
        else if (strcmp(name->d_name, ".") != 0)
            result = add(gathering, name);
        gathering->is_too_long = gathering->count > LISTING_COUNT_MAX;
    }
    return result;
}

static int compare(const void *left, const void *right)
{
    const struct found *a = left, *b = right;
    uint32_t low_a = (uint32_t)a->hash, low_b = (uint32_t)b->hash;
    if (low_a != low_b)
        return low_a < low_b ? -1 : 1;
    return strcmp(a->entry->text, b->entry->text);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

/* The length of the longest table if there are so many parts. */
static uint64_t longest(const struct gathering *gathering, uint32_t part_count, uint64_t *lengths)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i <= part_count; i++)
        lengths[i] = sizeof(struct listing_table);
    for (size_t i = 0; i < gathering->count; i++) {
        const struct found *found = &gathering->found[i];
        uint64_t *length = &lengths[listing_part(found->hash, part_count)];
        *length += sizeof(struct listing_place) + found->length;
        most = *length > most ? *length : most;
    }
    return most;
}

static int choose_parts(const struct gathering *gathering, struct listing_head *head)
{
    enum { TRIES = 64 };
    uint64_t *lengths = calloc(LISTING_COUNT_MAX, sizeof(*lengths));
    if (!lengths)
        return -ENOMEM;
    uint64_t total = longest(gathering, 0, lengths);
    if (total > LISTING_HEAD - LISTING_TABLE) {
        head->part_count = (uint32_t)(total / (LISTING_PART_MAX / 4 * 3)) + 1;
        uint64_t most = longest(gathering, head->part_count, lengths);
        for (int i = 0;
             i < TRIES && most > LISTING_PART_MAX && head->part_count < LISTING_COUNT_MAX / 2;
             i++) {
            head->part_count += head->part_count / 8 + 1;
            most = longest(gathering, head->part_count, lengths);
        }
        head->part_length = (uint32_t)cache_round_up(most, LISTING_HEAD);
    }
    free(lengths);
    return head->part_length > LISTING_PART_MAX ? -EFBIG : 0;
}

static void write_table(const struct gathering *gathering, const struct listing_head *head,
                        uint32_t part, struct listing_table *table)
{
    uint32_t count = 0;
    for (size_t i = 0; i < gathering->count; i++)
        count += listing_part(gathering->found[i].hash, head->part_count) == part;
    *table = (struct listing_table){.magic = LISTING_MAGIC, .count = count, .stamp = head->stamp};
    uint64_t offset = sizeof(*table) + count * sizeof(table->place[0]);
    count = 0;
    for (size_t i = 0; i < gathering->count; i++) {
        const struct found *found = &gathering->found[i];
        if (listing_part(found->hash, head->part_count) != part)
            continue;
        table->place[count++] = (struct listing_place){.hash = (uint32_t)found->hash,
                                                       .offset = (uint32_t)offset};
        memcpy((char *)table + offset, found->entry, found->length);
        offset += found->length;
    }
}

/* The same for the same contents, whichever node lists them; times of reading do not count. */
static uint64_t stamp_of(const struct gathering *gathering, const struct listing_head *head)
{
    uint64_t stamp = cache_mix2(head->status.inode, (uint64_t)head->status.changed.nanoseconds);
    for (size_t i = 0; i < gathering->count; i++) {
        struct listing_status status = gathering->found[i].entry->status;
        memset(&status.read, 0, sizeof(status.read));
        stamp = listing_hash(stamp ^ gathering->found[i].hash, (char *)&status, sizeof(status));
    }
    return stamp;
}

static int write_all(const struct gathering *gathering, struct listing_head *head,
                     struct listing *listing)
{
    head->is_left = gathering->is_too_long;
    int result = head->is_left ? 0 : choose_parts(gathering, head);
    if (result == -EFBIG) {
        head->is_left = 1;
        head->part_count = head->part_length = 0;
    } else if (result < 0) {
        return result;
    }
    head->entry_count = head->is_left ? 0 : (uint32_t)gathering->count;
    head->stamp = stamp_of(gathering, head);
    listing->part_length = head->part_length;
    listing->length = LISTING_HEAD + (uint64_t)head->part_count * head->part_length;
    listing->data = calloc(1, listing->length);
    if (!listing->data)
        return -ENOMEM;
    memcpy(listing->data, head, sizeof(*head));
    if (head->is_left)
        return 0;
    if (head->part_count == 0)
        write_table(gathering, head, 0, (void *)(listing->data + LISTING_TABLE));
    for (uint32_t part = 1; part <= head->part_count; part++)
        write_table(
            gathering, head, part,
            (void *)(listing->data + LISTING_HEAD + (uint64_t)(part - 1) * head->part_length));
    return 0;
}

int listing_make(struct listing *listing, const char *path, uint64_t device)
{
    struct gathering gathering = {.device = device};
    struct listing_head head = {.magic = LISTING_MAGIC};
    struct statx status;
    *listing = (struct listing){0};
    gathering.folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *folder = gathering.folder < 0 ? NULL : fdopendir(gathering.folder);
    if (!folder) {
        int error = -errno;
        if (gathering.folder >= 0)
            close(gathering.folder);
        return error;
    }
    int result = ask(gathering.folder, "", &status);
    if (result == 0 && device_of(&status) != device)
        result = -EXDEV;
    if (result == 0) {
        copy_status(&head.status, &status);
        result = gather(&gathering, folder);
    }
    if (result == 0) {
        head.parent_inode = gathering.parent_inode;
        if (gathering.count > 0)
            qsort(gathering.found, gathering.count, sizeof(*gathering.found), compare);
        result = write_all(&gathering, &head, listing);
    }
    for (size_t i = 0; i < gathering.count; i++)
        free(gathering.found[i].entry);
    free(gathering.found);
    closedir(folder);
    return result;
}

void listing_free(struct listing *listing)
{
    free(listing->data);
    *listing = (struct listing){0};
}

int listing_block(const struct listing *listing, uint64_t block, void *target, uint64_t length)
{
    uint64_t offset = block == 0 ? 0 : LISTING_HEAD + (block - 1) * listing->part_length;
    if (block > LISTING_COUNT_MAX || offset > listing->length ||
        length > listing->length - offset ||
        length != (block == 0 ? LISTING_HEAD : listing->part_length))
        return -ESTALE;
    memcpy(target, listing->data + offset, length);
    return 0;
}
