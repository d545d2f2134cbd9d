/* SPDX-License-Identifier: BSD-3-Clause
 *
 * numbered-fs FOLDER COUNTED DELAY_MS LOG PLACE [FUSE's options]: shows a folder at PLACE, as a
 * server's client would.
 *
 * COUNTED 1: as sshfs does, inodes are counted as files are met, and times are whole seconds. 2:
 * inodes are the folder's, times are whole seconds. 0: both are the folder's. Writes are kept until
 * the file is closed, and that takes DELAY_MS: until then nobody else sees them; negative: they are
 * not kept. Each read adds a line to LOG.
 */
#define FUSE_USE_VERSION 35

#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROOM = 1 << 20 };

static struct {
    int folder, log;
    bool is_counted, is_coarse;
    long delay_ms;
} fs;

/* An open file with what has been written to it; one stretch is enough. */
struct handle {
    int fd;
    pthread_mutex_t lock;
    off_t offset;
    size_t length;
    char data[ROOM];
};

static const char *below(const char *path)
{
    return path[1] == '\0' ? "." : path + 1;
}

static struct handle *handle_of(const struct fuse_file_info *info)
{
    return (struct handle *)(uintptr_t)info->fh;
}

static int do_getattr(const char *path, struct stat *status, struct fuse_file_info *info)
{
    (void)info;
    if (fstatat(fs.folder, below(path), status, AT_SYMLINK_NOFOLLOW) != 0)
        return -errno;
    if (fs.is_coarse) {
        status->st_mtim.tv_nsec = 0;
        status->st_ctim = status->st_mtim;
    }
    return 0;
}

static int do_open(const char *path, struct fuse_file_info *info)
{
    struct handle *handle = calloc(1, sizeof(*handle));
    if (!handle)
        return -ENOMEM;
    pthread_mutex_init(&handle->lock, NULL);
    handle->fd = openat(fs.folder, below(path), (info->flags & ~O_DIRECT) | O_CLOEXEC);
    if (handle->fd < 0) {
        free(handle);
        return -errno;
    }
    info->fh = (uint64_t)(uintptr_t)handle;
    return 0;
}

static int do_read(const char *path, char *buffer, size_t length, off_t offset,
                   struct fuse_file_info *info)
{
    dprintf(fs.log, "%s\n", path);
    ssize_t got = pread(handle_of(info)->fd, buffer, length, offset);
    return got < 0 ? -errno : (int)got;
}

static int do_write(const char *path, const char *data, size_t length, off_t offset,
                    struct fuse_file_info *info)
{
    (void)path;
    struct handle *handle = handle_of(info);
    if (fs.delay_ms < 0)
        return pwrite(handle->fd, data, length, offset) < 0 ? -errno : (int)length;
    pthread_mutex_lock(&handle->lock);
    int result = (int)length;
    if (handle->length == 0)
        handle->offset = offset;
    if (offset != handle->offset + (off_t)handle->length || length > ROOM - handle->length) {
        result = -ENOSPC;
    } else {
        memcpy(handle->data + handle->length, data, length);
        handle->length += length;
    }
    pthread_mutex_unlock(&handle->lock);
    return result;
}

static int do_flush(const char *path, struct fuse_file_info *info)
{
    (void)path;
    struct handle *handle = handle_of(info);
    int result = 0;
    pthread_mutex_lock(&handle->lock);
    if (handle->length > 0) {
        struct timespec pause = {.tv_nsec = fs.delay_ms * 1000000};
        nanosleep(&pause, NULL);
        if (pwrite(handle->fd, handle->data, handle->length, handle->offset) !=
            (ssize_t)handle->length)
            result = -EIO;
        handle->length = 0;
    }
    pthread_mutex_unlock(&handle->lock);
    return result;
}

static int do_release(const char *path, struct fuse_file_info *info)
{
    (void)path;
    close(handle_of(info)->fd);
    free(handle_of(info));
    return 0;
}

static void *do_init(struct fuse_conn_info *connection, struct fuse_config *config)
{
    (void)connection;
    config->use_ino = !fs.is_counted;
    config->direct_io = 1;
    return NULL;
}

static const struct fuse_operations operations = {.init = do_init,
                                                  .getattr = do_getattr,
                                                  .open = do_open,
                                                  .read = do_read,
                                                  .write = do_write,
                                                  .flush = do_flush,
                                                  .release = do_release};

int main(int argc, char **argv)
{
    if (argc < 6)
        return 2;
    fs.folder = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fs.is_counted = argv[2][0] == '1';
    fs.is_coarse = argv[2][0] != '0';
    fs.delay_ms = strtol(argv[3], NULL, 10);
    fs.log = open(argv[4], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fs.folder < 0 || fs.log < 0)
        return 1;
    argv[4] = argv[0];
    return fuse_main(argc - 4, argv + 4, &operations, NULL);
}
