/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See passthrough.h. Paths that FUSE gives begin with a slash and are looked up below the folder's
 * descriptor. Each open file is one struct open_file, in FUSE's handle.
 */
#include "cache/mount/passthrough.h"

#include "cache/client/client.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

struct open_file {
    int fd;
    struct open_file *next, **link; /* in the list of all */
    bool is_writer;                 /* that the cache was told of */
    struct stat status;
    struct cache_file file;
};

static struct passthrough *self(void)
{
    return fuse_get_context()->private_data;
}

static const char *below(const char *path)
{
    return path[1] == '\0' ? "." : path + 1;
}

static int outcome(int result)
{
    return result < 0 ? -errno : 0;
}

static struct open_file *handle(const struct fuse_file_info *info)
{
    return (struct open_file *)(uintptr_t)info->fh;
}

/* ---- Files ----------------------------------------------------------------------------------- */

static void list_add(struct passthrough *all, struct open_file *open_file)
{
    pthread_mutex_lock(&all->lock);
    open_file->next = all->files;
    open_file->link = &all->files;
    if (open_file->next)
        open_file->next->link = &open_file->next;
    all->files = open_file;
    pthread_mutex_unlock(&all->lock);
}

static void list_remove(struct passthrough *all, struct open_file *open_file)
{
    pthread_mutex_lock(&all->lock);
    *open_file->link = open_file->next;
    if (open_file->next)
        open_file->next->link = open_file->link;
    pthread_mutex_unlock(&all->lock);
}

static void end_file(struct passthrough *all, struct open_file *open_file)
{
    list_remove(all, open_file);
    cache_file_close(&open_file->file);
    close(open_file->fd);
    if (open_file->is_writer)
        cache_write_end(all->client, &open_file->status);
    free(open_file);
}

void passthrough_end(struct passthrough *passthrough)
{
    while (passthrough->files)
        end_file(passthrough, passthrough->files);
}

static int begin_file(int fd, struct fuse_file_info *info)
{
    if (fd < 0)
        return -errno;
    struct open_file *open_file = calloc(1, sizeof(*open_file));
    if (!open_file) {
        close(fd);
        return -ENOMEM;
    }
    open_file->fd = fd;
    struct cache_client *client = self()->client;
    if (client && (info->flags & O_ACCMODE) == O_RDONLY)
        cache_file_open(client, &open_file->file, fd); /* without, reads go to the folder */
    else if (client && fstat(fd, &open_file->status) == 0)
        open_file->is_writer = cache_write_begin(client, &open_file->status) == 0;
    info->fh = (uint64_t)(uintptr_t)open_file;
    list_add(self(), open_file);
    self()->open_count++;
    return 0;
}

static int do_open(const char *path, struct fuse_file_info *info)
{
    int flags = (info->flags & ~(O_NOFOLLOW | O_DIRECT)) | O_CLOEXEC;
    return begin_file(openat(self()->folder, below(path), flags), info);
}

static int do_create(const char *path, mode_t mode, struct fuse_file_info *info)
{
    int flags = (info->flags & ~O_DIRECT) | O_CREAT | O_CLOEXEC;
    return begin_file(openat(self()->folder, below(path), flags, mode), info);
}

static int do_read(const char *path, char *buffer, size_t length, off_t offset,
                   struct fuse_file_info *info)
{
    struct open_file *open_file = handle(info);
    return (int)cache_file_read(&open_file->file, open_file->fd, buffer, length, offset);
}

static int do_write(const char *path, const char *buffer, size_t length, off_t offset,
                    struct fuse_file_info *info)
{
    ssize_t result = pwrite(handle(info)->fd, buffer, length, offset);
    return result < 0 ? -errno : (int)result;
}

static int do_flush(const char *path, struct fuse_file_info *info)
{
    return outcome(close(dup(handle(info)->fd))); /* gives errors of writing behind to close() */
}

static int do_release(const char *path, struct fuse_file_info *info)
{
    end_file(self(), handle(info));
    self()->open_count--;
    return 0;
}

static int do_fsync(const char *path, int data_only, struct fuse_file_info *info)
{
    return outcome(data_only ? fdatasync(handle(info)->fd) : fsync(handle(info)->fd));
}

static int do_fallocate(const char *path, int mode, off_t offset, off_t length,
                        struct fuse_file_info *info)
{
    return outcome(fallocate(handle(info)->fd, mode, offset, length));
}

static off_t do_lseek(const char *path, off_t offset, int whence, struct fuse_file_info *info)
{
    off_t result = lseek(handle(info)->fd, offset, whence);
    return result < 0 ? -errno : result;
}

static int do_flock(const char *path, struct fuse_file_info *info, int operation)
{
    return outcome(flock(handle(info)->fd, operation));
}

/* ---- Status ---------------------------------------------------------------------------------- */

static void *do_init(struct fuse_conn_info *connection, struct fuse_config *config)
{
    config->use_ino = 1;
    config->auto_cache = 1; /* what the kernel keeps is dropped at open if the file has changed */
    config->nullpath_ok = 0;
    return fuse_get_context()->private_data;
}

static int do_getattr(const char *path, struct stat *status, struct fuse_file_info *info)
{
    if (info)
        return outcome(fstat(handle(info)->fd, status));
    return outcome(fstatat(self()->folder, below(path), status, AT_SYMLINK_NOFOLLOW));
}

static int do_access(const char *path, int mode)
{
    return outcome(faccessat(self()->folder, below(path), mode, 0));
}

static int do_readlink(const char *path, char *text, size_t room)
{
    ssize_t length = readlinkat(self()->folder, below(path), text, room - 1);
    if (length < 0)
        return -errno;
    text[length] = '\0';
    return 0;
}

static int do_statfs(const char *path, struct statvfs *status)
{
    return outcome(fstatvfs(self()->folder, status));
}

/* ---- Folders --------------------------------------------------------------------------------- */

static int do_opendir(const char *path, struct fuse_file_info *info)
{
    self()->open_count++;
    return 0;
}

static int do_releasedir(const char *path, struct fuse_file_info *info)
{
    self()->open_count--;
    return 0;
}

static int do_readdir(const char *path, void *list, fuse_fill_dir_t fill, off_t offset,
                      struct fuse_file_info *info, enum fuse_readdir_flags flags)
{
    (void)offset, (void)info, (void)flags;
    int fd = openat(self()->folder, below(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (!folder) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        return -error;
    }
    const struct dirent *entry;
    while ((entry = readdir(folder))) {
        struct stat status = {.st_ino = entry->d_ino, .st_mode = (mode_t)entry->d_type << 12};
        if (fill(list, entry->d_name, &status, 0, 0) != 0)
            break;
    }
    closedir(folder);
    return 0;
}

/* ---- Changes --------------------------------------------------------------------------------- */

/* The file by this name before the change. */
static struct stat look(const char *path)
{
    struct stat status;
    bool is_file = self()->client &&
                   fstatat(self()->folder, below(path), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                   S_ISREG(status.st_mode);
    return is_file ? status : (struct stat){0};
}

/* Whoever has it open looks again at what it is. */
static int changed(int result, const struct stat *before)
{
    if (result == 0 && S_ISREG(before->st_mode))
        cache_changed(self()->client, before);
    return result;
}

static int do_truncate(const char *path, off_t length, struct fuse_file_info *info)
{
    if (info)
        return outcome(ftruncate(handle(info)->fd, length));
    struct stat before = look(path);
    int fd = openat(self()->folder, below(path), O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int result = outcome(ftruncate(fd, length));
    close(fd);
    return changed(result, &before);
}

static int do_mkdir(const char *path, mode_t mode)
{
    return outcome(mkdirat(self()->folder, below(path), mode));
}

static int do_unlink(const char *path)
{
    struct stat before = look(path);
    return changed(outcome(unlinkat(self()->folder, below(path), 0)), &before);
}

static int do_rmdir(const char *path)
{
    return outcome(unlinkat(self()->folder, below(path), AT_REMOVEDIR));
}

static int do_symlink(const char *target, const char *path)
{
    return outcome(symlinkat(target, self()->folder, below(path)));
}

static int do_rename(const char *path, const char *to, unsigned flags)
{
    struct stat moved = look(path), replaced = look(to);
    int result = outcome(renameat2(self()->folder, below(path), self()->folder, below(to), flags));
    return changed(changed(result, &moved), &replaced);
}

static int do_link(const char *path, const char *to)
{
    return outcome(linkat(self()->folder, below(path), self()->folder, below(to), 0));
}

static int do_chmod(const char *path, mode_t mode, struct fuse_file_info *info)
{
    return outcome(fchmodat(self()->folder, below(path), mode, 0));
}

static int do_chown(const char *path, uid_t user, gid_t group, struct fuse_file_info *info)
{
    return outcome(fchownat(self()->folder, below(path), user, group, AT_SYMLINK_NOFOLLOW));
}

static int do_utimens(const char *path, const struct timespec times[2], struct fuse_file_info *info)
{
    return outcome(utimensat(self()->folder, below(path), times, AT_SYMLINK_NOFOLLOW));
}

const struct fuse_operations passthrough_operations = {
    .init = do_init,
    .getattr = do_getattr,
    .access = do_access,
    .readlink = do_readlink,
    .statfs = do_statfs,
    .opendir = do_opendir,
    .readdir = do_readdir,
    .releasedir = do_releasedir,
    .open = do_open,
    .create = do_create,
    .read = do_read,
    .write = do_write,
    .flush = do_flush,
    .release = do_release,
    .fsync = do_fsync,
    .fallocate = do_fallocate,
    .lseek = do_lseek,
    .flock = do_flock,
    .truncate = do_truncate,
    .mkdir = do_mkdir,
    .unlink = do_unlink,
    .rmdir = do_rmdir,
    .symlink = do_symlink,
    .rename = do_rename,
    .link = do_link,
    .chmod = do_chmod,
    .chown = do_chown,
    .utimens = do_utimens,
};
