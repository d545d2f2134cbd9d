/* SPDX-License-Identifier: BSD-3-Clause
 *
 * faulty-fs PLACE: a file system with files of 1 MiB that cannot all be read, for tests of errors.
 *   good     can be read
 *   bad      gives EIO from its middle on
 *   denied   cannot be opened
 *   liar     says that it is 1 MiB long and ends at its middle
 */
#define FUSE_USE_VERSION 35

#include <errno.h>
#include <fuse3/fuse.h>
#include <string.h>

enum { LENGTH = 1 << 20, MIDDLE = LENGTH / 2 };

static const char *const names[] = {"good", "bad", "denied", "liar"};

static int do_getattr(const char *path, struct stat *status, struct fuse_file_info *info)
{
    (void)info;
    memset(status, 0, sizeof(*status));
    status->st_mode = S_IFDIR | 0755;
    status->st_nlink = 2;
    if (strcmp(path, "/") == 0)
        return 0;
    for (ino_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(path + 1, names[i]) == 0) {
            status->st_ino = i + 2;
            status->st_mode = S_IFREG | 0644;
            status->st_size = LENGTH;
            status->st_mtim.tv_sec = status->st_ctim.tv_sec = 1000000000;
            return 0;
        }
    }
    return -ENOENT;
}

static int do_open(const char *path, struct fuse_file_info *info)
{
    info->direct_io = strcmp(path, "/liar") == 0; /* or the kernel fills up with zeros */
    return strcmp(path, "/denied") == 0 ? -EACCES : 0;
}

static int do_read(const char *path, char *buffer, size_t length, off_t offset,
                   struct fuse_file_info *info)
{
    (void)info;
    off_t end = strcmp(path, "/liar") == 0 ? MIDDLE : LENGTH;
    if (offset >= end)
        return 0;
    if (length > (size_t)(end - offset))
        length = (size_t)(end - offset);
    if (strcmp(path, "/bad") == 0 && offset + (off_t)length > MIDDLE)
        return -EIO;
    for (size_t i = 0; i < length; i++)
        buffer[i] = (char)((offset + (off_t)i) * 31 / 7);
    return (int)length;
}

static void *do_init(struct fuse_conn_info *connection, struct fuse_config *config)
{
    (void)connection;
    config->use_ino = 1;
    return NULL;
}

static const struct fuse_operations operations = {
    .init = do_init, .getattr = do_getattr, .open = do_open, .read = do_read};

int main(int argc, char **argv)
{
    return fuse_main(argc, argv, &operations, NULL);
}
