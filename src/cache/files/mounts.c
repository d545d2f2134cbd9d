/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See mounts.h.
 */
#include "cache/files/mounts.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Inodes are the server's, for ever, and the same for every client; the source names the server and
 * what it gives. Not here: what is told apart by the device of a host (gfs2, ocfs2), or names
 * itself the same whatever it is (ceph-fuse, 9p), or may give out numbers of its own (cifs). */
static const char *const shared_kinds[] = {"beegfs",   "ceph",   "fhgfs", "fuse.glusterfs",
                                           "gpfs",     "lustre", "nfs",   "nfs4",
                                           "orangefs", "panfs",  "pvfs2", "wekafs"};

/* Numbers of files that mean nothing beyond a mount, or not even that. */
static const char *const unnumbered_kinds[] = {"9p", "afs", "cifs", "smb3", "virtiofs"};

/* Where one source has several file systems, these tell which. */
static const char *const telling_options[] = {"cfgFile=", "fs=", "fsid=", "mds_namespace="};

static const char *const own_hosts[] = {"localhost:", "127.", "[::1]", "::1"};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static bool is_one_of(const char *text, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(text, list[i]) == 0)
            return true;
    }
    return false;
}

static bool begins_with_one_of(const char *text, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strncmp(text, list[i], strlen(list[i])) == 0)
            return true;
    }
    return false;
}

/* A server that every host calls itself (a tunnel, as with encrypted NFS) is another for each. */
static bool is_shared(const struct mounts_line *line)
{
    return is_one_of(line->kind, shared_kinds, COUNT(shared_kinds)) &&
           !begins_with_one_of(line->source, own_hosts, COUNT(own_hosts));
}

static bool is_unnumbered(const struct mounts_line *line)
{
    if (is_one_of(line->kind, shared_kinds, COUNT(shared_kinds)))
        return false;
    return strncmp(line->kind, "fuse", 4) == 0 ||
           is_one_of(line->kind, unnumbered_kinds, COUNT(unnumbered_kinds));
}

/* \040 and the like. */
static void unescape(char *text)
{
    char *out = text;
    for (const char *in = text; *in; out++) {
        if (in[0] == '\\' && in[1] >= '0' && in[1] <= '3' && in[2] && in[3]) {
            *out = (char)((in[1] - '0') * 64 + (in[2] - '0') * 8 + (in[3] - '0'));
            in += 4;
        } else {
            *out = *in++;
        }
    }
    *out = '\0';
}

/* 36 35 98:0 /root /point options... - kind source options */
bool mounts_parse(const char *text, struct mounts_line *line)
{
    const char *dash = strstr(text, " - ");
    line->options[0] = '\0';
    if (!dash || sscanf(text, "%*s %*s %*s %4095s %4095s", line->root, line->point) != 2 ||
        sscanf(dash + 3, "%63s %4095s %4095s", line->kind, line->source, line->options) < 2)
        return false;
    unescape(line->root);
    unescape(line->point);
    unescape(line->source);
    return true;
}

static bool is_below(const char *path, const char *top)
{
    size_t length = strlen(top);
    if (length == 1)
        return true;
    return strncmp(path, top, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = cache_mix2(hash, (unsigned char)*text);
    return hash;
}

static uint64_t hash_of_host(void)
{
    char text[64] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file) {
        if (!fgets(text, sizeof(text), file))
            text[0] = '\0';
        fclose(file);
    }
    return hash_text(1, text);
}

static uint64_t hash_options(uint64_t hash, const char *options)
{
    for (const char *option = options; *option;) {
        size_t length = strcspn(option, ",");
        if (begins_with_one_of(option, telling_options, COUNT(telling_options))) {
            for (size_t i = 0; i < length; i++)
                hash = cache_mix2(hash, (unsigned char)option[i]);
        }
        option += length + (option[length] == ',');
    }
    return hash;
}

uint64_t mounts_number(const struct mounts_line *line, uint64_t device)
{
    if (line && is_unnumbered(line))
        return 0;
    if (line && is_shared(line))
        return hash_options(hash_text(hash_text(2, line->kind), line->source), line->options) | 1;
    return cache_mix2(hash_of_host(), device) | 1;
}

static struct mounts_device *find(const struct mounts *mounts, uint64_t device)
{
    for (uint32_t i = 0; i < mounts->device_count; i++) {
        if (mounts->device[i].device == device)
            return (struct mounts_device *)&mounts->device[i];
    }
    return NULL;
}

bool mounts_find(const struct mounts *mounts, uint64_t device, uint64_t *file_system)
{
    const struct mounts_device *found = find(mounts, device);
    if (!found || found->number == 0)
        return false;
    *file_system = found->number;
    return true;
}

/* Show a device to the clients. */
static void publish(struct cache_card *card, uint64_t device, uint64_t number, bool is_part)
{
    for (int i = 0; i < CACHE_DEVICES_MAX; i++) {
        struct cache_device *entry = &card->device[i];
        uint64_t known = atomic_load_explicit(&entry->device, memory_order_relaxed);
        if (known == device && !is_part)
            atomic_store_explicit(&entry->is_part, 0, memory_order_relaxed);
        if (known == device)
            return;
        if (known != 0)
            continue;
        atomic_store_explicit(&entry->file_system, number, memory_order_relaxed);
        atomic_store_explicit(&entry->is_part, is_part, memory_order_relaxed);
        /* release: pairs with find_device() in client/open.c */
        atomic_store_explicit(&entry->device, device, memory_order_release);
        return;
    }
}

/* A file system that has files below a path. */
static void add_device(struct mounts *mounts, struct cache_card *card, const char *path,
                       const struct mounts_line *line, bool is_part)
{
    struct stat status;
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) < 0 || mounts->device_count == CACHE_DEVICES_MAX) {
        if (fd >= 0)
            close(fd);
        return;
    }
    struct mounts_device *device = find(mounts, status.st_dev);
    if (device) {
        close(fd);
    } else {
        device = &mounts->device[mounts->device_count++];
        *device = (struct mounts_device){
            .device = status.st_dev, .number = mounts_number(line, status.st_dev), .hold_fd = fd};
        if (device->number == 0) {
            fprintf(stderr,
                    "rhinet cache: files of %s are not cached: %s gives them numbers that need not "
                    "mean the same file later, or elsewhere\n",
                    path, line->kind);
            close(fd); /* nothing depends on it */
            device->hold_fd = -1;
        }
    }
    if (device->number != 0)
        publish(card, device->device, device->number, is_part);
}

/* The mount that a path is in, so far as lines have been read: the longest. */
struct top {
    struct mounts_line line;
    bool is_found, is_whole;
};

static void look_at_mount(struct mounts *mounts, struct cache_card *card,
                          const struct mounts_line *line, struct top *tops)
{
    for (uint32_t i = 0; i < mounts->path_count; i++) {
        const char *path = mounts->path[i].text;
        if (is_below(path, line->point)) {
            tops[i].line = *line; /* later lines are mounted over earlier ones */
            tops[i].is_found = true;
            tops[i].is_whole = strcmp(path, line->point) == 0 && strcmp(line->root, "/") == 0;
        } else if (is_below(line->point, path)) {
            add_device(mounts, card, line->point, line, strcmp(line->root, "/") != 0);
        }
    }
}

void mounts_refresh(struct mounts *mounts, struct cache_card *card)
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    struct top *tops = calloc(CACHE_PATHS_MAX, sizeof(*tops));
    struct mounts_line *line = malloc(sizeof(*line));
    char *text = NULL;
    size_t room = 0;
    while (file && tops && line && getline(&text, &room, file) > 0) {
        if (mounts_parse(text, line))
            look_at_mount(mounts, card, line, tops);
    }
    for (uint32_t i = 0; tops && i < mounts->path_count; i++)
        add_device(mounts, card, mounts->path[i].text, tops[i].is_found ? &tops[i].line : NULL,
                   !tops[i].is_whole);
    free(text);
    free(line);
    free(tops);
    if (file)
        fclose(file);
}

void mounts_close(struct mounts *mounts)
{
    for (uint32_t i = 0; i < mounts->device_count; i++) {
        if (mounts->device[i].hold_fd >= 0)
            close(mounts->device[i].hold_fd);
    }
    mounts->device_count = 0;
}

int mounts_path_add(struct mounts *mounts, const char *path)
{
    char resolved[PATH_MAX];
    if (mounts->path_count == CACHE_PATHS_MAX)
        return error_fail(RH_EINVALID, "no more than %d paths can be cached", CACHE_PATHS_MAX);
    if (!realpath(path, resolved))
        return error_fail(RH_EINVALID, "cannot cache %s: %s", path, strerror(errno));
    size_t length = strlen(resolved);
    if (length >= CACHE_PATH_LENGTH)
        return error_fail(RH_EINVALID,
                          "cannot cache %s: no more than %d characters; name a folder above it",
                          path, CACHE_PATH_LENGTH - 1);
    struct cache_path *entry = &mounts->path[mounts->path_count++];
    memcpy(entry->text, resolved, length + 1);
    entry->length = (uint32_t)length;
    return 0;
}

int mounts_network_add(struct mounts *mounts)
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    struct mounts_line *line = malloc(sizeof(*line));
    char *text = NULL;
    size_t room = 0;
    while (file && line && getline(&text, &room, file) > 0) {
        if (mounts_parse(text, line) && is_shared(line) && mounts->path_count < CACHE_PATHS_MAX)
            mounts_path_add(mounts, line->point);
    }
    free(text);
    free(line);
    if (file)
        fclose(file);
    if (mounts->path_count > 0)
        return 0;
    return error_fail(
        RH_EINVALID,
        "no file system that nodes can share is mounted here; say what to cache with --path");
}
