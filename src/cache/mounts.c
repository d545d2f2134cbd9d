/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See mounts.h.
 */
#include "cache/mounts.h"

#include "base/error.h"
#include "cache/key.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A line of /proc/self/mountinfo. */
struct mount {
    char root[PATH_MAX]; /* what part of the file system */
    char point[PATH_MAX];
    char kind[64];
    char source[PATH_MAX];
};

static const char *const network_kinds[] = {
    "9p",        "afs",         "beegfs",         "ceph",         "cifs",      "fhgfs",
    "fuse.ceph", "fuse.cvmfs2", "fuse.glusterfs", "fuse.juicefs", "fuse.s3fs", "fuse.sshfs",
    "gfs2",      "gpfs",        "lustre",         "nfs",          "nfs4",      "ocfs2",
    "orangefs",  "panfs",       "pvfs2",          "smb3",         "wekafs"};

static bool is_network(const char *kind)
{
    for (size_t i = 0; i < sizeof(network_kinds) / sizeof(network_kinds[0]); i++) {
        if (strcmp(kind, network_kinds[i]) == 0)
            return true;
    }
    return false;
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
static bool parse_mount(const char *line, struct mount *mount)
{
    const char *dash = strstr(line, " - ");
    if (!dash || sscanf(line, "%*s %*s %*s %4095s %4095s", mount->root, mount->point) != 2 ||
        sscanf(dash + 3, "%63s %4095s", mount->kind, mount->source) != 2)
        return false;
    unescape(mount->root);
    unescape(mount->point);
    unescape(mount->source);
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

static uint64_t number_of(const struct mount *mount, uint64_t device)
{
    if (mount && is_network(mount->kind))
        return hash_text(hash_text(2, mount->kind), mount->source) | 1;
    return cache_mix2(hash_of_host(), device) | 1;
}

bool mounts_find(const struct cache_control *control, uint64_t device, uint64_t *file_system)
{
    for (int i = 0; i < CACHE_DEVICES_MOST; i++) {
        if (atomic_load_explicit(&control->device[i].device, memory_order_acquire) != device)
            continue;
        *file_system = atomic_load_explicit(&control->device[i].file_system, memory_order_relaxed);
        return true;
    }
    return false;
}

static void add_device(struct cache_control *control, uint64_t device, uint64_t number,
                       bool is_part)
{
    for (int i = 0; i < CACHE_DEVICES_MOST; i++) {
        struct cache_device *entry = &control->device[i];
        uint64_t known = atomic_load_explicit(&entry->device, memory_order_relaxed);
        if (known == device && !is_part)
            atomic_store_explicit(&entry->is_part, 0, memory_order_relaxed);
        if (known == device)
            return;
        if (known != 0)
            continue;
        atomic_store_explicit(&entry->file_system, number, memory_order_relaxed);
        atomic_store_explicit(&entry->is_part, is_part, memory_order_relaxed);
        /* release: pairs with find_device() in client.c */
        atomic_store_explicit(&entry->device, device, memory_order_release);
        return;
    }
}

/* The mount that a path is in, so far as lines have been read: the longest. */
struct top {
    uint64_t device;
    struct mount mount;
    bool is_found, is_whole;
};

static void look_at_mount(struct cache_control *control, const struct mount *mount,
                          struct top *tops)
{
    struct stat status;
    for (uint32_t i = 0; i < control->path_count; i++) {
        const char *path = control->path[i].text;
        if (is_below(path, mount->point)) {
            tops[i].mount = *mount; /* later lines are mounted over earlier ones */
            tops[i].is_found = true;
            tops[i].is_whole = strcmp(path, mount->point) == 0 && strcmp(mount->root, "/") == 0;
        } else if (is_below(mount->point, path) && stat(mount->point, &status) == 0) {
            add_device(control, status.st_dev, number_of(mount, status.st_dev),
                       strcmp(mount->root, "/") != 0);
        }
    }
}

int mounts_refresh(struct cache_control *control)
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    struct top *tops = calloc(CACHE_PATHS_MOST, sizeof(*tops));
    struct mount *mount = malloc(sizeof(*mount));
    char *line = NULL;
    size_t room = 0;
    while (file && tops && mount && getline(&line, &room, file) > 0) {
        if (parse_mount(line, mount))
            look_at_mount(control, mount, tops);
    }
    for (uint32_t i = 0; tops && i < control->path_count; i++) {
        struct stat status;
        if (stat(control->path[i].text, &status) == 0)
            add_device(control, status.st_dev,
                       number_of(tops[i].is_found ? &tops[i].mount : NULL, status.st_dev),
                       !tops[i].is_whole);
    }
    free(line);
    free(mount);
    free(tops);
    if (file)
        fclose(file);
    return 0;
}

int mounts_add_path(struct cache_control *control, const char *path)
{
    char resolved[PATH_MAX];
    if (control->path_count == CACHE_PATHS_MOST)
        return error_set(RH_EINVALID, ERROR_NO_RANK, "no more than %d paths can be cached",
                         CACHE_PATHS_MOST);
    if (!realpath(path, resolved))
        return error_set(RH_EINVALID, ERROR_NO_RANK, "cannot cache %s: %s", path, strerror(errno));
    size_t length = strlen(resolved);
    if (length >= CACHE_PATH_LENGTH)
        return error_set(RH_EINVALID, ERROR_NO_RANK,
                         "cannot cache %s: no more than %d characters; name a folder above it",
                         path, CACHE_PATH_LENGTH - 1);
    struct cache_path *entry = &control->path[control->path_count++];
    memcpy(entry->text, resolved, length + 1);
    entry->length = (uint32_t)length;
    return 0;
}

int mounts_add_network(struct cache_control *control)
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    struct mount *mount = malloc(sizeof(*mount));
    char *line = NULL;
    size_t room = 0;
    while (file && mount && getline(&line, &room, file) > 0) {
        if (parse_mount(line, mount) && is_network(mount->kind) &&
            control->path_count < CACHE_PATHS_MOST)
            mounts_add_path(control, mount->point);
    }
    free(line);
    free(mount);
    if (file)
        fclose(file);
    if (control->path_count > 0)
        return 0;
    return error_set(RH_EINVALID, ERROR_NO_RANK,
                     "no network file system is mounted here; say what to cache with --path");
}
