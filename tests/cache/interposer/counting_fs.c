/* SPDX-License-Identifier: BSD-3-Clause
 *
 * counting-fs FOLDER LOG PLACE [FUSE's options]: shows a folder at PLACE for reading, as a server's
 * client would, and adds a line to LOG for each request. The kernel is told to keep nothing, so it
 * asks for everything.
 */
#define FUSE_USE_VERSION 35

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int folder_fd, log_fd;

static const char *below(const char *path)
{
    return path[1] == '\0' ? "." : path + 1;
}

static void note(const char *what, const char *path)
{
    dprintf(log_fd, "%s %s\n", what, path);
}

static int do_getattr(const char *path, struct stat *status, struct fuse_file_info *info)
{
    (void)info;
    note("getattr", path);
    return fstatat(folder_fd, below(path), status, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : -errno;
}

static int do_readlink(const char *path, char *text, size_t room)
{
    note("readlink", path);
    ssize_t length = readlinkat(folder_fd, below(path), text, room - 1);
    if (length < 0)
        return -errno;
    text[length] = '\0';
    return 0;
}

static int do_open(const char *path, struct fuse_file_info *info)
{
    note("open", path);
    int fd = openat(folder_fd, below(path), (info->flags & ~O_DIRECT) | O_CLOEXEC);
    info->fh = (uint64_t)fd;
    return fd < 0 ? -errno : 0;
}

static int do_read(const char *path, char *buffer, size_t length, off_t offset,
                   struct fuse_file_info *info)
{
    note("read", path);
    ssize_t got = pread((int)info->fh, buffer, length, offset);
    return got < 0 ? -errno : (int)got;
}

static int do_write(const char *path, const char *data, size_t length, off_t offset,
                    struct fuse_file_info *info)
{
    note("write", path);
    ssize_t got = pwrite((int)info->fh, data, length, offset);
    return got < 0 ? -errno : (int)got;
}

static int do_release(const char *path, struct fuse_file_info *info)
{
    (void)path; /* the kernel says it later, when it likes */
    close((int)info->fh);
    return 0;
}

static int do_readdir(const char *path, void *buffer, fuse_fill_dir_t add, off_t offset,
                      struct fuse_file_info *info, enum fuse_readdir_flags flags)
{
    (void)offset, (void)info, (void)flags;
    note("readdir", path);
    int fd = openat(folder_fd, below(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder)
        return -errno;
    for (const struct dirent *entry; (entry = readdir(folder));) {
        struct stat status = {.st_ino = entry->d_ino, .st_mode = DTTOIF(entry->d_type)};
        add(buffer, entry->d_name, &status, 0, 0);
    }
    closedir(folder);
    return 0;
}

static int do_access(const char *path, int mask)
{
    note("access", path);
    return faccessat(folder_fd, below(path), mask, 0) == 0 ? 0 : -errno;
}

static void *do_init(struct fuse_conn_info *connection, struct fuse_config *config)
{
    (void)connection;
    config->use_ino = 1;
    config->direct_io = 1;
    config->attr_timeout = config->entry_timeout = config->negative_timeout = 0;
    return NULL;
}

static const struct fuse_operations operations = {.init = do_init,
                                                  .getattr = do_getattr,
                                                  .readlink = do_readlink,
                                                  .open = do_open,
                                                  .read = do_read,
                                                  .write = do_write,
                                                  .release = do_release,
                                                  .readdir = do_readdir,
                                                  .access = do_access};

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    folder_fd = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    log_fd = open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (folder_fd < 0 || log_fd < 0)
        return 1;
    argv[2] = argv[0];
    return fuse_main(argc - 2, argv + 2, &operations, NULL);
}
